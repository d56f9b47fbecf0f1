// autograd.Function: what its node and type (function.cpp) share with its calls
// (function_apply.cpp).
#pragma once

#include "python/tape.h"

namespace ember::python {

struct PyFunction {
  PyNode head;
  PyObject* needs_input_grad;
  PyObject* to_save;  // these four are set by methods of FunctionCtx
  PyObject* dirty_tensors;
  PyObject* non_differentiable;
  PyObject* materialize_grads;
};
extern PyTypeObject* function_type;

inline PyFunction* as_function_object(PyObject* o) { return reinterpret_cast<PyFunction*>(o); }

class FunctionNode final : public Node, public Pooled<FunctionNode> {
 public:
  using Pooled<FunctionNode>::operator new;
  using Pooled<FunctionNode>::operator delete;
  FunctionNode() : Node("function") { by_turns = false; }  // user code may wait for other threads

  std::vector<Saved> saved;
  std::vector<bool> arg_is_tensor;  // of forward; only tensors have edges
  std::vector<bool> output_is_tensor;
  std::vector<bool> left_out;  // outputs whose undefined gradients stay so: mark_non_differentiable
                               // and _materialize_non_diff_grads = False
  bool materialize = true;
  bool boxed = false;   // backward takes one list, from which it can drop gradients
  bool clears = false;  // saved tensors are given out once
  bool cleared = false;

  void apply(Grads& g, Grads& dx) override;
  void release() override {
    released = true;
    saved.clear();
  }
  std::string display_name() const override {
    const char* name = Py_TYPE(static_cast<PyObject*>(host_object))->tp_name;
    const char* dot = std::strrchr(name, '.');
    return dot ? dot + 1 : name;
  }

 private:
  Object call_backward(PyObject* ctx, Grads& g);
};

// An instance of a context type, with its node.
Object new_context(PyTypeObject* type);
// A method of `Function` itself, which stands for "not given".
PyObject* base_method(PyObject*& cache, PyObject* name);
// Function.apply: _C._function_apply(cls, args).
PyObject* function_apply(PyObject*, PyObject* const* args, Py_ssize_t n);
void add_function_apply();

}  // namespace ember::python
