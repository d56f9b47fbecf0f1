// Operations written in Python: autograd.Function. One Node whose object is the context that
// forward and backward share (ember/autograd/function.py has the Python side and the contract).
#include "python/function.h"

#include "ops/ops.h"
#include "structmember.h"

namespace ember::python {

PyTypeObject* function_type;

namespace {
PyObject *text_backward, *text_vjp, *text_forward_cls;
}

PyObject* base_method(PyObject*& cache, PyObject* name) {
  if (!cache)
    cache =
        checked(PyObject_GetAttr(imported("ember.autograd.function", "Function"), name)).release();
  return cache;
}

Object FunctionNode::call_backward(PyObject* ctx, Grads& g) {
  static PyObject *no_vjp, *no_backward;
  Object cls = checked(PyObject_GetAttr(ctx, text_forward_cls));
  Object backward = checked(PyObject_GetAttr(cls.get(), text_backward));
  Object vjp = checked(PyObject_GetAttr(cls.get(), text_vjp));
  if (vjp.get() != base_method(no_vjp, text_vjp)) {
    check(backward.get() == base_method(no_backward, text_backward), Kind::Runtime,
          "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should "
          "only implement one of them.");
    backward = std::move(vjp);
  }
  size_t n = output_is_tensor.size();
  std::vector<Object> held(n);
  std::vector<PyObject*> args(n + 1);
  args[0] = ctx;
  for (size_t i = 0; i < n; i++) {
    Tensor t = std::move(g[i]);
    if (!t && materialize && output_is_tensor[i] && !(i < left_out.size() && left_out[i]))
      t = engine_ops.zeros(output_info(uint32_t(i)));
    held[i] = checked(wrap(std::move(t)));
    args[i + 1] = held[i].get();
  }
  if (boxed) {
    Object list = checked(PyList_New(Py_ssize_t(n)));
    for (size_t i = 0; i < n; i++) PyList_SET_ITEM(list.get(), Py_ssize_t(i), held[i].release());
    return checked(PyObject_CallFunctionObjArgs(backward.get(), ctx, list.get(), nullptr));
  }
  return checked(PyObject_Vectorcall(backward.get(), args.data(), n + 1, nullptr));
}

void FunctionNode::apply(Grads& g, Grads& dx) {
  Object ctx = checked(wrap_node(Ref<Node>(this)));
  Object result = call_backward(ctx.get(), g);
  if (!PyTuple_Check(result.get())) result = checked(PyTuple_Pack(1, result.get()));
  Py_ssize_t got = PyTuple_GET_SIZE(result.get()), expected = Py_ssize_t(arg_is_tensor.size());
  Py_ssize_t count = got;
  while (count > expected && PyTuple_GET_ITEM(result.get(), count - 1) == Py_None) count--;
  if (count != expected)
    fail(Kind::Runtime, "function ", display_name(),
         " returned an incorrect number of gradients (expected ", expected, ", got ", got, ")");
  size_t edge = 0;
  for (Py_ssize_t i = 0; i < expected; i++) {
    PyObject* item = PyTuple_GET_ITEM(result.get(), i);
    if (!arg_is_tensor[size_t(i)]) {
      if (item == Py_None) continue;
      fail(Kind::Runtime, "function ", display_name(),
           " returned a gradient different than None at position ", i + 1,
           ", but the corresponding forward input was not a Variable");
    }
    Tensor& slot = dx[edge];
    bool wanted = bool(edges[edge++].node);
    if (item == Py_None) continue;
    check(is_tensor(item), Kind::Runtime, "expected Variable or None (got ", Py_TYPE(item)->tp_name,
          ")");
    if (wanted) slot = tensor_of(item);
  }
}

Object new_context(PyTypeObject* type) {
  Object ctx = checked(type->tp_alloc(type, 0));
  Ref<Node> node(new FunctionNode);
  node->host_object = ctx.get();
  as_py_node(ctx.get())->node = node.detach();
  return ctx;
}

namespace {

// --- the type of contexts ------------------------------------------------------------------------

PyObject* function_new(PyTypeObject* type, PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* { return new_context(type).release(); });
}

PyObject* saved_tensors(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    auto& node = static_cast<FunctionNode&>(node_of(self));
    check(!node.cleared, Kind::Runtime,
          "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set "
          "on the autograd.Function. Either access saved_tensors only once, or set "
          "clear_saved_tensors_on_access=False.");
    if (node.released) fail_released(node);
    Object tuple = checked(PyTuple_New(Py_ssize_t(node.saved.size())));
    Node* outer = std::exchange(running_node, &node);
    try {
      for (size_t i = 0; i < size_t(PyTuple_GET_SIZE(tuple.get())); i++) {
        if (i >= node.saved.size()) fail_released(node);  // by a hook, or a pass of another thread
        Saved kept = node.saved[i];
        PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), wrap(kept.get(true)));
      }
    } catch (...) {
      running_node = outer;
      throw;
    }
    running_node = outer;
    if (node.clears) {
      node.cleared = true;
      node.saved.clear();
    }
    return tuple.release();
  });
}
PyObject* saved_variables(PyObject* self, void*) {
  if (PyErr_WarnEx(PyExc_DeprecationWarning, "'saved_variables' is deprecated; use 'saved_tensors'",
                   1) < 0)
    return nullptr;
  return saved_tensors(self, nullptr);
}
// Within backward, if this pass is the last to need them.
PyObject* clear_saved(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    auto& node = static_cast<FunctionNode&>(node_of(self));
    if (ending_node == &node) node.release();
    return Py_NewRef(Py_None);
  });
}

int function_traverse(PyObject* self, visitproc visit, void* arg) {
  PyFunction* o = as_function_object(self);
  Py_VISIT(o->needs_input_grad);
  Py_VISIT(o->to_save);
  Py_VISIT(o->dirty_tensors);
  Py_VISIT(o->non_differentiable);
  Py_VISIT(o->materialize_grads);
  return node_traverse(self, visit, arg);
}
int function_clear(PyObject* self) {
  PyFunction* o = as_function_object(self);
  Py_CLEAR(o->needs_input_grad);
  Py_CLEAR(o->to_save);
  Py_CLEAR(o->dirty_tensors);
  Py_CLEAR(o->non_differentiable);
  Py_CLEAR(o->materialize_grads);
  return node_clear(self);
}

PyGetSetDef getset[] = {
    {"saved_tensors", saved_tensors, nullptr, "What save_for_backward kept.", nullptr},
    {"saved_variables", saved_variables, nullptr, "Old: saved_tensors.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {}};
PyMethodDef methods[] = {{"maybe_clear_saved_tensors", clear_saved, METH_NOARGS,
                          "Within backward: drops what was saved, unless the graph is kept."},
                         {}};
PyMemberDef members[] = {
    {"needs_input_grad", T_OBJECT, offsetof(PyFunction, needs_input_grad), 0,
     "Which arguments need a gradient."},
    {"to_save", T_OBJECT, offsetof(PyFunction, to_save), 0, nullptr},
    {"dirty_tensors", T_OBJECT, offsetof(PyFunction, dirty_tensors), 0, nullptr},
    {"non_differentiable", T_OBJECT, offsetof(PyFunction, non_differentiable), 0, nullptr},
    {"materialize_grads", T_OBJECT, offsetof(PyFunction, materialize_grads), 0, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(PyNode, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PyNode, weakrefs), READONLY, nullptr},
    {}};
PyType_Slot slots[] = {{Py_tp_new, (void*)function_new},
                       {Py_tp_dealloc, (void*)node_dealloc},
                       {Py_tp_traverse, (void*)function_traverse},
                       {Py_tp_clear, (void*)function_clear},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, getset},
                       {Py_tp_members, members},
                       {0, nullptr}};
PyType_Spec spec = {"ember._C._FunctionBase", sizeof(PyFunction), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, slots};

PyMethodDef functions[] = {{"_function_apply", as_function(function_apply), METH_FASTCALL, nullptr},
                           {}};

}  // namespace

void add_function_type(PyObject* module) {
  text_backward = PyUnicode_InternFromString("backward");
  text_vjp = PyUnicode_InternFromString("vjp");
  text_forward_cls = PyUnicode_InternFromString("_forward_cls");
  add_function_apply();
  function_type =
      (PyTypeObject*)checked(PyType_FromSpecWithBases(&spec, (PyObject*)node_type)).release();
  checked(PyModule_AddObjectRef(module, "_FunctionBase", (PyObject*)function_type));
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace ember::python
