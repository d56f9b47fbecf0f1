// Fourier transforms of single contiguous lines: long ones, and those of awkward length.
#pragma once

#include "cpu/fft_plan.h"

namespace ember::cpu::fft {

// `x` and `out` are n complex numbers, and may be the same. Runs on several threads if it pays and
// the caller does not already.
template <class T>
void run_split(const SplitPlan<T>& plan, const T* x, T* out, bool inverse, double scale);

// A line of any length that is not better off in a lane.
template <class T>
class Line {
 public:
  explicit Line(int64_t n);
  void run(const T* x, T* out, bool inverse, double scale) const;

 private:
  std::shared_ptr<const SplitPlan<T>> split_;
  std::shared_ptr<const ChirpPlan<T>> chirp_;
};

// A line of n real numbers, to and from n / 2 + 1 complex ones.
template <class T>
class RealLine {
 public:
  explicit RealLine(int64_t n);
  void forward(const T* x, T* out, double scale) const;
  void inverse(const T* x, T* out, double scale) const;

 private:
  int64_t n_;
  Line<T> line_;  // of n / 2 pairs where n is even
  std::shared_ptr<const HalfPlan<T>> half_;
};

}  // namespace ember::cpu::fft
