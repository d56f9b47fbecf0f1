// A call of a Function: forward runs with recording off, its outputs get a history
// (ember/autograd/function.py has the contract).
#include "ops/ops.h"
#include "python/function.h"
#include "python/overrides.h"

namespace ember::python {

namespace {

PyObject *text_backward_cls, *text_forward, *text_setup_context, *text_boxed, *text_clears;

bool contains(PyObject* tuple, PyObject* o) {
  if (!tuple || !PyTuple_Check(tuple)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++)
    if (PyTuple_GET_ITEM(tuple, i) == o) return true;
  return false;
}

PyObject* tuple_field(PyObject* field, const char* name) {
  if (!field || field == Py_None) return nullptr;
  check(PyTuple_Check(field), Kind::Type, "autograd internal error: saved attribute '", name,
        "' is expected to be a tuple but is of type ", Py_TYPE(field)->tp_name);
  return field;
}

// One call of Function.apply.
class Application {
 public:
  Application(PyObject* cls, PyObject* args) : cls_(cls), args_(args) {
    Object type = checked(PyObject_GetAttr(cls, text_backward_cls));
    check(PyType_Check(type.get()) && PyType_IsSubtype((PyTypeObject*)type.get(), function_type),
          Kind::Type, "_backward_cls of a Function must derive from _C._FunctionBase");
    ctx_ = new_context(reinterpret_cast<PyTypeObject*>(type.get()));
    node_ = static_cast<FunctionNode*>(as_py_node(ctx_.get())->node);
  }

  PyObject* run() {
    read_arguments();
    Object result = call_forward();
    single_ = !PyTuple_Check(result.get());
    outputs_ = single_ ? checked(PyTuple_Pack(1, result.get())) : std::move(result);
    link_outputs();
    save();
    return single_ ? Py_NewRef(PyTuple_GET_ITEM(wrapped_.get(), 0)) : wrapped_.release();
  }

 private:
  PyFunction& fields() { return *as_function_object(ctx_.get()); }

  void read_arguments() {
    Py_ssize_t n = PyTuple_GET_SIZE(args_);
    Object needs = checked(PyTuple_New(n));
    node_->arg_is_tensor.resize(size_t(n));
    size_t tensors = 0;
    bool any = false;
    for (Py_ssize_t i = 0; i < n; i++) {
      PyObject* arg = PyTuple_GET_ITEM(args_, i);
      bool is = is_tensor(arg), requires_grad = is && tensor_of(arg).requires_grad();
      node_->arg_is_tensor[size_t(i)] = is;
      tensors += is;
      any = any || requires_grad;
      PyTuple_SET_ITEM(needs.get(), i, Py_NewRef(requires_grad ? Py_True : Py_False));
    }
    fields().needs_input_grad = needs.release();
    recorded_ = any && grad_enabled();
    if (!recorded_) return;
    node_->edges.resize(tensors);
    for (Py_ssize_t i = 0, edge = 0; i < n; i++)
      if (node_->arg_is_tensor[size_t(i)])
        node_->edges[size_t(edge++)] = gradient_edge(tensor_of(PyTuple_GET_ITEM(args_, i)));
  }

  Object call_forward() {
    static PyObject* no_setup;
    NoGrad guard;
    Object forward = checked(PyObject_GetAttr(cls_, text_forward));
    Object setup = checked(PyObject_GetAttr(cls_, text_setup_context));
    if (setup.get() != base_method(no_setup, text_setup_context)) {
      apart_ = true;
      Object output = checked(PyObject_CallObject(forward.get(), args_));
      checked(PyObject_CallFunctionObjArgs(setup.get(), ctx_.get(), args_, output.get(), nullptr));
      return output;
    }
    constexpr Py_ssize_t kFew = 8;
    Py_ssize_t n = PyTuple_GET_SIZE(args_);
    PyObject* few[kFew + 1];
    std::vector<PyObject*> many(n > kFew ? size_t(n) + 1 : 0);
    PyObject** all = n > kFew ? many.data() : few;
    all[0] = ctx_.get();
    for (Py_ssize_t i = 0; i < n; i++) all[i + 1] = PyTuple_GET_ITEM(args_, i);
    return checked(PyObject_Vectorcall(forward.get(), all, size_t(n) + 1, nullptr));
  }

  void link_outputs() {
    PyObject* dirty = tuple_field(fields().dirty_tensors, "dirty_tensors");
    PyObject* constant = tuple_field(fields().non_differentiable, "non_differentiable");
    for (Py_ssize_t i = 0; constant && i < PyTuple_GET_SIZE(constant); i++)
      check(is_tensor(PyTuple_GET_ITEM(constant, i)), Kind::Runtime,
            "mark_non_differentiable only accepts variable arguments, but got ",
            Py_TYPE(PyTuple_GET_ITEM(constant, i))->tp_name);
    Py_ssize_t n = PyTuple_GET_SIZE(outputs_.get());
    if (dirty) check_dirty(dirty);
    if (recorded_) {
      node_->output_is_tensor.resize(size_t(n));
      if (n > 1) node_->more.resize(size_t(n) - 1);
      node_->materialize =
          !fields().materialize_grads || checked(PyObject_IsTrue(fields().materialize_grads));
      if (constant && leaves_out_constants()) {
        node_->left_out.resize(size_t(n));
        for (Py_ssize_t i = 0; i < n; i++)
          node_->left_out[size_t(i)] = contains(constant, PyTuple_GET_ITEM(outputs_.get(), i));
      }
    }
    wrapped_ = checked(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; i++) {
      PyObject* out = PyTuple_GET_ITEM(outputs_.get(), i);
      bool tensor = is_tensor(out);
      Object made = Object::borrow(out);
      if (tensor) {
        bool changed = contains(dirty, out), follows = recorded_ &&
                                                       is_differentiable(tensor_of(out).dtype()) &&
                                                       !contains(constant, out);
        made = follows ? with_history(out, uint32_t(i), changed) : without_history(out, changed);
      }
      if (recorded_) {
        node_->output_is_tensor[size_t(i)] = tensor;
        if (tensor)
          describe_output(i ? node_->more[size_t(i) - 1] : node_->info, tensor_of(made.get()));
      }
      PyTuple_SET_ITEM(wrapped_.get(), i, made.release());
    }
  }

  bool leaves_out_constants() {
    PyObject* own = fields().head.dict;
    PyObject* set = own ? PyDict_GetItemString(own, "_materialize_non_diff_grads") : nullptr;
    return set && !checked(PyObject_IsTrue(set));
  }

  void check_dirty(PyObject* dirty) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(dirty); i++) {
      PyObject* t = PyTuple_GET_ITEM(dirty, i);
      check(is_tensor(t), Kind::Type, "mark_dirty can only accept variables, but argument ", i,
            " is of type ", Py_TYPE(t)->tp_name);
      check(contains(args_, t) || !tensor_of(t).is_view(), Kind::Runtime,
            "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that "
            "have been mutated should be passed to ctx.mark_dirty().");
      if (!contains(args_, t) && PyErr_WarnEx(PyExc_UserWarning,
                                              "ctx.mark_dirty() received a tensor that was not an "
                                              "input. Only input Tensors that have been "
                                              "mutated should be passed to ctx.mark_dirty().",
                                              1) < 0)
        throw PythonError{};
      check(contains(outputs_.get(), t) || !contains(args_, t), Kind::Runtime,
            "Some elements marked as dirty during the forward method were not returned as output. "
            "The inputs that are "
            "modified inplace must all be outputs of the Function.");
      const TensorImpl& impl = *tensor_of(t).impl();
      if (recorded_ && impl.base && tensor_of(t).requires_grad() &&
          impl.view_kind != ViewKind::Plain && impl.view_kind != ViewKind::None)
        fail_view(tensor_of(t), true);
      const auto& base = impl.base;
      const Autograd* leaf = recorded_ && base ? base->autograd : nullptr;
      check(!leaf || !leaf->requires_grad || leaf->grad_fn, Kind::Runtime,
            "a view of a leaf Variable that requires grad is being used in an in-place operation.");
      bump_version(tensor_of(t));
    }
  }

  // The edge of the argument that `o` is.
  size_t edge_of_argument(PyObject* o) {
    size_t edge = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args_); i++) {
      if (PyTuple_GET_ITEM(args_, i) == o) return edge;
      edge += node_->arg_is_tensor[size_t(i)];
    }
    return 0;
  }

  Object with_history(PyObject* out, uint32_t nr, bool changed) {
    const Tensor& t = tensor_of(out);
    bool input = contains(args_, out);
    if (changed && input) {
      check(!(t.is_leaf() && t.requires_grad()), Kind::Runtime,
            "a leaf Variable that requires grad has been used in an in-place operation.");
      bool view = t.is_view() && t.impl()->view_kind != ViewKind::None;
      check(!view || PyTuple_GET_SIZE(outputs_.get()) == 1, Kind::Runtime,
            "If your Function modifies inplace an input that is a view of another Tensor, your "
            "Function cannot return more "
            "than one Tensor. You should either make sure the input is not a view (using .clone() "
            "for example) or make "
            "your Function only return one Tensor.");
      describe_output(nr ? node_->more[nr - 1] : node_->info, t);
      if (view) node_->output_is_tensor[nr] = true;
      rebase_history(t, Ref<Node>(node_), nr, edge_of_argument(out));
      return Object::borrow(out);
    }
    Object made = Object::borrow(out);
    if (input) {  // returned as it came: a view, so that the argument keeps its own history
      GradGuard off(false);
      made = same_kind(out, [&] { return view_alias(t); });
    }
    const Tensor& result = tensor_of(made.get());
    if (result.is_view()) result.impl()->view_kind = view_kind();
    set_grad_fn(result, Ref<Node>(node_), nr);
    if (!PyObject_GC_IsTracked(made.get())) PyObject_GC_Track(made.get());  // ctx may refer to it
    return made;
  }

  // An alias of `out`; a subclass with a __torch_function__ of its own says what that is.
  template <class F>
  Object same_kind(PyObject* out, F alias) {
    if (Py_TYPE(out) != tensor_type && tensor_of(out).device().kind != wrapper_kind &&
        type_asks(Py_TYPE(out))) {
      Object made = checked(PyObject_CallMethod(out, "view_as", "O", out));
      if (is_tensor(made.get())) return made;
    }
    return checked(wrap(alias()));
  }

  // Of a result that is a view: changes of it would go past the Function's backward.
  ViewKind view_kind() const {
    return PyTuple_GET_SIZE(outputs_.get()) > 1 ? ViewKind::MultiOutput : ViewKind::CustomFunction;
  }

  Object without_history(PyObject* out, bool changed) {
    const Tensor& t = tensor_of(out);
    if (contains(args_, out) && !changed) {
      GradGuard off(false);
      return same_kind(out, [&] { return detach(t); });
    }
    if (t.is_view() && !contains(args_, out) && grad_enabled()) t.impl()->view_kind = view_kind();
    if (t.requires_grad() && !t.is_view()) {
      if (contains(args_, out)) return checked(wrap(detach(t)));
      detach_in_place(t);
    }
    return Object::borrow(out);
  }

  // With a setup_context of its own, what forward returns is not known to be an argument when it
  // is saved: its history would be the wrong one.
  void check_returned(PyObject* saved) {
    if (!apart_ || !saved || !PyTuple_Check(saved)) return;
    PyObject* dirty = tuple_field(fields().dirty_tensors, "dirty_tensors");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(saved); i++) {
      PyObject* item = PyTuple_GET_ITEM(saved, i);
      check(!is_tensor(item) || !contains(args_, item) || !contains(outputs_.get(), item) ||
                contains(dirty, item),
            Kind::Runtime,
            "An input that has been returned as-is as output is being saved for backward. This is "
            "not supported if you override setup_context. You should return and save a view of the "
            "input instead, e.g. with x.view_as(x) or setup ctx inside the forward function "
            "itself.");
    }
  }

  void save() {
    PyObject* list = tuple_field(fields().to_save, "to_save");
    check_returned(list);
    if (apart_)
      check_returned(checked(PyObject_GetAttrString(ctx_.get(), "saved_for_forward")).get());
    if (recorded_) {
      if (list) save_tensors(list);
      node_->boxed = flag(text_boxed);
      node_->clears = list && flag(text_clears);
      finish_node(*node_);
    }
    Py_CLEAR(fields().to_save);
    Py_CLEAR(fields().dirty_tensors);
    Py_CLEAR(fields().non_differentiable);
  }

  bool flag(PyObject* name) {
    return checked(PyObject_IsTrue(checked(PyObject_GetAttr(cls_, name)).get()));
  }

  void save_tensors(PyObject* list) {
    Py_ssize_t n = PyTuple_GET_SIZE(list);
    node_->saved.reserve(size_t(n));
    for (Py_ssize_t i = 0; i < n; i++) {
      PyObject* item = PyTuple_GET_ITEM(list, i);
      if (item == Py_None) {
        node_->saved.emplace_back();
        continue;
      }
      check(is_tensor(item), Kind::Type, "save_for_backward can only save variables, but argument ",
            i, " is of type ", Py_TYPE(item)->tp_name);
      const Tensor& t = tensor_of(item);
      const Autograd* a = t.impl()->autograd;
      bool output = a && a->grad_fn.get() == node_;
      node_->saved.push_back(output ? Saved::output(t, a->output_nr) : Saved(t));
    }
  }

  PyObject *cls_, *args_;
  Object ctx_, outputs_, wrapped_;
  FunctionNode* node_;
  bool recorded_ = false, single_ = true;
  bool apart_ = false;  // setup_context is overridden
};

}  // namespace

PyObject* function_apply(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    check(n == 2 && PyType_Check(args[0]) && PyTuple_Check(args[1]), Kind::Type,
          "_function_apply() takes a class and a tuple");
    return Application(args[0], args[1]).run();
  });
}

void add_function_apply() {
  text_backward_cls = PyUnicode_InternFromString("_backward_cls");
  text_forward = PyUnicode_InternFromString("forward");
  text_setup_context = PyUnicode_InternFromString("setup_context");
  text_boxed = PyUnicode_InternFromString("boxed_grads_call");
  text_clears = PyUnicode_InternFromString("clear_saved_tensors_on_access");
}

}  // namespace ember::python
