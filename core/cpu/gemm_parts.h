// What the files of the matrix product share: how much work is worth a thread, scratch memory.
#pragma once

#include <algorithm>
#include <memory>

#include "cpu/gemm.h"
#include "cpu/parallel.h"

namespace ember::cpu {

constexpr int64_t kWorkPerThread = 1 << 17;  // multiply-adds

inline int64_t pieces_for(int64_t work, int64_t each) {
  return in_parallel_region() ? 1 : std::clamp<int64_t>(work / each, 1, num_threads());
}

template <class T>
using Buffer = std::unique_ptr<T[]>;
template <class T>
Buffer<T> buffer(int64_t n) {
  return Buffer<T>(new T[size_t(n ? n : 1)]);
}

// C in pieces, one for each thread: so many side by side, so many below one another.
struct Grid {
  int64_t across, down, width, height;
  // Those in a row read, and copy if need be, the same rows of A; those in a column copy the same
  // columns of B. A is read once for each `block` of B's columns, unless it is copied.
  Grid(int64_t m, int64_t n, bool a_in_place, int64_t block, int64_t threads);
};

// gemm() for float16 and bfloat16.
struct HalfTask;
void half_gemm(Dtype dtype, const HalfTask& task);

// gemm() for complex dtypes.
void complex_gemm(Dtype dtype, int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b,
                  const MatrixOut& c, complex128 alpha, complex128 beta);

}  // namespace ember::cpu
