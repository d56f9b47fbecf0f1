// Long lines in two stages (the "four-step" algorithm, without its transpositions: the lanes of the
// first stage are columns, those of the second rows), and Bluestein's algorithm on top of it.
#include "cpu/fft_lines.h"

#include <algorithm>
#include <cstring>

#include "cpu/parallel.h"

namespace ember::cpu::fft {

namespace {
constexpr int64_t kFftGrain = 8192;  // complex elements worth a thread
}

template <class T>
void run_split(const SplitPlan<T>& plan, const T* x, T* out, bool inverse, double scale) {
  const FftLaneKernels& k = lane_kernels<T>();
  const int64_t W = k.lanes, n1 = plan.n1, n2 = plan.n2;
  const int64_t blocks = (n2 + W - 1) / W, groups = (n1 + W - 1) / W, height = groups * W;
  const Buffer<T> middle(blocks * height * 2 * W);
  parallel_for(blocks, 1 + kFftGrain / (n1 * W), [&](int64_t begin, int64_t end) {
    const Buffer<T> a(n1 * 2 * W), b(n1 * 2 * W);
    for (int64_t i = begin; i < end; i++) {
      k.load_columns(n1, 2, 2 * n2, x + 2 * i * W, int(std::min(W, n2 - i * W)), a.data());
      const void* done = k.run(plan.columns->steps, a.data(), b.data(), inverse);
      T* to = middle.data() + i * height * 2 * W;
      k.twist(n1, done, to, plan.base.data() + i * n1 * 2, plan.by.data(), inverse);
      std::memset(to + n1 * 2 * W, 0, size_t((height - n1) * 2 * W) * sizeof(T));
    }
  });
  parallel_for(groups, 1 + kFftGrain / (n2 * W), [&](int64_t begin, int64_t end) {
    const Buffer<T> a(n2 * 2 * W), b(n2 * 2 * W);
    for (int64_t i = begin; i < end; i++) {
      k.turn(n2, height, middle.data() + i * W * 2 * W, a.data());
      const void* done = k.run(plan.rows->steps, a.data(), b.data(), inverse);
      k.store_columns(n2, 2, 2 * n1, done, out + 2 * i * W, int(std::min(W, n1 - i * W)), scale);
    }
  });
}

template <class T>
Line<T>::Line(int64_t n) {
  if (needs_chirp(n))
    chirp_ = plan_for<ChirpPlan<T>>(n);
  else
    split_ = plan_for<SplitPlan<T>>(n);
}

template <class T>
void Line<T>::run(const T* x, T* out, bool inverse, double scale) const {
  if (split_) return run_split(*split_, x, out, inverse, scale);
  const FftLaneKernels& k = lane_kernels<T>();
  const int64_t n = chirp_->n, m = chirp_->m;
  const Buffer<T> y(2 * m);
  k.multiply(n, x, chirp_->chirp.data(), y.data(), inverse, false, 1);
  std::memset(y.data() + 2 * n, 0, size_t(2 * (m - n)) * sizeof(T));
  run_split(*chirp_->inner, y.data(), y.data(), false, 1);
  k.multiply(m, y.data(), chirp_->spectrum.data(), y.data(), false, true, 1);
  run_split(*chirp_->inner, y.data(), y.data(), false, 1);  // of the conjugate: an inverse
  k.multiply(n, y.data(), chirp_->chirp.data(), out, true, inverse, scale);
}

template <class T>
RealLine<T>::RealLine(int64_t n) : n_(n), line_(n % 2 ? n : n / 2) {
  if (n % 2 == 0) half_ = plan_for<HalfPlan<T>>(n);
}

template <class T>
void RealLine<T>::forward(const T* x, T* out, double scale) const {
  const int64_t half = n_ / 2;
  if (half_) {
    line_.run(x, out, false, 1);
    lane_kernels<T>().unpack_line(half, out, out, half_->roots.data(), scale);
    return;
  }
  const Buffer<T> full(2 * n_);
  for (int64_t i = 0; i < n_; i++) full[2 * i] = x[i], full[2 * i + 1] = 0;
  line_.run(full.data(), full.data(), false, scale);
  std::memcpy(out, full.data(), size_t(2 * (half + 1)) * sizeof(T));
}

template <class T>
void RealLine<T>::inverse(const T* x, T* out, double scale) const {
  const int64_t half = n_ / 2;
  if (half_) {
    lane_kernels<T>().pack_line(half, x, out, half_->roots.data());
    return line_.run(out, out, true, scale);
  }
  const Buffer<T> full(2 * n_);
  full[0] = x[0], full[1] = 0;
  for (int64_t i = 1; i <= half; i++) {
    full[2 * i] = full[2 * (n_ - i)] = x[2 * i];
    full[2 * i + 1] = x[2 * i + 1];
    full[2 * (n_ - i) + 1] = -x[2 * i + 1];
  }
  line_.run(full.data(), full.data(), true, scale);
  for (int64_t i = 0; i < n_; i++) out[i] = full[2 * i];
}

#define EMBER_INSTANTIATE(T)                                                           \
  template void run_split<T>(const SplitPlan<T>&, const T*, T*, bool inverse, double); \
  template class Line<T>;                                                              \
  template class RealLine<T>;
EMBER_INSTANTIATE(float)
EMBER_INSTANTIATE(double)

}  // namespace ember::cpu::fft
