// PyTorch's __torch_function__ protocol: an argument whose type defines it is asked to carry out
// the call. Plain tensors pay for a comparison of their type, which the inline tests below are.
// The Python side, with the default implementation and the modes, is ember/overrides.py.
// What nobody takes over there goes on to __torch_dispatch__, if a type or a mode has it:
// ember/_dispatch.py.
#pragma once

#include "python/python.h"
#include "tensor/mode.h"

namespace ember::python {

// Per thread: modes that see every call, and whether types are asked at all.
struct Overrides {
  int modes = 0;           // of both protocols
  int dispatch_modes = 0;  // of __torch_dispatch__ alone
  int watchers = 0;        // of ops that draw numbers: Note [Watchers]
  bool dispatch_off = false;
  bool types_off = false;  // within DisableTorchFunctionSubclass
  bool all_off = false;    // within DisableTorchFunction
};
EMBER_FAST_TLS inline thread_local Overrides override_state;

bool type_asks(PyTypeObject* type);       // defines __torch_function__, and it is not switched off
bool type_overrides(PyTypeObject* type);  // that, or __torch_dispatch__
void note_dispatch_type(PyTypeObject* type);  // called for every new subclass
// Overrides among the items of lists and tuples count, too, and in lists of these.
constexpr int kListDepth = 2;
bool list_overrides(PyObject* list, int depth = kListDepth);

inline bool modes_active() { return __builtin_expect(override_state.modes != 0, 0); }
inline bool overrides(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  // A type that is not made at run time is Python's own: a number, a string, a list ...
  return type != tensor_type && (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && type_overrides(type);
}
inline bool overrides_or_holds(PyObject* o) {
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) return list_overrides(o);
  return overrides(o);
}
inline bool any_overrides(PyObject* const* args, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; i++)
    if (overrides_or_holds(args[i])) return true;
  return modes_active();
}
inline bool self_overrides(PyObject* self) { return overrides(self) || modes_active(); }

// Note [Watchers]
// vmap is to see every op that draws numbers, whatever its arguments are, and no other. So it is no
// mode, for which every call would pay: ops with the trait Random ask the innermost watcher.
bool draws(PyObject* op);  // whether it is an op with that trait; op_type.cpp
inline bool is_watched(PyObject* op) {
  return __builtin_expect(override_state.watchers != 0, 0) && !override_state.all_off && draws(op);
}

// Hands the call func(*args, **kwargs) to the modes and to the types of its arguments, the most
// derived first. If none takes it: TypeError, or NotImplemented itself if `operands`.
PyObject* call_override(PyObject* func, PyObject* args, PyObject* kwargs, bool operands = false);
PyObject* call_override(PyObject* func, PyObject* const* args, Py_ssize_t n, PyObject* kwnames);
// The same for an attribute of Tensor by name: a method, operator or property.
PyObject* method_override(const char* name, std::initializer_list<PyObject*> args,
                          bool operands = false);
PyObject* method_override(const char* name, PyObject* self, PyObject* const* args, Py_ssize_t n,
                          PyObject* kwnames);
PyObject* property_override(const char* name, PyObject* self);
void add_overrides(PyObject* module);

}  // namespace ember::python
