// Optimizer steps over lists of tensors, by the device's fused kernels. Each returns whether there
// was a kernel for just these tensors; if not, nothing has changed, and ember.optim goes on step by
// step.
#include "backend.h"

#include "ops/disjoint.h"
#include "ops/ops.h"

namespace ember {

namespace {

// Whether the device has this step for these lists, of which the first holds the parameters.
bool fuses(Primitive step, const char* op, std::initializer_list<const TensorList*> lists) {
  const TensorList& params = **lists.begin();
  for (const TensorList* list : lists)
    check(list->empty() || list->size() == params.size(), Kind::Runtime, op, "(): expected ",
          params.size(), " tensors in each list, got ", list->size());
  if (grad_enabled() || params.empty() || !backend_of(params[0]).has(step)) return false;
  for (const TensorList* list : lists)
    for (size_t i = 0; i < list->size(); i++) {
      const Tensor &t = (*list)[i], &p = params[i];
      if (t.device() != params[0].device() || t.dtype() != p.dtype() || t.numel() != p.numel() ||
          !t.is_contiguous() || !is_floating(t.dtype()))
        return false;
    }
  return disjoint(params, **(lists.begin() + 1));
}

void changed(const char* op, std::initializer_list<const TensorList*> lists) {
  for (const TensorList* list : lists)
    for (const Tensor& t : *list) check_in_place(op, t), bump_version(t);
}

void check_steps(const char* op, const TensorList& steps, const TensorList& params) {
  check(steps.size() == params.size(), Kind::Runtime, op, "(): expected ", params.size(),
        " step counts, got ", steps.size());
  for (const Tensor& step : steps)
    check(step.numel() == 1, Kind::Runtime, op, "(): expected step counts of one element, got ",
          step.shape());
}

bool fused_sgd(const TensorList& params, const TensorList& grads, const TensorList& buffers,
               double weight_decay, double momentum, double lr, double dampening, bool nesterov,
               bool maximize, bool first) {
  const char* op = "_fused_sgd_";
  check(momentum == 0 || buffers.size() == params.size(), Kind::Runtime, op, "(): expected ",
        params.size(), " momentum buffers, got ", buffers.size());
  if (!fuses(Primitive::sgd, op, {&params, &grads, &buffers})) return false;
  changed(op, {&params, &buffers});
  backend_of(params[0]).sgd(params, grads, buffers,
                            {lr, momentum, dampening, weight_decay, nesterov, maximize, first});
  return true;
}
EMBER_OP(
    "_fused_sgd_(Tensor[] self, Tensor[] grads, Tensor[] momentum_buffer_list, *, float "
    "weight_decay, float momentum, float lr, float dampening, bool nesterov, bool maximize, bool "
    "is_first_step) -> bool",
    &fused_sgd, Function | Whole,
    "A step of SGD for all tensors at once. False if these tensors need it one by one.");

bool fused_adam(const TensorList& params, const TensorList& grads, const TensorList& means,
                const TensorList& squares, const TensorList& largest, const TensorList& steps,
                double lr, double beta1, double beta2, double weight_decay, double eps,
                bool amsgrad, bool maximize, bool decoupled) {
  const char* op = "_fused_adam_";
  check(means.size() == params.size() && squares.size() == params.size() &&
            (!amsgrad || largest.size() == params.size()),
        Kind::Runtime, op, "(): expected ", params.size(), " tensors in each list of state");
  if (!fuses(Primitive::adam, op, {&params, &grads, &means, &squares, &largest})) return false;
  check_steps(op, steps, params);
  changed(op, {&params, &means, &squares, &largest, &steps});
  backend_of(params[0]).adam(params, grads, means, squares, largest, steps,
                             {lr, beta1, beta2, eps, weight_decay, decoupled, amsgrad, maximize});
  return true;
}
EMBER_OP(
    "_fused_adam_(Tensor[] self, Tensor[] grads, Tensor[] exp_avgs, Tensor[] exp_avg_sqs, Tensor[] "
    "max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float "
    "weight_decay, float eps, bool amsgrad, bool maximize, bool decoupled=False) -> bool",
    &fused_adam, Function | Whole,
    "A step of Adam (AdamW, if decoupled) for all tensors at once. False if these tensors need it "
    "one by one.");

bool fused_rmsprop(const TensorList& params, const TensorList& grads, const TensorList& squares,
                   const TensorList& means, const TensorList& buffers, const TensorList& steps,
                   double lr, double alpha, double eps, double weight_decay, double momentum,
                   bool centered, bool maximize) {
  const char* op = "_fused_rmsprop_";
  check(squares.size() == params.size() && (!centered || means.size() == params.size()) &&
            (momentum <= 0 || buffers.size() == params.size()),
        Kind::Runtime, op, "(): expected ", params.size(), " tensors in each list of state");
  if (!fuses(Primitive::rmsprop, op, {&params, &grads, &squares, &means, &buffers})) return false;
  check_steps(op, steps, params);
  changed(op, {&params, &squares, &means, &buffers, &steps});
  backend_of(params[0]).rmsprop(params, grads, squares, means, buffers, steps,
                                {lr, alpha, eps, weight_decay, momentum, centered, maximize});
  return true;
}
EMBER_OP(
    "_fused_rmsprop_(Tensor[] self, Tensor[] grads, Tensor[] square_avgs, Tensor[] grad_avgs, "
    "Tensor[] momentum_buffer_list, Tensor[] state_steps, *, float lr, float alpha, float eps, "
    "float weight_decay, float momentum, bool centered, bool maximize) -> bool",
    &fused_rmsprop, Function | Whole,
    "A step of RMSprop for all tensors at once. False if these tensors need it one by one.");

bool fused_adagrad(const TensorList& params, const TensorList& grads, const TensorList& sums,
                   const TensorList& steps, double lr, double lr_decay, double weight_decay,
                   double eps, bool maximize) {
  const char* op = "_fused_adagrad_";
  check(sums.size() == params.size(), Kind::Runtime, op, "(): expected ", params.size(),
        " sums, got ", sums.size());
  if (!fuses(Primitive::adagrad, op, {&params, &grads, &sums})) return false;
  check_steps(op, steps, params);
  changed(op, {&params, &sums, &steps});
  backend_of(params[0]).adagrad(params, grads, sums, steps,
                                {lr, lr_decay, eps, weight_decay, maximize});
  return true;
}
EMBER_OP(
    "_fused_adagrad_(Tensor[] self, Tensor[] grads, Tensor[] state_sums, Tensor[] state_steps, *, "
    "float lr, float lr_decay, float weight_decay, float eps, bool maximize) -> bool",
    &fused_adagrad, Function | Whole,
    "A step of Adagrad for all tensors at once. False if these tensors need it one by one.");

}  // namespace

}  // namespace ember
