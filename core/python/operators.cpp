// +, -, @, ==, bool(x), float(x) ...: the number slots, straight to the C++ ops.
#include "ops/overlap.h"
#include "python/op_span.h"
#include "python/overrides.h"
#include "python/python.h"

namespace ember::python {

namespace {

bool is_operand(PyObject* o) { return is_tensor(o) || is_number(o) || is_array(o); }

// One side of an operator; an array is held as a tensor over its memory.
class Side {
 public:
  explicit Side(PyObject* o) : operand_(is_tensor(o) ? Operand(tensor_of(o)) : other(o)) {}
  operator const Operand&() const { return operand_; }

 private:
  Operand other(PyObject* o) {
    if (!is_array(o)) return Operand(scalar_of(o));
    array_ = tensor_over_array(o);
    return Operand(array_);
  }
  Tensor array_;  // before operand_, which may refer to it
  Operand operand_;
};

using BinaryOp = Tensor (*)(const Operand&, const Operand&, Dest);

// Runs `body` as the op `name`, for the profiler.
template <class F>
PyObject* as_op(const char* name, PyObject* a, PyObject* b, F&& body) {
  return guarded([&]() -> PyObject* {
    profile::Span span;
    PyObject* args[] = {a, b};
    if (profile::on()) begin_op(span, name, args, b ? 2 : 1);
    return body();
  });
}

inline bool either_overrides(PyObject* a, PyObject* b) {
  return overrides(a) || overrides(b) || modes_active();
}
// `swapped` is the method for a number, or another stranger, on the left.
[[gnu::cold, gnu::noinline]] PyObject* operator_override(const char* name, const char* swapped,
                                                         PyObject* a, PyObject* b) {
  return guarded([&] {
    bool stranger = !is_tensor(a) && is_tensor(b);
    return stranger ? method_override(swapped, {b, a}, true) : method_override(name, {a, b}, true);
  });
}

template <BinaryOp op>
struct The {};

template <BinaryOp op, const char* name, const char* swapped>
PyObject* binary_slot(PyObject* a, PyObject* b) {
  if (__builtin_expect(either_overrides(a, b), 0)) return operator_override(name, swapped, a, b);
  if (!is_operand(a) || !is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
  // A number comes second: Note [Exact operands]. (Sanitizers have no constant op == &mul.)
  if constexpr (std::is_same_v<The<op>, The<&ember::mul>>)
    if (!is_tensor(a)) std::swap(a, b);
  return as_op(name, a, b, [&] { return wrap(op(Side(a), Side(b), {})); });
}

template <BinaryOp op, const char* name>
PyObject* inplace_slot(PyObject* a, PyObject* b) {
  if (__builtin_expect(either_overrides(a, b), 0)) return operator_override(name, name, a, b);
  if (!is_tensor(a) || !is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
  return as_op(name, a, b, [&]() -> PyObject* {
    const Tensor& self = tensor_of(a);
    check_in_place(name, self);
    const Side other(b);
    const Operand& y = other;
    if (__builtin_expect(y.is_tensor() && share_storage(self, y.tensor()), 0))
      op(Operand(self), beside(name, self, y.tensor(), Sharing::Aligned), {&self, true});
    else
      op(Operand(self), y, {&self, true});
    return Py_NewRef(a);
  });
}

// What an operator is called by __torch_function__: itself, with the operands swapped, in place.
#define NAMES(id, name, swapped, changing) \
  constexpr char k##id[] = name, kSwapped##id[] = swapped, kChange##id[] = changing;
NAMES(Add, "add", "add", "add_")
NAMES(Sub, "sub", "__rsub__", "sub_")
NAMES(Mul, "mul", "mul", "mul_")
NAMES(Div, "div", "__rtruediv__", "div_")
NAMES(Floor, "__floordiv__", "__rfloordiv__", "floor_divide_")
NAMES(Rem, "remainder", "__rmod__", "remainder_")
NAMES(And, "bitwise_and", "bitwise_and", "bitwise_and_")
NAMES(Or, "bitwise_or", "bitwise_or", "bitwise_or_")
NAMES(Xor, "bitwise_xor", "bitwise_xor", "bitwise_xor_")
NAMES(Left, "__lshift__", "__rlshift__", "bitwise_left_shift_")
NAMES(Right, "__rshift__", "__rrshift__", "bitwise_right_shift_")
NAMES(Pow, "pow", "__rpow__", "pow_")
#undef NAMES
constexpr char kNeg[] = "neg", kAbs[] = "abs", kNot[] = "bitwise_not";

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) {
    PyErr_SetString(PyExc_TypeError, "pow() with a modulus is not supported for tensors");
    return nullptr;
  }
  return binary_slot<&ember::pow, kPow, kSwappedPow>(a, b);
}
PyObject* inplace_power(PyObject* a, PyObject* b, PyObject*) {
  return inplace_slot<&ember::pow, kChangePow>(a, b);
}

template <Tensor (*op)(const Tensor&, Dest), const char* name>
PyObject* unary_slot(PyObject* a) {
  if (__builtin_expect(self_overrides(a), 0))
    return guarded([&] { return method_override(name, {a}); });
  return as_op(name, a, nullptr, [&] { return wrap(op(tensor_of(a), {})); });
}
PyObject* positive(PyObject* a) { return Py_NewRef(a); }
PyObject* invert(PyObject* a) {
  if (!self_overrides(a) && is_differentiable(tensor_of(a).dtype())) {
    PyErr_SetString(PyExc_TypeError,
                    "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
    return nullptr;
  }
  return unary_slot<&ember::bitwise_not, kNot>(a);
}
// bool(x), int(x) and the like, of a tensor that takes over calls.
template <class F>
PyObject* converted(PyObject* a, const char* name, F&& f) {
  return guarded([&]() -> PyObject* {
    return __builtin_expect(self_overrides(a), 0) ? method_override(name, {a}) : f();
  });
}

PyObject* matrix_multiply(PyObject* a, PyObject* b) {
  if (__builtin_expect(either_overrides(a, b), 0))
    return operator_override("matmul", "__rmatmul__", a, b);
  if (!is_tensor(a) || !is_tensor(b)) Py_RETURN_NOTIMPLEMENTED;
  return as_op("matmul", a, b, [&] { return wrap(matmul(tensor_of(a), tensor_of(b))); });
}

int truth(PyObject* a) {
  return guarded(-1, [&]() -> int {
    if (__builtin_expect(self_overrides(a), 0))
      return checked(PyObject_IsTrue(checked(method_override("__bool__", {a})).get()));
    const Tensor& t = tensor_of(a);
    check(t.numel() != 0, Kind::Runtime, "Boolean value of Tensor with no values is ambiguous");
    check(t.numel() == 1, Kind::Runtime,
          "Boolean value of Tensor with more than one value is ambiguous");
    return item(t).to<bool>();
  });
}
Scalar single(PyObject* a) {
  check(tensor_of(a).numel() == 1, Kind::Value,
        "only one element tensors can be converted to Python scalars, this one has ",
        tensor_of(a).numel());
  return item(tensor_of(a));
}
PyObject* to_int(PyObject* a) {
  return converted(a, "__int__", [&]() -> PyObject* {
    Scalar s = single(a);
    if (s.is_float()) return PyLong_FromDouble(s.to<double>());
    if (tensor_of(a).dtype() == Dtype::UInt64) return wrap_item(tensor_of(a));
    check(!s.is_complex() || s.to<complex128>().imag() == 0, Kind::Runtime,
          "value cannot be converted to type int64_t without overflow");
    return PyLong_FromLongLong(s.to<int64_t>());
  });
}
PyObject* to_float(PyObject* a) {
  return converted(a, "__float__", [&]() -> PyObject* {
    Scalar s = single(a);
    warn_of_lost_gradient(tensor_of(a));
    check(!s.is_complex() || s.to<complex128>().imag() == 0, Kind::Runtime,
          "value cannot be converted to type double without overflow");
    return PyFloat_FromDouble(s.to<double>());
  });
}
PyObject* to_index(PyObject* a) {
  return converted(a, "__index__", [&]() -> PyObject* {
    const Tensor& t = tensor_of(a);
    check(t.numel() == 1 && is_integral(t.dtype(), true), Kind::Type,
          "only integer tensors of a single element can be converted to an index");
    return is_integral(t.dtype()) ? wrap_item(t) : PyLong_FromLong(item(t).to<bool>());
  });
}

}  // namespace

void warn_of_lost_gradient(const Tensor& t) {
  if (!grad_enabled() || !t.requires_grad()) return;
  checked(PyObject_CallFunction(
      imported("ember._runtime", "warn_once"), "si",
      "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
      "Consider using tensor.detach() first.",
      2));
}

PyNumberMethods number_methods = [] {
  PyNumberMethods n{};
  n.nb_add = binary_slot<&ember::add, kAdd, kSwappedAdd>;
  n.nb_subtract = binary_slot<&ember::sub, kSub, kSwappedSub>;
  n.nb_multiply = binary_slot<&ember::mul, kMul, kSwappedMul>;
  n.nb_true_divide = binary_slot<&ember::div, kDiv, kSwappedDiv>;
  n.nb_floor_divide = binary_slot<&ember::floor_divide, kFloor, kSwappedFloor>;
  n.nb_remainder = binary_slot<&ember::remainder, kRem, kSwappedRem>;
  n.nb_power = power;
  n.nb_matrix_multiply = matrix_multiply;
  n.nb_negative = unary_slot<&ember::neg, kNeg>;
  n.nb_positive = positive;
  n.nb_absolute = unary_slot<&ember::abs, kAbs>;
  n.nb_invert = invert;
  n.nb_and = binary_slot<&ember::bitwise_and, kAnd, kSwappedAnd>;
  n.nb_or = binary_slot<&ember::bitwise_or, kOr, kSwappedOr>;
  n.nb_xor = binary_slot<&ember::bitwise_xor, kXor, kSwappedXor>;
  n.nb_lshift = binary_slot<&ember::bitwise_left_shift, kLeft, kSwappedLeft>;
  n.nb_rshift = binary_slot<&ember::bitwise_right_shift, kRight, kSwappedRight>;
  n.nb_bool = truth;
  n.nb_int = to_int;
  n.nb_float = to_float;
  n.nb_index = to_index;
  n.nb_inplace_add = inplace_slot<&ember::add, kChangeAdd>;
  n.nb_inplace_subtract = inplace_slot<&ember::sub, kChangeSub>;
  n.nb_inplace_multiply = inplace_slot<&ember::mul, kChangeMul>;
  n.nb_inplace_true_divide = inplace_slot<&ember::div, kChangeDiv>;
  n.nb_inplace_floor_divide = inplace_slot<&ember::floor_divide, kChangeFloor>;
  n.nb_inplace_remainder = inplace_slot<&ember::remainder, kChangeRem>;
  n.nb_inplace_power = inplace_power;
  n.nb_inplace_and = inplace_slot<&ember::bitwise_and, kChangeAnd>;
  n.nb_inplace_or = inplace_slot<&ember::bitwise_or, kChangeOr>;
  n.nb_inplace_xor = inplace_slot<&ember::bitwise_xor, kChangeXor>;
  n.nb_inplace_lshift = inplace_slot<&ember::bitwise_left_shift, kChangeLeft>;
  n.nb_inplace_rshift = inplace_slot<&ember::bitwise_right_shift, kChangeRight>;
  return n;
}();

PyObject* tensor_compare(PyObject* a, PyObject* b, int op) {
  if (__builtin_expect(either_overrides(a, b), 0)) {
    static const char* const names[] = {"lt", "le", "__eq__", "__ne__", "gt", "ge"};
    return guarded([&] { return method_override(names[op], {a, b}, true); });
  }
  if (!is_operand(b)) {
    // Anything that is not a number is simply not equal, so that `x == None` and `x in list` work.
    Py_RETURN_NOTIMPLEMENTED;
  }
  static const BinaryOp ops[] = {&ember::lt, &ember::le, &ember::eq,
                                 &ember::ne, &ember::gt, &ember::ge};
  static const char* const names[] = {"lt", "le", "eq", "ne", "gt", "ge"};
  return as_op(names[op], a, b, [&] { return wrap(ops[op](Side(a), Side(b), {})); });
}

}  // namespace ember::python
