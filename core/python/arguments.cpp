// Reading Python arguments for ops: which objects fit a parameter, and their C++ values.
#include <limits>

#include "python/python.h"

namespace ember {

using namespace python;

namespace {

PyObject* value(const Args& a, int i) { return static_cast<PyObject*>(a.values[i]); }
const Param& param(const Args& a, int i) { return a.op->params[size_t(i)]; }

// Sizes and places of parts are no shape: there may be any number of them.
Py_ssize_t most_ints(const Param& p) {
  const bool parts = p.name.starts_with("split_") || p.name.starts_with("indices");
  return parts ? std::numeric_limits<int>::max() : kMaxDims;
}

// Asked again, because reading the arguments before may have run Python code that changed the list.
Tensor item_of(const Args& a, int i, PyObject* item) {
  if (is_tensor(item)) return tensor_of(item);
  check(item == Py_None && param(a, i).holes, Kind::Type, a.op->name, "(): expected Tensor in '",
        param(a, i).name, "', but found ", Py_TYPE(item)->tp_name);
  return Tensor();
}

}  // namespace

bool Args::is_none(int i) const {
  PyObject* v = value(*this, i);
  return v ? v == Py_None : param(*this, i).default_text == "None";
}

const Tensor& Args::tensor(int i) const {
  static const Tensor undefined;
  PyObject* v = value(*this, i);
  return !v || v == Py_None ? undefined : tensor_of(v);
}

TensorList Args::tensors(int i) const {
  TensorList list;
  PyObject* v = value(*this, i);
  if (!v || v == Py_None) return list;
  if (is_tensor(v)) {  // a single tensor stands for its rows
    Object parts = checked(PySequence_Tuple(v));
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(parts.get()); k++)
      list.push_back(item_of(*this, i, PyTuple_GET_ITEM(parts.get(), k)));
    return list;
  }
  Py_ssize_t n = PySequence_Fast_GET_SIZE(v);
  list.reserve(size_t(n));
  for (Py_ssize_t k = 0; k < n; k++)
    list.push_back(item_of(*this, i, PySequence_Fast_GET_ITEM(v, k)));
  return list;
}

Operand Args::operand(int i) const {
  PyObject* v = value(*this, i);
  if (!v) return Operand(param(*this, i).default_scalar);
  if (is_tensor(v)) return Operand(tensor_of(v));
  return Operand(scalar_of(v));
}

Scalar Args::scalar(int i) const {
  PyObject* v = value(*this, i);
  return v ? scalar_of(v) : param(*this, i).default_scalar;
}
int64_t Args::integer(int i) const {
  PyObject* v = value(*this, i);
  return v ? int_of(v) : param(*this, i).default_scalar.to<int64_t>();
}
double Args::real(int i) const {
  PyObject* v = value(*this, i);
  return v ? real_of(v) : param(*this, i).default_scalar.to<double>();
}
std::vector<double> Args::reals(int i) const {
  std::vector<double> list;
  PyObject* v = value(*this, i);
  for (Py_ssize_t k = 0; v && v != Py_None && k < PySequence_Fast_GET_SIZE(v); k++) {
    Object item = Object::borrow(PySequence_Fast_GET_ITEM(v, k));
    list.push_back(real_of(item.get()));
  }
  return list;
}
bool Args::boolean(int i) const {
  PyObject* v = value(*this, i);
  if (!v) return param(*this, i).default_scalar.to<bool>();
  return v == Py_True || (v != Py_False && checked(PyObject_IsTrue(v)));
}
std::string Args::text(int i) const {
  PyObject* v = value(*this, i);
  if (!v) return param(*this, i).default_text;
  const char* s = PyUnicode_AsUTF8(v);
  if (!s) throw PythonError{};
  return s;
}
Dims Args::dims(int i) const {
  PyObject* v = value(*this, i);
  if (!v) {
    const Param& p = param(*this, i);
    return p.default_text == "None" ? Dims() : Dims(p.default_size);
  }
  return v == Py_None ? Dims() : Dims(shape_of(v, most_ints(param(*this, i))));
}
Shape Args::size(int i) const {
  PyObject* v = value(*this, i);
  if (!v) return param(*this, i).default_size;
  if (!PyTuple_Check(v) && !PyList_Check(v)) return Shape{part_of(v, 0)};
  return shape_of(v, most_ints(param(*this, i)));
}
Dtype Args::dtype(int i) const { return dtype_of_object(value(*this, i)); }
Device Args::device(int i) const { return device_of_object(value(*this, i)); }
MemoryFormat Args::format(int i) const { return format_of_object(value(*this, i)); }
Generator* Args::generator(int i) const {
  PyObject* v = value(*this, i);
  return !v || v == Py_None ? nullptr : generator_of(v);
}

// --- results -------------------------------------------------------------------------------------

void* to_host(Tensor t) { return wrap(std::move(t)); }
void* to_host(const Scalar& s) { return wrap_scalar(s); }
void* to_host(bool b) { return PyBool_FromLong(b); }
void* to_host(int64_t i) { return PyLong_FromLongLong(i); }
void* to_host(double d) { return PyFloat_FromDouble(d); }
void* to_host(const std::string& text) {
  return PyUnicode_FromStringAndSize(text.data(), Py_ssize_t(text.size()));
}
void* to_host(const Shape& shape) { return wrap_shape(shape); }
void* none_to_host() { return Py_NewRef(Py_None); }

void* to_host(std::vector<Tensor> list) {
  Object tuple = checked(PyTuple_New(Py_ssize_t(list.size())));
  for (size_t i = 0; i < list.size(); i++)
    PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), wrap(std::move(list[i])));
  return tuple.release();
}

void* to_host(const OpInfo& op, Tensor* parts, int n) {
  auto* type = static_cast<PyTypeObject*>(op.host_tuple);
  Object tuple = checked(type ? PyStructSequence_New(type) : PyTuple_New(n));
  for (int i = 0; i < n; i++) {
    PyObject* item = wrap(std::move(parts[i]));
    if (type)
      PyStructSequence_SET_ITEM(tuple.get(), i, item);
    else
      PyTuple_SET_ITEM(tuple.get(), i, item);
  }
  return tuple.release();
}

namespace python {

namespace {

bool is_list_of(PyObject* o, bool (*each)(PyObject*)) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++)
    if (!each(PySequence_Fast_GET_ITEM(o, i))) return false;
  return true;
}
bool is_tensor_or_none(PyObject* o) { return o == Py_None || is_tensor(o); }

}  // namespace

bool fits(const Param& p, PyObject* o) {
  if (o == Py_None)
    return p.optional || (p.has_default && p.default_text == "None") || p.type == ArgType::Any;
  switch (p.type) {
    case ArgType::Tensor:
    case ArgType::TensorOrNone: return is_tensor(o);
    case ArgType::TensorList: return is_list_of(o, p.holes ? is_tensor_or_none : is_tensor);
    case ArgType::Number: return is_tensor(o) || is_number(o);
    case ArgType::Scalar:
      return is_number(o) ||
             (is_tensor(o) && tensor_of(o).dim() == 0 && !tensor_of(o).requires_grad());
    case ArgType::Int: return is_int(o);
    // A tensor whose gradient would be lost is no number, as in torch.
    case ArgType::Float:
      return is_number(o) ||
             (is_tensor(o) && tensor_of(o).numel() == 1 && !tensor_of(o).requires_grad());
    case ArgType::FloatList:
      return is_list_of(o, [](PyObject* v) { return is_number(v) && !PyComplex_Check(v); });
    case ArgType::Bool:
      return PyBool_Check(o) ||
             (is_number(o) && !PyLong_Check(o) && !PyFloat_Check(o) && !PyComplex_Check(o));
    case ArgType::Str: return PyUnicode_Check(o);
    case ArgType::Dims:
    case ArgType::Size: return is_int(o) || is_list_of(o, is_int);
    case ArgType::Dtype: return is_dtype(o);
    case ArgType::Device: return is_device(o);
    case ArgType::Format: return Py_TYPE(o) == format_type;
    case ArgType::Generator: return is_generator(o);
    case ArgType::Any:  // of other layouts see op_fallback.cpp
      return Py_TYPE(o) != layout_type || p.name != "layout" ||
             o == imported("ember._C", "strided");
  }
  return false;
}

}  // namespace python

}  // namespace ember
