// The loops of optimizer steps. Each element is read once, all of its state with it; what is asked
// of a step (momentum, decay ...) is decided outside of the loops, by template parameters. The
// order of operations is PyTorch's.
#include "cpu/kernels/optim_kernels.h"

#include "cpu/kernels/half.h"
#include "cpu/kernels/loops.h"

namespace ember::cpu::EMBER_ISA {
namespace {

EMBER_INLINE float wide(float v) { return v; }
EMBER_INLINE double wide(double v) { return v; }
EMBER_INLINE float wide(BFloat16 v) { return to_float(v); }
EMBER_INLINE float wide(Half v) { return to_float(v); }
EMBER_INLINE void store(float* to, float v) { *to = v; }
EMBER_INLINE void store(double* to, double v) { *to = v; }
EMBER_INLINE void store(BFloat16* to, float v) { *to = to_bfloat(v); }
EMBER_INLINE void store(Half* to, float v) { *to = to_half(v); }
template <class T>
using Wide = decltype(wide(T()));

EMBER_INLINE float root(float v) { return __builtin_sqrtf(v); }
EMBER_INLINE double root(double v) { return __builtin_sqrt(v); }
template <class W>
EMBER_INLINE W blend(W from, W to, W weight) {  // lerp
  return weight < W(0.5) ? from + weight * (to - from) : to - (to - from) * (1 - weight);
}

// Calls f with std::true_type or std::false_type for each flag, so that it can be used in
// templates.
template <class F>
EMBER_INLINE void with_flags(F f) {
  f();
}
template <class F, class... More>
EMBER_INLINE void with_flags(F f, bool flag, More... more) {
  if (flag)
    with_flags([&](auto... rest) EMBER_LAMBDA { f(std::true_type(), rest...); }, more...);
  else
    with_flags([&](auto... rest) EMBER_LAMBDA { f(std::false_type(), rest...); }, more...);
}

// The gradient with its sign for `maximize` and L2 decay.
template <bool decay, class W>
EMBER_INLINE W directed(W g, W p, W sign, W weight_decay) {
  g *= sign;
  if constexpr (decay) g += weight_decay * p;
  return g;
}

template <class T>
void sgd(int64_t n, OptimRows rows, const SgdStep& step) {
  using W = Wide<T>;
  T* p = static_cast<T*>(rows[0]);
  const T* g = static_cast<const T*>(rows[1]);
  T* b = static_cast<T*>(rows[2]);
  const W lr = W(step.lr), momentum = W(step.momentum), rest = W(1 - step.dampening);
  const W weight_decay = W(step.weight_decay), sign = step.maximize ? W(-1) : W(1);
  with_flags(
      [&](auto decay, auto moving, auto nesterov, auto first) EMBER_LAMBDA {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
          W was = wide(p[i]), d = directed<decay>(wide(g[i]), was, sign, weight_decay);
          if constexpr (moving) {
            W kept = first ? d : momentum * wide(b[i]) + rest * d;
            store(b + i, kept);
            d = nesterov ? d + momentum * kept : kept;
          }
          store(p + i, was - lr * d);
        }
      },
      step.weight_decay != 0, step.momentum != 0, step.nesterov, step.first);
}

template <class T>
void adam(int64_t n, OptimRows rows, double count, const AdamStep& step) {
  using W = Wide<T>;
  T* p = static_cast<T*>(rows[0]);
  const T* g = static_cast<const T*>(rows[1]);
  T* mean = static_cast<T*>(rows[2]);
  T* square = static_cast<T*>(rows[3]);
  T* largest = static_cast<T*>(rows[4]);
  const double left1 = 1 - __builtin_pow(step.beta1, count);
  const double left2 = 1 - __builtin_pow(step.beta2, count);
  const W size = W(step.lr / left1), scale = W(__builtin_sqrt(left2)), eps = W(step.eps);
  const W new1 = W(1 - step.beta1), keep2 = W(step.beta2), new2 = W(1 - step.beta2);
  const W shrink = step.decoupled ? W(1 - step.lr * step.weight_decay) : W(1);
  const W weight_decay = W(step.weight_decay), sign = step.maximize ? W(-1) : W(1);
  with_flags(
      [&](auto decay, auto amsgrad) EMBER_LAMBDA {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
          W was = wide(p[i]), d = directed<decay>(wide(g[i]), was, sign, weight_decay);
          W m = blend(wide(mean[i]), d, new1);
          W v = wide(square[i]) * keep2 + new2 * d * d;
          store(mean + i, m);
          store(square + i, v);
          if constexpr (amsgrad) {
            W most = wide(largest[i]);
            v = most > v || most != most ? most : v;
            store(largest + i, v);
          }
          store(p + i, was * shrink - size * m / (root(v) / scale + eps));
        }
      },
      step.weight_decay != 0 && !step.decoupled, step.amsgrad);
}

template <class T>
void rmsprop(int64_t n, OptimRows rows, const RmspropStep& step) {
  using W = Wide<T>;
  T* p = static_cast<T*>(rows[0]);
  const T* g = static_cast<const T*>(rows[1]);
  T* square = static_cast<T*>(rows[2]);
  T* mean = static_cast<T*>(rows[3]);
  T* b = static_cast<T*>(rows[4]);
  const W lr = W(step.lr), keep = W(step.alpha), fresh = W(1 - step.alpha), eps = W(step.eps);
  const W momentum = W(step.momentum), weight_decay = W(step.weight_decay);
  const W sign = step.maximize ? W(-1) : W(1);
  with_flags(
      [&](auto decay, auto moving, auto centered) EMBER_LAMBDA {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
          W was = wide(p[i]), d = directed<decay>(wide(g[i]), was, sign, weight_decay);
          W v = wide(square[i]) * keep + fresh * d * d;
          store(square + i, v);
          if constexpr (centered) {
            W m = blend(wide(mean[i]), d, fresh);
            store(mean + i, m);
            v -= m * m;
          }
          W ratio = d / (root(v) + eps);
          if constexpr (moving) {
            ratio += momentum * wide(b[i]);
            store(b + i, ratio);
          }
          store(p + i, was - lr * ratio);
        }
      },
      step.weight_decay != 0, step.momentum > 0, step.centered);
}

template <class T>
void adagrad(int64_t n, OptimRows rows, double count, const AdagradStep& step) {
  using W = Wide<T>;
  T* p = static_cast<T*>(rows[0]);
  const T* g = static_cast<const T*>(rows[1]);
  T* sum = static_cast<T*>(rows[2]);
  const W lr = W(step.lr / (1 + (count - 1) * step.lr_decay)), eps = W(step.eps);
  const W weight_decay = W(step.weight_decay), sign = step.maximize ? W(-1) : W(1);
  with_flags(
      [&](auto decay) EMBER_LAMBDA {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
          W was = wide(p[i]), d = directed<decay>(wide(g[i]), was, sign, weight_decay);
          W v = wide(sum[i]) + d * d;
          store(sum + i, v);
          store(p + i, was - lr * d / (root(v) + eps));
        }
      },
      step.weight_decay != 0);
}

template <class T>
void add_type(OptimLoops& loops, OptimType type) {
  loops.sgd[type] = sgd<T>;
  loops.adam[type] = adam<T>;
  loops.rmsprop[type] = rmsprop<T>;
  loops.adagrad[type] = adagrad<T>;
}

OptimLoops make() {
  OptimLoops loops{};
  add_type<float>(loops, kOptimF32);
  add_type<double>(loops, kOptimF64);
  add_type<BFloat16>(loops, kOptimBF16);
  add_type<Half>(loops, kOptimF16);
  return loops;
}

}  // namespace

const OptimLoops& optim_loops() {
  static const OptimLoops loops = make();
  return loops;
}

}  // namespace ember::cpu::EMBER_ISA
