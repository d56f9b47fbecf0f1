// A device written in Python: hands every primitive that its object has a method for to this method
// (ember/backend.py says what each receives); the others have their defaults. A storage's memory is
// whatever object the backend's `allocate` returned. Also the recording of primitives.
#include <algorithm>

#include "backend.h"
#include "ops/ops.h"
#include "python/python.h"
#include "recorder.h"

namespace ember::python {

namespace {

class Gil {  // storages may be freed on any thread
 public:
  Gil() : state_(PyGILState_Ensure()) {}
  ~Gil() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

// --- arguments as Python's -----------------------------------------------------------------------

Object object(const Tensor& t) { return t ? checked(wrap_bare(t)) : Object::borrow(Py_None); }
Object object(Dtype d) { return checked(wrap_dtype(d)); }
Object object(const Scalar& s) { return checked(wrap_scalar(s)); }
Object object(const char* text) { return checked(PyUnicode_FromString(text)); }
Object object(int64_t i) { return checked(PyLong_FromLongLong(i)); }
Object object(int i) { return object(int64_t(i)); }
Object object(uint64_t i) { return checked(PyLong_FromUnsignedLongLong(i)); }
Object object(bool b) { return Object::borrow(b ? Py_True : Py_False); }
Object object(double d) { return checked(PyFloat_FromDouble(d)); }
Object object(const Shape& s) { return checked(wrap_shape(s)); }
Object object(const Params& p) { return checked(Py_BuildValue("(ddd)", p.p0, p.p1, p.p2)); }
Object object(const Object& o) { return o; }
// The key of a sequence of random numbers.
Object object(const Generator& g) { return object(const_cast<Generator&>(g).random64()); }

template <class T>
Object object(const std::vector<T>& list);
template <class T>
Object object(const T& value) {
  if constexpr (HasFields<T>) {
    Object made = checked(PyDict_New());
    fields(value, [&](Role, const char* name, const auto& field) {
      if (PyDict_SetItemString(made.get(), name, object(field).get())) throw PythonError();
    });
    return made;
  } else {
    return object(name_of(value));
  }
}
template <class T>
Object object(const std::vector<T>& list) {
  Object made = checked(PyList_New(Py_ssize_t(list.size())));
  for (size_t i = 0; i < list.size(); i++)
    PyList_SET_ITEM(made.get(), Py_ssize_t(i), object(list[i]).release());
  return made;
}

// The arguments of a call, in the order of the row.
struct Call {
  std::vector<Object> values;
  const Tensor* first = nullptr;  // that operands are broadcast to

  template <class... G>
  explicit Call(PyObject* self, const G&... given) : values{Object::borrow(self)} {
    (add(given.value), ...);
  }
  template <class T>
  void add(const T& value) {
    if constexpr (std::is_same_v<T, Tensor>)
      if (!first && value) first = &value;
    values.push_back(object(value));
  }
  void add(const Input& in) {
    values.push_back(in.tensor ? object(in.spread(first->shape())) : object(in.scalar));
  }
  void add(const Indexing& at) { add(at.indices), add(at.first); }
};

class PythonBackend final : public Backend {
 public:
  explicit PythonBackend(PyObject* self) : self_(Object::borrow(self)) {}

  void* allocate(int64_t bytes) override { return call("allocate", bytes).release(); }
  void deallocate(void* data, int64_t) override {
    if (!data || !Py_IsInitialized()) return;
    Gil gil;
    Py_DECREF(static_cast<PyObject*>(data));
  }
  void copy_bytes(void* to, const void* from, int64_t bytes) override {
    call("copy_bytes", handle(to), handle(const_cast<void*>(from)), bytes);
  }
  void copy_from_host(const Tensor& to, const void* from) override {
    int64_t bytes = to.numel() * to.item_size();
    call("copy_from_host", to, memory(const_cast<void*>(from), bytes, PyBUF_READ));
  }
  void copy_to_host(void* to, const Tensor& from) override {
    call("copy_to_host", memory(to, from.numel() * from.item_size(), PyBUF_WRITE), from);
  }
  void synchronize() override { call("synchronize"); }

#define PRIMITIVE(need, result, name, ...)                                                     \
  result name(EMBER_PARAMETERS(__VA_ARGS__)) override {                                        \
    if (!has(Primitive::name)) return Backend::name(EMBER_NAMES(__VA_ARGS__));                 \
    return result_of<result>(#name, call(#name, Call(self_.get(), EMBER_GIVEN(__VA_ARGS__)))); \
  }
#include "primitives.h"

 private:
  template <class... A>
  Object call(const char* method, const A&... args) {
    Call call(self_.get());
    (call.add(args), ...);
    return this->call(method, call);
  }
  Object call(const char* method, const Call& call) {
    std::vector<PyObject*> raw;
    for (const Object& value : call.values) raw.push_back(value.get());
    Object name = checked(PyUnicode_InternFromString(method));
    return checked(PyObject_VectorcallMethod(name.get(), raw.data(), raw.size(), nullptr));
  }
  template <class R>
  R result_of(const char* method, const Object& made) const {
    if constexpr (!std::is_void_v<R>) {
      check(is_tensor(made.get()) && tensor_of(made.get()).device().kind == kind(), Kind::Type,
            method, "(): expected a tensor of device '", name(), "' from its backend, got ",
            Py_TYPE(made.get())->tp_name);
      return tensor_of(made.get());
    }
  }
  static Object handle(void* data) { return Object::borrow(static_cast<PyObject*>(data)); }
  static Object memory(void* data, int64_t bytes, int flags) {
    static char nothing[1];
    return checked(
        PyMemoryView_FromMemory(data ? static_cast<char*>(data) : nothing, bytes, flags));
  }
  Object self_;
};

PyObject* register_backend_object(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* name;
    PyObject* self;
    if (!PyArg_ParseTuple(args, "sO:register_backend", &name, &self)) return nullptr;
    std::string text = name;
    check(!text.empty() && text.find(':') == std::string::npos && text != "cpu" && text != "meta",
          Kind::Value, "register_backend(): a device needs a name of its own without ':', got '",
          text, "'");
    Primitives has;
    for (int p = 0; p < kPrimitives; p++)
      has[size_t(p)] = PyObject_HasAttrString(self, name_of(Primitive(p)));
    register_backend(text, new PythonBackend(self), has);
    Py_RETURN_NONE;
  });
}

PyObject* memory_of(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    check(is_tensor(o), Kind::Type, "memory_of(): expected a Tensor, got ", Py_TYPE(o)->tp_name);
    const Tensor& t = tensor_of(o);
    check(dynamic_cast<PythonBackend*>(&backend_of(t).innermost()), Kind::Type,
          "memory_of(): the tensor is on ", t.device(),
          ", which is not a device written in Python");
    return Py_NewRef(static_cast<PyObject*>(t.storage()->data));
  });
}

// [(name, need, arguments as text)]
PyObject* list_primitives(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    Object made = checked(PyList_New(0));
    auto add = [&](const char* name, const char* need, std::initializer_list<const char*> given) {
      std::string text;
      for (const char* argument : given) text += (text.empty() ? "" : ", ") + std::string(argument);
      Object row = checked(Py_BuildValue("(sss)", name, need, text.c_str()));
      if (PyList_Append(made.get(), row.get())) throw PythonError();
    };
#define ARGUMENT(argument) ARGUMENT_ argument
#define ARGUMENT_(role, type, name) #name
#define PRIMITIVE(need, result, name, ...) add(#name, #need, {EMBER_JOINED(ARGUMENT, __VA_ARGS__)});
#include "primitives.h"
#undef ARGUMENT
#undef ARGUMENT_
    return made.release();
  });
}

// --- recording -----------------------------------------------------------------------------------

PyObject* start_recording(PyObject*, PyObject* device) {
  return guarded([&]() -> PyObject* {
    Recorder::start(device_of_object(device).kind);
    Py_RETURN_NONE;
  });
}

// [(name, places read, places written, attributes)], a place being (number of the storage, offset,
// dtype, shape, strides). Storages are numbered as they come.
PyObject* stop_recording(PyObject*, PyObject* device) {
  return guarded([&]() -> PyObject* {
    std::vector<const Storage*> seen;
    auto places = [&](const std::vector<Place>& list) {
      Object made = checked(PyTuple_New(Py_ssize_t(list.size())));
      for (size_t i = 0; i < list.size(); i++) {
        const Place& p = list[i];
        auto at = std::find(seen.begin(), seen.end(), p.storage);
        const auto number = Py_ssize_t(at - seen.begin());
        if (at == seen.end()) seen.push_back(p.storage);
        Object dtype = object(p.dtype), shape = object(p.shape), strides = object(p.strides);
        Object place = checked(Py_BuildValue("(nLOOO)", number, (long long)(p.offset), dtype.get(),
                                             shape.get(), strides.get()));
        PyTuple_SET_ITEM(made.get(), Py_ssize_t(i), place.release());
      }
      return made;
    };
    const std::vector<Step> steps = Recorder::stop(device_of_object(device).kind);
    Object made = checked(PyList_New(0));
    for (const Step& s : steps) {
      Object reads = places(s.reads), writes = places(s.writes);
      Object row = checked(Py_BuildValue("(sOOs)", name_of(s.primitive), reads.get(), writes.get(),
                                         s.attributes.c_str()));
      if (PyList_Append(made.get(), row.get())) throw PythonError();
    }
    return made.release();
  });
}

PyMethodDef functions[] = {{"_register_backend", register_backend_object, METH_VARARGS, nullptr},
                           {"_memory_of", memory_of, METH_O, nullptr},
                           {"_primitives", list_primitives, METH_NOARGS, nullptr},
                           {"_start_recording", start_recording, METH_O, nullptr},
                           {"_stop_recording", stop_recording, METH_O, nullptr},
                           {}};

}  // namespace

void add_backends(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace ember::python
