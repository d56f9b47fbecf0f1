// Tensors from Python data: numbers, nested sequences, arrays. Shape and dtype are found first,
// then every element is written where it belongs.
#include "ops/ops.h"
#include "python/python.h"

namespace ember::python {

namespace {

bool is_text(PyObject* o) { return PyUnicode_Check(o) || PyBytes_Check(o); }

// Neither a list nor a number, but knows how to become an array (pandas, PIL ...).
bool is_array_like(PyObject* o) {
  if (PyList_CheckExact(o) || PyTuple_CheckExact(o) || PyFloat_CheckExact(o) ||
      PyLong_CheckExact(o) || is_text(o) || is_number(o) || is_tensor(o) || PyType_Check(o))
    return false;
  return is_array(o) || PyObject_HasAttrString(o, "__array__") ||
         PyObject_HasAttrString(o, "__array_interface__");
}

Tensor over_array_like(PyObject* o, bool stays = false) {
  if (is_array(o)) return tensor_over_array(o, stays);
  return tensor_over_array(as_array(o).get(), stays);
}

bool is_sequence(PyObject* o) { return PyList_Check(o) || PyTuple_Check(o) || PySequence_Check(o); }

// --- shape ---------------------------------------------------------------------------------------

// The sizes along the first element of each level, as torch takes them.
Shape shape_of_data(PyObject* data) {
  Shape shape;
  Object at = Object::borrow(data);
  while (true) {
    PyObject* o = at.get();
    if (is_tensor(o)) break;  // only single elements are allowed; writing them checks that
    if (is_array_like(o)) {
      Tensor part = over_array_like(o);
      for (int64_t n : part.shape()) shape.push_back(n);
      break;
    }
    if (!is_sequence(o)) break;
    Py_ssize_t n = PySequence_Length(o);
    if (n < 0) throw PythonError{};
    shape.push_back(n);
    check(shape.size() <= kMaxDims, Kind::Value, "too many dimensions '", Py_TYPE(o)->tp_name, "'");
    if (n == 0) break;
    Object first = Object::steal(PySequence_GetItem(o, 0));
    if (!first) {
      if (!PyErr_ExceptionMatches(PyExc_Exception)) throw PythonError{};  // an interrupt
      PyErr_Clear();
      fail(Kind::Value, "could not determine the shape of object type '", Py_TYPE(o)->tp_name, "'");
    }
    at = std::move(first);
  }
  check(shape.size() <= kMaxDims, Kind::Value, "too many dimensions: ", shape.size());
  return shape;
}

// --- dtype ---------------------------------------------------------------------------------------

Dtype dtype_of_data(PyObject* o, int depth = 0);

// What the common kinds of element in a list add up to, without looking at each twice.
Dtype dtype_of_list(PyObject* list, int depth) {
  check(depth <= kMaxDims, Kind::Value, "too many dimensions '", Py_TYPE(list)->tp_name, "'");
  Py_ssize_t n = PySequence_Fast_GET_SIZE(list);
  PyObject** items = PySequence_Fast_ITEMS(list);
  bool any_float = false, any_int = false, any_bool = false;
  std::optional<Dtype> others;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* o = items[i];
    if (PyFloat_CheckExact(o))
      any_float = true;
    else if (PyLong_CheckExact(o))
      any_int = true;
    else if (PyBool_Check(o))
      any_bool = true;
    else {
      Object keep = Object::borrow(o);
      check(o != list, Kind::Type, "new(): self-referential lists are incompatible");
      Dtype d = dtype_of_data(o, depth + 1);
      others = others ? promote(*others, d) : d;
      if (PySequence_Fast_GET_SIZE(list) != n)
        fail(Kind::Runtime, "tensor(): the list changed while it was read");
      items = PySequence_Fast_ITEMS(list);
    }
  }
  auto join = [&](Dtype d) { others = others ? promote(*others, d) : d; };
  if (any_float) join(default_dtype());
  if (any_int) join(Dtype::Int64);
  if (any_bool) join(Dtype::Bool);
  return others.value_or(default_dtype());
}

Dtype dtype_of_data(PyObject* o, int depth) {
  if (PyFloat_CheckExact(o)) return default_dtype();
  if (PyLong_CheckExact(o)) return Dtype::Int64;
  if (PyBool_Check(o)) return Dtype::Bool;
  if (is_tensor(o)) return tensor_of(o).dtype();
  if (is_array_like(o)) return over_array_like(o).dtype();
  if (is_number(o)) {
    if (std::optional<Dtype> d = dtype_of_buffer(o, nullptr)) return *d;  // NumPy's own scalars
    if (PyFloat_Check(o)) return default_dtype();
    if (PyLong_Check(o)) return Dtype::Int64;
    if (PyComplex_Check(o)) return complex_of(default_dtype());
  }
  check(!is_text(o), Kind::Type, "new(): invalid data type '", Py_TYPE(o)->tp_name, "'");
  check(is_sequence(o), Kind::Runtime, "Could not infer dtype of ", Py_TYPE(o)->tp_name);
  Object list = checked(PySequence_Fast(o, "not a sequence"));
  return dtype_of_list(list.get(), depth);
}

// --- elements ------------------------------------------------------------------------------------

template <class T>
void write_integer(PyObject* o, T* to) {
  if (PyFloat_Check(o)) {
    double v = PyFloat_AS_DOUBLE(o);
    check(v >= double(std::numeric_limits<T>::min()) && v <= double(std::numeric_limits<T>::max()),
          Kind::Runtime, "value cannot be converted to type ", name_of(dtype_of<T>),
          " without overflow");
    *to = T(v);
    return;
  }
  Object index = PyLong_Check(o) ? Object::borrow(o) : checked(PyNumber_Index(o));
  if constexpr (std::is_same_v<T, uint64_t>) {
    unsigned long long v = PyLong_AsUnsignedLongLong(index.get());
    if (v == ~0ull && PyErr_Occurred()) throw PythonError{};
    *to = v;
  } else {
    int overflow;
    long long v = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
    check(!overflow, Kind::Value, "Overflow when unpacking long long");
    if (v == -1 && PyErr_Occurred()) throw PythonError{};
    // Negative numbers wrap round in unsigned types, as in torch.
    bool fits = v <= (long long)(std::numeric_limits<T>::max()) &&
                v >= (std::is_unsigned_v<T> ? -(long long)(std::numeric_limits<T>::max())
                                            : (long long)(std::numeric_limits<T>::min()));
    check(fits, Kind::Runtime, "value cannot be converted to type ", name_of(dtype_of<T>),
          " without overflow");
    *to = T(v);
  }
}

template <class T>
void write(PyObject* o, T* to) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    if (PyFloat_CheckExact(o)) {
      *to = T(PyFloat_AS_DOUBLE(o));
      return;
    }
  } else if constexpr (std::is_same_v<T, int64_t>) {
    if (PyLong_CheckExact(o)) {
      int overflow;
      *to = PyLong_AsLongLongAndOverflow(o, &overflow);
      check(!overflow, Kind::Value, "Overflow when unpacking long long");
      return;
    }
  }
  if (!PyFloat_CheckExact(o) && !PyLong_CheckExact(o)) {
    if (is_tensor(o)) {
      check(tensor_of(o).numel() == 1, Kind::Value,
            "only one element tensors can be converted to Python scalars");
      Object number = checked(wrap_item(tensor_of(o)));
      return write(number.get(), to);
    }
    if (is_array_like(o)) {
      Tensor part = over_array_like(o);
      check(part.numel() == 1, Kind::Type,
            "only length-1 arrays can be converted to Python scalars");
      Object number = checked(wrap_item(part));
      return write(number.get(), to);
    }
  }
  if constexpr (std::is_same_v<T, bool>) {
    *to = checked(PyObject_IsTrue(o));
  } else if constexpr (is_complex_type<T>) {
    Py_complex c = PyComplex_AsCComplex(o);
    if (c.real == -1 && PyErr_Occurred()) throw PythonError{};
    *to = convert<T>(complex128(c.real, c.imag));
  } else if constexpr (std::is_integral_v<T>) {
    write_integer(o, to);
  } else {
    double v = PyFloat_AsDouble(o);
    if (v == -1 && PyErr_Occurred()) throw PythonError{};
    *to = T(v);
  }
}

template <class T>
void write_nested(const Shape& shape, int dim, PyObject* o, T*& at) {
  if (dim == shape.size()) return write(o, at++);
  if (is_array_like(o)) {  // a block of the result at once
    Tensor part = over_array_like(o);
    for (int i = 0; i < shape.size() - dim; i++) {
      check(i < part.dim(), Kind::Type, "not a sequence");
      check(part.shape()[i] == shape[dim + i], Kind::Value, "expected sequence of length ",
            shape[dim + i], " at dim ", dim + i, " (got ", part.shape()[i], ")");
    }
    check(part.dim() == shape.size() - dim, Kind::Value, "expected a number at dim ", shape.size());
    Tensor dense = contiguous(to(part, dtype_of<T>));
    std::memcpy(at, dense.data(), size_t(dense.numel()) * sizeof(T));
    at += dense.numel();
    return;
  }
  check(is_sequence(o), Kind::Type, "not a sequence");
  Object list = checked(PySequence_Fast(o, "not a sequence"));
  Py_ssize_t n = PySequence_Fast_GET_SIZE(list.get());
  check(n == shape[dim], Kind::Value, "expected sequence of length ", shape[dim], " at dim ", dim,
        " (got ", n, ")");
  for (Py_ssize_t i = 0; i < n; i++) {
    // Reading an element may run Python code, which may change the list.
    if (PySequence_Fast_GET_SIZE(list.get()) != n)
      fail(Kind::Runtime, "tensor(): the list changed while it was read");
    Object item = Object::borrow(PySequence_Fast_GET_ITEM(list.get(), i));
    write_nested(shape, dim + 1, item.get(), at);
  }
}

// An array of another library, which would otherwise be read element by element.
bool speaks_dlpack(PyObject* o) {
  return !PyList_CheckExact(o) && !PyTuple_CheckExact(o) && !is_number(o) &&
         PyObject_HasAttrString(o, "__dlpack__");
}

}  // namespace

Tensor tensor_from_data(PyObject* data, std::optional<Dtype> dtype, std::optional<Device> device) {
  Device d = device.value_or(default_device());
  check(!is_text(data), Kind::Type, "new(): invalid data type '", Py_TYPE(data)->tp_name, "'");
  if (is_tensor(data)) {
    const Tensor& t = tensor_of(data);
    return to(detach(t), device.value_or(t.device()), dtype.value_or(t.dtype()), true);
  }
  if (is_array_like(data)) {
    Tensor over = over_array_like(data);
    return to(over, d, dtype.value_or(over.dtype()), true, MemoryFormat::Contiguous);
  }
  if (speaks_dlpack(data)) {
    Object given = checked(PyObject_CallOneArg(imported("ember._C", "from_dlpack"), data));
    const Tensor& over = tensor_of(given.get());
    return to(over, d, dtype.value_or(over.dtype()), true, MemoryFormat::Contiguous);
  }
  Shape shape = shape_of_data(data);
  Tensor out = empty(shape, dtype ? *dtype : dtype_of_data(data));
  with_any_dtype(out.dtype(), [&](auto tag) {
    auto* at = out.data<typename decltype(tag)::type>();
    if (out.numel() || shape.size())
      write_nested(shape, 0, data, at);
    else
      write(data, at);
  });
  return d.is_cpu() ? out : to(out, d, std::nullopt);
}

namespace {

Tensor finish(Tensor t, bool requires_grad) {
  if (inference_mode()) t.impl()->inference = true;
  check(!requires_grad || is_differentiable(t.dtype()), Kind::Runtime,
        "Only Tensors of floating point and complex dtype can require gradients");
  if (requires_grad) set_requires_grad(t, true);
  return t;
}

using MaybeDtype = std::optional<Dtype>;
using MaybeDevice = std::optional<Device>;

bool is_storage(PyObject* o) {
  return std::strcmp(Py_TYPE(o)->tp_name, "ember.UntypedStorage") == 0;
}
// Elements of a typed storage are not converted.
void check_typed_storage(PyObject* o, MaybeDtype dtype) {
  if (!dtype || !std::strstr(Py_TYPE(o)->tp_name, "Storage")) return;
  Object own = Object::steal(PyObject_GetAttrString(o, "dtype"));
  if (!own) return PyErr_Clear();
  check(!is_dtype(own.get()) || dtype_of_object(own.get()) == *dtype, Kind::Runtime,
        "Expected a Storage of type ", type_name(*dtype), " or an UntypedStorage, but got ",
        is_dtype(own.get()) ? type_name(dtype_of_object(own.get())) : "");
}

// A copy of the bytes of a storage, read as elements of a dtype.
Tensor of_storage(PyObject* o, MaybeDtype dtype, MaybeDevice device) {
  const Dtype as = dtype.value_or(Dtype::UInt8);
  if (PyObject_Length(o) == 0) return empty({0}, as, device.value_or(default_device()));
  return to(clone(tensor_over_buffer(o, as, -1, 0)), device, std::nullopt);
}

EMBER_OP(
    "tensor(Any data, *, Dtype? dtype=None, Device? device=None, bool requires_grad=False, bool "
    "pin_memory=False) -> "
    "Tensor",
    ([](void* data, MaybeDtype dtype, MaybeDevice device, bool requires_grad, bool) {
      auto* o = static_cast<PyObject*>(data);
      if (is_tensor(o) && PyErr_WarnEx(PyExc_UserWarning,
                                       "To copy construct from a tensor, it is recommended to use "
                                       "sourceTensor.detach().clone() or "
                                       "sourceTensor.detach().clone().requires_grad_(True), rather "
                                       "than tensor(sourceTensor).",
                                       1) < 0)
        throw PythonError{};
      if (is_storage(o)) return finish(of_storage(o, dtype, device), requires_grad);
      check_typed_storage(o, dtype);
      return finish(tensor_from_data(o, dtype, device), requires_grad);
    }),
    Function | Factory,
    "A new tensor with a copy of `data`: a number, nested sequences or an array.");

EMBER_OP(
    "new_tensor(Tensor self, Any data, *, Dtype? dtype=None, Device? device=None, bool "
    "requires_grad=False, Any "
    "layout=None, bool pin_memory=False) -> Tensor",
    ([](const Tensor& self, void* data, MaybeDtype dtype, MaybeDevice device, bool requires_grad,
        void*, bool) {
      return finish(tensor_from_data(static_cast<PyObject*>(data), dtype.value_or(self.dtype()),
                                     device.value_or(self.device())),
                    requires_grad);
    }),
    Method | Factory,
    "A new tensor with a copy of `data`, of the same dtype and on the same device.");

// Shares memory where it can; `copied` tells whether it could not.
Tensor convert_data(PyObject* o, MaybeDtype dtype, MaybeDevice device, bool* copied) {
  check_typed_storage(o, dtype);
  *copied = false;
  Tensor t;
  if (is_tensor(o)) {
    t = tensor_of(o);
  } else if (is_array_like(o)) {
    t = over_array_like(o, true);
    if (!device) device = default_device();
  } else {
    *copied = true;
    return tensor_from_data(o, dtype, device);
  }
  Tensor moved = to(t, device, dtype);
  *copied = !moved.same(t);
  return moved;
}

EMBER_OP("as_tensor(Any data, Dtype? dtype=None, Device? device=None) -> Tensor",
         ([](void* data, MaybeDtype dtype, MaybeDevice device) {
           bool copied;
           return convert_data(static_cast<PyObject*>(data), dtype, device, &copied);
         }),
         Function | Factory,
         "`data` as a tensor: itself or a view of its memory where possible, else a copy.");

// asarray(copy=False) of what had to be copied, and why.
[[noreturn]] void fail_alias(PyObject* o, const Tensor& made) {
  const bool plain =
      PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyComplex_CheckExact(o);
  check(plain || !is_number(o), Kind::Runtime,
        "asarray(): can't alias NumPy scalars. Either leave copy=False out or make an array of it");
  if (is_tensor(o)) {
    const Tensor& t = tensor_of(o);
    check(t.device() == made.device(), Kind::Value, "asarray(): can't alias tensor from device '",
          t.device(), "' to '", made.device(), "'.");
    fail(Kind::Value, "asarray(): can't alias tensor with dtype '", type_name(t.dtype()),
         "' into dtype '", type_name(made.dtype()), "'.");
  }
  fail(Kind::Value,
       "asarray(): can't alias arbitrary data without a copy, but copy=False was given");
}

EMBER_OP(
    "asarray(Any obj, *, Dtype? dtype=None, Device? device=None, bool? copy=None, bool? "
    "requires_grad=None) -> Tensor",
    ([](void* obj, MaybeDtype dtype, MaybeDevice device, std::optional<bool> copy,
        std::optional<bool> requires_grad) {
      auto* o = static_cast<PyObject*>(obj);
      Object keep;
      bool has_dlpack = !is_tensor(o) && !is_array(o) &&
                        (PyCapsule_CheckExact(o) || PyObject_HasAttrString(o, "__dlpack__"));
      bool has_buffer =
          !is_tensor(o) && !is_array(o) && !has_dlpack && !is_number(o) && PyObject_CheckBuffer(o);
      if (has_dlpack) {
        keep = checked(PyObject_CallOneArg(imported("ember._C", "from_dlpack"), o));
      } else if (has_buffer && is_storage(o) && PyObject_Length(o) == 0) {
        keep = checked(wrap(empty({0}, dtype.value_or(default_dtype()))));
      } else if (has_buffer && !is_array_like(o)) {
        keep = checked(wrap(tensor_over_buffer(o, dtype.value_or(default_dtype()), -1, 0)));
      }
      if (keep) o = keep.get();
      bool copied;
      Tensor t = convert_data(o, dtype, device, &copied);
      if (copied && !copy.value_or(true)) fail_alias(o, t);
      if (copy.value_or(false) && !copied) t = clone(t);
      if (requires_grad && !*requires_grad && t.requires_grad()) t = detach(t);
      if (requires_grad.value_or(false) && !t.requires_grad())
        t = finish(t.is_leaf() ? t : detach(t), true);
      return t;
    }),
    Function | Factory, "`obj` as a tensor, sharing memory unless `copy` says otherwise.");

}  // namespace

}  // namespace ember::python
