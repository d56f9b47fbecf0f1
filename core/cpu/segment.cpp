// Products with sparse matrices: checks of the positions, dtypes and threads around the loops of
// kernels/segment.cpp.

#include <cstring>

#include "check.h"
#include "cpu/cpu_backend.h"
#include "cpu/dispatch.h"
#include "cpu/kernels/segment_kernels.h"
#include "cpu/parallel.h"

namespace ember::cpu {

namespace {

EMBER_TABLE_BY_LEVEL(SegmentTable, table, segment_loops)

// Kernels stay within bounds whatever the positions, but that they are wrong is said here.
Csr checked(const CsrRows& a) {
  int64_t nnz = a.columns.numel();
  Csr rows{a.start.data<int64_t>(), a.columns.data<int64_t>(), a.start.numel() - 1, nnz, a.width};
  check(table().ordered(rows), Kind::Runtime,
        "sparse matrix: row pointers must begin with 0, not decrease, and end with ", nnz,
        ", the number of elements");
  if (table().inside(rows)) return rows;
  int64_t k = 0;
  while (k + 1 < nnz && uint64_t(rows.columns[k]) < uint64_t(a.width)) k++;
  fail(Kind::Runtime, "sparse matrix: column ", rows.columns[k], " is out of bounds for ", a.width,
       " columns");
}

// Rows worth a thread of their own, if each element costs n steps.
int64_t grain_of(const Csr& a, int64_t n) {
  int64_t work = a.rows ? (a.nnz * n) / a.rows + 1 : 1;
  return kGrain / work + 1;
}

template <class T>
void multiply(const SegmentLoops<T>& loops, const Tensor& out, const Csr& a, const Tensor& values,
              const Tensor& dense, bool transposed) {
  const T *v = values.data<T>(), *x = dense.data<T>();
  T* y = out.data<T>();
  int64_t n = out.shape()[1];
  if (!out.numel()) return;
  if (!transposed) {
    parallel_for(a.rows, grain_of(a, n),
                 [&](int64_t begin, int64_t end) { loops.multiply(a, v, x, y, n, begin, end); });
    return;
  }
  std::memset(y, 0, size_t(out.numel()) * sizeof(T));
  // Rows of the result meet in any order, so threads share out the columns.
  int64_t grain = std::max<int64_t>(16, kGrain / (a.nnz + 1) + 1);
  parallel_for(n, grain,
               [&](int64_t begin, int64_t end) { loops.scatter(a, v, x, y, n, begin, end); });
}

template <class T>
void sample(const SegmentLoops<T>& loops, const Tensor& out, const Csr& at, const Tensor& a,
            const Tensor& b) {
  const T *x = a.data<T>(), *y = b.data<T>();
  T* to = out.data<T>();
  int64_t n = a.shape()[1];
  parallel_for(at.rows, grain_of(at, n),
               [&](int64_t begin, int64_t end) { loops.sample(at, x, y, to, n, begin, end); });
}

}  // namespace

void CpuBackend::sparse_mm(const Tensor& out, const CsrRows& a, const Tensor& values,
                           const Tensor& dense, bool transposed) {
  Csr rows = checked(a);
  if (out.dtype() == Dtype::Float32)
    multiply(table().floats, out, rows, values, dense, transposed);
  else if (out.dtype() == Dtype::Float64)
    multiply(table().doubles, out, rows, values, dense, transposed);
  else
    Backend::sparse_mm(out, a, values, dense, transposed);
}
void CpuBackend::sampled_mm(const Tensor& out, const CsrRows& at, const Tensor& a,
                            const Tensor& b) {
  Csr rows = checked(at);
  if (out.dtype() == Dtype::Float32)
    cpu::sample(table().floats, out, rows, a, b);
  else if (out.dtype() == Dtype::Float64)
    cpu::sample(table().doubles, out, rows, a, b);
  else
    Backend::sampled_mm(out, at, a, b);
}

}  // namespace ember::cpu
