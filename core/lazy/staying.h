// Which values stay pending for a backward pass, to be computed again in its loops instead of
// written now and read then.
#pragma once

#include "lazy/trace.h"

namespace ember::lazy {

// The steps that stay, in their order. Slots that are saved but can't stay become wanted ones;
// `asked` is the slot that somebody is about to look at or to write, or -1.
std::vector<int> steps_that_stay(const std::vector<Step>& steps, std::vector<Use>& uses, int asked);

}  // namespace ember::lazy
