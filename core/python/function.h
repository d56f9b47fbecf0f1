// What the files about autograd.Function share: the node of an operation written in Python, and the
// object that is its context.
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
extern PyTypeObject* function_type;  // function.cpp

inline PyFunction* as_function_object(PyObject* o) { return reinterpret_cast<PyFunction*>(o); }

// A method of `Function` itself, which stands for "not given".
PyObject* base_method(PyObject*& cache, PyObject* name);

class FunctionNode final : public Node, public Pooled<FunctionNode> {
 public:
  using Pooled<FunctionNode>::operator new;
  using Pooled<FunctionNode>::operator delete;
  FunctionNode() : Node("function") {}

  std::vector<Saved> saved;
  std::vector<bool> arg_is_tensor;  // of forward; only tensors have edges
  std::vector<bool> output_is_tensor;
  bool materialize = true;

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

// Function.apply: runs forward and gives its outputs a history (function_apply.cpp).
PyObject* apply_function(PyObject* cls, PyObject* args);
void intern_apply_names();

}  // namespace ember::python
