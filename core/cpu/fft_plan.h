// What a Fourier transform of a given length needs to know: factors and tables of roots of unity,
// computed in long double and kept for the next transform of that length.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cpu/kernels/fft_kernels.h"
#include "tensor/allocator.h"

namespace ember::cpu::fft {

// Uninitialised numbers, aligned for vectors.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(int64_t n)
      : bytes_(size_t(n) * sizeof(T)), data_(static_cast<T*>(allocate(bytes_))) {}
  ~Buffer() { deallocate(data_, bytes_); }
  Buffer(Buffer&& o) noexcept
      : bytes_(std::exchange(o.bytes_, 0)), data_(std::exchange(o.data_, nullptr)) {}
  Buffer& operator=(Buffer&& o) noexcept {
    std::swap(bytes_, o.bytes_);
    std::swap(data_, o.data_);
    return *this;
  }
  T* data() const { return data_; }
  T& operator[](int64_t i) const { return data_[i]; }
  int64_t bytes() const { return int64_t(bytes_); }

 private:
  size_t bytes_ = 0;
  T* data_ = nullptr;
};

// exp(-2 pi i m / n) for 0 <= m < n.
class Roots {
 public:
  explicit Roots(int64_t n);
  std::complex<long double> operator()(int64_t m) const;

 private:
  std::complex<long double> exact(int64_t m) const;
  int64_t n_;
  int shift_;
  std::vector<std::complex<long double>> coarse_, fine_;  // of m >> shift, m & mask
};

template <class T>
const FftLaneKernels& lane_kernels();

// The steps of a transform of a block of lines. No prime factor is above kFftLargestPrime.
template <class T>
struct LanePlan {
  explicit LanePlan(int64_t n);
  int64_t bytes() const { return table.bytes(); }
  FftSteps steps;
  Buffer<T> table;
};

// Long lines in two stages: n1 rows of n2 elements; transforms of the columns, a twist by
// exp(-2 pi i k j / n), transforms of the rows.
template <class T>
struct SplitPlan {
  explicit SplitPlan(int64_t n);
  int64_t bytes() const { return base.bytes() + by.bytes(); }
  int64_t n1, n2;
  std::shared_ptr<const LanePlan<T>> columns, rows;
  Buffer<T> base;  // (blocks, n1, 2): exp(-2 pi i k j / n) for column j, the first of each block
  Buffer<T> by;    // (n1, 2, W): the same for columns 0 ... W - 1
};

// Bluestein's algorithm: a convolution of length m >= 2 n - 1 gives a transform of any length.
template <class T>
struct ChirpPlan {
  explicit ChirpPlan(int64_t n);
  int64_t bytes() const { return chirp.bytes() + spectrum.bytes(); }
  int64_t n, m;
  std::shared_ptr<const SplitPlan<T>> inner;
  Buffer<T> chirp;     // (n, 2): exp(-pi i j^2 / n)
  Buffer<T> spectrum;  // (m, 2): the transform of its inverse, divided by m
};

// exp(-2 pi i k / n) up to n / 4, for real lines of even length.
template <class T>
struct HalfPlan {
  explicit HalfPlan(int64_t n);
  int64_t bytes() const { return roots.bytes(); }
  Buffer<T> roots;
};

// The plan for this length, new or from the cache. Any thread may ask.
template <class Plan>
std::shared_ptr<const Plan> plan_for(int64_t n);

bool needs_chirp(int64_t n);
// The sizes of the two stages, n1 <= n2; n1 is 1 if there is no good pair.
std::pair<int64_t, int64_t> split_of(int64_t n, int lanes);

}  // namespace ember::cpu::fft
