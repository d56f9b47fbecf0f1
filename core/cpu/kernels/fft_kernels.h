// Kernels of the Fourier transforms, once per ISA level and for float and double.
//
// Note [Lanes]: a kernel transforms as many lines at a time as a vector has lanes (`lanes`, W
// below), each line in a lane of its own. A block of n complex elements is (n, 2, W) in memory:
// real parts, then imaginary parts, of element 0 of every line, then of element 1 ... So no step
// of a transform ever shuffles; only reading and writing lines does, as a transposition. An
// inverse transform is a forward one with real and imaginary parts exchanged.
#pragma once

#include <cstdint>

#include "cpu/kernels/levels.h"

namespace ember::cpu {

constexpr int kFftFactors = 64;
constexpr int kFftMostLanes = 16;
constexpr int64_t kFftLargestPrime = 101;  // longer factors are left to Bluestein's algorithm

// A transform of length n as steps of radix r, as kernels see it.
struct FftSteps {
  int64_t n = 1;
  int count = 0;
  int radix[kFftFactors];
  const void* twiddles[kFftFactors];  // (ido, radix - 1, 2): see kernels/fft.cpp
  const void* roots[kFftFactors];     // (radix, 2): exp(-2 pi i j / radix)
};

struct FftLaneKernels {
  int lanes;
  // Transforms the block `a`; returns where the result is, in `a` or in `b`.
  void* (*run)(const FftSteps& steps, void* a, void* b, bool inverse);
  // Only steps `begin` to `end`.
  void* (*run_some)(const FftSteps& steps, int begin, int end, void* a, void* b, bool inverse);
  // The first step, from contiguous complex lines, and the last, to lines, of transforms of two
  // steps and more whose first (last) radix is 3, 4, 5, 7 or 8 (kernels/fft_fused.cpp).
  void (*first_of_lines)(const FftSteps& steps, const void* const* lines, void* out, bool inverse);
  void (*last_to_lines)(const FftSteps& steps, const void* in, void* const* lines, int count,
                        bool inverse, double scale);
  // From the transform z (n / 2 elements) of real lines taken as complex pairs to theirs
  // (n / 2 + 1 elements), and back; roots (n / 4 + 1, 2) of exp(-2 pi i k / n).
  void (*unpack_real)(int64_t half, const void* z, void* out, const void* roots);
  void (*pack_real)(int64_t half, const void* x, void* z, const void* roots);
  // Odd lengths: real to complex; the n elements of which x has the first; the real parts.
  void (*widen)(int64_t n, const void* x, void* out);
  void (*mirror)(int64_t n, const void* x, void* out);
  void (*narrow)(int64_t n, const void* x, void* out);
  // out = block * base * by: row k times base (n, 2) and by (n, 2, W); on exchanged parts if
  // `inverse`.
  void (*twist)(int64_t n, const void* block, void* out, const void* base, const void* by,
                bool inverse);

  // --- reading and writing (kernels/fft_layout.cpp) -------------------------------------------
  // Rows of W of a block from (to) m contiguous numbers of each of W lines; `count` are written.
  void (*load_lines)(int64_t m, const void* const* lines, void* block);
  void (*store_lines)(int64_t m, const void* block, void* const* lines, int count, double scale);
  // The same where a line's elements, of `parts` numbers each, are `stride` numbers apart.
  void (*load_apart)(int64_t n, int parts, int64_t stride, const void* const* lines, void* block);
  void (*store_apart)(int64_t n, int parts, int64_t stride, const void* block, void* const* lines,
                      int count, double scale);
  // Lines side by side: element i of all starts at number i * stride; parts is 1 or 2.
  void (*load_columns)(int64_t n, int parts, int64_t stride, const void* x, int count, void* block);
  void (*store_columns)(int64_t n, int parts, int64_t stride, const void* block, void* x, int count,
                        double scale);
  // From blocks (.., rows, 2, W) that hold W columns each to one of n elements with W rows in its
  // lanes.
  void (*turn)(int64_t n, int64_t rows, const void* blocks, void* block);

  // --- one line of complex numbers as they are in tensors (kernels/fft_lines.cpp) ---------------
  // out = scale * a * b, where `a` and the result may be conjugated.
  void (*multiply)(int64_t n, const void* a, const void* b, void* out, bool conj_a, bool conj_out,
                   double scale);
  // As above, for a line; the result may take the place of z (x).
  void (*unpack_line)(int64_t half, const void* z, void* out, const void* roots, double scale);
  void (*pack_line)(int64_t half, const void* x, void* z, const void* roots);
};

struct FftTable {
  FftLaneKernels f32, f64;
};

EMBER_DECLARE_LEVELS(void add_fft(FftTable& table); void add_fft_layout(FftTable& table);
                     void add_fft_fused(FftTable& table); void add_fft_lines(FftTable& table);)

}  // namespace ember::cpu
