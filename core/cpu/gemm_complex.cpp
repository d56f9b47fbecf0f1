// Complex matrix products: OpenBLAS on one thread for each strip of rows, a plain loop where a
// product is too small for that.
#include "cpu/blas.h"
#include "cpu/gemm_parts.h"

namespace ember::cpu {
namespace {

// What BLAS can read: one stride 1, the other positive and wide enough; anything else is copied.
template <class T>
struct BlasOperand {
  const T* data;
  int ld;
  BlasTranspose op;
  Buffer<T> copy;

  BlasOperand(const Matrix& x, int64_t rows, int64_t cols) : data(static_cast<const T*>(x.data)) {
    if ((x.col == 1 || cols == 1) && (rows == 1 || x.row >= cols)) {
      ld = int(std::max<int64_t>(rows == 1 ? cols : x.row, 1));
      op = x.conj ? kConjNoTranspose : kNoTranspose;
    } else if ((x.row == 1 || rows == 1) && (cols == 1 || x.col >= rows)) {
      ld = int(std::max<int64_t>(cols == 1 ? rows : x.col, 1));
      op = x.conj ? kConjTranspose : kTranspose;
    } else {
      copy = buffer<T>(rows * cols);
      for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) copy[i * cols + j] = data[i * x.row + j * x.col];
      data = copy.get();
      ld = int(cols);
      op = x.conj ? kConjNoTranspose : kNoTranspose;
    }
  }
  const T* rows_from(int64_t i) const {
    return data + (op == kNoTranspose || op == kConjNoTranspose ? i * ld : i);
  }
};

// Written out: std::complex's own product checks for infinities.
template <class T>
inline T times(T x, T y) {
  return T(x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real());
}

template <class T>
void complex_small(int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b,
                   const MatrixOut& c, T alpha, T beta) {
  const T *x = static_cast<const T*>(a.data), *y = static_cast<const T*>(b.data);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      T sum(0);
      for (int64_t p = 0; p < k; p++) {
        T u = x[i * a.row + p * a.col], v = y[p * b.row + j * b.col];
        sum += times(a.conj ? std::conj(u) : u, b.conj ? std::conj(v) : v);
      }
      T* to = static_cast<T*>(c.data) + i * c.row + j * c.col;
      *to = beta == T(0) ? times(alpha, sum) : times(alpha, sum) + times(beta, *to);
    }
}

template <class T>
void complex_product(int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b,
                     const MatrixOut& c, T alpha, T beta) {
  if (m == 0 || n == 0) return;
  if (m * n * k <= 512 || k == 0) return complex_small<T>(m, n, k, a, b, c, alpha, beta);
  if (c.col != 1 && c.row == 1 && n > 1)  // the transpose: C' = B' A'
    return complex_product<T>(n, m, k, {b.data, b.col, b.row, b.conj},
                              {a.data, a.col, a.row, a.conj}, {c.data, c.col, c.row}, alpha, beta);
  BlasOperand<T> x(a, m, k), y(b, k, n);
  Buffer<T> sum;
  T* to = static_cast<T*>(c.data);
  int64_t ld = m == 1 ? n : c.row;
  const bool direct = (c.col == 1 || n == 1) && (m == 1 || c.row >= n);
  if (!direct) {
    to = (sum = buffer<T>(m * n)).get();
    ld = n;
  }
  const T one(1), zero(0);
  const int64_t pieces = pieces_for(4 * m * n * k, kWorkPerThread),
                height = (m + pieces - 1) / pieces;
  parallel_for(m, height, [&](int64_t begin, int64_t end) {
    blas_gemm(sizeof(T), x.op, y.op, int(end - begin), int(n), int(k), direct ? &alpha : &one,
              x.rows_from(begin), x.ld, y.data, y.ld, direct ? &beta : &zero, to + begin * ld,
              int(ld));
  });
  if (direct) return;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      T* out = static_cast<T*>(c.data) + i * c.row + j * c.col;
      *out = beta == zero ? times(alpha, to[i * n + j])
                          : times(alpha, to[i * n + j]) + times(beta, *out);
    }
}

}  // namespace

void complex_gemm(Dtype dtype, int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b,
                  const MatrixOut& c, complex128 alpha, complex128 beta) {
  if (dtype == Dtype::Complex64)
    complex_product<complex64>(m, n, k, a, b, c, complex64(alpha), complex64(beta));
  else
    complex_product<complex128>(m, n, k, a, b, c, alpha, beta);
}

}  // namespace ember::cpu
