// Python's and NumPy's numbers as Scalars, and back.
#include "python/python.h"

namespace ember::python {

// NumPy's scalars are numbers too; they are recognised by name, so that NumPy need not be imported.
static bool is_numpy_scalar(PyObject* o) {
  const char* name = Py_TYPE(o)->tp_name;
  return std::strncmp(name, "numpy.", 6) == 0 && std::strcmp(name, "numpy.ndarray") != 0 &&
         std::strcmp(name, "numpy.dtype") != 0 && PyNumber_Check(o);
}

bool is_number(PyObject* o) {
  return PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o) || is_numpy_scalar(o);
}

Scalar scalar_of(PyObject* o) {
  if (PyFloat_Check(o)) return Scalar(PyFloat_AS_DOUBLE(o));
  if (PyBool_Check(o)) return Scalar(o == Py_True);
  if (PyLong_Check(o)) {
    int overflow;
    long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow > 0) {
      unsigned long long u = PyLong_AsUnsignedLongLong(o);
      if (!PyErr_Occurred()) return Scalar::of_unsigned(u);
      PyErr_Clear();
    }
    check(!overflow, Kind::Overflow,
          "int too big to convert: numbers are those of int64 and uint64");
    return Scalar(int64_t(v));
  }
  if (PyComplex_Check(o)) {
    Py_complex c = PyComplex_AsCComplex(o);
    return Scalar(complex128(c.real, c.imag));
  }
  if (is_tensor(o)) {
    const Tensor& t = tensor_of(o);
    check(t.numel() == 1, Kind::Runtime, "a Tensor with ", t.numel(),
          " elements cannot be converted to Scalar");
    Object item = checked(PyObject_CallMethod(o, "item", nullptr));
    return scalar_of(item.get());
  }
  if (is_numpy_scalar(o)) {
    Object item = checked(PyObject_CallMethod(o, "item", nullptr));
    if (is_number(item.get()) && Py_TYPE(item.get()) != Py_TYPE(o)) return scalar_of(item.get());
  }
  fail(Kind::Type, "expected a number, got ", Py_TYPE(o)->tp_name);
}

PyObject* wrap_scalar(const Scalar& s) {
  switch (s.type()) {
    case Scalar::Type::Bool: return PyBool_FromLong(s.to<bool>());
    case Scalar::Type::Int: return PyLong_FromLongLong(s.to<int64_t>());
    case Scalar::Type::UInt: return PyLong_FromUnsignedLongLong(s.to<uint64_t>());
    case Scalar::Type::Float: return PyFloat_FromDouble(s.to<double>());
    default: {
      complex128 c = s.to<complex128>();
      return PyComplex_FromDoubles(c.real(), c.imag());
    }
  }
}

bool is_int(PyObject* o) {
  if (PyLong_CheckExact(o)) return true;
  if (PyBool_Check(o) || PyFloat_Check(o)) return false;
  if (is_tensor(o)) {
    const Tensor& t = tensor_of(o);
    return t.dim() == 0 && is_integral(t.dtype());
  }
  return PyIndex_Check(o);
}

int64_t int_of(PyObject* o) {
  int64_t v;
  if (PyLong_CheckExact(o)) {
    v = PyLong_AsLongLong(o);
  } else {
    Object i = checked(PyNumber_Index(o));
    v = PyLong_AsLongLong(i.get());
  }
  if (v == -1 && PyErr_Occurred()) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
      PyErr_Clear();
      fail(Kind::Value, "Overflow when unpacking long long");
    }
    throw PythonError{};
  }
  return v;
}

double real_of(PyObject* o) {
  if (PyFloat_Check(o)) return PyFloat_AS_DOUBLE(o);
  if (!PyLong_Check(o)) return scalar_of(o).to<double>();
  double v = PyLong_AsDouble(o);
  if (v == -1 && PyErr_Occurred()) throw PythonError{};
  return v;
}

int64_t part_of(PyObject* o, Py_ssize_t i) {
  try {
    return int_of(o);
  } catch (const Error& e) {
    if (e.kind() != Kind::Value) throw;
    fail(Kind::Type, "failed to unpack the object at pos ", i + 1, " with error \"", e.what(),
         "\"");
  }
}

Shape shape_of(PyObject* o, Py_ssize_t most) {
  if (PyTuple_Check(o) || PyList_Check(o)) {
    Shape s;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    check(n <= most, Kind::Runtime, "a shape has at most ", most, " dimensions, got ", n);
    for (Py_ssize_t i = 0; i < n; i++) {
      // Reading an item may run Python code, which may change the list.
      check(i < PySequence_Fast_GET_SIZE(o), Kind::Runtime, "the list changed while it was read");
      Object item = Object::borrow(PySequence_Fast_GET_ITEM(o, i));
      check(is_int(item.get()), Kind::Type, "expected a sequence of ints, but found ",
            Py_TYPE(item.get())->tp_name, " at position ", i);
      s.push_back(part_of(item.get(), i));
    }
    return s;
  }
  return Shape{int_of(o)};
}

}  // namespace ember::python
