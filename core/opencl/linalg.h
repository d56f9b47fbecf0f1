// Factorisations on the device (families/linalg.h), and what their files share.
#pragma once

#include <algorithm>

#include "families/linalg.h"
#include "opencl/kernels.h"
#include "opencl/launch.h"

namespace ember::opencl {

class OpenClLinalg final : public LinalgKernels {
 public:
  void lu(const Tensor& a, const Tensor& pivots, const Tensor& info) override;
  void lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, Apply op) override;
  void pivot_order(const Tensor& pivots, const Tensor& rows) override;
  void ldl(const Tensor& a, const Tensor& pivots, const Tensor& info, bool hermitian) override;
  void ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian) override;
  void qr(const Tensor& a, const Tensor& tau) override;
  void reflect_identity(const Tensor& a, const Tensor& tau) override;
  void reflect(const Tensor& a, const Tensor& tau, const Tensor& c, bool left,
               bool adjoint) override;
  void eigh(const Tensor& a, const Tensor& values, const Tensor& info, bool upper,
            bool vectors) override;
  void eig(const Tensor& a, const Tensor& values, const Tensor& vectors,
           const Tensor& info) override;
  void svd(const Tensor& a, const Tensor& s, const Tensor& u, const Tensor& vh,
           const Tensor& info) override;
  void least_squares(LeastSquares driver, const Tensor& a, const Tensor& b, double rcond,
                     const Tensor& rank, const Tensor& s, const Tensor& info) override;
};

// The kernel `name` of `text` (kernels/*.cl) for numbers of dtype d. Raises if the device cannot
// calculate in it.
Launch number_kernel(const char* op, const char* name, const char* text, Dtype d);
// Work-items per matrix of `size` rows or columns: a power of two, within the device's limit and
// the kernels' (GROUP). There are two only, as some devices compile a kernel for each size.
int64_t group_for(int64_t size);
// Starts a kernel whose work-items do not know of each other.
void run_items(Launch& launch, int64_t items);

inline Tensor scratch(std::initializer_list<int64_t> shape, Dtype d, const Tensor& like) {
  return empty(Shape(shape), d, like.device());
}

}  // namespace ember::opencl
