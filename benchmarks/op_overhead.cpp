// What calls of ops cost below Python: nanoseconds of the thread's processor time for a call on
// tensors of one element, the least of several rounds. Built and run by
//   cmake --build build/dev --target op_overhead && build/dev/op_overhead
#include <time.h>

#include <algorithm>
#include <cstdio>

#include "autograd/engine.h"
#include "ops/ops.h"

using namespace ember;

namespace {

double now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) * 1e9 + double(t.tv_nsec);
}

template <class F>
void measure(const char* name, F call) {
  constexpr int kRounds = 30, kCalls = 2000;
  for (int i = 0; i < kCalls; i++) call();
  double best = 1e18;
  for (int round = 0; round < kRounds; round++) {
    const double start = now();
    for (int i = 0; i < kCalls; i++) call();
    best = std::min(best, (now() - start) / kCalls);
  }
  std::printf("%-28s %7.1f ns\n", name, best);
}

void backward(const Tensor& y, const Tensor& g) {
  BackwardCall call;
  call.roots = {gradient_edge(y)};
  call.grads = {g};
  run_backward(std::move(call));
}

}  // namespace

int main() {
  const Tensor a = ones({1}, Dtype::Float32, Device()), b = ones({1}, Dtype::Float32, Device());
  const Tensor m = ones({1, 1}, Dtype::Float32, Device());
  Tensor w = ones({1}, Dtype::Float32, Device());
  set_requires_grad(w, true);
  measure("empty", [&] { empty({1}, Dtype::Float32); });
  measure("a + b", [&] { add(a, b); });
  measure("a * 2", [&] { mul(a, Scalar(2.0)); });
  measure("exp(a)", [&] { exp(a); });
  measure("a < b", [&] { lt(a, b); });
  measure("sum(a)", [&] { sum(a); });
  measure("reshape(a)", [&] { reshape(a, {1, 1}); });
  measure("matmul(m, m)", [&] { matmul(m, m); });
  measure("w * a, recorded", [&] { mul(w, a); });
  measure("exp(w), recorded", [&] { exp(w); });
  measure("w * a and backward", [&] { backward(w * a, b); });
}
