// What the files about the tape share: nodes, hooks, custom functions, running backward.
#pragma once

#include "autograd/engine.h"
#include "autograd/saved.h"
#include "python/python.h"

namespace ember::python {

// --- nodes (node_type.cpp) ---

struct PyNode {
  PyObject_HEAD Node* node;  // owned, unless node->host_owned (then the node owns this object)
  PyObject* dict;
  PyObject* weakrefs;
};
extern PyTypeObject* node_type;

inline PyNode* as_py_node(PyObject* o) { return reinterpret_cast<PyNode*>(o); }
inline bool is_node(PyObject* o) { return PyObject_TypeCheck(o, node_type); }
// The node behind an object; an error if it was freed.
Node& node_of(PyObject* o);
PyObject* wrap_node(const Ref<Node>& node);
void node_dealloc(PyObject* self);
int node_traverse(PyObject* self, visitproc visit, void* arg);
int node_clear(PyObject* self);
// A tensor, or a GradientEdge (node, output_nr), as the end of an edge.
Edge edge_of(PyObject* o);

// --- tensors that stand for objects (wrappers.cpp) ---

PyObject* surfaced(const Tensor& t);
Tensor wrapped_ones(PyObject* like);

// --- hooks (hooks.cpp) ---

// Adds a hook to a list, which is made if need be; returns its handle.
PyObject* add_hook(std::unique_ptr<HookList>& list, PyObject* hook);
// For the garbage collector: what a tensor or node holds and nobody else does.
bool tape_is_visible(const TensorImpl& impl);
int visit_tape(const TensorImpl& impl, visitproc visit, void* arg);
int visit_hooks(const Node& node, visitproc visit, void* arg);
void clear_tape(TensorImpl& impl);

// --- arguments of functions that are not ops ---

// Places the arguments of a vectorcall on `names` (a null-terminated list); what is not given stays
// null.
void place_arguments(const char* function, PyObject* const* args, Py_ssize_t n, PyObject* kwnames,
                     const char* const* names, PyObject** values);
template <class F>
PyCFunction as_function(F* f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

}  // namespace ember::python
