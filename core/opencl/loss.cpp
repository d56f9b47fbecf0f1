// Losses over classes: lines shared by work-groups if they are long and dense, else one an item.

#include "opencl/device.h"
#include "opencl/launch.h"
#include "opencl/opencl_backend.h"
#include "opencl/sources.h"
#include "opencl/text.h"

namespace ember::opencl {

namespace {

constexpr int64_t kGroup = 64;

struct Lines {  // ClassLoss of kernels/loss.cl
  int64_t lines = 0, classes = 0, step = 0;
  int64_t x_at = 0, dx_at = 0, target_at = 0, weight_at = 0, loss_at = 0, count_at = 0, sums_at = 0;
  int64_t g_at = 0, g_sample = 0, g_step = 0, ignored = 0;
  int32_t logits = 0, has_weight = 0;
};

Tensor dense(const Tensor& t, Dtype d) {
  if (!t || (t.dtype() == d && t.is_contiguous())) return t;
  Tensor out = empty(t.shape(), d, t.device());
  own().copy(out, t);
  return out;
}

struct Problem {
  Tensor target, weight;
  Lines s;
  int64_t group;
  Problem(const Tensor& x, const Tensor& sums, const ClassLoss& l)
      : target(dense(l.target, Dtype::Int64)), weight(dense(l.weight, compute_of(x.dtype()))) {
    s.classes = x.size(1), s.step = x.size(2), s.lines = x.size(0) * s.step;
    s.x_at = x.offset(), s.target_at = target.offset();
    if (weight) s.weight_at = weight.offset(), s.has_weight = 1;
    if (sums) s.sums_at = sums.offset(), s.logits = 1;
    s.ignored = l.ignored;
    group = items_work_alone() || s.step > 1 || s.classes < 2 * kGroup ? 1 : kGroup;
  }
  Launch start(const char* name, Dtype dtype) const {
    return Launch(name + std::to_string(int(dtype)) + (group > 1 ? "g" : "i"), name, [&] {
      const Dtype acc = compute_of(dtype);
      return define("ACC", value_type(acc)) + element("", dtype, acc) + define("GROUP", group) +
             sources::fold + sources::loss;
    });
  }
  // Few lines for an item each still reach several work-groups.
  void run(Launch& launch) const {
    launch.run(s.lines * group, group > 1 ? group : s.lines < 1024 ? 8 : kGroup);
  }
};

}  // namespace

void OpenClBackend::class_loss(const Tensor& loss, const Tensor& count, const Tensor& logsumexp,
                               const Tensor& x, const ClassLoss& l) {
  check_computes("cross_entropy", x.dtype());
  Problem p(x, logsumexp, l);
  p.s.loss_at = loss.offset(), p.s.count_at = count.offset();
  Launch launch = p.start("class_loss", x.dtype());
  launch.tensor(loss).tensor(count).tensor(logsumexp).tensor(x).tensor(p.target);
  launch.tensor(p.weight).faults("cross_entropy", Kind::Index, "Target").value(p.s);
  launch.scalar(compute_of(x.dtype()), Scalar(l.smoothing));
  p.run(launch);
}
void OpenClBackend::class_loss_grad(const Tensor& dx, const Tensor& g, const Tensor& logsumexp,
                                    const Tensor& x, const ClassLoss& l) {
  check_computes("cross_entropy", x.dtype());
  Problem p(x, logsumexp, l);
  Tensor up = g;
  if (g.dtype() != compute_of(x.dtype())) up = dense(g, compute_of(x.dtype()));
  p.s.dx_at = dx.offset(), p.s.g_at = up.offset();
  p.s.g_sample = up.stride(0), p.s.g_step = up.stride(1);
  Launch launch = p.start("class_loss_grad", x.dtype());
  launch.tensor(dx).tensor(up).tensor(logsumexp).tensor(x).tensor(p.target).tensor(p.weight);
  launch.value(p.s).scalar(compute_of(x.dtype()), Scalar(l.smoothing));
  p.run(launch);
}

}  // namespace ember::opencl
