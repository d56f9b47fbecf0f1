#include "autograd/saved.h"

namespace ember {

Saved::Saved(const Tensor& t, bool output) : output_(output) {
  if (!t) return;
  saved_something = true;
  check(!t.impl()->inference || inference_mode(), Kind::Runtime,
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
        "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it "
        "in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.");
  version_ = t.version();
  // An output has no node yet; its alias gets the running node back in get().
  tensor_ = output ? alias(t) : t;
  if (__builtin_expect(saved_hooks.empty(), 1)) return;
  check(!saved_hooks_disabled, Kind::Runtime, saved_hooks_disabled ? saved_hooks_disabled : "");
  auto hooks = saved_hooks.back();
  NoGrad guard;
  packed_ = std::make_shared<Packed>(Packed{hooks, hooks->pack(output ? alias(t) : t)});
  tensor_ = Tensor();
}

Tensor Saved::get() const {
  if (packed_) {
    Tensor t = packed_->hooks->unpack(packed_->value);
    if (output_ && running_node && t) {
      t = alias(t);
      set_grad_fn(t, Ref<Node>(running_node), output_nr_);
    }
    return t;
  }
  if (!tensor_) return tensor_;
  if (tensor_.version() != version_ && !tensor_.impl()->inference) {
    std::string from;
    if (tensor_.impl()->autograd && tensor_.impl()->autograd->grad_fn)
      from = ", which is output " + std::to_string(tensor_.impl()->autograd->output_nr) + " of " +
             tensor_.impl()->autograd->grad_fn->display_name() + ",";
    else if (output_ && running_node)
      from = ", which is output " + std::to_string(output_nr_) + " of " + running_node->display_name() + ",";
    fail(Kind::Runtime, running_node ? running_node->name : "backward",
         "(): one of the variables needed for gradient computation has been modified by an inplace operation: [",
         tensor_, "]", from, " is at version ", tensor_.version(), "; expected version ", version_,
         " instead. Hint: clone it before changing it, or enable anomaly detection to find the operation that failed "
         "to compute its gradient, with ember.autograd.set_detect_anomaly(True).");
  }
  if (output_ && running_node && grad_enabled()) {
    Tensor t = alias(tensor_);
    set_grad_fn(t, Ref<Node>(running_node), output_nr_);
    return t;
  }
  return tensor_;
}

}  // namespace ember
