// Tensors whose values are Python objects: what __torch_dispatch__ works with.
//
// Note [Wrappers]
// A subclass made by _make_wrapper_subclass has a shape and a history but no memory: its tensor is
// on a device of its own, whose memory is a cell that refers to the object
// (ember/_dispatch/wrappers.py). Ops called from Python on it never get to that device: they go to
// __torch_dispatch__. What does get there are the rules of the backward pass, which are C++; their
// primitives then call the same ops on the objects in the cells. A result of these is shown to
// Python as the object in its cell (`surfaced`).
#include "ops/ops.h"
#include "python/overrides.h"
#include "python/python.h"
#include "python/tape.h"

namespace ember::python {

namespace {

PyObject* from_module(const char* name) { return imported("ember._dispatch.wrappers", name); }

Tensor lifted(const Tensor& t) {
  Object made = checked(PyObject_CallOneArg(from_module("lift"), checked(wrap(t)).get()));
  check(is_tensor(made.get()), Kind::Type, "lift(): expected a tensor");
  return tensor_of(made.get());
}

// _set_wrapper_device(device): which kind of device cells are on.
PyObject* set_wrapper_device(PyObject*, PyObject* device) {
  return guarded([&]() -> PyObject* {
    wrapper_kind = device_of_object(device).kind;
    lift_to_wrapper = lifted;
    Py_RETURN_NONE;
  });
}

// _adopt_history(tensor, source): the history of `source` becomes that of `tensor`.
PyObject* adopt_history(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    check(n == 2 && is_tensor(args[0]) && is_tensor(args[1]), Kind::Type,
          "_adopt_history() takes two tensors");
    Edge edge = gradient_edge(tensor_of(args[1]));
    if (edge.node) set_grad_fn(tensor_of(args[0]), edge.node, edge.nr);
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {{"_set_wrapper_device", set_wrapper_device, METH_O, nullptr},
                           {"_adopt_history", as_function(adopt_history), METH_FASTCALL, nullptr},
                           {}};

}  // namespace

PyObject* surfaced(const Tensor& t) {
  return checked(PyObject_CallOneArg(from_module("surface"), checked(wrap_bare(t)).get()))
      .release();
}

Tensor wrapped_ones(PyObject* like) {
  Object made = checked(PyObject_CallOneArg(from_module("ones_like"), like));
  check(is_tensor(made.get()), Kind::Type, "ones_like(): expected a tensor");
  return tensor_of(made.get());
}

void add_wrappers(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace ember::python
