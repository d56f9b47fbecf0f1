// Hooks on gradients: dicts of Python callables, called by the engine; and what the garbage
// collector must know of them, as a hook often refers to the tensor it is on.
#include "python/tape.h"

namespace ember::python {

namespace {

Object name_of_hook(PyObject* hook) {
  Object name = Object::steal(PyObject_GetAttrString(hook, "__name__"));
  if (name) return name;
  PyErr_Clear();
  return checked(PyObject_Repr(hook));
}

Tensor replacement(PyObject* hook, PyObject* result, const Tensor& before) {
  check(is_tensor(result), Kind::Type, "expected Variable, but hook returned '",
        Py_TYPE(result)->tp_name, "'");
  const Tensor& after = tensor_of(result);
  if (!before) return after;
  auto name = [&] { return std::string(PyUnicode_AsUTF8(name_of_hook(hook).get())); };
  if (!(after.shape() == before.shape()))
    fail(Kind::Runtime, "hook '", name(), "' has changed the size of value");
  if (after.dtype() != before.dtype())
    fail(Kind::Runtime, "hook '", name(), "' has changed the type of value (was ", before.dtype(),
         " got ", after.dtype(), ")");
  return after;
}

Object tuple_of(const Grads& g) {
  Object tuple = checked(PyTuple_New(Py_ssize_t(g.size())));
  for (size_t i = 0; i < g.size(); i++) PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), wrap(g[i]));
  return tuple;
}

// Puts what a hook returned for several gradients in their place.
void replace_all(PyObject* hook, PyObject* result, Grads& g) {
  if (result == Py_None) return;
  Object list = PyTuple_Check(result) ? Object::borrow(result) : checked(PyTuple_Pack(1, result));
  check(size_t(PyTuple_GET_SIZE(list.get())) == g.size(), Kind::Runtime, "hook '",
        PyUnicode_AsUTF8(name_of_hook(hook).get()),
        "' has returned an incorrect number of values (got ", PyTuple_GET_SIZE(list.get()),
        ", but expected ", g.size(), ")");
  for (size_t i = 0; i < g.size(); i++) {
    PyObject* item = PyTuple_GET_ITEM(list.get(), Py_ssize_t(i));
    if (item != Py_None)
      g[i] = replacement(hook, item, g[i]);
    else if (g[i])
      fail(Kind::Runtime, "hook '", PyUnicode_AsUTF8(name_of_hook(hook).get()),
           "' has replaced a gradient by None");
  }
}

class PyHooks final : public HookList {
 public:
  Object dict = checked(PyDict_New());  // id -> callable; handles remove from it

  void on_tensor(Tensor& g) override {
    each([&](PyObject* hook) {
      Object value = checked(wrap(g));
      Object result = checked(PyObject_CallOneArg(hook, value.get()));
      if (result.get() != Py_None) g = replacement(hook, result.get(), g);
    });
  }
  void before(Grads& g) override {
    each([&](PyObject* hook) {
      Object values = tuple_of(g);
      Object result = checked(PyObject_CallOneArg(hook, values.get()));
      replace_all(hook, result.get(), g);
    });
  }
  void after(Grads& dx, const Grads& g) override {
    each([&](PyObject* hook) {
      Object ins = tuple_of(dx), outs = tuple_of(g);
      Object result = checked(PyObject_CallFunctionObjArgs(hook, ins.get(), outs.get(), nullptr));
      replace_all(hook, result.get(), dx);
    });
  }
  void accumulated(const Tensor& leaf) override {
    each([&](PyObject* hook) {
      Object value = checked(wrap(leaf));
      Object result = checked(PyObject_CallOneArg(hook, value.get()));
      check(result.get() == Py_None, Kind::Runtime,
            "Tensor post accumulate grad hooks should return None.");
    });
  }

 private:
  template <class F>
  void each(F&& call) {
    if (!PyDict_GET_SIZE(dict.get())) return;
    Object hooks = checked(PyDict_Values(dict.get()));  // a copy: a hook may remove itself
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hooks.get()); i++)
      call(PyList_GET_ITEM(hooks.get(), i));
  }
};

PyObject* dict_of(const std::unique_ptr<HookList>& list) {
  return list ? static_cast<PyHooks&>(*list).dict.get() : nullptr;
}

void track(PyObject* tensor) {
  if (!PyObject_GC_IsTracked(tensor)) PyObject_GC_Track(tensor);
}

}  // namespace

PyObject* add_hook(std::unique_ptr<HookList>& list, PyObject* hook) {
  if (!list) list = std::make_unique<PyHooks>();
  return PyObject_CallFunctionObjArgs(imported("ember.utils.hooks", "add_hook"), dict_of(list),
                                      hook, nullptr);
}

// --- for the garbage collector -------------------------------------------------------------------

bool tape_is_visible(const TensorImpl& impl) {
  const Autograd* a = impl.autograd;
  return a && (a->leaf_hooks || a->post_accumulate ||
               (a->grad_fn && (a->grad_fn->hooks || a->grad_fn->host_owned)));
}

int visit_hooks(const Node& node, visitproc visit, void* arg) {
  if (!node.hooks) return 0;
  Py_VISIT(dict_of(node.hooks->pre));
  Py_VISIT(dict_of(node.hooks->post));
  for (auto& [nr, list] : node.hooks->tensor) Py_VISIT(dict_of(list));
  return 0;
}

int visit_tape(const TensorImpl& impl, visitproc visit, void* arg) {
  const Autograd* a = impl.autograd;
  if (!a || impl.refs.load() != 1) return 0;
  Py_VISIT(dict_of(a->leaf_hooks));
  Py_VISIT(dict_of(a->post_accumulate));
  if (a->grad && a->grad.impl()->host_owned && a->grad.impl()->refs.load() == 1)
    Py_VISIT(static_cast<PyObject*>(a->grad.impl()->host_object));
  const Node* node = a->grad_fn.get();
  if (!node || node->refs.load() != 1) return 0;
  if (node->host_owned) Py_VISIT(static_cast<PyObject*>(node->host_object));
  return visit_hooks(*node, visit, arg);
}

void clear_tape(TensorImpl& impl) {
  Autograd* a = impl.autograd;
  if (!a || impl.refs.load() != 1) return;
  auto leaf = std::move(a->leaf_hooks), post = std::move(a->post_accumulate);
  Ref<Node> node =
      std::move(a->grad_fn);  // what the hooks are on; nobody can reach the tensor any more
}

// --- methods of Tensor ---------------------------------------------------------------------------

namespace {

PyObject* register_hook(PyObject* self, PyObject* hook) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    check(t.requires_grad(), Kind::Runtime,
          "cannot register a hook on a tensor that doesn't require gradient");
    track(self);
    Ref<Node> node = grad_fn_of(t);
    if (!node) return add_hook(ensure_autograd(t).leaf_hooks, hook);
    uint32_t nr = t.impl()->autograd->output_nr;
    auto& lists = node->ensure_hooks().tensor;
    for (auto& [output, list] : lists)
      if (output == nr) return add_hook(list, hook);
    lists.emplace_back(nr, nullptr);
    return add_hook(lists.back().second, hook);
  });
}

// Of register_hook: number -> function; None if there are none.
PyObject* hooks_of(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    const Autograd* a = t.impl()->autograd;
    PyObject* found = nullptr;
    if (a && a->grad_fn && a->grad_fn->hooks) {
      for (auto& [output, list] : a->grad_fn->hooks->tensor)
        if (output == a->output_nr) found = dict_of(list);
    } else if (a && !a->grad_fn) {
      found = dict_of(a->leaf_hooks);
    }
    return Py_NewRef(found ? found : Py_None);
  });
}

PyObject* register_post_accumulate_grad_hook(PyObject* self, PyObject* hook) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    check(t.requires_grad(), Kind::Runtime,
          "cannot register a hook on a tensor that doesn't require gradient");
    check(t.is_leaf(), Kind::Runtime,
          "post accumulate grad hooks cannot be registered on non-leaf tensors");
    track(self);
    return add_hook(ensure_autograd(t).post_accumulate, hook);
  });
}

PyMethodDef methods[] = {
    {"register_hook", register_hook, METH_O,
     R"(register_hook($self, hook, /)
--

Calls hook(grad) whenever the gradient of the tensor is computed.

Args:
    hook (function): takes the gradient; what it returns, if not None, takes its place.

Returns a handle, of which `remove()` takes the hook away.

Example:

    >>> x = ember.ones(1, requires_grad=True)
    >>> handle = x.register_hook(lambda grad: 10 * grad)
    >>> (x * 2).backward()
    >>> x.grad
    tensor([20.])
)"},
    {"register_post_accumulate_grad_hook", register_post_accumulate_grad_hook, METH_O,
     R"(register_post_accumulate_grad_hook($self, hook, /)
--

Calls hook(tensor) whenever the gradient of a leaf has been added to its `.grad`.

Args:
    hook (function): takes the tensor.

Returns a handle, of which `remove()` takes the hook away.

Example:

    >>> x = ember.ones(1, requires_grad=True)
    >>> handle = x.register_post_accumulate_grad_hook(lambda t: print(t.grad))
    >>> (x * 2).backward()
    tensor([2.])
)"},
    {"_hooks_of", hooks_of, METH_NOARGS, nullptr},
    {}};

}  // namespace

void add_hook_methods() { add_tensor_methods(methods); }

}  // namespace ember::python
