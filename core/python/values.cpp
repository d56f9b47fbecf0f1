// dtype, device, layout and memory_format objects. Size is in size_type.cpp, numbers in
// numbers.cpp.
#include <unordered_map>

#include "backend.h"
#include "opencl/device.h"
#include "python/python.h"
#include "tensor/promote.h"

namespace ember::python {

PyTypeObject *dtype_type, *device_type, *layout_type, *format_type;

// --- dtype ---------------------------------------------------------------------------------------

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
  return guarded([&] { return wrap_dtype(complex_type(dtype_in(self))); });
}
PyObject* dtype_is_floating(PyObject* self, void*) {
  return PyBool_FromLong(is_any_floating(dtype_in(self)));
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

// f32, bf16, i64, u8, b8, c128: a letter of the name and the bits.
PyObject* dtype_abbreviation(PyObject* self, void*) {
  Dtype d = dtype_in(self);
  int bits = int(item_size(d)) * 8;
  if (d == Dtype::BFloat16) return PyUnicode_FromFormat("bf%d", bits);
  if (is_float8(d)) return PyUnicode_FromFormat("f8%s", name_of(d) + std::strlen("float8_"));
  return PyUnicode_FromFormat("%c%d", name_of(d)[0], bits);
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
    {"abbr", dtype_abbreviation, nullptr, "The short name, such as 'f32'.", nullptr},
    {}};
PyType_Slot dtype_slots[] = {{Py_tp_repr, (void*)dtype_repr},
                             {Py_tp_methods, dtype_methods},
                             {Py_tp_getset, dtype_getset},
                             {Py_tp_doc, (void*)R"(The type of a tensor's elements.

The dtypes are `ember.float32`, `ember.int64`, `ember.bool` ...; none can be made.

Example:

    >>> ember.float32.is_floating_point, ember.float32.itemsize
    (True, 4)
    >>> ember.zeros(2, dtype=ember.int8).dtype
    torch.int8
)"},
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

// --- device --------------------------------------------------------------------------------------

namespace {

struct PyDevice {
  PyObject_HEAD Device device;
};

void check_opencl(Device d) {
  check(d.index < opencl::device_count(), Kind::Runtime, "device(): there is no '", d,
        "': OpenCL devices here go up to index ", opencl::device_count() - 1);
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
      if (means_device_kind(device_kind_name(d.kind), "opencl")) check_opencl(d);
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
PyType_Slot device_slots[] = {{Py_tp_new, (void*)device_new},
                              {Py_tp_repr, (void*)device_repr},
                              {Py_tp_str, (void*)device_str},
                              {Py_tp_hash, (void*)device_hash},
                              {Py_tp_richcompare, (void*)device_compare},
                              {Py_tp_methods, device_methods},
                              {Py_tp_getset, device_getset},
                              {Py_tp_doc, (void*)R"(device(type, index=None)
--

Where a tensor lives. In a `with` block, where new tensors live that name no device.

Args:
    type (str): "cpu", "meta", "opencl" or another kind; also with the index, as in "opencl:0".
    index (int, optional): which device of its kind.

Example:

    >>> ember.device("cpu")
    device(type='cpu')
    >>> with ember.device("meta"):
    ...     x = ember.zeros(2)
    >>> x.device
    device(type='meta')
)"},
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
    if (!means_device_kind(name, "opencl")) return parse_device(name);
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

// --- layout and memory_format: small named constants ---------------------------------------------

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
PyType_Slot layout_slots[] = {{Py_tp_repr, (void*)constant_repr},
                              {Py_tp_methods, constant_methods},
                              {Py_tp_doc, (void*)R"(How a tensor's elements are stored.

`ember.strided` for ordinary tensors, `ember.sparse_coo`, `ember.sparse_csr` ... for sparse ones.

Example:

    >>> ember.zeros(2).layout, ember.eye(2).to_sparse().layout
    (torch.strided, torch.sparse_coo)
)"},
                              {0, nullptr}};
PyType_Slot format_slots[] = {{Py_tp_repr, (void*)constant_repr},
                              {Py_tp_methods, constant_methods},
                              {Py_tp_doc, (void*)R"(The order in which dimensions lie in memory.

`ember.contiguous_format` has the last dimension innermost, `ember.channels_last` the channels of
images (N, C, H, W); `ember.preserve_format` keeps the order of the input.

Example:

    >>> x = ember.zeros(1, 3, 4, 4)
    >>> x.contiguous(memory_format=ember.channels_last).stride()
    (48, 1, 12, 3)
)"},
                              {0, nullptr}};
PyType_Spec layout_spec = {"ember.layout", sizeof(PyConstant), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, layout_slots};
PyType_Spec format_spec = {"ember.memory_format", sizeof(PyConstant), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, format_slots};

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

void add_value_types(PyObject* module) {
  auto add = [&](const char* name, PyType_Spec& spec) {
    auto* type = (PyTypeObject*)checked(PyType_FromSpec(&spec)).release();
    checked(PyModule_AddObjectRef(module, name, (PyObject*)type));
    return type;
  };
  dtype_type = add("dtype", dtype_spec);
  device_type = add("device", device_spec);
  layout_type = add("layout", layout_spec);
  format_type = add("memory_format", format_spec);
  for (int i = 0; i < kDtypes; i++) {
    auto* o = PyObject_New(PyDtype, dtype_type);
    o->dtype = Dtype(i);
    dtypes[i] = (PyObject*)o;
    checked(PyModule_AddObjectRef(module, name_of(Dtype(i)), (PyObject*)o));
  }
  const std::pair<const char*, Dtype> aliases[] = {
      {"float", Dtype::Float32},    {"double", Dtype::Float64},     {"half", Dtype::Float16},
      {"int", Dtype::Int32},        {"long", Dtype::Int64},         {"short", Dtype::Int16},
      {"cfloat", Dtype::Complex64}, {"cdouble", Dtype::Complex128}, {"chalf", Dtype::Complex32}};
  for (auto& [name, d] : aliases) checked(PyModule_AddObjectRef(module, name, dtypes[int(d)]));
  add_constants(
      module, layout_type,
      {"strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"});
  add_constants(module, format_type,
                {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"});
}

}  // namespace ember::python
