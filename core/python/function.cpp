// Operations written in Python: autograd.Function. One Node whose object is the context that
// forward and backward share (ember/autograd/function.py has the Python side and the contract).
// Here are its backward and its type; function_apply.cpp has the forward side.
#include "python/function.h"

#include "autograd/tape.h"
#include "structmember.h"

namespace ember::python {

PyTypeObject* function_type;

namespace {

PyObject *text_backward, *text_vjp, *text_forward_cls;

}  // namespace

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
    if (!t && materialize && output_is_tensor[i]) t = engine_ops.zeros(output_info(uint32_t(i)));
    held[i] = checked(wrap(std::move(t)));
    args[i + 1] = held[i].get();
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

namespace {

PyObject* function_apply(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    check(n == 2 && PyTuple_Check(args[1]), Kind::Type,
          "_function_apply() takes a class and a tuple");
    return apply_function(args[0], args[1]);
  });
}

PyObject* saved_tensors(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    auto& node = static_cast<FunctionNode&>(node_of(self));
    if (node.released) fail_released(node);
    Object tuple = checked(PyTuple_New(Py_ssize_t(node.saved.size())));
    Node* outer = std::exchange(running_node, &node);
    try {
      for (size_t i = 0; i < node.saved.size(); i++)
        PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), wrap(node.saved[i].get()));
    } catch (...) {
      running_node = outer;
      throw;
    }
    running_node = outer;
    return tuple.release();
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
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
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
PyType_Slot slots[] = {{Py_tp_dealloc, (void*)node_dealloc},
                       {Py_tp_traverse, (void*)function_traverse},
                       {Py_tp_clear, (void*)function_clear},
                       {Py_tp_getset, getset},
                       {Py_tp_members, members},
                       {0, nullptr}};
PyType_Spec spec = {"ember._C._FunctionBase", sizeof(PyFunction), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE |
                        Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

PyMethodDef functions[] = {{"_function_apply", as_function(function_apply), METH_FASTCALL, nullptr},
                           {}};

}  // namespace

void add_function_type(PyObject* module) {
  intern_apply_names();
  text_backward = PyUnicode_InternFromString("backward");
  text_vjp = PyUnicode_InternFromString("vjp");
  text_forward_cls = PyUnicode_InternFromString("_forward_cls");
  function_type =
      (PyTypeObject*)checked(PyType_FromSpecWithBases(&spec, (PyObject*)node_type)).release();
  checked(PyModule_AddObjectRef(module, "_FunctionBase", (PyObject*)function_type));
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace ember::python
