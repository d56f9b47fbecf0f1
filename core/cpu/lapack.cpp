// Cholesky factors and triangular systems, on matrices laid out by rows.
#include "cpu/lapack.h"
#include "cpu/triangular.h"

namespace ember::cpu {

void CpuBackend::cholesky(const Tensor& matrices, const Tensor& info) {
  const int64_t n = matrices.size(-1), count = info.numel();
  with_lapack_dtype("linalg.cholesky", matrices.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Potrf = void(const char*, const int*, T*, const int*, int*);
    static Potrf* potrf = routine<T, Potrf>("potrf");
    over_batch(count, double(n) * n * n / 3, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        // LAPACK reads the memory by columns, as the transpose; its upper factor U has A^T = U^H U,
        // so that U^T, which is the same memory read by rows, is the lower factor of A.
        const int size = int(n);
        potrf("U", &size, matrices.data<T>() + i * n * n, &size, info.data<int32_t>() + i);
      }
    });
  });
}

void CpuBackend::solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left,
                                  bool unit) {
  on_cpu(a, b);
  const int64_t n = a.size(-1), rows = b.size(-2), columns = b.size(-1);
  const int64_t count = b.numel() ? b.numel() / (rows * columns) : 0;
  constexpr int kRowMajor = 101, kLeft = 141, kRight = 142, kUpper = 121, kLower = 122, kUnit = 132,
                kNonUnit = 131;
  with_lapack_dtype("linalg.solve_triangular", a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Alpha = std::conditional_t<is_complex_type<T>, const T*, T>;
    using Trsm = void(int, int, int, int, int, int, int, Alpha, const T*, int, T*, int);
    static Trsm* trsm =
        blas().get<Trsm*>((std::string("scipy_cblas_") + Lapack<T>::letter + "trsm").c_str());
    const T one(1);
    Alpha alpha;
    if constexpr (is_complex_type<T>)
      alpha = &one;
    else
      alpha = one;
    // Our own products are faster than OpenBLAS's, where they have enough columns.
    const bool large = n >= 64 && (left ? columns : rows) >= 16;
    over_batch(count, double(n) * n * (left ? columns : rows), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        if constexpr (!is_complex_type<T>)
          if (large) {
            Grid<const T> matrix{a.data<T>() + i * n * n, n, 1};
            Grid<T> x{b.data<T>() + i * rows * columns, columns, 1};
            if (left)
              solve_triangle<T>(n, columns, matrix, x, upper, unit);
            else
              solve_triangle<T>(n, rows, matrix.transposed(), x.transposed(), !upper, unit);
            continue;
          }
        trsm(kRowMajor, left ? kLeft : kRight, upper ? kUpper : kLower, kNoTranspose,
             unit ? kUnit : kNonUnit, int(rows), int(columns), alpha, a.data<T>() + i * n * n,
             int(n), b.data<T>() + i * rows * columns, int(columns));
      }
    });
  });
}

}  // namespace ember::cpu
