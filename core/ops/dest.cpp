// Where results go: new tensors, out=, or in place; and the checks that in-place changes need.
#include "ops/overlap.h"

namespace ember {

void bump_version(const Tensor& t) {
  if (!t.impl()->inference) t.storage()->version++;
}

static void check_inference(const char* op, const Tensor& written) {
  check(!written.impl()->inference || inference_mode(), Kind::Runtime, op,
        "(): Inplace update to inference tensor outside InferenceMode is not allowed. You can make "
        "a clone to get a "
        "normal tensor before doing inplace update.");
}

void check_in_place(const char* op, const Tensor& self, Repeats repeats) {
  check_inference(op, self);
  if (repeats != Repeats::Allowed && has_internal_overlap(self)) {
    check(repeats == Repeats::Deprecated, Kind::Runtime, op,
          "(): unsupported operation: more than one element of the written-to tensor refers to a "
          "single memory location. "
          "Please clone() the tensor before performing the operation.");
    if (host_warn)
      host_warn(std::string("Use of ") + op +
                " on expanded tensors is deprecated. Please clone() the tensor before performing "
                "this operation. This also applies to advanced indexing e.g. tensor[indices] = "
                "tensor and tensor[mask] = scalar");
  }
  if (!grad_enabled() || grad_mode.only_made) return;
  const TensorImpl& impl = *self.impl();
  // Where only another operand requires a gradient, rebase_history checks the same.
  if (impl.base && impl.view_kind != ViewKind::Plain && impl.view_kind != ViewKind::None &&
      self.requires_grad())
    fail_view(self, true);
  const Autograd* a = impl.autograd;
  check(!(a && a->requires_grad && !a->grad_fn), Kind::Runtime, op,
        "(): a leaf Variable that requires grad is being used in an in-place operation.");
  if (!impl.base) return;
  const Autograd* base = impl.base->autograd;
  check(!(base && base->requires_grad && !base->grad_fn), Kind::Runtime, op,
        "(): a view of a leaf Variable that requires grad is being used in an in-place operation.");
}

void fail_overlap(const char* op) {
  fail(Kind::Runtime, op,
       "(): unsupported operation: some elements of the input tensor and the written-to tensor "
       "refer to a single memory location. Please clone() the tensor before performing the "
       "operation, as they share memory.");
}

bool clashes(const char* op, const Tensor& out, const Tensor& in, Sharing sharing) {
  const Overlap overlap = overlap_of(out, in);
  if (overlap == Overlap::None) return false;
  if (overlap == Overlap::Maybe || sharing == Sharing::Copied) return true;
  if (overlap == Overlap::Full && sharing == Sharing::Aligned) return false;
  fail_overlap(op);
}

static void warn_of_resize(const Shape& from, const Shape& to) {
  std::ostringstream text;
  text << "An output with one or more elements was resized since it had shape " << from
       << ", which does not match the required output shape " << to
       << ". This behavior is deprecated, and in a future release outputs will not be "
          "resized unless they have zero elements.";
  host_warn(text.str());
}

Tensor output_for(const char* op, Dest dest, const Shape& shape, Dtype dtype, Device device) {
  if (__builtin_expect(!dest.tensor, 1)) return empty(shape, dtype, device);
  const Tensor& out = *dest.tensor;
  check_inference(op, out);
  check(can_cast(dtype, out.dtype()), Kind::Runtime, op, "(): result type ", dtype,
        " can't be cast to the desired output type ", out.dtype());
  check(out.device().kind == device.kind, Kind::Runtime, op,
        "(): Expected all tensors to be on the same device, but the "
        "output is on ",
        out.device(), " and the inputs on ", device);
  if (dest.in_place || dest.keeps_shape) {
    check(out.shape() == shape, Kind::Runtime, op, "(): output with shape ", out.shape(),
          " doesn't match the broadcast shape ", shape);
    if (dest.in_place) return out;
  }
  if (!(out.shape() == shape)) {
    if (out.numel() && host_warn) warn_of_resize(out.shape(), shape);
    resize(out, shape, contiguous_strides(shape));
  }
  check(!has_internal_overlap(out), Kind::Runtime, op,
        "(): unsupported operation: more than one element of the written-to tensor refers to a "
        "single memory location. "
        "Please clone() the tensor before performing the operation.");
  return out;
}

void copy_to_out(const char* op, const Tensor& out, const Tensor& result) {
  NoGrad guard;
  // A result may be a view of an operand that is `out`.
  const Tensor from = share_storage(out, result) ? clone(result) : result;
  output_for(op, {&out, false}, result.shape(), result.dtype(), result.device());
  backend_of(out).copy(out, from);
  bump_version(out);
}

void assign_in_place(const char* op, const Tensor& self, const Tensor& result) {
  output_for(op, {&self, true}, result.shape(), result.dtype(), result.device());
  backend_of(self).copy(self, beside(op, self, result, Sharing::Copied));
  bump_version(self);
  if (!grad_needed(self, result)) return;
  tape_inplace(self, op, wrt(self, [](const Tensor&) { return Tensor(); }),
               wrt(result, [](const Tensor& g) { return g; }));
}

}  // namespace ember
