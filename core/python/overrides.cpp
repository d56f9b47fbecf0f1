// Calls that arguments take over: who is asked, in which order, and what they are told.
#include "python/overrides.h"

#include <cstring>

#include <vector>

namespace ember::python {

namespace {

PyObject *text_torch_function, *disabled, *text_torch_dispatch, *disabled_dispatch;
bool dispatch_types = false;  // there is a type with __torch_dispatch__
// Those of this thread, innermost last; override_state has the lengths.
using Stack = std::vector<Object>;
thread_local Stack *mode_stack = nullptr, *watcher_stack = nullptr;

Stack& stack(Stack*& s) { return s ? *s : *(s = new Stack); }
Stack& modes() { return stack(mode_stack); }
Stack& watchers() { return stack(watcher_stack); }

using Askable = std::vector<PyObject*>;

// One argument of each type; a subclass comes before its base, else the order is that of the call.
void collect_one(PyObject* o, Askable& found) {
  if (!overrides(o) || !type_asks(Py_TYPE(o))) return;
  size_t at = found.size();
  for (size_t i = 0; i < found.size(); i++) {
    if (Py_TYPE(found[i]) == Py_TYPE(o)) return;
    if (at == found.size() && PyType_IsSubtype(Py_TYPE(o), Py_TYPE(found[i]))) at = i;
  }
  found.insert(found.begin() + Py_ssize_t(at), o);
}
void collect(PyObject* o, Askable& found, int depth = kListDepth + 1) {
  if (!PyTuple_CheckExact(o) && !PyList_CheckExact(o)) return collect_one(o, found);
  for (Py_ssize_t i = 0; depth > 0 && i < PySequence_Fast_GET_SIZE(o); i++)
    collect(PySequence_Fast_GET_ITEM(o, i), found, depth - 1);
}
Askable askable(PyObject* args, PyObject* kwargs) {
  Askable found;
  collect(args, found);
  Py_ssize_t position = 0;
  PyObject *key, *value;
  while (kwargs && PyDict_Next(kwargs, &position, &key, &value)) collect(value, found);
  return found;
}
Object types_of(const Askable& found) {
  Object types = checked(PyTuple_New(Py_ssize_t(found.size())));
  for (size_t i = 0; i < found.size(); i++)
    PyTuple_SET_ITEM(types.get(), Py_ssize_t(i), Py_NewRef((PyObject*)Py_TYPE(found[i])));
  return types;
}

Object ask(PyObject* whom, PyObject* func, PyObject* types, PyObject* args, PyObject* kwargs) {
  Object handler = checked(PyObject_GetAttr(whom, text_torch_function));
  Object none = kwargs ? Object::borrow(kwargs) : checked(PyDict_New());
  return checked(
      PyObject_CallFunctionObjArgs(handler.get(), func, types, args, none.get(), nullptr));
}

// The innermost one, which does not see the calls that it makes itself.
Object ask_innermost(Stack& all, int& count, PyObject* func, PyObject* types, PyObject* args,
                     PyObject* kwargs) {
  struct Outer {
    Stack& all;
    int& count;
    Object one = std::move(all.back());
    Outer(Stack& all, int& count) : all(all), count(count) { all.pop_back(), count--; }
    ~Outer() { all.push_back(std::move(one)), count++; }
  } outer(all, count);
  return ask(outer.one.get(), func, types, args, kwargs);
}
Object ask_mode(PyObject* func, PyObject* types, PyObject* args, PyObject* kwargs) {
  return ask_innermost(modes(), override_state.modes, func, types, args, kwargs);
}

bool function_modes() { return override_state.modes > override_state.dispatch_modes; }

// Nobody takes part in __torch_function__: the other protocol's turn.
PyObject* dispatch(PyObject* func, PyObject* args, PyObject* kwargs) {
  Object none = kwargs ? Object::borrow(kwargs) : checked(PyDict_New());
  return PyObject_CallFunctionObjArgs(imported("ember._dispatch", "call"), func, args, none.get(),
                                      nullptr);
}

[[noreturn]] void nobody_took(PyObject* func, const Askable& found) {
  Object name =
      Object::steal(PyObject_CallOneArg(imported("ember.overrides", "resolve_name"), func));
  if (!name) PyErr_Clear();
  std::string text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : "?";
  std::string types;
  for (PyObject* o : found) {
    Object shown = checked(PyObject_Repr((PyObject*)Py_TYPE(o)));
    types += std::string("\n\n  - tensor subclass ") + PyUnicode_AsUTF8(shown.get());
  }
  fail(Kind::Type, "Multiple dispatch failed for '", text,
       "'; all __torch_function__ handlers returned NotImplemented:", types);
}

PyObject* attribute_of_tensor(const char* name) {  // borrowed: the type keeps it
  return checked(PyObject_GetAttrString((PyObject*)tensor_type, name)).get();
}

}  // namespace

// A tensor of PyTorch itself would only call us again.
static bool is_of_pytorch(PyTypeObject* type) {
  PyObject* bases = type->tp_mro;
  for (Py_ssize_t i = 0; bases && i < PyTuple_GET_SIZE(bases); i++) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(bases, i));
    if (!std::strcmp(base->tp_name, "torch._C.TensorBase")) return true;
  }
  return false;
}

bool type_asks(PyTypeObject* type) {
  if (override_state.types_off) return false;
  PyObject* found = _PyType_Lookup(type, text_torch_function);
  return found && found != disabled && !is_of_pytorch(type);
}

static bool type_dispatches(PyTypeObject* type) {
  PyObject* found = _PyType_Lookup(type, text_torch_dispatch);
  return found && found != disabled_dispatch;
}
void note_dispatch_type(PyTypeObject* type) {
  if (!dispatch_types && type_dispatches(type)) dispatch_types = true;
}

bool type_overrides(PyTypeObject* type) {
  if (!override_state.types_off) {
    PyObject* found = _PyType_Lookup(type, text_torch_function);
    if (found && found != disabled && !is_of_pytorch(type)) return true;
  }
  return __builtin_expect(dispatch_types, 0) && !override_state.dispatch_off &&
         type_dispatches(type);
}

bool list_overrides(PyObject* list, int depth) {
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(list);
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* item = PySequence_Fast_GET_ITEM(list, i);
    if (PyFloat_CheckExact(item) || PyLong_CheckExact(item)) return false;  // numbers throughout
    const bool holds = PyTuple_CheckExact(item) || PyList_CheckExact(item);
    if (holds ? depth > 1 && list_overrides(item, depth - 1) : overrides(item)) return true;
  }
  return false;
}

PyObject* call_override(PyObject* func, PyObject* args, PyObject* kwargs, bool operands) {
  Askable found = askable(args, kwargs);
  Object types = types_of(found);
  const bool mode = function_modes();
  if (mode) {
    Object result = ask_mode(func, types.get(), args, kwargs);
    if (result.get() != Py_NotImplemented) return result.release();
  }
  if (is_watched(func))
    return ask_innermost(watchers(), override_state.watchers, func, types.get(), args, kwargs)
        .release();
  for (PyObject* o : found) {
    Object result = ask(o, func, types.get(), args, kwargs);
    if (result.get() != Py_NotImplemented) return result.release();
  }
  if (found.empty() && !mode) return dispatch(func, args, kwargs);
  if (operands) return Py_NewRef(Py_NotImplemented);
  nobody_took(func, found);
}

PyObject* call_override(PyObject* func, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  Object tuple = checked(PyTuple_New(n));
  for (Py_ssize_t i = 0; i < n; i++) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(args[i]));
  Object kwargs;
  if (kwnames && PyTuple_GET_SIZE(kwnames)) {
    kwargs = checked(PyDict_New());
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); i++)
      checked(PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(kwnames, i), args[n + i]));
  }
  return call_override(func, tuple.get(), kwargs.get());
}

PyObject* method_override(const char* name, std::initializer_list<PyObject*> args, bool operands) {
  Object tuple = checked(PyTuple_New(Py_ssize_t(args.size())));
  Py_ssize_t i = 0;
  for (PyObject* o : args) PyTuple_SET_ITEM(tuple.get(), i++, Py_NewRef(o));
  return call_override(attribute_of_tensor(name), tuple.get(), nullptr, operands);
}

PyObject* method_override(const char* name, PyObject* self, PyObject* const* args, Py_ssize_t n,
                          PyObject* kwnames) {
  Py_ssize_t keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  std::vector<PyObject*> all{self};
  all.insert(all.end(), args, args + n + keywords);
  return call_override(attribute_of_tensor(name), all.data(), n + 1, kwnames);
}

PyObject* property_override(const char* name, PyObject* self) {
  Object getter = checked(PyObject_GetAttrString(attribute_of_tensor(name), "__get__"));
  Object args = checked(PyTuple_Pack(1, self));
  return call_override(getter.get(), args.get(), nullptr);
}

// --- what ember/overrides.py is made of ----------------------------------------------------------

namespace {

// func(*args, **kwargs) of the arguments (func, types, args, kwargs), of which the last two may
// miss.
PyObject* run_as_is(const char* name, PyObject* given) {
  PyObject *func, *types, *args = nullptr, *kwargs = nullptr;
  if (!PyArg_ParseTuple(given, "OO|OO", &func, &types, &args, &kwargs)) return nullptr;
  if (kwargs == Py_None) kwargs = nullptr;
  check(!kwargs || PyDict_Check(kwargs), Kind::Type, name, "(): kwargs must be a dict, not ",
        kwargs ? Py_TYPE(kwargs)->tp_name : "");
  Object tuple = args ? checked(PySequence_Tuple(args)) : checked(PyTuple_New(0));
  return PyObject_Call(func, tuple.get(), kwargs);
}

// Runs the call as if nobody defined __torch_function__.
PyObject* disabled_impl(PyObject*, PyObject* args) {
  return guarded([&] {
    struct Off {
      bool before = std::exchange(override_state.types_off, true);
      ~Off() { override_state.types_off = before; }
    } off;
    return run_as_is("_disabled_torch_function_impl", args);
  });
}

PyObject* has_override(PyObject*, PyObject* const* args, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; i++)
    if (overrides(args[i]) && type_asks(Py_TYPE(args[i]))) Py_RETURN_TRUE;
  return PyBool_FromLong(function_modes());
}
PyObject* has_override_in(PyObject*, PyObject* args) {
  return guarded([&] {
    Object list = checked(PySequence_Fast(args, "has_torch_function() takes a sequence"));
    PyObject** items = PySequence_Fast_ITEMS(list.get());
    return has_override(nullptr, items, PySequence_Fast_GET_SIZE(list.get()));
  });
}
PyObject* overloaded_args(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    Object list = checked(PySequence_Tuple(args)), result = checked(PyList_New(0));
    for (PyObject* o : askable(list.get(), nullptr)) checked(PyList_Append(result.get(), o));
    return result.release();
  });
}
// _call_override(func, relevant_args, args, kwargs)
PyObject* call_override_for(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    check(n == 4 && PyTuple_Check(args[2]) && PyDict_Check(args[3]), Kind::Type,
          "_call_override() takes func, relevant_args, args and kwargs");
    Object relevant = checked(PySequence_Tuple(args[1]));
    Askable found = askable(relevant.get(), nullptr);
    Object types = types_of(found);
    if (function_modes()) {
      Object result = ask_mode(args[0], types.get(), args[2], args[3]);
      if (result.get() != Py_NotImplemented) return result.release();
    }
    for (PyObject* o : found) {
      Object result = ask(o, args[0], types.get(), args[2], args[3]);
      if (result.get() != Py_NotImplemented) return result.release();
    }
    nobody_took(args[0], found);
  });
}
// (types_off, all_off) before; sets them anew
PyObject* switch_overrides(PyObject*, PyObject* args) {
  int types_off, all_off;
  if (!PyArg_ParseTuple(args, "pp", &types_off, &all_off)) return nullptr;
  Overrides& s = override_state;
  PyObject* before =
      Py_BuildValue("(NN)", PyBool_FromLong(s.types_off), PyBool_FromLong(s.all_off));
  s.types_off = types_off;
  s.all_off = all_off;
  s.modes = s.dispatch_modes + (all_off || !mode_stack ? 0 : int(mode_stack->size()));
  return before;
}
// (off, modes) before; sets them anew
PyObject* switch_dispatch(PyObject*, PyObject* args) {
  int off, modes;
  if (!PyArg_ParseTuple(args, "pi", &off, &modes)) return nullptr;
  if (modes < 0)
    return PyErr_Format(PyExc_ValueError, "_switch_dispatch(): %d modes: there are none", modes);
  Overrides& s = override_state;
  PyObject* before = Py_BuildValue("(Ni)", PyBool_FromLong(s.dispatch_off), s.dispatch_modes);
  s.dispatch_off = off;
  s.modes += modes - s.dispatch_modes;
  s.dispatch_modes = modes;
  return before;
}
PyObject* no_dispatch(PyObject*, PyObject* args) {
  return guarded([&] { return run_as_is("_disabled_torch_dispatch_impl", args); });
}
PyObject* push_mode(PyObject*, PyObject* mode) {
  modes().push_back(Object::borrow(mode));
  if (!override_state.all_off) override_state.modes++;
  Py_RETURN_NONE;
}
PyObject* pop_mode(PyObject*, PyObject*) {
  return guarded([&] {
    check(!modes().empty(), Kind::Runtime, "there is no active TorchFunctionMode");
    Object mode = std::move(modes().back());
    modes().pop_back();
    if (!override_state.all_off) override_state.modes--;
    return mode.release();
  });
}
PyObject* push_watcher(PyObject*, PyObject* watcher) {
  watchers().push_back(Object::borrow(watcher));
  override_state.watchers++;
  Py_RETURN_NONE;
}
PyObject* pop_watcher(PyObject*, PyObject*) {
  return guarded([&] {
    check(!watchers().empty(), Kind::Runtime, "nobody watches ops that draw numbers");
    watchers().pop_back();
    override_state.watchers--;
    return Py_NewRef(Py_None);
  });
}
PyObject* mode_at(PyObject*, PyObject* index) {
  return guarded([&]() -> PyObject* {
    int64_t i = int_of(index), n = int64_t(modes().size());
    check(i >= 0 && i < n, Kind::Index, "mode ", i, " of ", n);
    return Py_NewRef(modes()[size_t(i)].get());
  });
}
PyObject* mode_count(PyObject*, PyObject*) { return PyLong_FromSize_t(modes().size()); }
PyObject* is_enabled(PyObject*, PyObject*) { return PyBool_FromLong(!override_state.types_off); }

PyMethodDef functions[] = {
    {"_disabled_torch_function_impl", disabled_impl, METH_VARARGS,
     "The __torch_function__ of types that leave ops as they are."},
    {"_disabled_torch_dispatch_impl", no_dispatch, METH_VARARGS,
     "The __torch_dispatch__ of types that leave ops as they are."},
    {"_switch_dispatch", switch_dispatch, METH_VARARGS, nullptr},
    {"_has_torch_function", has_override_in, METH_O, nullptr},
    {"_has_torch_function_unary", (PyCFunction)(void (*)())has_override, METH_FASTCALL, nullptr},
    {"_has_torch_function_variadic", (PyCFunction)(void (*)())has_override, METH_FASTCALL, nullptr},
    {"_get_overloaded_args", overloaded_args, METH_O, nullptr},
    {"_call_override", (PyCFunction)(void (*)())call_override_for, METH_FASTCALL, nullptr},
    {"_switch_overrides", switch_overrides, METH_VARARGS, nullptr},
    {"_push_on_torch_function_stack", push_mode, METH_O, nullptr},
    {"_pop_torch_function_stack", pop_mode, METH_NOARGS, nullptr},
    {"_push_random_watcher", push_watcher, METH_O, nullptr},
    {"_pop_random_watcher", pop_watcher, METH_NOARGS, nullptr},
    {"_get_function_stack_at", mode_at, METH_O, nullptr},
    {"_len_torch_function_stack", mode_count, METH_NOARGS, nullptr},
    {"_is_torch_function_enabled", is_enabled, METH_NOARGS, nullptr},
    {}};

}  // namespace

void add_overrides(PyObject* module) {
  text_torch_function = PyUnicode_InternFromString("__torch_function__");
  checked(PyModule_AddFunctions(module, functions));
  disabled = checked(PyObject_GetAttrString(module, "_disabled_torch_function_impl")).release();
  text_torch_dispatch = PyUnicode_InternFromString("__torch_dispatch__");
  disabled_dispatch =
      checked(PyObject_GetAttrString(module, "_disabled_torch_dispatch_impl")).release();
}

}  // namespace ember::python
