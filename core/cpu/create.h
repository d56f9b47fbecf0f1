// Sequences and triangular parts of matrices, on raw memory.
#pragma once

#include "tensor/scalar.h"

namespace ember::cpu {

// out[i * stride] = start + i * step, computed in int64, double or complex double as the dtype
// asks.
void arange(Dtype dtype, void* out, int64_t n, int64_t stride, const Scalar& start,
            const Scalar& step);

// Contiguous (..., m, n) matrices with `numel` elements in all: what lies on the kept side of a
// diagonal is copied, the rest is zero.
void triangle(void* out, const void* x, int64_t numel, int64_t m, int64_t n, int64_t item,
              int64_t diagonal, bool upper);

}  // namespace ember::cpu
