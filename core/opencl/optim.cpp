// Optimizer steps, one launch for each parameter. Programs differ by what a step consists of, so
// that nothing is decided for each element.

#include <cmath>

#include "opencl/device.h"
#include "opencl/launch.h"
#include "opencl/opencl_backend.h"
#include "opencl/sources.h"
#include "opencl/text.h"

namespace ember::opencl {

namespace {

struct Numbers {  // NUMBERS of kernels/optim.cl
  double lr, eps, decay, sign, a, b, c, d;
};

struct Step {
  const char* name;     // of the kernel
  const char* part;     // of the text
  std::string defines;  // of the parts of a step
};

std::string text_of(const Step& step, Dtype dtype) {
  const Dtype acc = compute_of(dtype);
  return define("ACC", value_type(acc)) + element("", dtype, acc) + define(step.part, 1) +
         step.defines + sources::optim;
}

// Runs the step for parameter i; lists that are empty become null pointers.
void run(const Step& step, size_t i, std::initializer_list<const TensorList*> lists,
         const Numbers& numbers, const double* extra = nullptr) {
  const Tensor& p = (**lists.begin())[i];
  if (p.numel() == 0) return;
  check_computes(step.name, p.dtype());
  const Dtype acc = compute_of(p.dtype());
  Launch launch(step.name + std::to_string(int(p.dtype())) + step.defines, step.name,
                [&] { return text_of(step, p.dtype()); });
  for (const TensorList* list : lists) {
    const Tensor t = list->empty() ? Tensor() : (*list)[i];
    launch.tensor(t).value(t ? t.offset() : int64_t(0));
  }
  if (extra) launch.scalar(acc, Scalar(*extra));
  launch.value(p.numel());
  for (double v : {numbers.lr, numbers.eps, numbers.decay, numbers.sign, numbers.a, numbers.b,
                   numbers.c, numbers.d})
    launch.scalar(acc, Scalar(v));
  launch.run(p.numel(), std::min<int64_t>(256, int64_t(context().properties.group_size)));
}

double sign_of(bool maximize) { return maximize ? -1 : 1; }

}  // namespace

void OpenClBackend::sgd(const TensorList& params, const TensorList& grads,
                        const TensorList& buffers, const SgdStep& s) {
  const Step step{"sgd", "SGD",
                  define("DECAY", s.weight_decay != 0) + define("MOMENTUM", s.momentum != 0) +
                      define("NESTEROV", s.nesterov) + define("FIRST", s.first)};
  const Numbers numbers{s.lr, 0, s.weight_decay, sign_of(s.maximize), s.momentum, 1 - s.dampening,
                        0,    0};
  for (size_t i = 0; i < params.size(); i++) run(step, i, {&params, &grads, &buffers}, numbers);
}
void OpenClBackend::adam(const TensorList& params, const TensorList& grads, const TensorList& means,
                         const TensorList& squares, const TensorList& largest,
                         const TensorList& steps, const AdamStep& s) {
  const std::vector<double> counts = count_steps(steps);
  const Step step{
      "adam", "ADAM",
      define("DECAY", s.weight_decay != 0 && !s.decoupled) + define("AMSGRAD", s.amsgrad)};
  const double fresh = 1 - s.beta2;
  for (size_t i = 0; i < params.size(); i++) {
    const double left1 = 1 - std::pow(s.beta1, counts[i]);
    const double left2 = 1 - std::pow(s.beta2, counts[i]);
    const Numbers numbers{
        s.lr / left1, s.eps,   s.weight_decay,   sign_of(s.maximize),
        1 - s.beta1,  s.beta2, std::sqrt(left2), s.decoupled ? 1 - s.lr * s.weight_decay : 1};
    run(step, i, {&params, &grads, &means, &squares, &largest}, numbers, &fresh);
  }
}
void OpenClBackend::rmsprop(const TensorList& params, const TensorList& grads,
                            const TensorList& squares, const TensorList& means,
                            const TensorList& buffers, const TensorList& steps,
                            const RmspropStep& s) {
  count_steps(steps);
  const Step step{"rmsprop", "RMSPROP",
                  define("DECAY", s.weight_decay != 0) + define("CENTERED", s.centered) +
                      define("MOMENTUM", s.momentum > 0)};
  const Numbers numbers{s.lr,    s.eps,       s.weight_decay, sign_of(s.maximize),
                        s.alpha, 1 - s.alpha, s.momentum,     0};
  for (size_t i = 0; i < params.size(); i++)
    run(step, i, {&params, &grads, &squares, &means, &buffers}, numbers);
}
void OpenClBackend::adagrad(const TensorList& params, const TensorList& grads,
                            const TensorList& sums, const TensorList& steps, const AdagradStep& s) {
  const std::vector<double> counts = count_steps(steps);
  const Step step{"adagrad", "ADAGRAD", define("DECAY", s.weight_decay != 0)};
  for (size_t i = 0; i < params.size(); i++) {
    const Numbers numbers{s.lr / (1 + (counts[i] - 1) * s.lr_decay),
                          s.eps,
                          s.weight_decay,
                          sign_of(s.maximize),
                          0,
                          0,
                          0,
                          0};
    run(step, i, {&params, &grads, &sums}, numbers);
  }
}

}  // namespace ember::opencl
