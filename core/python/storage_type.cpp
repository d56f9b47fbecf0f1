// UntypedStorage: the block of memory that tensors are views of, as Python sees it; tensors over a
// storage, set_ and resize_. An object that carries state (attributes, a subclass, weak references)
// lives as long as its memory does: Note [Identity], tensor_type.cpp.
#include "ops/ops.h"
#include "python/python.h"
#include "structmember.h"
#include "tensor/shared_memory.h"

namespace ember::python {

namespace {

struct PyStorage {
  PyObject_HEAD Storage* storage;  // owned
  PyObject *dict, *weakrefs;
};
PyTypeObject* storage_type;

PyStorage* as_py(PyObject* o) { return reinterpret_cast<PyStorage*>(o); }
bool is_storage(PyObject* o) { return PyObject_TypeCheck(o, storage_type); }
Storage& storage_in(PyObject* o) { return *reinterpret_cast<PyStorage*>(o)->storage; }
Ref<Storage> ref_in(PyObject* o) { return Ref<Storage>(&storage_in(o)); }

Ref<Storage> storage_argument(const char* op, PyObject* o,
                              std::optional<Dtype> wanted = std::nullopt) {
  if (is_storage(o)) return ref_in(o);
  if (wanted) {  // a typed storage holds elements of one dtype
    Object dtype = Object::steal(PyObject_GetAttrString(o, "dtype"));
    if (!dtype) PyErr_Clear();
    check(!dtype || !is_dtype(dtype.get()) || dtype_of_object(dtype.get()) == *wanted,
          Kind::Runtime, op, "(): Expected a Storage of type ", type_name(*wanted),
          " or an UntypedStorage, but got ", dtype ? type_name(dtype_of_object(dtype.get())) : "");
  }
  Object inner = Object::steal(PyObject_GetAttrString(o, "_untyped_storage"));  // a typed one
  if (!inner) PyErr_Clear();
  check(inner && is_storage(inner.get()), Kind::Type, op, "(): expected an UntypedStorage, got ",
        Py_TYPE(o)->tp_name);
  return ref_in(inner.get());
}

// The bytes as a tensor: what moves, fills and copies them on any device.
Tensor bytes_of(const Ref<Storage>& s) { return from_storage(s, Dtype::UInt8, {s->bytes}, {1}, 0); }

Ref<Storage> copy_from(const void* data, int64_t bytes) {
  Ref<Storage> s = new_storage(bytes, Device());
  s->settle();
  if (bytes) std::memcpy(s->data, data, size_t(bytes));
  return s;
}

// --- the type ------------------------------------------------------------------------------------

bool keep_alive(PyObject* self) {
  PyStorage* o = as_py(self);
  const bool state =
      Py_TYPE(self) != storage_type || (o->dict && PyDict_GET_SIZE(o->dict)) || o->weakrefs;
  if (!o->storage || o->storage->host_owned || o->storage->refs.load() == 1 || !state) return false;
  Py_SET_REFCNT(self, 1);
  o->storage->host_owned = true;
  o->storage->refs.fetch_sub(1);  // ours; others remain
  return true;
}
void free_storage_object(PyObject* self) {
  PyStorage* o = as_py(self);
  PyTypeObject* type = Py_TYPE(self);
  if (o->weakrefs) PyObject_ClearWeakRefs(self);
  if (Storage* s = std::exchange(o->storage, nullptr)) {
    s->host_object = nullptr;
    auto dropped = Ref<Storage>::adopt(s);
  }
  Py_CLEAR(o->dict);
  type->tp_free(self);
  Py_DECREF(type);
}
void storage_dealloc(PyObject* self) {
  if (keep_alive(self)) return;
  PyObject_GC_UnTrack(self);
  free_storage_object(self);
}
// In place of subtype_dealloc, which would finalize an object that is to be kept.
void subclass_dealloc(PyObject* self) {
  if (keep_alive(self)) return;
  PyTypeObject* type = Py_TYPE(self);
  if (type->tp_finalize && PyObject_CallFinalizerFromDealloc(self) < 0) return;  // it lives again
  PyObject_GC_UnTrack(self);
  clear_slots(self, storage_type);
  free_storage_object(self);
}
int storage_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(as_py(self)->dict);
  Py_VISIT(Py_TYPE(self));
  return 0;
}
int storage_clear(PyObject* self) {
  Py_CLEAR(as_py(self)->dict);
  return 0;
}
PyObject* wrap_new(PyTypeObject* type, Ref<Storage> storage) {
  if (type != storage_type) type->tp_dealloc = subclass_dealloc;
  PyObject* o = type->tp_alloc(type, 0);
  if (!o) throw PythonError{};
  storage->host_object = o;
  as_py(o)->storage = storage.detach();
  return o;
}

PyObject* storage_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"data", "device", nullptr};
    PyObject *data = nullptr, *device = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$O:UntypedStorage", const_cast<char**>(names),
                                     &data, &device))
      return nullptr;
    Device d = device == Py_None ? Device() : device_of_object(device);
    if (!data) return wrap_new(type, new_storage(0, d));
    if (is_int(data)) {
      int64_t n = int_of(data);
      check(n >= 0, Kind::Runtime, "UntypedStorage(): the size must not be negative, got ", n);
      return wrap_new(type, new_storage(n, d));
    }
    Object list =
        checked(PySequence_Fast(data, "UntypedStorage(): expected a size or a sequence of bytes"));
    Object bytes = checked(PyBytes_FromObject(list.get()));
    Ref<Storage> made = copy_from(PyBytes_AS_STRING(bytes.get()), PyBytes_GET_SIZE(bytes.get()));
    return wrap_new(type, d.is_cpu() ? made : to(bytes_of(made), d, std::nullopt).storage());
  });
}
// What is set on a subclass belongs to its __init__; ours needs nothing.
int storage_init(PyObject*, PyObject*, PyObject*) { return 0; }
PyObject* storage_iter(PyObject* self) {
  return guarded([&] {
    Object list = checked(list_of(bytes_of(ref_in(self))));
    return PyObject_GetIter(list.get());
  });
}
PyObject* storage_address(PyObject* self, void*) { return PyLong_FromVoidPtr(&storage_in(self)); }
Py_ssize_t storage_len(PyObject* self) { return storage_in(self).bytes; }
PyObject* storage_nbytes(PyObject* self, PyObject*) {
  return PyLong_FromLongLong(storage_in(self).bytes);
}
PyObject* storage_sizeof(PyObject* self, PyObject*) {
  return PyLong_FromLongLong(Py_TYPE(self)->tp_basicsize + storage_in(self).bytes);
}
PyObject* storage_data_ptr(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromVoidPtr(storage_in(self).expose()); });
}
PyObject* storage_element_size(PyObject*, PyObject*) { return PyLong_FromLong(1); }
PyObject* storage_resizable(PyObject* self, PyObject*) {
  return PyBool_FromLong(storage_in(self).resizable && !storage_in(self).pins);
}
PyObject* storage_is_shared(PyObject* self, PyObject*) {
  return PyBool_FromLong(storage_in(self).shared);
}
PyObject* storage_share(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (storage_in(self).device.is_cpu()) share_storage(storage_in(self));
    return Py_NewRef(self);
  });
}
PyObject* storage_device(PyObject* self, void*) {
  return guarded([&] { return wrap_device(storage_in(self).device); });
}
PyObject* storage_false(PyObject*, void*) { Py_RETURN_FALSE; }
PyObject* storage_is_cuda(PyObject* self, void*) {
  return PyBool_FromLong(device_kind_name(storage_in(self).device.kind) == "cuda");
}
PyObject* storage_resize(PyObject* self, PyObject* size) {
  return guarded([&]() -> PyObject* {
    int64_t n = int_of(size);
    check(n >= 0, Kind::Runtime, "resize_(): the size must not be negative, got ", n);
    resize_storage(storage_in(self), n);
    return Py_NewRef(self);
  });
}
PyObject* storage_clone(PyObject* self, PyObject*) {
  return guarded([&] { return wrap_storage(clone(bytes_of(ref_in(self))).storage()); });
}
PyObject* storage_cpu(PyObject* self, PyObject*) {
  return guarded(
      [&] { return wrap_storage(to(bytes_of(ref_in(self)), Device(), std::nullopt).storage()); });
}
PyObject* storage_copy(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"src", "non_blocking", nullptr};
    PyObject* from;
    int non_blocking = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|p:copy_", const_cast<char**>(names), &from,
                                     &non_blocking))
      return nullptr;
    Ref<Storage> source = storage_argument("copy_", from);
    check(source->bytes == storage_in(self).bytes, Kind::Runtime, "size does not match, self was ",
          storage_in(self).bytes, " bytes but src was ", source->bytes, " bytes");
    copy_(bytes_of(ref_in(self)), bytes_of(source));
    return Py_NewRef(self);
  });
}
PyObject* storage_fill(PyObject* self, PyObject* value) {
  return guarded([&]() -> PyObject* {
    Tensor bytes = bytes_of(ref_in(self));
    backend_of(bytes).fill(bytes, Scalar(int_of(value) & 0xff));
    return Py_NewRef(self);
  });
}
PyObject* storage_tolist(PyObject* self, PyObject*) {
  return guarded([&] { return list_of(bytes_of(ref_in(self))); });
}
PyObject* storage_untyped(PyObject* self, PyObject*) { return Py_NewRef(self); }

int storage_buffer(PyObject* self, Py_buffer* view, int flags) {
  Storage& s = storage_in(self);
  if (!s.device.is_cpu()) {
    PyErr_SetString(PyExc_BufferError, "only a storage on the CPU has a buffer");
    return -1;
  }
  static char nothing;
  if (guarded(-1, [&] { return s.settle(), 0; }) < 0) return -1;
  int status = PyBuffer_FillInfo(view, self, s.data ? s.data : &nothing, s.bytes, 0, flags);
  if (status == 0) view->internal = new Pin(ref_in(self));
  return status;
}
void storage_release_buffer(PyObject*, Py_buffer* view) {
  delete static_cast<Pin*>(view->internal);
}
PyObject* storage_subscript(PyObject* self, PyObject* key) {
  return guarded([&]() -> PyObject* {
    Object list = checked(storage_tolist(self, nullptr));
    if (PySlice_Check(key)) {
      Object part = checked(PyObject_GetItem(list.get(), key));
      Object bytes = checked(PyBytes_FromObject(part.get()));
      return wrap_storage(copy_from(PyBytes_AS_STRING(bytes.get()), PyBytes_GET_SIZE(bytes.get())));
    }
    return PyObject_GetItem(list.get(), key);
  });
}
int storage_assign(PyObject* self, PyObject* key, PyObject* value) {
  return guarded(-1, [&] {
    Object bytes = checked(wrap(bytes_of(ref_in(self))));
    check(value != nullptr, Kind::Type, "a storage's bytes cannot be deleted");
    return checked(PyObject_SetItem(bytes.get(), key, value));
  });
}
PyObject* storage_reduce(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    Object host = Object::borrow(self);
    if (!storage_in(self).device.is_cpu()) host = checked(storage_cpu(self, nullptr));
    Object bytes = checked(PyBytes_FromObject(host.get()));
    Object make = Object::borrow(imported("ember._C", "_storage_from_bytes"));
    return Py_BuildValue("O(Os)", make.get(), bytes.get(), storage_in(self).device.name().c_str());
  });
}
PyObject* storage_repr(PyObject* self) {
  return PyUnicode_FromFormat("<UntypedStorage of %zd bytes on %s at %p>",
                              Py_ssize_t(storage_in(self).bytes),
                              storage_in(self).device.name().c_str(), storage_in(self).data);
}

PyMethodDef storage_methods[] = {
    {"nbytes", storage_nbytes, METH_NOARGS, "Bytes of memory."},
    {"size", storage_nbytes, METH_NOARGS, "Bytes of memory."},
    {"data_ptr", storage_data_ptr, METH_NOARGS, "Address of the memory."},
    {"element_size", storage_element_size, METH_NOARGS, "Always 1."},
    {"resizable", storage_resizable, METH_NOARGS, "Whether resize_() works."},
    {"resize_", storage_resize, METH_O, "Changes the size, keeping the bytes that fit."},
    {"clone", storage_clone, METH_NOARGS, "A copy."},
    {"cpu", storage_cpu, METH_NOARGS, "The storage in host memory; itself if it is there."},
    {"copy_", (PyCFunction)(void (*)())storage_copy, METH_VARARGS | METH_KEYWORDS,
     "Copies the bytes of another storage."},
    {"fill_", storage_fill, METH_O, "Sets every byte."},
    {"tolist", storage_tolist, METH_NOARGS, "The bytes as a list of ints."},
    {"untyped", storage_untyped, METH_NOARGS, "The storage itself."},
    {"is_shared", storage_is_shared, METH_NOARGS, "Whether other processes have mapped it too."},
    {"share_memory_", storage_share, METH_NOARGS,
     "Moves the memory to where other processes can map it."},
    {"__sizeof__", storage_sizeof, METH_NOARGS, "Bytes of the object and of its memory."},
    {"__reduce__", storage_reduce, METH_NOARGS, nullptr},
    {"__copy__", storage_clone, METH_NOARGS, nullptr},
    {}};
PyGetSetDef storage_getset[] = {
    {"device", storage_device, nullptr, "Where the memory is.", nullptr},
    {"is_cuda", storage_is_cuda, nullptr, nullptr, nullptr},
    {"is_sparse", storage_false, nullptr, nullptr, nullptr},
    {"_cdata", storage_address, nullptr, "Tells storages apart: the same for the same memory.",
     nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {}};
PyMemberDef storage_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(PyStorage, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PyStorage, weakrefs), READONLY, nullptr},
    {}};
PyType_Slot storage_slots[] = {{Py_tp_init, (void*)storage_init},
                               {Py_tp_iter, (void*)storage_iter},
                               {Py_tp_traverse, (void*)storage_traverse},
                               {Py_tp_clear, (void*)storage_clear},
                               {Py_tp_members, storage_members},
                               {Py_tp_new, (void*)storage_new},
                               {Py_tp_dealloc, (void*)storage_dealloc},
                               {Py_tp_repr, (void*)storage_repr},
                               {Py_sq_length, (void*)storage_len},
                               {Py_mp_length, (void*)storage_len},
                               {Py_mp_subscript, (void*)storage_subscript},
                               {Py_mp_ass_subscript, (void*)storage_assign},
                               {Py_bf_getbuffer, (void*)storage_buffer},
                               {Py_bf_releasebuffer, (void*)storage_release_buffer},
                               {Py_tp_methods, storage_methods},
                               {Py_tp_getset, storage_getset},
                               {Py_tp_doc, (void*)R"(UntypedStorage(size=0, *, device=None)
--

A block of memory, of which tensors are views.

Args:
    size (int or sequence of ints, default 0): how many bytes, or the bytes themselves.
    device (device or str, optional): where it lies.

Example:

    >>> ember.UntypedStorage([1, 2, 3]).nbytes()
    3
    >>> ember.zeros(4)[1:].untyped_storage().nbytes()
    16
)"},
                               {0, nullptr}};
PyType_Spec storage_spec = {"ember.UntypedStorage", sizeof(PyStorage), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                            storage_slots};

// --- tensors and storages ------------------------------------------------------------------------

PyObject* untyped_storage(PyObject* self, PyObject*) {
  return guarded([&] {
    const Ref<Storage>& s = tensor_of(self).storage();
    return wrap_storage(s->root ? s->root : s);
  });
}
PyMethodDef tensor_methods[] = {
    {"untyped_storage", untyped_storage, METH_NOARGS, R"(untyped_storage($self)
--

The memory that the tensor is a view of.

Example:

    >>> ember.zeros(4)[1:].untyped_storage().nbytes()
    16
)"},
    {}};

EMBER_OP(
    "_tensor_from_storage(Any storage, Dtype dtype, int offset, Size size, Size stride) -> Tensor",
    ([](void* storage, Dtype dtype, int64_t offset, const Shape& size, const Shape& stride) {
      Ref<Storage> s = storage_argument("_tensor_from_storage", static_cast<PyObject*>(storage));
      return from_storage(std::move(s), dtype, size, stride, offset);
    }),
    Function | Factory, "A tensor over a storage.");
// _storage_from_bytes(data, device=None): a copy.
PyObject* storage_from_bytes(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *data, *where = Py_None;
    if (!PyArg_ParseTuple(args, "O|O:_storage_from_bytes", &data, &where)) return nullptr;
    Device device = where == Py_None ? Device() : device_of_object(where);
    Py_buffer view;
    checked(PyObject_GetBuffer(data, &view, PyBUF_SIMPLE));
    Ref<Storage> s = copy_from(view.buf, view.len);
    PyBuffer_Release(&view);
    if (!device.is_cpu()) s = to(bytes_of(s), device, std::nullopt).storage();
    return wrap_storage(std::move(s));
  });
}
// _storage_from_buffer(data): the same memory.
PyObject* storage_from_buffer(PyObject*, PyObject* data) {
  return guarded([&] {
    const Py_ssize_t length = PyObject_Length(data);
    if (length < 0) throw PythonError{};
    if (length == 0) return wrap_storage(new_storage(0, Device()));
    return wrap_storage(tensor_over_buffer(data, Dtype::UInt8, -1, 0).storage());
  });
}
PyMethodDef functions[] = {{"_storage_from_bytes", storage_from_bytes, METH_VARARGS, nullptr},
                           {"_storage_from_buffer", storage_from_buffer, METH_O, nullptr},
                           {}};

// Lets these elements fit; a geometry that no storage can have is left for others to refuse.
void grow_storage(Storage& s, const Shape& size, const Shape& stride, int64_t offset,
                  int64_t item_size) {
  if (size.size() != stride.size() || offset < 0) return;
  int64_t need;
  if (__builtin_add_overflow(offset, 1, &need)) return;
  for (int i = 0; i < size.size(); i++) {
    int64_t step;
    if (size[i] <= 0 || stride[i] < 0 || __builtin_mul_overflow(size[i] - 1, stride[i], &step) ||
        __builtin_add_overflow(need, step, &need))
      return;
  }
  if (__builtin_mul_overflow(need, item_size, &need)) return;
  if (need > s.bytes) resize_storage(s, need);
}

void set_storage(const Tensor& self, Ref<Storage> s, const Shape& size, const Shape& stride,
                 int64_t offset) {
  Tensor made = from_storage(std::move(s), self.dtype(), size, stride, offset);
  check(!grad_enabled() || !self.requires_grad() || !self.is_leaf(), Kind::Runtime,
        "a leaf Variable that requires grad is being used in an in-place operation.");
  // What was recorded before was of other memory: it has an accumulator of its own.
  if (Autograd* a = self.impl()->autograd) a->accumulator = nullptr;
  leave_storage(self.storage());
  self.impl()->storage = made.storage();
  self.impl()->device = made.device();
  set_geometry(self, size, stride, offset);
  bump_version(self);
}
EMBER_OP("set_(Tensor self) -> Tensor", ([](const Tensor& self) {
           set_storage(self, new_storage(0, self.device()), {0}, {1}, 0);
           return self;
         }),
         Method | Whole, "Makes the tensor empty, over a storage of its own.");
EMBER_OP("set_(Tensor self, Tensor source) -> Tensor",
         ([](const Tensor& self, const Tensor& source) {
           check(self.dtype() == source.dtype(), Kind::Runtime, "Could not set tensor of type ",
                 source.dtype(), " to a tensor of type ", self.dtype());
           set_storage(self, source.storage(), source.shape(), source.strides(), source.offset());
           return self;
         }),
         Method | Whole,
         "Makes the tensor a view of the storage of `source`, of the same geometry.");
EMBER_OP(
    "set_(Tensor self, Any source, int storage_offset=0, Size? size=None, Size? stride=None) -> "
    "Tensor",
    ([](const Tensor& self, void* source, int64_t offset, const std::optional<Shape>& size,
        const std::optional<Shape>& stride) {
      auto* o = static_cast<PyObject*>(source);
      Ref<Storage> s =
          is_tensor(o) ? tensor_of(o).storage() : storage_argument("set_", o, self.dtype());
      Shape shape = size ? *size : Shape{s->bytes / self.item_size()};
      Shape strides = stride ? *stride : contiguous_strides(shape);
      // As in torch: a tensor that gets another geometry gets the memory for it.
      if (shape != self.shape() || (stride && strides != self.strides()))
        grow_storage(*s, shape, strides, offset, self.item_size());
      set_storage(self, std::move(s), shape, strides, offset);
      return self;
    }),
    Method | Whole, "Makes the tensor a view of a storage.");

}  // namespace

PyObject* wrap_storage(Ref<Storage> storage) {
  auto* o = static_cast<PyObject*>(storage->host_object);
  if (!o) return wrap_new(storage_type, std::move(storage));
  if (!storage->host_owned) return Py_NewRef(o);
  storage->host_owned = false;  // Python takes over again
  storage.detach();
  return o;
}

void add_storage_type(PyObject* module) {
  storage_type = (PyTypeObject*)checked(PyType_FromSpec(&storage_spec)).release();
  checked(PyModule_AddObjectRef(module, "UntypedStorage", (PyObject*)storage_type));
  give_back_storage = [](Storage* s) {
    PyGILState_STATE gil = PyGILState_Ensure();
    s->refs.store(1);
    s->host_owned = false;
    Py_DECREF(static_cast<PyObject*>(s->host_object));
    PyGILState_Release(gil);
  };
  add_tensor_methods(tensor_methods);
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace ember::python
