// The tape in Python: grad_fn objects, hooks, grad mode and the call that runs backward.
#include "autograd/engine.h"
#include "autograd/saved.h"
#include "ops/ops.h"
#include "python/python.h"

namespace ember::python {

namespace {

// --- nodes --------------------------------------------------------------------------------------------

struct PyNode {
  PyObject_HEAD
  Node* node;  // owned
  PyObject* dict;
};
PyTypeObject* node_type;

const Node& node_of(PyObject* o) { return *reinterpret_cast<PyNode*>(o)->node; }

void node_dealloc(PyObject* self) {
  auto* o = reinterpret_cast<PyNode*>(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (Node* node = std::exchange(o->node, nullptr)) {
    node->host_object = nullptr;
    auto dropped = Ref<Node>::adopt(node);
  }
  Py_CLEAR(o->dict);
  type->tp_free(self);
  Py_DECREF(type);
}
int node_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<PyNode*>(self)->dict);
  Py_VISIT(Py_TYPE(self));
  return 0;
}
PyObject* node_repr(PyObject* self) {
  return PyUnicode_FromFormat("<%s object at %p>", node_of(self).display_name().c_str(), self);
}
PyObject* node_name(PyObject* self, PyObject*) { return PyUnicode_FromString(node_of(self).display_name().c_str()); }
PyObject* node_next_functions(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Node& node = node_of(self);
    Object list = checked(PyTuple_New(Py_ssize_t(node.edges.size())));
    for (size_t i = 0; i < node.edges.size(); i++) {
      Object pair = checked(Py_BuildValue("(NI)", wrap_node(node.edges[i].node), node.edges[i].nr));
      PyTuple_SET_ITEM(list.get(), Py_ssize_t(i), pair.release());
    }
    return list.release();
  });
}
PyObject* node_variable(PyObject* self, void*) {
  const Tensor* leaf = leaf_of(node_of(self));
  if (!leaf) {
    PyErr_SetString(PyExc_AttributeError, "only AccumulateGrad nodes have a variable");
    return nullptr;
  }
  return wrap(*leaf);
}
PyObject* node_metadata(PyObject* self, void*) {
  auto* o = reinterpret_cast<PyNode*>(self);
  if (!o->dict) o->dict = PyDict_New();
  return Py_XNewRef(o->dict);
}
PyObject* node_sequence(PyObject* self, PyObject*) { return PyLong_FromUnsignedLongLong(node_of(self).sequence); }

PyMethodDef node_methods[] = {{"name", node_name, METH_NOARGS, "The name of the op's gradient, such as 'MulBackward0'."},
                              {"_sequence_nr", node_sequence, METH_NOARGS, nullptr},
                              {}};
PyGetSetDef node_getset[] = {
    {"next_functions", node_next_functions, nullptr, "The nodes of the op's inputs, with output numbers.", nullptr},
    {"variable", node_variable, nullptr, "The leaf of an AccumulateGrad node.", nullptr},
    {"metadata", node_metadata, nullptr, "A dict for notes.", nullptr},
    {}};
PyType_Slot node_slots[] = {{Py_tp_dealloc, (void*)node_dealloc},
                            {Py_tp_traverse, (void*)node_traverse},
                            {Py_tp_repr, (void*)node_repr},
                            {Py_tp_methods, node_methods},
                            {Py_tp_getset, node_getset},
                            {0, nullptr}};
PyType_Spec node_spec = {"ember.autograd.graph.Node", sizeof(PyNode), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, node_slots};

// --- running backward ---------------------------------------------------------------------------------

// _run_backward(tensors, grad_tensors, retain_graph, create_graph, inputs, allow_unreachable, accumulate)
PyObject* py_run_backward(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    check(n == 7, Kind::Type, "_run_backward() takes 7 arguments, got ", n);
    BackwardCall call;
    Py_ssize_t roots = PyTuple_GET_SIZE(args[0]);
    for (Py_ssize_t i = 0; i < roots; i++) {
      const Tensor& t = tensor_of(PyTuple_GET_ITEM(args[0], i));
      Edge edge = gradient_edge(t);
      check(bool(edge.node), Kind::Runtime, "element ", i, " of tensors does not require grad and does not have a grad_fn");
      PyObject* g = PyTuple_GET_ITEM(args[1], i);
      if (g == Py_None) {
        check(t.numel() == 1, Kind::Runtime, "grad can be implicitly created only for scalar outputs");
        call.grads.push_back(engine_ops.ones_like(detach(t)));
      } else {
        call.grads.push_back(tensor_of(g));
      }
      call.roots.push_back(std::move(edge));
    }
    call.keep_graph = args[2] == Py_True;
    call.create_graph = args[3] == Py_True;
    bool allow_unreachable = args[5] == Py_True;
    call.accumulate = args[6] == Py_True;
    Py_ssize_t inputs = PyTuple_GET_SIZE(args[4]);
    for (Py_ssize_t i = 0; i < inputs; i++) {
      const Tensor& t = tensor_of(PyTuple_GET_ITEM(args[4], i));
      check(t.requires_grad(), Kind::Runtime, "One of the differentiated Tensors does not require grad");
      if (call.accumulate && !t.is_leaf()) retain_grad(t);
      call.inputs.push_back(gradient_edge(t));
    }
    bool accumulate = call.accumulate;
    std::vector<Tensor> result = run_backward(std::move(call));
    if (inputs == 0 || accumulate) Py_RETURN_NONE;
    for (const Tensor& t : result)
      check(t.defined() || allow_unreachable, Kind::Runtime,
            "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this "
            "is the desired behavior.");
    return static_cast<PyObject*>(to_host(std::move(result)));
  });
}

// --- grad mode ----------------------------------------------------------------------------------------

PyObject* set_grad_enabled(PyObject*, PyObject* on) {
  grad_mode.enabled = on == Py_True;
  Py_RETURN_NONE;
}
PyObject* is_grad_enabled(PyObject*, PyObject*) { return PyBool_FromLong(grad_mode.enabled); }
PyObject* set_inference_mode(PyObject*, PyObject* on) {
  grad_mode.inference = on == Py_True;
  Py_RETURN_NONE;
}
PyObject* is_inference_mode(PyObject*, PyObject*) { return PyBool_FromLong(grad_mode.inference); }

PyMethodDef functions[] = {
    {"_run_backward", (PyCFunction)(void (*)())py_run_backward, METH_FASTCALL, nullptr},
    {"_set_grad_enabled", set_grad_enabled, METH_O, nullptr},
    {"is_grad_enabled", is_grad_enabled, METH_NOARGS, "Whether ops are recorded on this thread."},
    {"_set_inference_mode", set_inference_mode, METH_O, nullptr},
    {"is_inference_mode_enabled", is_inference_mode, METH_NOARGS, "Whether inference mode is on for this thread."},
    {}};

}  // namespace

PyObject* wrap_node(const Ref<Node>& node) {
  if (!node) Py_RETURN_NONE;
  if (node->host_object) return Py_NewRef(static_cast<PyObject*>(node->host_object));
  auto* o = PyObject_GC_New(PyNode, node_type);
  if (!o) throw PythonError{};
  o->dict = nullptr;
  o->node = Ref<Node>(node).detach();
  o->node->host_object = o;
  PyObject_GC_Track((PyObject*)o);
  return (PyObject*)o;
}

void add_autograd(PyObject* module) {
  node_type = (PyTypeObject*)checked(PyType_FromSpec(&node_spec)).release();
  checked(PyModule_AddObjectRef(module, "Node", (PyObject*)node_type));
  checked(PyModule_AddFunctions(module, functions));
  host_warn = [](const std::string& message) {
    if (PyErr_WarnEx(PyExc_UserWarning, message.c_str(), 1) < 0) throw PythonError{};
  };
}

}  // namespace ember::python
