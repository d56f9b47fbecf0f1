// Nodes of the tape as Python sees them: tensor.grad_fn.
//
// A node's object is dropped and made anew as needed, unless it carries state (the context of a
// custom Function, metadata, weak references); then, once Python lets go of it, the node owns it:
// Note [Identity], tensor_type.cpp.
#include <unordered_map>
#include <unordered_set>

#include "ops/ops.h"
#include "python/tape.h"
#include "structmember.h"

namespace ember::python {

PyTypeObject* node_type;

Node& node_of(PyObject* o) {
  Node* node = as_py_node(o)->node;
  check(node, Kind::Runtime, "this node of the graph has been freed");
  return *node;
}

namespace {

// One type for each name, so that type(y.grad_fn).__name__ is "MulBackward0". They live for ever.
std::unordered_map<std::string, PyTypeObject*> types_by_name;
std::unordered_set<PyTypeObject*> own_types;

PyTypeObject* type_named(const std::string& name) {
  PyTypeObject*& type = types_by_name[name];
  if (type) return type;
  auto* full = new std::string("ember.autograd." + name);  // the type points to it
  PyType_Slot slots[] = {{Py_tp_dealloc, (void*)node_dealloc},
                         {Py_tp_traverse, (void*)node_traverse},
                         {Py_tp_clear, (void*)node_clear},
                         {0, nullptr}};
  PyType_Spec spec = {full->c_str(), sizeof(PyNode), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      slots};
  Object made = checked(PyType_FromSpecWithBases(&spec, (PyObject*)node_type));
  Object module = checked(PyUnicode_FromString("builtins"));
  checked(PyObject_SetAttrString(made.get(), "__module__", module.get()));
  type = (PyTypeObject*)made.release();
  own_types.insert(type);
  return type;
}

bool carries_state(PyObject* self) {
  PyNode* o = as_py_node(self);
  return !own_types.count(Py_TYPE(self)) || (o->dict && PyDict_GET_SIZE(o->dict)) || o->weakrefs;
}

}  // namespace

void node_dealloc(PyObject* self) {
  PyNode* o = as_py_node(self);
  Node* node = o->node;
  if (node && node->refs.load() > 1 && carries_state(self)) {
    Py_SET_REFCNT(self, 1);
    node->host_owned = true;
    node->refs.fetch_sub(1);  // ours; others remain
    return;
  }
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (o->weakrefs) PyObject_ClearWeakRefs(self);
  o->node = nullptr;
  if (node) {
    node->host_object = nullptr;
    auto dropped = Ref<Node>::adopt(node);
  }
  type->tp_clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

int node_traverse(PyObject* self, visitproc visit, void* arg) {
  PyNode* o = as_py_node(self);
  Py_VISIT(o->dict);
  Py_VISIT(Py_TYPE(self));
  if (o->node && !o->node->host_owned && o->node->refs.load() == 1)
    return visit_hooks(*o->node, visit, arg);
  return 0;
}

int node_clear(PyObject* self) {
  Py_CLEAR(as_py_node(self)->dict);
  return 0;
}

PyObject* wrap_node(const Ref<Node>& node) {
  if (!node) Py_RETURN_NONE;
  if (auto* o = static_cast<PyObject*>(node->host_object)) {
    if (!node->host_owned) return Py_NewRef(o);
    node->host_owned = false;  // Python takes over again
    Ref<Node>(node).detach();
    return o;
  }
  auto* o = PyObject_GC_New(PyNode, type_named(node->display_name()));
  if (!o) throw PythonError{};
  o->dict = o->weakrefs = nullptr;
  o->node = Ref<Node>(node).detach();
  o->node->host_object = o;
  PyObject_GC_Track((PyObject*)o);
  return (PyObject*)o;
}

Edge edge_of(PyObject* o) {
  if (is_tensor(o)) return gradient_edge(tensor_of(o));
  check(PyTuple_Check(o) && PyTuple_GET_SIZE(o) == 2 && is_node(PyTuple_GET_ITEM(o, 0)), Kind::Type,
        "expected a Tensor or a GradientEdge, got ", Py_TYPE(o)->tp_name);
  Node& node = node_of(PyTuple_GET_ITEM(o, 0));
  int64_t nr = int_of(PyTuple_GET_ITEM(o, 1));
  check(nr >= 0 && size_t(nr) < node.outputs(), Kind::Index, "GradientEdge: node ",
        node.display_name(), " has no output ", nr);
  return {Ref<Node>(&node), uint32_t(nr)};
}

namespace {

PyObject* node_repr(PyObject* self) {
  return guarded([&] {
    return PyUnicode_FromFormat("<%s object at %p>", node_of(self).display_name().c_str(), self);
  });
}
PyObject* node_name(PyObject* self, PyObject*) {
  return guarded([&] { return PyUnicode_FromString(node_of(self).display_name().c_str()); });
}
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
  return guarded([&]() -> PyObject* {
    if (const Tensor* leaf = leaf_of(node_of(self))) return wrap(*leaf);
    PyErr_SetString(PyExc_AttributeError, "only AccumulateGrad nodes have a variable");
    return nullptr;
  });
}
PyObject* node_metadata(PyObject* self, void*) {
  PyNode* o = as_py_node(self);
  if (!o->dict && !(o->dict = PyDict_New())) return nullptr;
  if (own_types.count(Py_TYPE(self))) return Py_NewRef(o->dict);
  // The context of a custom Function keeps its attributes in its dict; notes go beside them.
  PyObject* notes = PyDict_GetItemString(o->dict, "_metadata");
  if (notes) return Py_NewRef(notes);
  Object made = Object::steal(PyDict_New());
  if (!made || PyDict_SetItemString(o->dict, "_metadata", made.get()) < 0) return nullptr;
  return made.release();
}
PyObject* node_requires_grad(PyObject*, void*) { Py_RETURN_TRUE; }
PyObject* node_sequence(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(node_of(self).sequence); });
}
PyObject* node_set_sequence(PyObject* self, PyObject* value) {
  return guarded([&]() -> PyObject* {
    node_of(self).sequence = uint64_t(int_of(value));
    Py_RETURN_NONE;
  });
}
// What gradients that arrive at the node must look like, one row for each output of its op.
PyObject* node_input_metadata(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Node& node = node_of(self);
    PyObject* row_type = imported("ember._compat.autograd", "InputMetadata");
    Object list = checked(PyList_New(0));
    for (uint32_t i = 0; i < node.outputs(); i++) {
      const OutputInfo& info = node.output_info(i);
      Object shape = checked(wrap_shape(info.shape)), dtype = checked(wrap_dtype(info.dtype));
      Object device = checked(wrap_device(info.device));
      Object row = checked(
          PyObject_CallFunctionObjArgs(row_type, shape.get(), dtype.get(), device.get(), nullptr));
      checked(PyList_Append(list.get(), row.get()));
    }
    return list.release();
  });
}
PyObject* node_register_hook(PyObject* self, PyObject* hook) {
  return guarded([&] { return add_hook(node_of(self).ensure_hooks().post, hook); });
}
PyObject* node_register_prehook(PyObject* self, PyObject* hook) {
  return guarded([&] { return add_hook(node_of(self).ensure_hooks().pre, hook); });
}

// The gradients of the op's inputs from those of its outputs: the node's rules, and nothing else.
PyObject* node_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    Node& node = node_of(self);
    check(!kwargs || PyDict_GET_SIZE(kwargs) == 0, Kind::Type, node.display_name(),
          " takes no keyword arguments");
    const auto n = size_t(PyTuple_GET_SIZE(args));
    check(n == node.outputs(), Kind::Type, node.display_name(), " expected ", node.outputs(),
          " arguments, got ", n, " instead");
    Grads g(n), dx(node.edges.size());
    for (size_t i = 0; i < n; i++) {
      PyObject* item = PyTuple_GET_ITEM(args, Py_ssize_t(i));
      check(item == Py_None || is_tensor(item), Kind::Type, "expected Variable or None (got ",
            Py_TYPE(item)->tp_name, ")");
      if (item != Py_None) g[i] = tensor_of(item);
    }
    Node* outer = std::exchange(running_node, &node);
    try {
      node.apply(g, dx);
    } catch (...) {
      running_node = outer;
      throw;
    }
    running_node = outer;
    if (dx.size() == 1) return wrap(std::move(dx[0]));
    Object tuple = checked(PyTuple_New(Py_ssize_t(dx.size())));
    for (size_t i = 0; i < dx.size(); i++)
      PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), checked(wrap(std::move(dx[i]))).release());
    return tuple.release();
  });
}

PyMethodDef node_methods[] = {
    {"name", node_name, METH_NOARGS, "The name of the op's gradient, such as 'MulBackward0'."},
    {"register_hook", node_register_hook, METH_O,
     "Calls hook(grad_inputs, grad_outputs) after the node has run."},
    {"register_prehook", node_register_prehook, METH_O,
     "Calls hook(grad_outputs) before the node runs."},
    {"_sequence_nr", node_sequence, METH_NOARGS,
     "The order of the node among those of its thread."},
    {"_set_sequence_nr", node_set_sequence, METH_O, "Sets that order."},
    {}};
PyGetSetDef node_getset[] = {
    {"next_functions", node_next_functions, nullptr,
     "The nodes of the op's inputs, with output numbers.", nullptr},
    {"_input_metadata", node_input_metadata, nullptr, "Shape, dtype and device of gradients.",
     nullptr},
    {"variable", node_variable, nullptr, "The leaf of an AccumulateGrad node.", nullptr},
    {"metadata", node_metadata, nullptr, "A dict for notes.", nullptr},
    {"requires_grad", node_requires_grad, nullptr, "Always True.", nullptr},
    {}};
PyMemberDef node_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PyNode, weakrefs), READONLY, nullptr}, {}};
PyType_Slot node_slots[] = {{Py_tp_dealloc, (void*)node_dealloc},
                            {Py_tp_traverse, (void*)node_traverse},
                            {Py_tp_clear, (void*)node_clear},
                            {Py_tp_repr, (void*)node_repr},
                            {Py_tp_call, (void*)node_call},
                            {Py_tp_methods, node_methods},
                            {Py_tp_getset, node_getset},
                            {Py_tp_members, node_members},
                            {Py_tp_doc, (void*)R"(A node of the recorded graph.

Example:

    >>> y = (ember.ones(1, requires_grad=True) * 2).sum()
    >>> y.grad_fn.name(), y.grad_fn.next_functions[0][0].name()
    ('SumBackward0', 'MulBackward0')
)"},
                            {0, nullptr}};
PyType_Spec node_spec = {"ember.autograd.graph.Node", sizeof(PyNode), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE |
                             Py_TPFLAGS_DISALLOW_INSTANTIATION,
                         node_slots};

}  // namespace

void add_node_type(PyObject* module) {
  node_type = (PyTypeObject*)checked(PyType_FromSpec(&node_spec)).release();
  checked(PyModule_AddObjectRef(module, "Node", (PyObject*)node_type));
  give_back_node = [](Node* node) {
    PyGILState_STATE gil = PyGILState_Ensure();
    node->refs.store(1);
    node->host_owned = false;
    Py_DECREF(static_cast<PyObject*>(node->host_object));
    PyGILState_Release(gil);
  };
}

}  // namespace ember::python
