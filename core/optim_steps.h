// Names of the optimizer steps (one for each row of optim_formulas.h) and what a row says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ember {

enum class Update : uint8_t {
#define STEP(name, ...) name,
#include "optim_formulas.h"
};
constexpr int kUpdates = 0
#define STEP(...) +1
#include "optim_formulas.h"
    ;
const char* name_of(Update f);

// Options that all rows have, before their own; and the numbers that `each` of all rows takes,
// before the options and its own, with how they are made.
#define EMBER_STEP_OPTIONS lr, weight_decay, decoupled_weight_decay, maximize
#define EMBER_STEP_NUMBERS lr, sign_of_g, added, left
#define EMBER_STEP_ONCE                                                             \
  const Number sign_of_g = where(maximize != 0, Number(-1), Number(1));             \
  const Number added = where(decoupled_weight_decay != 0, Number(0), weight_decay); \
  const Number left = where(decoupled_weight_decay != 0, Number(1) - lr * weight_decay, Number(1));
// The items of a list in a row; what is between its parentheses.
#define EMBER_LIST(...) __VA_ARGS__

class KeptScalar;
struct UpdateRow {
  std::vector<const char*> state, sometimes, scalars, numbers;
  const char* each;
  void (*once)(const double* options, KeptScalar* scalars, double* numbers);

  size_t lists() const { return state.size() + sometimes.size(); }
};
const UpdateRow& row_of(Update f);

}  // namespace ember
