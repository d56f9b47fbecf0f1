// Optimizer steps over lists of tensors, an op for each row of optim_formulas.h: in one pass over
// memory where the device has that for just these tensors, else as tensor code, one parameter after
// the other, which can be differentiated.
#include <cmath>

#include "backend.h"
#include "ops/disjoint.h"
#include "ops/pointwise.h"

namespace ember {

namespace {

// --- rows as tensor code -------------------------------------------------------------------------

// What a variable of a row stands for there: a number, or a tensor.
class Value {
 public:
  Value() = default;
  Value(double number) : number_(number) {}
  Value(Tensor tensor) : tensor_(std::move(tensor)) {}
  // An option: numbers that are differentiated by stay tensors.
  explicit Value(const Operand& o) {
    if (o.is_tensor() && grad_needed(o.tensor()))
      tensor_ = o.tensor();
    else
      number_ = (o.is_tensor() ? item(o.tensor()) : o.scalar()).to<double>();
  }

  bool is_tensor() const { return bool(tensor_); }
  const Tensor& tensor() const { return tensor_; }
  double number() const { return is_tensor() ? item(tensor_).to<double>() : number_; }
  Operand operand() const { return is_tensor() ? Operand(tensor_) : Operand(number_); }
  explicit operator bool() const { return number() != 0; }

 private:
  Tensor tensor_;
  double number_ = 0;
};

#define EMBER_ONE_VALUE(name, of_number)               \
  Value name(const Value& a) {                         \
    if (a.is_tensor()) return ember::name(a.tensor()); \
    const double x = a.number();                       \
    return of_number;                                  \
  }
#define EMBER_TWO_VALUES(name, op, of_numbers)                               \
  Value name(const Value& a, const Value& b) {                               \
    if (a.is_tensor() || b.is_tensor()) return op(a.operand(), b.operand()); \
    const double x = a.number(), y = b.number();                             \
    return double(of_numbers);                                               \
  }
EMBER_ONE_VALUE(abs, std::fabs(x))
EMBER_ONE_VALUE(sign, double((x > 0) - (x < 0)))
EMBER_ONE_VALUE(sqrt, std::sqrt(x))
EMBER_TWO_VALUES(operator+, add, x + y)
EMBER_TWO_VALUES(operator-, sub, x - y)
EMBER_TWO_VALUES(operator*, mul, x* y)
EMBER_TWO_VALUES(operator/, div, x / y)
EMBER_TWO_VALUES(operator<, lt, x < y)
EMBER_TWO_VALUES(operator>, gt, x > y)
EMBER_TWO_VALUES(operator==, eq, x == y)
EMBER_TWO_VALUES(operator!=, ne, x != y)
EMBER_TWO_VALUES(pow, ember::pow, std::pow(x, y))
EMBER_TWO_VALUES(fmax, ember::fmax, std::fmax(x, y))
EMBER_TWO_VALUES(maximum, ember::maximum, std::fmax(x, y))
EMBER_TWO_VALUES(minimum, ember::minimum, std::fmin(x, y))
Value& operator+=(Value& a, const Value& b) { return a = a + b; }
Value& operator-=(Value& a, const Value& b) { return a = a - b; }
Value& operator*=(Value& a, const Value& b) { return a = a * b; }
Value where(const Value& condition, const Value& a, const Value& b) {
  if (!condition.is_tensor()) return condition ? a : b;
  return ember::where(condition.operand(), a.operand(), b.operand());
}
Value detach(const Value& a) { return a.is_tensor() ? Value(ember::detach(a.tensor())) : a; }
Value lerp(const Value& a, const Value& b, const Value& weight) {
  return ember::lerp(a.operand(), b.operand(), weight.operand());
}

// What rules may keep of a tensor that the step is about to change.
Tensor unchanged(const Tensor& t) { return grad_enabled() ? clone(t) : t; }

// A scalar that is kept: what its dtype can hold of a number.
class KeptValue : public Value {
 public:
  explicit KeptValue(const Tensor& t) : Value(Operand(unchanged(t))), dtype_(t.dtype()) {}
  void operator=(const Value& v) {
    Value::operator=(v.is_tensor() ? v : Value(pointwise::rounded(v.number(), dtype_).real()));
  }

 private:
  Dtype dtype_;
};

// A step for one parameter: `values` are p, g, and the lists of state; those that are missing are
// numbers.
using Rule = void (*)(const Value* options, KeptValue* scalars, Value* values);

#define EMBER_OPTION(name) [[maybe_unused]] const Value& name = *options++;
#define EMBER_VARIABLE(name) [[maybe_unused]] Value& name = *values++;
#define EMBER_FLAG(name) [[maybe_unused]] const bool has_##name = name.is_tensor();
#define EMBER_SCALAR(name) [[maybe_unused]] KeptValue& name = *scalars++;
#define EMBER_NUMBER(name) [[maybe_unused]] Value name;
#define STEP(name, state, sometimes, kept, own, numbers, once, ...)                               \
  void rule_of_##name(const Value* options, [[maybe_unused]] KeptValue* scalars, Value* values) { \
    using T [[maybe_unused]] = Value;                                                             \
    using Number = Value;                                                                         \
    EMBER_EACH(EMBER_OPTION, EMBER_STEP_OPTIONS)                                                  \
    EMBER_EACH(EMBER_OPTION, EMBER_LIST own)                                                      \
    EMBER_EACH(EMBER_SCALAR, EMBER_LIST kept)                                                     \
    EMBER_EACH(EMBER_NUMBER, EMBER_LIST numbers)                                                  \
    EMBER_STEP_ONCE                                                                               \
    EMBER_LIST once EMBER_EACH(EMBER_VARIABLE, p, g) EMBER_EACH(EMBER_VARIABLE, EMBER_LIST state) \
        EMBER_EACH(EMBER_VARIABLE, EMBER_LIST sometimes)                                          \
            EMBER_EACH(EMBER_FLAG, EMBER_LIST sometimes) g *= sign_of_g;                          \
    if (added != 0) g += added * p;                                                               \
    p *= left;                                                                                    \
    __VA_ARGS__                                                                                   \
  }
#include "optim_formulas.h"

constexpr Rule rules[] = {
#define STEP(name, ...) rule_of_##name,
#include "optim_formulas.h"
};

void write(const Tensor& to, const Value& value) {
  if (value.is_tensor())
    copy_(to, value.tensor());
  else
    fill_(to, value.number());
}

void step_by_ops(Update f, const TensorList& params, const TensorList& grads,
                 const TensorList& state, const TensorList& scalars,
                 const std::vector<Value>& options) {
  const UpdateRow& row = row_of(f);
  const size_t count = params.size();
  for (size_t i = 0; i < count; i++) {
    std::vector<Value> values{unchanged(params[i]), grads[i]};
    std::vector<KeptValue> kept;
    for (size_t k = i; k < state.size(); k += count)
      values.push_back(state[k] ? Value(unchanged(state[k])) : Value());
    for (size_t k = i; k < scalars.size(); k += count) {
      const bool counts = row.scalars[kept.size()] == std::string_view("step");
      if (counts) add(scalars[k], Scalar(1), {&scalars[k], true});
      kept.emplace_back(scalars[k]);
    }
    rules[int(f)](options.data(), kept.data(), values.data());
    write(params[i], values[0]);
    for (size_t k = i, v = 2; k < state.size(); k += count, v++)
      if (state[k]) write(state[k], values[v]);
    for (size_t k = i, v = 0; k < scalars.size(); k += count, v++) write(scalars[k], kept[v]);
  }
}

// --- the ops -------------------------------------------------------------------------------------

using Lists = std::initializer_list<const TensorList*>;

void append(TensorList& to, const TensorList& list, size_t count) {
  for (size_t i = 0; i < count; i++) to.push_back(list.empty() ? Tensor() : list[i]);
}

void check_sizes(const char* op, const char* name, const TensorList& list, size_t count) {
  check(list.size() == count, Kind::Runtime, op, "(): expected ", count, " tensors in ", name,
        ", one for each parameter, got ", list.size());
}

bool fuses(const TensorList& params, const TensorList& grads, const TensorList& state) {
  if (grad_enabled() || params.empty() || !backend_of(params[0]).has(Primitive::update))
    return false;
  for (size_t i = 0; i < params.size(); i++) {
    const Tensor& p = params[i];
    auto agrees = [&](const Tensor& t) {
      return t.device() == params[0].device() && t.dtype() == p.dtype() && t.shape() == p.shape() &&
             t.is_contiguous();
    };
    if (!is_floating(p.dtype()) || !agrees(p) || !agrees(grads[i])) return false;
    for (size_t k = i; k < state.size(); k += params.size())
      if (state[k] && !agrees(state[k])) return false;
  }
  return disjoint(params, grads);
}

bool make_step(Update f, const char* op, const TensorList& params, const TensorList& grads,
               Lists lists, Lists scalar_lists, const std::vector<Value>& options) {
  const UpdateRow& row = row_of(f);
  const size_t count = params.size();
  TensorList state, scalars;
  state.reserve(row.lists() * count);
  scalars.reserve(row.scalars.size() * count);
  check_sizes(op, "grads", grads, count);
  for (size_t k = 0; const TensorList* list : lists) {
    const bool always = k < row.state.size();
    const char* name = always ? row.state[k] : row.sometimes[k - row.state.size()];
    if (always || !list->empty()) check_sizes(op, name, *list, count);
    append(state, *list, count);
    k++;
  }
  for (size_t k = 0; const TensorList* list : scalar_lists) {
    check_sizes(op, row.scalars[k], *list, count);
    for (const Tensor& t : *list)
      check(t.numel() == 1, Kind::Runtime, op, "(): expected tensors of one element in ",
            row.scalars[k], ", got one of shape ", t.shape());
    append(scalars, *list, count);
    k++;
  }
  if (!fuses(params, grads, state)) {
    step_by_ops(f, params, grads, state, scalars, options);
    return false;
  }
  for (const TensorList* changed : Lists{&params, &state, &scalars})
    for (const Tensor& t : *changed)
      if (t) check_in_place(op, t), bump_version(t);
  std::vector<double> numbers;
  for (const Value& option : options) numbers.push_back(option.number());
  backend_of(params[0]).update(f, params, grads, state, scalars, numbers);
  return true;
}

#define EMBER_LIST_TEXT(name) ", Tensor[] " #name
#define EMBER_OPTION_TEXT(name) ", Number " #name "=0"
#define EMBER_LIST_PARAMETER(name) , const TensorList& name
#define EMBER_OPTION_PARAMETER(name) , const Operand& name
#define EMBER_ADDRESS(name) &name,
#define EMBER_ITEM(name) Value(name),
#define STEP(name, state, sometimes, scalars, options, ...)                                       \
  bool fused_##name(const TensorList& self,                                                       \
                    const TensorList& grads EMBER_EACH(EMBER_LIST_PARAMETER, EMBER_LIST state)    \
                        EMBER_EACH(EMBER_LIST_PARAMETER, EMBER_LIST sometimes)                    \
                            EMBER_EACH(EMBER_LIST_PARAMETER, EMBER_LIST scalars)                  \
                                EMBER_EACH(EMBER_OPTION_PARAMETER, EMBER_STEP_OPTIONS)            \
                                    EMBER_EACH(EMBER_OPTION_PARAMETER, EMBER_LIST options)) {     \
    return make_step(                                                                             \
        Update::name, "_fused_" #name "_", self, grads,                                           \
        {EMBER_EACH(EMBER_ADDRESS, EMBER_LIST state)                                              \
             EMBER_EACH(EMBER_ADDRESS, EMBER_LIST sometimes)},                                    \
        {EMBER_EACH(EMBER_ADDRESS, EMBER_LIST scalars)},                                          \
        {EMBER_EACH(EMBER_ITEM, EMBER_STEP_OPTIONS) EMBER_EACH(EMBER_ITEM, EMBER_LIST options)}); \
  }                                                                                               \
  EMBER_OP("_fused_" #name                                                                        \
           "_(Tensor[] self, Tensor[] grads" EMBER_EACH(EMBER_LIST_TEXT, EMBER_LIST state)        \
               EMBER_EACH(EMBER_LIST_TEXT, EMBER_LIST sometimes)                                  \
                   EMBER_EACH(EMBER_LIST_TEXT, EMBER_LIST scalars) ", *" EMBER_EACH(              \
                       EMBER_OPTION_TEXT, EMBER_STEP_OPTIONS)                                     \
                       EMBER_EACH(EMBER_OPTION_TEXT, EMBER_LIST options) ") -> bool",             \
           &fused_##name, Function | Whole,                                                       \
           "A step of " #name " for all parameters. Whether one pass over memory made it.");
#include "optim_formulas.h"

}  // namespace

}  // namespace ember
