// The base of nn.Module: attributes and calls without a detour through Python. By the usual rules,
// reading a layer of a model fails first, with an exception and its message, before __getattr__ is
// asked; and a call packs and unpacks its arguments once more. Classes with a __getattr__ of their
// own keep the usual rules: theirs is asked for parameters, buffers and submodules too.
#include "python/python.h"

namespace ember::python {

namespace {

PyObject* member_tables[3];  // "_parameters", "_modules", "_buffers"
PyObject *hooked_name, *forward_name, *with_hooks_name, *getattr_name, *getattribute_name;
PyObject* global_hooks;  // a list, not empty once there was a hook for all modules

// A member under that name; null (and no exception) if there is none.
PyObject* find_member(PyObject* own, PyObject* name) {
  for (PyObject* table : member_tables) {
    PyObject* members = PyDict_GetItemWithError(own, table);
    if (!members || !PyDict_Check(members)) continue;
    if (PyObject* value = PyDict_GetItemWithError(members, name)) return Py_NewRef(value);
  }
  return nullptr;
}

PyObject* get_attribute(PyObject* self, PyObject* name) {
  // What the class defines comes first or is a descriptor: the usual way knows.
  if (!_PyType_Lookup(Py_TYPE(self), name)) {
    Object own = Object::steal(PyObject_GenericGetDict(self, nullptr));
    if (!own) return nullptr;
    if (PyObject* value = PyDict_GetItemWithError(own.get(), name)) return Py_NewRef(value);
    if (PyObject* value = find_member(own.get(), name)) return value;
    if (PyErr_Occurred()) return nullptr;
  }
  return PyObject_GenericGetAttr(self, name);
}

// The same followed by __getattr__, for classes that have no other than that of nn.Module. Python
// would look both up by name, and call them as methods.
PyObject* get_attribute_quickly(PyObject* self, PyObject* name) {
  if (PyObject* value = get_attribute(self, name)) return value;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
  PyErr_Clear();  // before the lookup, which takes an exception for its own
  PyObject* last_resort = _PyType_Lookup(Py_TYPE(self), getattr_name);
  return PyObject_CallFunctionObjArgs(last_resort, self, name, nullptr);
}

// _quick_attributes(cls, getattr): `getattr` is nn.Module's.
PyObject* quick_attributes(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (count != 2 || !PyType_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "_quick_attributes(): expected a class and a function");
    return nullptr;
  }
  auto* type = reinterpret_cast<PyTypeObject*>(args[0]);
  auto* base = reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(self, "_ModuleBase"));
  if (!base) return nullptr;
  if (_PyType_Lookup(type, getattr_name) == args[1] &&
      _PyType_Lookup(type, getattribute_name) == _PyType_Lookup(base, getattribute_name))
    type->tp_getattro = get_attribute_quickly;
  Py_DECREF(base);
  Py_RETURN_NONE;
}

// module(*args, **kwargs): forward(), unless there are hooks.
PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
  Object own = Object::steal(PyObject_GenericGetDict(self, nullptr));
  if (!own) return nullptr;
  if (PyList_GET_SIZE(global_hooks) || PyDict_GetItemWithError(own.get(), hooked_name)) {
    Object given = kwargs ? Object::borrow(kwargs) : Object::steal(PyDict_New());
    if (!given) return nullptr;
    return PyObject_CallMethodObjArgs(self, with_hooks_name, args, given.get(), nullptr);
  }
  PyObject* forward = PyDict_GetItemWithError(own.get(), forward_name);  // of this object alone
  if (forward) return PyObject_Call(forward, args, kwargs);
  forward = _PyType_Lookup(Py_TYPE(self), forward_name);
  constexpr Py_ssize_t kMost = 8;
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  if (!forward || !PyFunction_Check(forward) || count >= kMost) {
    Object method = Object::steal(PyObject_GetAttr(self, forward_name));
    return method ? PyObject_Call(method.get(), args, kwargs) : nullptr;
  }
  PyObject* given[kMost + 1] = {nullptr, self};
  for (Py_ssize_t i = 0; i < count; i++) given[i + 2] = PyTuple_GET_ITEM(args, i);
  Object kept = Object::borrow(forward);  // the class may lose it meanwhile
  return PyObject_VectorcallDict(forward, given + 1,
                                 size_t(count + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, kwargs);
}

PyType_Slot slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(call)},
    {Py_tp_doc, const_cast<char*>("Attributes and calls of nn.Module.")},
    {0, nullptr},
};
PyType_Spec spec = {"ember._C._ModuleBase", sizeof(PyObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

PyMethodDef functions[] = {
    {"_quick_attributes", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(quick_attributes)),
     METH_FASTCALL, "Lets a subclass of nn.Module find its members quickly."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_module_base(PyObject* module) {
  const char* const tables[] = {"_parameters", "_modules", "_buffers"};
  for (int i = 0; i < 3; i++) member_tables[i] = PyUnicode_InternFromString(tables[i]);
  hooked_name = PyUnicode_InternFromString("_hooked");
  forward_name = PyUnicode_InternFromString("forward");
  with_hooks_name = PyUnicode_InternFromString("_call_with_hooks");
  getattr_name = PyUnicode_InternFromString("__getattr__");
  getattribute_name = PyUnicode_InternFromString("__getattribute__");
  global_hooks = checked(PyList_New(0)).release();
  checked(PyModule_AddObjectRef(module, "_global_hooks", global_hooks));
  Object type = checked(PyType_FromSpec(&spec));
  checked(PyModule_AddObjectRef(module, "_ModuleBase", type.get()));
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace ember::python
