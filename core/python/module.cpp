// The extension module ember._C: puts the parts together and translates errors.
#include "python/overrides.h"
#include "python/python.h"

#include <unistd.h>

#include <new>

#include "runtime.h"

namespace ember::python {

void add_opencl(PyObject* module);         // opencl.cpp
void add_opencl_builds(PyObject* module);  // opencl_builds.cpp
void add_callgrind(PyObject* module);      // callgrind.cpp
void add_distributed(PyObject* module);    // distributed.cpp
void add_extension_api(PyObject* module);  // extension_api.cpp

void set_python_error() {
  try {
    throw;
  } catch (const PythonError&) {
  } catch (const Error& e) {
    PyObject* type = PyExc_RuntimeError;
    switch (e.kind()) {
      case Kind::Runtime: break;
      case Kind::Value: type = PyExc_ValueError; break;
      case Kind::Type: type = PyExc_TypeError; break;
      case Kind::Index: type = PyExc_IndexError; break;
      case Kind::NotImplemented: type = PyExc_NotImplementedError; break;
      case Kind::Assertion: type = PyExc_AssertionError; break;
      case Kind::OutOfMemory: type = imported("ember._errors", "OutOfMemoryError"); break;
      case Kind::Overflow: type = PyExc_OverflowError; break;
      case Kind::ZeroDivision: type = PyExc_ZeroDivisionError; break;
      case Kind::LinAlg: type = imported("ember._errors", "LinAlgError"); break;
    }
    PyErr_SetString(type, e.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
}

PyObject* imported(const char* module, const char* name) {
  Object m = checked(PyImport_ImportModule(module));
  Object value = checked(PyObject_GetAttrString(m.get(), name));
  return value.get();  // the module keeps it alive
}

namespace {

// A daemon thread that asks for the lock while the interpreter ends does not get it. Up to Python
// 3.13 it is then made to exit, by an exception that would meet destructors which touch Python, or
// may not throw. So it stays where it is until the process is gone, as in later versions.
void restore(void* state) {
  try {
    PyEval_RestoreThread(static_cast<PyThreadState*>(state));
  } catch (...) {
    while (true) pause();
  }
}

void share_threads() {
  host.release = []() -> void* {
    // Only a thread that holds the lock may give it up.
    return PyGILState_Check() ? PyEval_SaveThread() : nullptr;
  };
  host.acquire = restore;
}

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "ember._C",
                          "The C++ core of ember.",
                          -1,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

}  // namespace ember::python

PyMODINIT_FUNC PyInit__C() {
  using namespace ember::python;
  Object module = Object::steal(PyModule_Create(&definition));
  if (!module) return nullptr;
  return guarded([&]() -> PyObject* {
    share_threads();
    add_value_types(module.get());
    add_size_type(module.get());
    add_tensor_type(module.get());
    add_storage_type(module.get());
    add_shared_memory(module.get());
    add_numpy(module.get());
    add_dlpack(module.get());
    add_runtime(module.get());
    add_generator_type(module.get());
    add_overrides(module.get());
    add_ops(module.get());
    add_methods();  // after the ops: some have a quicker method here
    add_autograd(module.get());
    add_sparse(module.get());
    add_backends(module.get());
    add_wrappers(module.get());
    add_opencl(module.get());
    add_opencl_builds(module.get());
    add_compiler(module.get());
    add_lazy(module.get());
    add_profile(module.get());
    add_callgrind(module.get());
    add_distributed(module.get());
    add_module_base(module.get());
    add_extension_api(module.get());
    return module.release();
  });
}
