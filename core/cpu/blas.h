// OpenBLAS and its LAPACK, opened on first use and kept at one thread: threads are ours
// (parallel.h). Integers are 32-bit. Real products are our own (gemm.h); this serves complex ones
// and LAPACK.
#pragma once

#include "cpu/library.h"

namespace ember::cpu {

// Throws an Error that names the package when the library is missing.
const Library& blas();

// A Fortran routine by its plain name, e.g.
//   static auto getrf = lapack<void(const int*, const int*, double*, const int*, int*,
//   int*)>("dgetrf");
template <class F>
F* lapack(const char* name) {
  return blas().get<F*>(("scipy_" + std::string(name) + "_").c_str());
}

enum BlasTranspose {
  kNoTranspose = 111,
  kTranspose = 112,
  kConjTranspose = 113,
  kConjNoTranspose = 114
};

// Row-major complex products; `bytes` is 8 (complex64) or 16.
void blas_gemm(int bytes, BlasTranspose a_op, BlasTranspose b_op, int m, int n, int k,
               const void* alpha, const void* a, int lda, const void* b, int ldb, const void* beta,
               void* c, int ldc);

}  // namespace ember::cpu
