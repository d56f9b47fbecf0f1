// Python's pack and unpack hooks for tensors saved for backward (autograd/saved.h).
#include "autograd/grad_mode.h"
#include "python/tape.h"

namespace ember::python {

namespace {

class PySavedHooks final : public SavedHooks {
 public:
  PySavedHooks(PyObject* pack, PyObject* unpack)
      : pack_(Object::borrow(pack)), unpack_(Object::borrow(unpack)) {}
  // What pack_hook returned, and where the gradient of the tensor goes: what unpack_hook makes of
  // it gets that history back, or a second derivative would end there.
  struct Kept {
    Object value;
    Edge history;
  };
  void* pack(const Tensor& t) override {
    Object value = checked(wrap(t));
    Object packed = checked(PyObject_CallOneArg(pack_.get(), value.get()));
    return new Kept{std::move(packed), t.requires_grad() ? gradient_edge(t) : Edge{}};
  }
  Tensor unpack(void* value) override {
    const Kept& kept = *static_cast<Kept*>(value);
    Object result = checked(PyObject_CallOneArg(unpack_.get(), kept.value.get()));
    check(is_tensor(result.get()), Kind::Type,
          "Output of saved tensor unpack_hook expected to be a Tensor but got result of type ",
          Py_TYPE(result.get())->tp_name);
    const Tensor& t = tensor_of(result.get());
    if (!kept.history.node || t.requires_grad() || !grad_enabled()) return t;
    Tensor linked = alias(t);
    set_grad_fn(linked, kept.history.node, kept.history.nr);
    return linked;
  }
  void drop(void* value) override {
    PyGILState_STATE gil = PyGILState_Ensure();
    delete static_cast<Kept*>(value);
    PyGILState_Release(gil);
  }

 private:
  Object pack_, unpack_;
};

thread_local std::unique_ptr<std::string> disabled;  // the message to raise

PyObject* push(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *pack, *unpack;
    if (!PyArg_ParseTuple(args, "OO", &pack, &unpack)) return nullptr;
    if (disabled) fail(Kind::Runtime, *disabled);
    Ref<SavedHooks> hooks(new PySavedHooks(pack, unpack));
    hooks->outer = Ref<SavedHooks>::adopt(saved_hooks);
    saved_hooks = hooks.detach();
    Py_RETURN_NONE;
  });
}

PyObject* pop(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    check(saved_hooks, Kind::Runtime, "_pop_saved_tensors_hooks(): there are none");
    auto top = Ref<SavedHooks>::adopt(saved_hooks);
    saved_hooks = Ref<SavedHooks>(top->outer).detach();
    top->outer = Ref<SavedHooks>();
    Py_RETURN_NONE;
  });
}

PyObject* disable(PyObject*, PyObject* message) {
  return guarded([&]() -> PyObject* {
    const char* text = PyUnicode_AsUTF8(message);
    if (!text) return nullptr;
    if (saved_hooks) fail(Kind::Runtime, text);
    disabled = std::make_unique<std::string>(text);
    Py_RETURN_NONE;
  });
}
PyObject* enable(PyObject*, PyObject*) {
  disabled.reset();
  Py_RETURN_NONE;
}
PyObject* disabled_message(PyObject*, PyObject*) {
  if (!disabled) Py_RETURN_NONE;
  return PyUnicode_FromString(disabled->c_str());
}

PyMethodDef functions[] = {
    {"_push_saved_tensors_hooks", push, METH_VARARGS, nullptr},
    {"_pop_saved_tensors_hooks", pop, METH_NOARGS, nullptr},
    {"_saved_tensors_hooks_disable", disable, METH_O, nullptr},
    {"_saved_tensors_hooks_enable", enable, METH_NOARGS, nullptr},
    {"_saved_tensors_hooks_get_disabled_error_message", disabled_message, METH_NOARGS, nullptr},
    {}};

}  // namespace

void add_saved_hooks(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace ember::python
