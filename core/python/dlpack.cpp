// DLPack, the exchange of tensors between libraries without a copy: __dlpack__, __dlpack_device__
// and from_dlpack, by the protocol of 2022 (capsules named "dltensor") and by the versioned one
// that followed.
#include "ops/ops.h"
#include "python/python.h"

namespace ember::python {

namespace {

// The structures of the DLPack specification, version 1.
struct DLDevice {
  int32_t type, id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* manager;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* manager;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor tensor;
};
constexpr int32_t kHost = 1;
constexpr uint64_t kReadOnly = 1, kIsCopied = 2;
enum Code : uint8_t { kInt, kUInt, kFloating, kOpaque, kBfloat, kComplexNumber, kBoolean };
// Each float8 has a code of its own, in the order of Dtype.
constexpr uint8_t kFloat8[] = {10, 12, 11, 13, 14};

DLDataType data_type(Dtype d) {
  if (is_float8(d)) return {kFloat8[int(d) - int(Dtype::Float8_e4m3fn)], 8, 1};
  Code code = d == Dtype::Bool       ? kBoolean
              : d == Dtype::BFloat16 ? kBfloat
              : is_floating(d)       ? kFloating
              : is_complex(d)        ? kComplexNumber
              : is_signed(d)         ? kInt
                                     : kUInt;
  return {code, uint8_t(8 * item_size(d)), 1};
}

Dtype dtype_from(DLDataType t) {
  check(t.lanes == 1, Kind::Runtime, "from_dlpack(): vector types are not supported, got ", t.lanes,
        " lanes");
  for (int i = 0; i < kDtypes; i++) {
    DLDataType known = data_type(Dtype(i));
    if (known.code == t.code && known.bits == t.bits) return Dtype(i);
  }
  fail(Kind::Runtime, "from_dlpack(): unsupported type with code ", int(t.code), " and ",
       int(t.bits), " bits");
}

// --- out -----------------------------------------------------------------------------------------

template <class Managed>
struct Export {
  Managed managed;
  Pin pin;  // not the tensor: that may get another storage
  Shape shape, strides;
};

template <class Managed>
Managed* exported(const Tensor& t) {
  void* data = t.numel() ? t.data() : nullptr;
  auto* e = new Export<Managed>{{}, Pin(t.storage()), t.shape(), t.strides()};
  DLTensor& d = e->managed.tensor;
  d.data = data;
  d.device = {kHost, 0};
  d.ndim = t.dim();
  d.dtype = data_type(t.dtype());
  d.shape = e->shape.data();
  d.strides = e->strides.data();
  d.byte_offset = 0;
  e->managed.manager = e;
  e->managed.deleter = [](Managed* m) {
    if (!Py_IsInitialized()) return;
    PyGILState_STATE gil = PyGILState_Ensure();
    delete static_cast<Export<Managed>*>(m->manager);
    PyGILState_Release(gil);
  };
  return &e->managed;
}

template <class Managed, const char* name>
void drop_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, name)) return;  // somebody took the tensor
  auto* m = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (m->deleter) m->deleter(m);
}
constexpr char kName[] = "dltensor", kUsed[] = "used_dltensor";
constexpr char kVersionedName[] = "dltensor_versioned",
               kVersionedUsed[] = "used_dltensor_versioned";

PyObject* to_capsule(const Tensor& t, bool versioned, bool copied) {
  if (!versioned)
    return PyCapsule_New(exported<DLManagedTensor>(t), kName, drop_capsule<DLManagedTensor, kName>);
  auto* m = exported<DLManagedTensorVersioned>(t);
  m->major = 1;
  m->minor = 0;
  m->flags = copied ? kIsCopied : 0;
  return PyCapsule_New(m, kVersionedName, drop_capsule<DLManagedTensorVersioned, kVersionedName>);
}

[[noreturn]] void fail_buffer(const char* message) {
  PyErr_SetString(PyExc_BufferError, message);
  throw PythonError{};
}

PyObject* dlpack(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", const_cast<char**>(names),
                                     &stream, &version, &device, &copy))
      return nullptr;
    const Tensor& t = tensor_of(self);
    if (t.requires_grad())
      fail_buffer("Can't export tensors that require gradient, use tensor.detach()");
    check(stream == Py_None || is_int(stream), Kind::Type,
          "__dlpack__(): stream must be an int or None, got ", Py_TYPE(stream)->tp_name);
    if (t.device().is_cpu() && stream != Py_None) {
      PyErr_SetString(PyExc_AssertionError, "stream should be None on cpu.");
      throw PythonError{};
    }
    if (!t.device().is_cpu()) fail_buffer("only tensors on the CPU can be exported by DLPack");
    if (device != Py_None) {
      Object wanted = checked(PySequence_Tuple(device));
      check(PyTuple_GET_SIZE(wanted.get()) == 2, Kind::Value,
            "__dlpack__(): dl_device must be a pair of ints");
      if (int64_t kind = int_of(PyTuple_GET_ITEM(wanted.get(), 0)); kind != kHost)
        fail_buffer(("Unsupported device_type: " + std::to_string(kind) +
                     ". A CPU tensor cannot be exported to another device")
                        .c_str());
    }
    bool copies = copy == Py_True;
    bool versioned =
        version != Py_None && int_of(checked(PySequence_GetItem(version, 0)).get()) >= 1;
    return to_capsule(copies ? clone(t) : t, versioned, copies);
  });
}

PyObject* dlpack_device(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    check(tensor_of(self).device().is_cpu(), Kind::Value, "Unknown device type ",
          tensor_of(self).device(), " for Dlpack");
    return Py_BuildValue("(ii)", kHost, 0);
  });
}

PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)())dlpack, METH_VARARGS | METH_KEYWORDS, nullptr},
    {"__dlpack_device__", dlpack_device, METH_NOARGS, nullptr},
    {}};

// --- in ------------------------------------------------------------------------------------------

template <class Managed>
void release_managed(Storage* s) {
  auto* m = static_cast<Managed*>(s->context);
  if (!m->deleter || !Py_IsInitialized()) return;
  PyGILState_STATE gil = PyGILState_Ensure();
  m->deleter(m);
  PyGILState_Release(gil);
}

template <class Managed>
Tensor imported_tensor(Managed* m) {
  const DLTensor& d = m->tensor;
  check(d.device.type == kHost, Kind::Runtime, "from_dlpack(): unsupported device type ",
        d.device.type);
  check(d.ndim >= 0 && d.ndim <= kMaxDims, Kind::Runtime,
        "from_dlpack(): bad number of dimensions ", d.ndim);
  Dtype dtype = dtype_from(d.dtype);
  Shape shape(d.shape, d.ndim);
  Shape strides = d.strides ? Shape(d.strides, d.ndim) : contiguous_strides(shape);
  int64_t last = 0;
  for (int i = 0; i < d.ndim; i++) {
    check(shape[i] >= 0, Kind::Runtime, "from_dlpack(): negative size in shape ", shape);
    check(strides[i] >= 0 || shape[i] < 2, Kind::Runtime,
          "from_dlpack(): negative strides are not supported, got ", strides);
    if (strides[i] < 0) strides[i] = 1;
    last += std::max<int64_t>(shape[i] - 1, 0) * strides[i];
  }
  int64_t bytes = numel_of(shape) ? (last + 1) * item_size(dtype) : 0;
  char* data = static_cast<char*>(d.data) + (bytes ? d.byte_offset : 0);
  check(!bytes ||
            reinterpret_cast<uintptr_t>(data) % uintptr_t(std::min<int64_t>(item_size(dtype), 8)) ==
                0,
        Kind::Runtime, "from_dlpack(): the memory is not aligned for ", dtype);
  return from_storage(wrap_memory(data, bytes, Device(), release_managed<Managed>, m), dtype, shape,
                      strides, 0);
}

Tensor from_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kVersionedName)) {
    auto* m = static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, kVersionedName));
    check(m->major == 1, Kind::Runtime, "from_dlpack(): unsupported DLPack version ", m->major, ".",
          m->minor);
    if (m->flags & kReadOnly) {
      if (PyErr_WarnEx(PyExc_UserWarning,
                       "from_dlpack(): the memory is read-only; do not write to this tensor",
                       1) < 0)
        throw PythonError{};
    }
    Tensor t = imported_tensor(m);
    PyCapsule_SetName(capsule, kVersionedUsed);
    return t;
  }
  check(PyCapsule_IsValid(capsule, kName), Kind::Runtime,
        "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only "
        "once, so you might have "
        "already constructed a tensor from it once.");
  Tensor t = imported_tensor(static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kName)));
  PyCapsule_SetName(capsule, kUsed);
  return t;
}

EMBER_OP("from_dlpack(Any ext_tensor, *, Device? device=None, bool? copy=None) -> Tensor",
         ([](void* source, std::optional<Device> device, std::optional<bool> copy) {
           auto* o = static_cast<PyObject*>(source);
           Object capsule;
           if (PyCapsule_CheckExact(o)) {
             capsule = Object::borrow(o);
           } else {
             Object call = checked(PyObject_GetAttrString(o, "__dlpack__"));
             Object none = checked(PyTuple_New(0));
             Object options = checked(Py_BuildValue("{s:(ii)}", "max_version", 1, 0));
             capsule = Object::steal(PyObject_Call(call.get(), none.get(), options.get()));
             if (!capsule && PyErr_ExceptionMatches(
                                 PyExc_TypeError)) {  // a library that knows the old protocol only
               PyErr_Clear();
               capsule = Object::steal(PyObject_CallNoArgs(call.get()));
             }
             if (!capsule) throw PythonError{};
           }
           Tensor t = from_capsule(capsule.get());
           bool moves = device && !(*device == t.device()) && !device->is_cpu();
           check(copy.value_or(true) || !moves, Kind::Value, "from_dlpack(): moving to ",
                 device.value_or(Device()), " needs a copy, but copy=False was given");
           return copy.value_or(false) || moves ? to(t, device, std::nullopt, true) : t;
         }),
         Function | Factory, "A tensor that shares the memory of a tensor of another library.");
PyObject* to_dlpack(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    check(is_tensor(o), Kind::Type, "to_dlpack(): expected a Tensor, got ", Py_TYPE(o)->tp_name);
    const Tensor& t = tensor_of(o);
    check(!t.requires_grad(), Kind::Runtime,
          "Can't export tensors that require gradient, use tensor.detach()");
    check(t.device().is_cpu(), Kind::Runtime, "only tensors on the CPU can be exported by DLPack");
    return to_capsule(t, false, false);
  });
}
PyMethodDef functions[] = {{"_to_dlpack", to_dlpack, METH_O, R"(_to_dlpack(tensor, /)
--

A DLPack capsule of a tensor; `from_dlpack` takes the tensor itself, too.

Args:
    tensor (Tensor): the tensor, whose memory is shared.

Example:

    >>> ember.from_dlpack(ember.to_dlpack(ember.tensor([1.0, 2.0])))
    tensor([1., 2.])
)"},
                           {}};

}  // namespace

void add_dlpack(PyObject* module) {
  add_tensor_methods(methods);
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace ember::python
