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

// gemm() for complex dtypes.
void complex_gemm(Dtype dtype, int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b,
                  const MatrixOut& c, complex128 alpha, complex128 beta);

}  // namespace ember::cpu
