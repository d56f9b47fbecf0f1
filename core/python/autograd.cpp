// The tape in Python: running backward, the modes of recording, and the methods of Tensor that
// belong to it.
#include "ops/ops.h"
#include "python/overrides.h"
#include "python/tape.h"

namespace ember::python {

void place_arguments(const char* function, PyObject* const* args, Py_ssize_t n, PyObject* kwnames,
                     const char* const* names, PyObject** values) {
  Py_ssize_t count = 0;
  while (names[count]) values[count++] = nullptr;
  check(n <= count, Kind::Type, function, "() takes at most ", count, " arguments, got ", n);
  for (Py_ssize_t i = 0; i < n; i++) values[i] = args[i];
  for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); k++) {
    PyObject* keyword = PyTuple_GET_ITEM(kwnames, k);
    Py_ssize_t i = 0;
    while (names[i] && PyUnicode_CompareWithASCIIString(keyword, names[i])) i++;
    check(names[i], Kind::Type, function, "() got an unexpected keyword argument '",
          PyUnicode_AsUTF8(keyword), "'");
    check(!values[i], Kind::Type, function, "() got multiple values for argument '", names[i], "'");
    values[i] = args[n + k];
  }
}

namespace {

// --- running backward ----------------------------------------------------------------------------

bool truth(PyObject* o, bool otherwise) {
  return !o || o == Py_None ? otherwise : bool(checked(PyObject_IsTrue(o)));
}

void add_root(BackwardCall& call, size_t i, PyObject* root, PyObject* grad) {
  Edge edge = edge_of(root);
  check(bool(edge.node), Kind::Runtime, "element ", i,
        " of tensors does not require grad and does not have a grad_fn");
  if (grad && grad != Py_None) {
    check(is_tensor(grad), Kind::Type, "gradients can be either Tensors or None, but got ",
          Py_TYPE(grad)->tp_name);
    call.grads.push_back(tensor_of(grad));
  } else {
    const Tensor t =
        is_tensor(root) ? tensor_of(root) : engine_ops.zeros(edge.node->output_info(edge.nr));
    check(t.numel() == 1, Kind::Runtime, "grad can be implicitly created only for scalar outputs");
    check(!is_complex(t.dtype()), Kind::Runtime,
          "grad can be implicitly created only for real scalar outputs but got ", t.dtype());
    call.grads.push_back(t.device().kind == wrapper_kind && is_tensor(root)
                             ? wrapped_ones(root)
                             : engine_ops.ones_like(detach(t)));
  }
  const OutputInfo& info = edge.node->output_info(edge.nr);
  const Tensor& g = call.grads.back();
  check(g.shape() == info.shape, Kind::Runtime, "Mismatch in shape: grad_output[", i,
        "] has a shape of torch.Size(", g.shape(), ") and output[", i,
        "] has a shape of torch.Size(", info.shape, ").");
  check(is_complex(g.dtype()) == is_complex(info.dtype), Kind::Runtime,
        "For complex Tensors, both grad_output and output are required to have the same dtype. "
        "Mismatch in dtype: grad_output[",
        i, "] has a dtype of ", g.dtype(), " and output[", i, "] has a dtype of ", info.dtype, ".");
  call.roots.push_back(std::move(edge));
}

void add_input(BackwardCall& call, PyObject* input) {
  Edge edge = edge_of(input);
  check(!is_tensor(input) || tensor_of(input).requires_grad(), Kind::Runtime,
        "One of the differentiated Tensors does not require grad");
  if (call.accumulate && is_tensor(input) && !tensor_of(input).is_leaf())
    retain_grad(tensor_of(input));
  call.inputs.push_back(std::move(edge));
}

// _run_backward(tensors, grad_tensors, retain_graph, create_graph, inputs, allow_unreachable,
// accumulate)
PyObject* run_backward_of(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    check(n == 7, Kind::Type, "_run_backward() takes 7 arguments, got ", n);
    check(PyTuple_Check(args[0]) && PyTuple_Check(args[1]) && PyTuple_Check(args[4]) &&
              PyTuple_GET_SIZE(args[0]) == PyTuple_GET_SIZE(args[1]),
          Kind::Type,
          "_run_backward(): tensors, grad_tensors and inputs must be tuples, with a gradient for "
          "each tensor");
    BackwardCall call;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[0]); i++)
      add_root(call, size_t(i), PyTuple_GET_ITEM(args[0], i), PyTuple_GET_ITEM(args[1], i));
    call.keep_graph = truth(args[2], false);
    call.create_graph = truth(args[3], false);
    call.accumulate = truth(args[6], true);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[4]); i++)
      add_input(call, PyTuple_GET_ITEM(args[4], i));
    bool wants_result = !call.inputs.empty() && !call.accumulate;
    std::vector<Tensor> result = run_backward(std::move(call));
    if (!wants_result) Py_RETURN_NONE;
    bool allow_unused = truth(args[5], false);
    for (size_t i = 0; i < result.size(); i++)
      check(result[i].defined() || allow_unused, Kind::Runtime,
            "The differentiated Tensor at index ", i,
            " appears to not have been used in the graph. Set allow_unused=True if this is the "
            "desired behavior.");
    return static_cast<PyObject*>(to_host(std::move(result)));
  });
}

PyObject* tensor_backward(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    static const char* const names[] = {"gradient", "retain_graph", "create_graph", "inputs",
                                        nullptr};
    if (__builtin_expect(self_overrides(self), 0))
      return method_override("backward", self, args, n, kwnames);
    PyObject* given[4];
    place_arguments("backward", args, n, kwnames, names, given);
    BackwardCall call;
    add_root(call, 0, self, given[0]);
    call.create_graph = truth(given[2], false);
    if (call.create_graph)
      checked(PyObject_CallNoArgs(imported("ember._runtime", "warn_of_create_graph")));
    call.keep_graph = truth(given[1], call.create_graph);
    if (PyObject* inputs = given[3]; inputs && inputs != Py_None) {
      bool one = is_tensor(inputs) || (PyTuple_Check(inputs) && PyTuple_GET_SIZE(inputs) == 2 &&
                                       is_node(PyTuple_GET_ITEM(inputs, 0)));
      Object values;  // of names to tensors, the tensors
      if (PyDict_CheckExact(inputs)) values = checked(PyDict_Values(inputs));
      Object list = one ? checked(PyTuple_Pack(1, inputs))
                        : checked(PySequence_Tuple(values ? values.get() : inputs));
      check(PyTuple_GET_SIZE(list.get()) > 0, Kind::Runtime,
            "`inputs` argument to `backward()` cannot be empty.");
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list.get()); i++)
        add_input(call, PyTuple_GET_ITEM(list.get(), i));
    }
    run_backward(std::move(call));
    Py_RETURN_NONE;
  });
}

// (node, output_nr): where the gradient of a tensor goes.
PyObject* gradient_edge_of(PyObject*, PyObject* t) {
  return guarded([&]() -> PyObject* {
    check(is_tensor(t), Kind::Type, "_gradient_edge(): expected a Tensor, got ",
          Py_TYPE(t)->tp_name);
    check(
        tensor_of(t).requires_grad(), Kind::Runtime,
        "It is not possible to get the gradient edge for a Tensor that does not require gradients");
    Edge edge = gradient_edge(tensor_of(t));
    return Py_BuildValue("(NI)", wrap_node(edge.node), edge.nr);
  });
}
PyObject* graph_task_id(PyObject*, PyObject*) { return PyLong_FromLongLong(current_pass()); }
PyObject* will_execute(PyObject*, PyObject* node) {
  return guarded([&]() -> PyObject* {
    check(is_node(node), Kind::Type, "_will_engine_execute_node(): expected a Node, got ",
          Py_TYPE(node)->tp_name);
    return PyBool_FromLong(will_run(&node_of(node)));
  });
}
PyObject* current_python_node(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* { return wrap_node(Ref<Node>(current_node())); });
}
PyObject* queue_python_callback(PyObject*, PyObject* f) {
  return guarded([&]() -> PyObject* {
    queue_callback([call = Object::borrow(f)] { checked(PyObject_CallNoArgs(call.get())); });
    Py_RETURN_NONE;
  });
}

// --- modes ---------------------------------------------------------------------------------------

PyObject* set_grad_enabled(PyObject*, PyObject* on) {
  grad_mode.enabled = on == Py_True;
  grad_mode.only_made = false;
  Py_RETURN_NONE;
}
// no_grad while there are dual numbers, whose directions the tape carries: their history goes on,
// leaves begin none.
PyObject* set_grad_of_duals(PyObject*, PyObject*) {
  grad_mode.enabled = grad_mode.only_made = true;
  Py_RETURN_NONE;
}
PyObject* is_grad_enabled(PyObject*, PyObject*) {
  return PyBool_FromLong(grad_mode.enabled && !grad_mode.only_made);
}
PyObject* set_inference_mode(PyObject*, PyObject* on) {
  grad_mode.inference = on == Py_True;
  Py_RETURN_NONE;
}
PyObject* is_inference_mode(PyObject*, PyObject*) { return PyBool_FromLong(grad_mode.inference); }

PyObject* set_anomaly_enabled(PyObject*, PyObject* args) {
  int enabled, check_nan = 1;
  if (!PyArg_ParseTuple(args, "p|p", &enabled, &check_nan)) return nullptr;
  anomaly.enabled = enabled;
  anomaly.check_nan = check_nan;
  Py_RETURN_NONE;
}
PyObject* is_anomaly_enabled(PyObject*, PyObject*) { return PyBool_FromLong(anomaly.enabled); }
PyObject* is_anomaly_check_nan_enabled(PyObject*, PyObject*) {
  return PyBool_FromLong(anomaly.check_nan);
}

std::string current_traceback() {
  Object lines = checked(PyObject_CallNoArgs(imported("traceback", "format_stack")));
  Object empty = checked(PyUnicode_FromString(""));
  Object text = checked(PyUnicode_Join(empty.get(), lines.get()));
  return PyUnicode_AsUTF8(text.get());
}

void warn(const std::string& message) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  int status = PyErr_WarnEx(PyExc_UserWarning, message.c_str(), 1);
  if (type) {
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
  } else if (status < 0) {
    throw PythonError{};
  }
}

PyObject* increment_version(PyObject*, PyObject* t) {
  return guarded([&]() -> PyObject* {
    check(is_tensor(t), Kind::Type,
          "increment_version expects each element of the iterable to be a tensor");
    if (!tensor_of(t).impl()->inference) bump_version(tensor_of(t));
    Py_RETURN_NONE;
  });
}

PyObject* set_grad_layout(PyObject*, PyObject* on) {
  return guarded([&]() -> PyObject* {
    grad_layout_follows = checked(PyObject_IsTrue(on)) != 0;
    Py_RETURN_NONE;
  });
}
PyObject* get_grad_layout(PyObject*, PyObject*) { return PyBool_FromLong(grad_layout_follows); }

// --- methods of Tensor ---------------------------------------------------------------------------

PyObject* detach_(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    detach_in_place(tensor_of(self));
    return Py_NewRef(self);
  });
}
PyObject* tensor_retain_grad(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    retain_grad(tensor_of(self));
    Py_RETURN_NONE;
  });
}
PyObject* is_view(PyObject* self, PyObject*) { return PyBool_FromLong(tensor_of(self).is_view()); }

PyMethodDef methods[] = {
    {"backward", as_function(tensor_backward), METH_FASTCALL | METH_KEYWORDS,
     R"(backward($self, gradient=None, retain_graph=None, create_graph=False, inputs=None)
--

Adds the gradient of the tensor with respect to the leaves of its graph to their `.grad`.

Args:
    gradient (Tensor, optional): the gradient with respect to the tensor itself; may be left out for
        a tensor of one element.
    retain_graph (bool, optional): whether the graph can be used again; as `create_graph` if None.
    create_graph (bool, default False): whether the gradients can themselves be differentiated.
    inputs (sequence of Tensors, optional): the leaves that are meant; all if None.

Example:

    >>> x = ember.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
)"},
    {"detach_", detach_, METH_NOARGS,
     R"(detach_($self)
--

Makes the tensor a leaf that requires no gradient; returns it.

Example:

    >>> x = ember.ones(1, requires_grad=True) * 2
    >>> x.detach_()
    tensor([2.])
)"},
    {"retain_grad", tensor_retain_grad, METH_NOARGS,
     R"(retain_grad($self)
--

Lets a tensor that is not a leaf have its `.grad` set by `backward()`.

Example:

    >>> x = ember.ones(1, requires_grad=True)
    >>> y = x * 2
    >>> y.retain_grad()
    >>> (y * 3).backward()
    >>> y.grad
    tensor([3.])
)"},
    {"_is_view", is_view, METH_NOARGS, "Whether the tensor is a view of another."},
    {}};

PyMethodDef functions[] = {
    {"_run_backward", as_function(run_backward_of), METH_FASTCALL, nullptr},
    {"_gradient_edge", gradient_edge_of, METH_O, nullptr},
    {"_current_graph_task_id", graph_task_id, METH_NOARGS,
     "The number of the running backward pass, or -1."},
    {"_will_engine_execute_node", will_execute, METH_O,
     "Whether the running backward pass will run a node."},
    {"_current_autograd_node", current_python_node, METH_NOARGS,
     "The node that the running backward pass is at, or None."},
    {"_queue_callback", queue_python_callback, METH_O,
     "Calls a function when the running backward pass is done."},
    {"_set_grad_enabled", set_grad_enabled, METH_O, nullptr},
    {"_set_grad_of_duals", set_grad_of_duals, METH_NOARGS, nullptr},
    {"is_grad_enabled", is_grad_enabled, METH_NOARGS, R"(is_grad_enabled()
--

Whether ops are recorded on this thread.

Example:

    >>> with ember.no_grad():
    ...     ember.is_grad_enabled()
    False
)"},
    {"_set_inference_mode", set_inference_mode, METH_O, nullptr},
    {"is_inference_mode_enabled", is_inference_mode, METH_NOARGS,
     R"(is_inference_mode_enabled()
--

Whether inference mode is on for this thread.

Example:

    >>> with ember.inference_mode():
    ...     ember.is_inference_mode_enabled()
    True
)"},
    {"_set_anomaly_enabled", set_anomaly_enabled, METH_VARARGS, nullptr},
    {"is_anomaly_enabled", is_anomaly_enabled, METH_NOARGS, R"(is_anomaly_enabled()
--

Whether anomaly detection is on.

Example:

    >>> with ember.autograd.detect_anomaly():
    ...     ember.is_anomaly_enabled()
    True
)"},
    {"is_anomaly_check_nan_enabled", is_anomaly_check_nan_enabled, METH_NOARGS,
     R"(is_anomaly_check_nan_enabled()
--

Whether anomaly detection looks for NaN.

Example:

    >>> ember.is_anomaly_check_nan_enabled()
    True
)"},
    {"_increment_version", increment_version, METH_O, nullptr},
    {"_set_grad_layout_enforcement_enabled", set_grad_layout, METH_O, nullptr},
    {"_is_grad_layout_enforcement_enabled", get_grad_layout, METH_NOARGS,
     "Whether gradients of leaves lie in memory as the leaves do."},
    {}};

}  // namespace

void add_autograd(PyObject* module) {
  add_node_type(module);
  add_function_type(module);
  add_saved_hooks(module);
  add_hook_methods();
  add_tensor_methods(methods);
  checked(PyModule_AddFunctions(module, functions));
  host_warn = warn;
  host_traceback = current_traceback;
}

}  // namespace ember::python
