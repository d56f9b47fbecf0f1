// What is done once for each parameter in a step: the column `once` of optim_formulas.h.
#include "optim_steps.h"

#include <cmath>
#include <string_view>

#include "backend.h"

namespace ember {

// A scalar that is kept for a parameter: a number of its dtype.
class KeptScalar {
 public:
  explicit KeptScalar(const Tensor& t) : dtype_(t.dtype()) {
    backend_of(t).copy_to_host(memory_, t);
  }
  operator double() const { return Scalar::load(dtype_, memory_).to<double>(); }
  void operator=(double value) { Scalar(value).store(dtype_, memory_); }
  void write(const Tensor& t) const { backend_of(t).copy_from_host(t, memory_); }

 private:
  Dtype dtype_;
  alignas(16) char memory_[16];
};

namespace {

using Number = double;
Number where(bool condition, Number a, Number b) { return condition ? a : b; }

#define EMBER_OPTION(name) [[maybe_unused]] const double name = *options++;
#define EMBER_SCALAR(name) [[maybe_unused]] KeptScalar& name = *scalars++;
#define EMBER_NUMBER(name) [[maybe_unused]] double& name = *numbers++;
#define EMBER_COPY(name) *numbers++ = name;
#define STEP(name, state, sometimes, kept, own, made, once, ...)                                   \
  void once_##name(const double* options, [[maybe_unused]] KeptScalar* scalars, double* numbers) { \
    EMBER_EACH(EMBER_OPTION, EMBER_STEP_OPTIONS)                                                   \
    EMBER_STEP_ONCE                                                                                \
    EMBER_EACH(EMBER_COPY, EMBER_STEP_NUMBERS)                                                     \
    EMBER_EACH(EMBER_OPTION, EMBER_LIST own)                                                       \
    EMBER_EACH(EMBER_COPY, EMBER_LIST own)                                                         \
    EMBER_EACH(EMBER_SCALAR, EMBER_LIST kept)                                                      \
    EMBER_EACH(EMBER_NUMBER, EMBER_LIST made)                                                      \
    EMBER_LIST once                                                                                \
  }
#include "optim_formulas.h"

#define EMBER_QUOTED(name) #name,
#define STEP(name, state, sometimes, scalars, options, numbers, once, ...)                    \
  {{EMBER_EACH(EMBER_QUOTED, EMBER_LIST state)},                                              \
   {EMBER_EACH(EMBER_QUOTED, EMBER_LIST sometimes)},                                          \
   {EMBER_EACH(EMBER_QUOTED, EMBER_LIST scalars)},                                            \
   {EMBER_EACH(EMBER_QUOTED, EMBER_STEP_NUMBERS) EMBER_EACH(EMBER_QUOTED, EMBER_LIST options) \
        EMBER_EACH(EMBER_QUOTED, EMBER_LIST numbers)},                                        \
   #__VA_ARGS__,                                                                              \
   once_##name},
const UpdateRow rows[] = {
#include "optim_formulas.h"
};

}  // namespace

const char* name_of(Update f) {
  static constexpr const char* names[] = {
#define STEP(name, ...) #name,
#include "optim_formulas.h"
  };
  return names[int(f)];
}

const UpdateRow& row_of(Update f) { return rows[int(f)]; }

std::vector<double> step_numbers(Update f, size_t params, const TensorList& scalars,
                                 const std::vector<double>& options) {
  const UpdateRow& row = row_of(f);
  std::vector<double> numbers(params * row.numbers.size());
  std::vector<bool> counts;
  for (const char* name : row.scalars) counts.push_back(name == std::string_view("step"));
  std::vector<KeptScalar> kept;
  for (size_t i = 0; i < params; i++) {
    kept.clear();
    for (size_t k = 0; k < row.scalars.size(); k++) {
      kept.emplace_back(scalars[k * params + i]);
      if (counts[k]) kept[k] = kept[k] + 1;
    }
    row.once(options.data(), kept.data(), &numbers[i * row.numbers.size()]);
    for (size_t k = 0; k < row.scalars.size(); k++) kept[k].write(scalars[k * params + i]);
  }
  return numbers;
}

}  // namespace ember
