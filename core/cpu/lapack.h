// Dense linear algebra on tensors of the CPU, by OpenBLAS's LAPACK: each works on batches of
// contiguous matrices.
#pragma once

#include "tensor/tensor.h"

namespace ember::cpu {

// Replaces the lower triangle of each matrix by its Cholesky factor; the upper triangle is left as
// it is. info (int32, one per matrix) is 0, or the order of the minor that is not positive.
void cholesky(const Tensor& matrices, const Tensor& info);
// Replaces b by the solution x of a x = b (or x a = b), a being triangular.
void solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left, bool unit);

}  // namespace ember::cpu
