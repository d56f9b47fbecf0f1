#include "autograd/saved.h"

#include "tensor/deferred.h"

namespace ember {

namespace {

// "..., which is output 0 of Mul," for a message; the node's name without its ending, as torch has
// it.
std::string origin(const Node& node, uint32_t nr) {
  std::string name = node.display_name();
  if (size_t end = name.rfind("Backward"); end != std::string::npos) {
    std::string overload = name.substr(end + sizeof("Backward") - 1);
    name.resize(end);
    if (overload != "0") name += overload;
  }
  return ", which is output " + std::to_string(nr) + " of " + name + ",";
}

}  // namespace

Saved::Saved(const Tensor& t, bool output, uint32_t nr) : output_nr_(nr), output_(output) {
  if (!t) return;
  saved_something = true;
  check(!t.impl()->inference, Kind::Runtime,
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
        "inference mode in "
        "computation tracked by autograd. To work around this, you can make a clone to get a "
        "normal tensor and use it "
        "in autograd, or use `no_grad()` instead of `inference_mode()`.");
  if (__builtin_expect(saved_hooks != nullptr, 0)) {
    pack(t);
    return;
  }
  version_ = t.version();
  // An output has no node yet; its alias gets the running node back in get().
  tensor_ = output ? alias(t) : t;
  if (__builtin_expect(deferring, 0)) deferred.saved(tensor_);
}

void Saved::pack(const Tensor& t) {
  Ref<SavedHooks> hooks(saved_hooks);
  NoGrad guard;
  Tensor given = output_ ? alias(t) : t;
  uint32_t version = t.version();
  void* value = hooks->pack(given);
  packed_ = Ref<Packed>(new Packed);
  packed_->hooks = std::move(hooks);
  packed_->value = value;
  check(t.version() == version, Kind::Runtime,
        "A saved tensor pack hook is modifying its input in place. Tensors provided as input to "
        "pack hook cannot be "
        "modified by in-place operations as this can lead to unexpected side-effects.");
}

// An output as the rules of its node see it.
Tensor Saved::with_history(const Tensor& t, bool history) const {
  if (!output_ || !running_node || !t || !(history || grad_enabled())) return t;
  Tensor out = alias(t);
  set_grad_fn(out, running_node->output_history(), output_nr_);
  return out;
}

bool Saved::expendable() const {
  return running_node && running_node == ending_node && tensor_ && tensor_.impl()->refs == 1 &&
         tensor_.storage()->refs == 1;
}

Tensor Saved::get(bool history) const {
  if (packed_) return with_history(packed_->hooks->unpack(packed_->value), history);
  if (!tensor_) return tensor_;
  if (__builtin_expect(tensor_.version() != version_, 0)) {
    const Autograd* a = tensor_.impl()->autograd;
    std::string from = a && a->grad_fn           ? origin(*a->grad_fn, a->output_nr)
                       : output_ && running_node ? origin(*running_node, output_nr_)
                                                 : std::string();
    fail(Kind::Runtime,
         "one of the variables needed for gradient computation has been modified by an inplace "
         "operation: [",
         tensor_, "]", from, " is at version ", tensor_.version(), "; expected version ", version_,
         " instead. Hint: clone it before changing it, or enable anomaly detection to find the "
         "operation that failed to "
         "compute its gradient, with autograd.set_detect_anomaly(True, check_nan=False).",
         running_node ? " It is needed by " + running_node->display_name() + "." : "");
  }
  return with_history(tensor_, history);
}

}  // namespace ember
