// ember.Generator: seeds and states of random numbers.
#include "opencl/random.h"
#include "ops/ops.h"
#include "python/python.h"
#include "random/generator.h"

namespace ember::python {

namespace {

struct PyGenerator {
  PyObject_HEAD Generator* generator;
  bool owned;  // the default generators belong to the core
  Device device;
};
PyTypeObject* generator_type;

Generator& self_of(PyObject* o) { return *reinterpret_cast<PyGenerator*>(o)->generator; }

PyObject* make(PyTypeObject* type, Generator* generator, bool owned, Device device = {}) {
  PyObject* self = checked(type->tp_alloc(type, 0)).release();
  reinterpret_cast<PyGenerator*>(self)->generator = generator;
  reinterpret_cast<PyGenerator*>(self)->owned = owned;
  reinterpret_cast<PyGenerator*>(self)->device = device;
  return self;
}

PyObject* generator_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"device", nullptr};
    PyObject* device = nullptr;
    Device on;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", const_cast<char**>(names),
                                     &device))
      return nullptr;
    if (device && device != Py_None) {
      check(is_device(device), Kind::Type, "Generator(): argument 'device' must be a device, not ",
            Py_TYPE(device)->tp_name);
      // A device draws on the host, or takes keys for numbers of its own from there.
      on = device_of_object(device);
      check(!on.is_meta(), Kind::Runtime, "Generator(): the meta device draws no numbers");
      if (!on.is_cpu()) empty({0}, Dtype::UInt8, on);  // or says what is missing
    }
    return make(type, new Generator, true, on);
  });
}

void generator_dealloc(PyObject* self) {
  auto* g = reinterpret_cast<PyGenerator*>(self);
  PyTypeObject* type = Py_TYPE(self);
  if (g->owned) delete g->generator;
  type->tp_free(self);
  Py_DECREF(type);
}

// A seed is a 64-bit number, signed or not.
uint64_t seed_of(PyObject* o) {
  Object number = checked(PyNumber_Index(o));
  uint64_t seed = PyLong_AsUnsignedLongLong(number.get());
  if (!PyErr_Occurred()) return seed;
  PyErr_Clear();
  int64_t negative = PyLong_AsLongLong(number.get());
  if (PyErr_Occurred()) {
    PyErr_Clear();
    fail(Kind::Value,
         "manual_seed(): Overflow when unpacking long long: a seed is in [-2**63, 2**64 - 1]");
  }
  return uint64_t(negative);
}

PyObject* manual_seed(PyObject* self, PyObject* seed) {
  return guarded([&]() -> PyObject* {
    self_of(self).manual_seed(seed_of(seed));
    return Py_NewRef(self);
  });
}
PyObject* seed(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(self_of(self).seed());
}
PyObject* initial_seed(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(self_of(self).initial_seed());
}

PyObject* get_state(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    Tensor state = empty({int64_t(Generator::kStateBytes)}, Dtype::UInt8);
    self_of(self).get_state(state.data<uint8_t>());
    return wrap(std::move(state));
  });
}
PyObject* set_state(PyObject* self, PyObject* state) {
  return guarded([&]() -> PyObject* {
    check(is_tensor(state), Kind::Type, "set_state(): expected a torch.ByteTensor, but got ",
          Py_TYPE(state)->tp_name);
    const Tensor& given = tensor_of(state);
    check(given.dtype() == Dtype::UInt8 && given.device().is_cpu(), Kind::Type,
          "RNG state must be a torch.ByteTensor, got ", given.dtype(), " on ", given.device());
    Tensor bytes = contiguous(given);
    self_of(self).set_state(bytes.data<uint8_t>(), size_t(bytes.numel()));
    return Py_NewRef(self);
  });
}

PyObject* clone_state(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    return make(Py_TYPE(self), new Generator(self_of(self)), true,
                reinterpret_cast<PyGenerator*>(self)->device);
  });
}

PyObject* reduce(PyObject* self, PyObject*) {
  uint8_t state[Generator::kStateBytes];
  self_of(self).get_state(state);
  return Py_BuildValue("(O()y#)", Py_TYPE(self), state, Py_ssize_t(sizeof state));
}
PyObject* set_pickled(PyObject* self, PyObject* state) {
  return guarded([&]() -> PyObject* {
    check(PyBytes_Check(state), Kind::Type, "__setstate__(): expected bytes, got ",
          Py_TYPE(state)->tp_name);
    self_of(self).set_state(reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(state)),
                            size_t(PyBytes_GET_SIZE(state)));
    return Py_NewRef(Py_None);
  });
}

PyObject* get_offset(PyObject*, PyObject*) {
  PyErr_SetString(PyExc_RuntimeError, "CPU Generator does not use offset");
  return nullptr;
}

PyObject* device(PyObject* self, void*) {
  return wrap_device(reinterpret_cast<PyGenerator*>(self)->device);
}

PyMethodDef methods[] = {
    {"manual_seed", manual_seed, METH_O,
     "Seeds the generator with a 64-bit number, and returns it."},
    {"seed", seed, METH_NOARGS, "Seeds the generator from the system's entropy; returns the seed."},
    {"initial_seed", initial_seed, METH_NOARGS, "The last seed."},
    {"get_state", get_state, METH_NOARGS, "The state as a tensor of bytes, in torch's format."},
    {"set_state", set_state, METH_O, "Restores what get_state() returned."},
    {"clone_state", clone_state, METH_NOARGS, "A new generator in the same state."},
    {"get_offset", get_offset, METH_NOARGS, "Raises: generators on the CPU have none."},
    {"set_offset", get_offset, METH_O, "Raises: generators on the CPU have none."},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {"__setstate__", set_pickled, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef properties[] = {
    {"device", device, nullptr, "Where the generator draws.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(generator_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(generator_dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_doc, const_cast<char*>(R"(Generator(device='cpu')
--

A source of random numbers with a state of its own; pass it as `generator=`.

Args:
    device (device or str, default 'cpu'): where it draws.

Example:

    >>> g = ember.Generator().manual_seed(7)
    >>> x = ember.rand(2, generator=g)
    >>> ember.equal(x, ember.rand(2, generator=g.manual_seed(7)))
    True
)")},
    {0, nullptr},
};
PyType_Spec spec = {"ember.Generator", sizeof(PyGenerator), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

bool is_generator(PyObject* o) { return PyObject_TypeCheck(o, generator_type); }
Generator* generator_of(PyObject* o) { return reinterpret_cast<PyGenerator*>(o)->generator; }

void add_generator_type(PyObject* module) {
  generator_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)).release());
  checked(PyModule_AddObjectRef(module, "Generator", reinterpret_cast<PyObject*>(generator_type)));
  Object standard = Object::steal(make(generator_type, &default_generator(), false));
  checked(PyModule_AddObjectRef(module, "default_generator", standard.get()));
  Object opencl = Object::steal(make(generator_type, &opencl::device_generator(), false));
  checked(PyModule_AddObjectRef(module, "_opencl_generator", opencl.get()));
}

}  // namespace ember::python
