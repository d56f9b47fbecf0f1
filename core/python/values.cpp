// dtype, device, Size, layout and memory_format objects, and numbers.
#include <unordered_map>

#include "backend.h"
#include "opencl/device.h"
#include "python/python.h"

namespace ember::python {

PyTypeObject *dtype_type, *device_type, *size_type, *layout_type, *format_type;

// --- dtype
// ----------------------------------------------------------------------------------------

namespace {

struct PyDtype {
  PyObject_HEAD Dtype dtype;
};
PyObject* dtypes[kDtypes];

Dtype dtype_in(PyObject* o) { return reinterpret_cast<PyDtype*>(o)->dtype; }

PyObject* dtype_repr(PyObject* self) {
  return PyUnicode_FromFormat("torch.%s", name_of(dtype_in(self)));
}
PyObject* dtype_reduce(PyObject* self, PyObject*) {
  return PyUnicode_FromString(name_of(dtype_in(self)));
}
PyObject* dtype_to_real(PyObject* self, PyObject*) { return wrap_dtype(real_of(dtype_in(self))); }
PyObject* dtype_to_complex(PyObject* self, PyObject*) {
  Dtype d = dtype_in(self);
  return wrap_dtype(complex_of(d));
}
PyObject* dtype_is_floating(PyObject* self, void*) {
  return PyBool_FromLong(is_floating(dtype_in(self)));
}
PyObject* dtype_is_complex(PyObject* self, void*) {
  return PyBool_FromLong(is_complex(dtype_in(self)));
}
PyObject* dtype_is_signed(PyObject* self, void*) {
  return PyBool_FromLong(is_signed(dtype_in(self)));
}
PyObject* dtype_itemsize(PyObject* self, void*) {
  return PyLong_FromLongLong(item_size(dtype_in(self)));
}

PyMethodDef dtype_methods[] = {
    {"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
    {"to_real", dtype_to_real, METH_NOARGS, "The real dtype of the same precision."},
    {"to_complex", dtype_to_complex, METH_NOARGS, "The complex dtype of the same precision."},
    {}};
PyGetSetDef dtype_getset[] = {
    {"is_floating_point", dtype_is_floating, nullptr, "True for floating point dtypes.", nullptr},
    {"is_complex", dtype_is_complex, nullptr, "True for complex dtypes.", nullptr},
    {"is_signed", dtype_is_signed, nullptr, "True for dtypes with negative values.", nullptr},
    {"itemsize", dtype_itemsize, nullptr, "Bytes per element.", nullptr},
    {}};
PyType_Slot dtype_slots[] = {{Py_tp_repr, (void*)dtype_repr},
                             {Py_tp_methods, dtype_methods},
                             {Py_tp_getset, dtype_getset},
                             {Py_tp_doc, (void*)"The type of a tensor's elements."},
                             {0, nullptr}};
PyType_Spec dtype_spec = {"ember.dtype", sizeof(PyDtype), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, dtype_slots};

}  // namespace

PyObject* wrap_dtype(Dtype d) { return Py_NewRef(dtypes[int(d)]); }
bool is_dtype(PyObject* o) {
  return Py_TYPE(o) == dtype_type || o == (PyObject*)&PyFloat_Type ||
         o == (PyObject*)&PyLong_Type || o == (PyObject*)&PyBool_Type ||
         o == (PyObject*)&PyComplex_Type;
}
Dtype dtype_of_object(PyObject* o) {
  if (Py_TYPE(o) == dtype_type) return dtype_in(o);
  if (o == (PyObject*)&PyFloat_Type) return Dtype::Float64;
  if (o == (PyObject*)&PyLong_Type) return Dtype::Int64;
  if (o == (PyObject*)&PyBool_Type) return Dtype::Bool;
  if (o == (PyObject*)&PyComplex_Type) return Dtype::Complex128;
  fail(Kind::Type, "expected a dtype, got ", Py_TYPE(o)->tp_name);
}

// --- device
// ---------------------------------------------------------------------------------------

namespace {

struct PyDevice {
  PyObject_HEAD Device device;
};

void check_opencl(Device d) {
  check(d.index < opencl::device_count(), Kind::Runtime, "device(): there is no '", d,
        "': OpenCL devices here go up to 'opencl:", opencl::device_count() - 1, "'");
}

PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"type", "index", nullptr};
    PyObject *type = nullptr, *index = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(names), &type,
                                     &index))
      return nullptr;
    Device d = device_of_object(type);
    if (index && index != Py_None) {
      bool given = PyUnicode_Check(type) &&
                   PyUnicode_FindChar(type, ':', 0, PyUnicode_GET_LENGTH(type), 1) >= 0;
      check(!given, Kind::Runtime,
            "type (string) must not include an index because index was passed explicitly: ",
            d.name());
      int64_t i = int_of(index);
      check(i >= 0 && i < 128, Kind::Runtime,
            "Device index must not be negative or above 127, got ", i);
      d.index = int8_t(i);
      if (device_kind_name(d.kind) == "opencl") check_opencl(d);
    }
    return wrap_device(d);
  });
}
Device device_in(PyObject* o) { return reinterpret_cast<PyDevice*>(o)->device; }
PyObject* device_repr(PyObject* self) {
  Device d = device_in(self);
  std::string kind = device_kind_name(d.kind);
  if (d.index < 0) return PyUnicode_FromFormat("device(type='%s')", kind.c_str());
  return PyUnicode_FromFormat("device(type='%s', index=%d)", kind.c_str(), d.index);
}
PyObject* device_str(PyObject* self) {
  return PyUnicode_FromString(device_in(self).name().c_str());
}
Py_hash_t device_hash(PyObject* self) {
  return device_in(self).kind * 1000 + device_in(self).index + 7;
}
PyObject* device_compare(PyObject* a, PyObject* b, int op) {
  if ((op != Py_EQ && op != Py_NE) || Py_TYPE(a) != device_type || Py_TYPE(b) != device_type)
    Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((device_in(a) == device_in(b)) == (op == Py_EQ));
}
PyObject* device_get_type(PyObject* self, void*) {
  return PyUnicode_FromString(device_kind_name(device_in(self).kind).c_str());
}
PyObject* device_get_index(PyObject* self, void*) {
  if (device_in(self).index < 0) Py_RETURN_NONE;
  return PyLong_FromLong(device_in(self).index);
}
PyObject* device_reduce(PyObject* self, PyObject*) {
  return Py_BuildValue("O(s)", device_type, device_in(self).name().c_str());
}
// `with ember.device("meta"):` makes it the default device.
PyObject* device_enter(PyObject* self, PyObject*) {
  return guarded([&] {
    return PyObject_CallFunctionObjArgs(imported("ember._device", "enter"), self, nullptr);
  });
}
PyObject* device_exit(PyObject* self, PyObject*) {
  return guarded([&] {
    return PyObject_CallFunctionObjArgs(imported("ember._device", "exit"), self, nullptr);
  });
}
PyMethodDef device_methods[] = {{"__reduce__", device_reduce, METH_NOARGS, nullptr},
                                {"__enter__", device_enter, METH_NOARGS, nullptr},
                                {"__exit__", device_exit, METH_VARARGS, nullptr},
                                {}};
PyGetSetDef device_getset[] = {
    {"type", device_get_type, nullptr, "The kind of device, such as 'cpu'.", nullptr},
    {"index", device_get_index, nullptr, "Which device of its kind, or None.", nullptr},
    {}};
PyType_Slot device_slots[] = {
    {Py_tp_new, (void*)device_new},
    {Py_tp_repr, (void*)device_repr},
    {Py_tp_str, (void*)device_str},
    {Py_tp_hash, (void*)device_hash},
    {Py_tp_richcompare, (void*)device_compare},
    {Py_tp_methods, device_methods},
    {Py_tp_getset, device_getset},
    {Py_tp_doc, (void*)"device(type, index=None)\n\nWhere a tensor lives."},
    {0, nullptr}};
PyType_Spec device_spec = {"ember.device", sizeof(PyDevice), 0, Py_TPFLAGS_DEFAULT, device_slots};

}  // namespace

PyObject* wrap_device(Device d) {
  static PyObject* cpu = nullptr;
  if (d == Device() && cpu) return Py_NewRef(cpu);
  auto* o = PyObject_New(PyDevice, device_type);
  if (!o) throw PythonError{};
  o->device = d;
  if (d == Device()) cpu = Py_NewRef((PyObject*)o);
  return (PyObject*)o;
}
bool is_device(PyObject* o) {
  return Py_TYPE(o) == device_type || PyUnicode_Check(o) || PyLong_CheckExact(o);
}
Device device_of_object(PyObject* o) {
  if (Py_TYPE(o) == device_type) return device_in(o);
  if (PyUnicode_Check(o)) {
    Py_ssize_t n;
    const char* text = PyUnicode_AsUTF8AndSize(o, &n);
    if (!text) throw PythonError{};
    std::string_view name{text, size_t(n)};
    if (name != "opencl" && !name.starts_with("opencl:")) return parse_device(name);
    if (!opencl::in_use()) {  // the first use opens the device, or says what is missing
      Object module = checked(PyImport_ImportModule("ember.opencl"));
      checked(PyObject_CallMethod(module.get(), "init", nullptr));
    }
    Device d = parse_device(name);
    check_opencl(d);
    return with_index(d);
  }
  if (PyLong_CheckExact(o)) {  // of the accelerator
    check(opencl::in_use(), Kind::Runtime,
          "device(): a bare index needs an accelerator; none is in use");
    return device_of_object(checked(PyUnicode_FromFormat("opencl:%S", o)).get());
  }
  fail(Kind::Type, "device(): expected a string, an index or a device, got ", Py_TYPE(o)->tp_name);
}

// --- layout and memory_format: small named constants
// ----------------------------------------------------

namespace {

struct PyConstant {
  PyObject_HEAD int value;
  const char* name;
};
PyObject* constant_repr(PyObject* self) {
  return PyUnicode_FromFormat("torch.%s", reinterpret_cast<PyConstant*>(self)->name);
}
PyObject* constant_reduce(PyObject* self, PyObject*) {
  return PyUnicode_FromString(reinterpret_cast<PyConstant*>(self)->name);
}
PyMethodDef constant_methods[] = {{"__reduce__", constant_reduce, METH_NOARGS, nullptr}, {}};
PyType_Slot constant_slots[] = {
    {Py_tp_repr, (void*)constant_repr}, {Py_tp_methods, constant_methods}, {0, nullptr}};
PyType_Spec layout_spec = {"ember.layout", sizeof(PyConstant), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, constant_slots};
PyType_Spec format_spec = {"ember.memory_format", sizeof(PyConstant), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, constant_slots};

void add_constants(PyObject* module, PyTypeObject* type, std::initializer_list<const char*> names) {
  int value = 0;
  for (const char* name : names) {
    auto* o = PyObject_New(PyConstant, type);
    o->value = value++;
    o->name = name;
    PyModule_AddObject(module, name, (PyObject*)o);
  }
}

}  // namespace

MemoryFormat format_of_object(PyObject* o) {
  return MemoryFormat(reinterpret_cast<PyConstant*>(o)->value);
}

// --- Size
// ---------------------------------------------------------------------------------------------

PyObject* wrap_shape(const Shape& shape) {
  Object tuple = checked(size_type->tp_alloc(size_type, shape.size()));
  for (int i = 0; i < shape.size(); i++) {
    PyObject* item = PyLong_FromLongLong(shape[i]);
    if (!item) throw PythonError{};
    PyTuple_SET_ITEM(tuple.get(), i, item);
  }
  return tuple.release();
}

namespace {

PyObject* size_new(PyTypeObject*, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject* items = nullptr;
    if (!PyArg_ParseTuple(args, "|O:Size", &items)) return nullptr;
    if (!items) return wrap_shape({});
    Object list = checked(PySequence_Fast(items, "Size() takes a sequence of ints"));
    return wrap_shape(shape_of(list.get()));
  });
}
PyObject* size_repr(PyObject* self) {
  Object text = Object::steal(PyUnicode_FromString("torch.Size(["));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self) && text; i++)
    text = Object::steal(
        PyUnicode_FromFormat(i ? "%U, %S" : "%U%S", text.get(), PyTuple_GET_ITEM(self, i)));
  return text ? PyUnicode_FromFormat("%U])", text.get()) : nullptr;
}
PyObject* size_numel(PyObject* self, PyObject*) {
  int64_t n = 1;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); i++)
    n *= PyLong_AsLongLong(PyTuple_GET_ITEM(self, i));
  return PyLong_FromLongLong(n);
}
PyObject* as_size(PyObject* result) {  // slices and sums of sizes are sizes
  if (!result || !PyTuple_CheckExact(result)) return result;
  Object r = Object::steal(result);
  return guarded([&] { return wrap_shape(shape_of(r.get())); });
}
PyObject* size_subscript(PyObject* self, PyObject* index) {
  return as_size(PyTuple_Type.tp_as_mapping->mp_subscript(self, index));
}
PyObject* size_add(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a) || !PyTuple_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  return as_size(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
}
PyObject* size_repeat(PyObject* self, Py_ssize_t times) {
  return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(self, times));
}
PyObject* size_reduce(PyObject* self, PyObject*) {
  Object plain = Object::steal(PyTuple_GetSlice(self, 0, PyTuple_GET_SIZE(self)));
  return plain ? Py_BuildValue("O(O)", size_type, plain.get()) : nullptr;
}
PyMethodDef size_methods[] = {
    {"numel", size_numel, METH_NOARGS, "Number of elements of a tensor of this size."},
    {"__reduce__", size_reduce, METH_NOARGS, nullptr},
    {}};
PyType_Slot size_slots[] = {{Py_tp_new, (void*)size_new},
                            {Py_tp_repr, (void*)size_repr},
                            {Py_mp_subscript, (void*)size_subscript},
                            {Py_nb_add, (void*)size_add},  // also for a tuple on the left
                            {Py_sq_repeat, (void*)size_repeat},
                            {Py_tp_methods, size_methods},
                            {Py_tp_doc, (void*)"The size of a tensor: a tuple of ints."},
                            {0, nullptr}};
PyType_Spec size_spec = {"ember.Size", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_TUPLE_SUBCLASS,
                         size_slots};

}  // namespace

// --- numbers
// ------------------------------------------------------------------------------------------

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
      unsigned long long u = PyLong_AsUnsignedLongLong(o);  // uint64 values keep their bits
      if (!PyErr_Occurred()) return Scalar(int64_t(u));
      PyErr_Clear();
    }
    check(!overflow, Kind::Runtime, "Overflow when unpacking long");
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
    return t.numel() == 1 && is_integral(t.dtype());
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
      fail(Kind::Runtime, "Overflow when unpacking long");
    }
    throw PythonError{};
  }
  return v;
}

Shape shape_of(PyObject* o, Py_ssize_t most) {
  if (PyTuple_Check(o) || PyList_Check(o)) {
    Shape s;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    check(n <= most, Kind::Runtime, "a shape has at most ", most, " dimensions, got ", n);
    for (Py_ssize_t i = 0; i < n; i++) {
      PyObject* item = PySequence_Fast_GET_ITEM(o, i);
      check(is_int(item), Kind::Type, "expected a sequence of ints, but found ",
            Py_TYPE(item)->tp_name, " at position ", i);
      s.push_back(int_of(item));
    }
    return s;
  }
  return Shape{int_of(o)};
}

void add_value_types(PyObject* module) {
  auto add = [&](const char* name, PyType_Spec& spec, PyObject* base) {
    Object bases = base ? checked(PyTuple_Pack(1, base)) : Object();
    auto* type = (PyTypeObject*)checked(PyType_FromSpecWithBases(&spec, bases.get())).release();
    checked(PyModule_AddObjectRef(module, name, (PyObject*)type));
    return type;
  };
  dtype_type = add("dtype", dtype_spec, nullptr);
  device_type = add("device", device_spec, nullptr);
  layout_type = add("layout", layout_spec, nullptr);
  format_type = add("memory_format", format_spec, nullptr);
  size_type = add("Size", size_spec, (PyObject*)&PyTuple_Type);
  for (int i = 0; i < kDtypes; i++) {
    auto* o = PyObject_New(PyDtype, dtype_type);
    o->dtype = Dtype(i);
    dtypes[i] = (PyObject*)o;
    checked(PyModule_AddObjectRef(module, name_of(Dtype(i)), (PyObject*)o));
  }
  const std::pair<const char*, Dtype> aliases[] = {
      {"float", Dtype::Float32},    {"double", Dtype::Float64},    {"half", Dtype::Float16},
      {"int", Dtype::Int32},        {"long", Dtype::Int64},        {"short", Dtype::Int16},
      {"cfloat", Dtype::Complex64}, {"cdouble", Dtype::Complex128}};
  for (auto& [name, d] : aliases) checked(PyModule_AddObjectRef(module, name, dtypes[int(d)]));
  add_constants(module, layout_type,
                {"strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"});
  add_constants(module, format_type,
                {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"});
}

}  // namespace ember::python
