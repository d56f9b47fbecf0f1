// +, -, @, ==, bool(x), float(x) ...: the number slots, straight to the C++ ops.
#include "ops/ops.h"
#include "python/op_span.h"

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

template <BinaryOp op, const char* name>
PyObject* binary_slot(PyObject* a, PyObject* b) {
  if (!is_operand(a) || !is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
  return as_op(name, a, b, [&] { return wrap(op(Side(a), Side(b), {})); });
}

template <BinaryOp op, const char* name>
PyObject* inplace_slot(PyObject* a, PyObject* b) {
  if (!is_tensor(a) || !is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
  return as_op(name, a, b, [&]() -> PyObject* {
    const Tensor& self = tensor_of(a);
    check_in_place(name, self);
    op(Operand(self), Side(b), {&self, true});
    return Py_NewRef(a);
  });
}

constexpr char kAdd[] = "add", kSub[] = "sub", kMul[] = "mul", kDiv[] = "div",
               kFloor[] = "floor_divide", kRem[] = "remainder", kAnd[] = "bitwise_and",
               kOr[] = "bitwise_or", kXor[] = "bitwise_xor", kLeft[] = "bitwise_left_shift",
               kRight[] = "bitwise_right_shift", kPow[] = "pow", kNeg[] = "neg", kAbs[] = "abs",
               kNot[] = "bitwise_not";
constexpr char kAdd_[] = "add_", kSub_[] = "sub_", kMul_[] = "mul_", kDiv_[] = "div_",
               kFloor_[] = "floor_divide_", kRem_[] = "remainder_", kAnd_[] = "bitwise_and_",
               kOr_[] = "bitwise_or_", kXor_[] = "bitwise_xor_", kLeft_[] = "bitwise_left_shift_",
               kRight_[] = "bitwise_right_shift_", kPow_[] = "pow_";

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) {
    PyErr_SetString(PyExc_TypeError, "pow() with a modulus is not supported for tensors");
    return nullptr;
  }
  return binary_slot<&ember::pow, kPow>(a, b);
}
PyObject* inplace_power(PyObject* a, PyObject* b, PyObject*) {
  return inplace_slot<&ember::pow, kPow_>(a, b);
}

template <Tensor (*op)(const Tensor&, Dest), const char* name>
PyObject* unary_slot(PyObject* a) {
  return as_op(name, a, nullptr, [&] { return wrap(op(tensor_of(a), {})); });
}
PyObject* positive(PyObject* a) { return Py_NewRef(a); }

PyObject* matrix_multiply(PyObject* a, PyObject* b) {
  if (!is_tensor(a) || !is_tensor(b)) Py_RETURN_NOTIMPLEMENTED;
  return as_op("matmul", a, b, [&] { return wrap(matmul(tensor_of(a), tensor_of(b))); });
}

int truth(PyObject* a) {
  return guarded(-1, [&]() -> int {
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
  return guarded([&]() -> PyObject* {
    Scalar s = single(a);
    if (s.is_float()) return PyLong_FromDouble(s.to<double>());
    if (tensor_of(a).dtype() == Dtype::UInt64) return wrap_item(tensor_of(a));
    check(!s.is_complex() || s.to<complex128>().imag() == 0, Kind::Runtime,
          "value cannot be converted to type int64_t without overflow");
    return PyLong_FromLongLong(s.to<int64_t>());
  });
}
PyObject* to_float(PyObject* a) {
  return guarded([&]() -> PyObject* {
    Scalar s = single(a);
    check(!s.is_complex() || s.to<complex128>().imag() == 0, Kind::Runtime,
          "value cannot be converted to type double without overflow");
    return PyFloat_FromDouble(s.to<double>());
  });
}
PyObject* to_index(PyObject* a) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(a);
    check(t.numel() == 1 && is_integral(t.dtype(), true), Kind::Type,
          "only integer tensors of a single element can be converted to an index");
    return is_integral(t.dtype()) ? wrap_item(t) : PyLong_FromLong(item(t).to<bool>());
  });
}

}  // namespace

PyNumberMethods number_methods = [] {
  PyNumberMethods n{};
  n.nb_add = binary_slot<&ember::add, kAdd>;
  n.nb_subtract = binary_slot<&ember::sub, kSub>;
  n.nb_multiply = binary_slot<&ember::mul, kMul>;
  n.nb_true_divide = binary_slot<&ember::div, kDiv>;
  n.nb_floor_divide = binary_slot<&ember::floor_divide, kFloor>;
  n.nb_remainder = binary_slot<&ember::remainder, kRem>;
  n.nb_power = power;
  n.nb_matrix_multiply = matrix_multiply;
  n.nb_negative = unary_slot<&ember::neg, kNeg>;
  n.nb_positive = positive;
  n.nb_absolute = unary_slot<&ember::abs, kAbs>;
  n.nb_invert = unary_slot<&ember::bitwise_not, kNot>;
  n.nb_and = binary_slot<&ember::bitwise_and, kAnd>;
  n.nb_or = binary_slot<&ember::bitwise_or, kOr>;
  n.nb_xor = binary_slot<&ember::bitwise_xor, kXor>;
  n.nb_lshift = binary_slot<&ember::bitwise_left_shift, kLeft>;
  n.nb_rshift = binary_slot<&ember::bitwise_right_shift, kRight>;
  n.nb_bool = truth;
  n.nb_int = to_int;
  n.nb_float = to_float;
  n.nb_index = to_index;
  n.nb_inplace_add = inplace_slot<&ember::add, kAdd_>;
  n.nb_inplace_subtract = inplace_slot<&ember::sub, kSub_>;
  n.nb_inplace_multiply = inplace_slot<&ember::mul, kMul_>;
  n.nb_inplace_true_divide = inplace_slot<&ember::div, kDiv_>;
  n.nb_inplace_floor_divide = inplace_slot<&ember::floor_divide, kFloor_>;
  n.nb_inplace_remainder = inplace_slot<&ember::remainder, kRem_>;
  n.nb_inplace_power = inplace_power;
  n.nb_inplace_and = inplace_slot<&ember::bitwise_and, kAnd_>;
  n.nb_inplace_or = inplace_slot<&ember::bitwise_or, kOr_>;
  n.nb_inplace_xor = inplace_slot<&ember::bitwise_xor, kXor_>;
  n.nb_inplace_lshift = inplace_slot<&ember::bitwise_left_shift, kLeft_>;
  n.nb_inplace_rshift = inplace_slot<&ember::bitwise_right_shift, kRight_>;
  return n;
}();

PyObject* tensor_compare(PyObject* a, PyObject* b, int op) {
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
