#include "cpu/blas.h"

namespace ember::cpu {

const Library& blas() {
  static const Library library = [] {
    Library opened("libscipy_openblas.so", "scipy-openblas32");
    opened.get<void (*)(int)>("scipy_openblas_set_num_threads")(1);
    return opened;
  }();
  return library;
}

void blas_gemm(int bytes, BlasTranspose a_op, BlasTranspose b_op, int m, int n, int k,
               const void* alpha, const void* a, int lda, const void* b, int ldb, const void* beta,
               void* c, int ldc) {
  using Gemm = void(int, int, int, int, int, int, const void*, const void*, int, const void*, int,
                    const void*, void*, int);
  static Gemm* single = blas().get<Gemm*>("scipy_cblas_cgemm");
  static Gemm* twice = blas().get<Gemm*>("scipy_cblas_zgemm");
  constexpr int kRowMajor = 101;
  (bytes == 8 ? single : twice)(kRowMajor, a_op, b_op, m, n, k, alpha, a, lda, b, ldb, beta, c,
                                ldc);
}

}  // namespace ember::cpu
