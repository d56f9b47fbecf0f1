// Moves steps to the groups of those who read their values.
#pragma once

#include "lazy/grouping.h"

namespace ember::lazy {

// `needs`: for each step, those whose values it reads from memory. `superseded`: those whose values
// are written over at the same place.
void sink_steps(const std::vector<Step>& steps, const std::vector<bool>& unwanted_slots,
                const std::vector<bool>& superseded, Grouping& grouping,
                std::vector<std::vector<int>>& needs);

}  // namespace ember::lazy
