// Products with sparse matrices in compressed rows: what ember.sparse is made of. The indices and
// values are dense tensors here; the sparse tensors around them are Python's (ember/sparse).
//
// The two ops are each other's gradients: that of a product with respect to the values samples a
// product of dense matrices at their positions, and the other way round.
#include "backend.h"
#include "ops/devices.h"
#include "ops/ops.h"

namespace ember {

namespace {

Tensor csr_mm(const Tensor& start, const Tensor& columns, const Tensor& values, const Tensor& dense,
              int64_t width, bool transposed);
Tensor csr_sample(const Tensor& start, const Tensor& columns, const Tensor& a, const Tensor& b);

void check_rows(const char* op, const Tensor& start, const Tensor& columns) {
  check(start.dtype() == Dtype::Int64 && columns.dtype() == Dtype::Int64, Kind::Runtime, op,
        "(): positions must be int64, got ", start.dtype(), " and ", columns.dtype());
  check(start.dim() == 1 && columns.dim() == 1 && start.numel() > 0, Kind::Runtime, op,
        "(): positions must be vectors, the first not empty, got ", start.shape(), " and ",
        columns.shape());
}

// The row of each element.
Tensor row_of_each(const Tensor& start) {
  Tensor rows = arange(Scalar(int64_t(0)), Scalar(start.numel() - 1), Scalar(int64_t(1)),
                       Dtype::Int64, start.device());
  return repeat_interleave(rows, diff(start), std::nullopt);
}

}  // namespace

void Backend::sparse_mm(const Tensor& out, const CsrRows& a, const Tensor& values,
                        const Tensor& dense, bool transposed) {
  Tensor line = row_of_each(a.start);
  Tensor terms = unsqueeze(values, 1) * index_select(dense, 0, transposed ? line : a.columns);
  Tensor sums = zeros(out.shape(), out.dtype(), out.device());
  copy(out, index_add(sums, 0, transposed ? a.columns : line, terms));
}

void Backend::sampled_mm(const Tensor& out, const CsrRows& at, const Tensor& a, const Tensor& b) {
  Tensor terms = index_select(a, 0, row_of_each(at.start)) * index_select(b, 0, at.columns);
  copy(out, sum(terms, Dims(Shape{1}), false, a.dtype()));
}

namespace {

Tensor csr_mm(const Tensor& start, const Tensor& columns, const Tensor& values, const Tensor& dense,
              int64_t width, bool transposed) {
  check_same_device("_csr_mm", start, {&columns, &values, &dense});
  check_rows("_csr_mm", start, columns);
  int64_t rows = start.numel() - 1;
  check(values.shape() == columns.shape() && dense.dim() == 2 && width >= 0 &&
            dense.size(0) == (transposed ? rows : width),
        Kind::Runtime, "_csr_mm(): a ", rows, "x", width, " matrix with values of shape ",
        values.shape(), transposed ? ", transposed," : "", " cannot be multiplied with ",
        dense.shape());
  check(values.dtype() == dense.dtype(), Kind::Runtime, "_csr_mm(): expected one dtype, got ",
        values.dtype(), " and ", dense.dtype());
  Tensor out;
  {
    NoGrad guard;
    Shape shape{transposed ? width : rows, dense.size(1)};
    Tensor at = contiguous(start), to = contiguous(columns);
    out = empty(shape, dense.dtype(), dense.device());
    backend_of(out).sparse_mm(out, {at, to, width}, contiguous(values), contiguous(dense),
                              transposed);
  }
  if (!grad_needed(values, dense)) return out;
  return tape(out, "_csr_mm",
              wrt(values,
                  [start = Saved(start), columns = Saved(columns), dense = Saved(dense),
                   transposed](const Tensor& g) {
                    Tensor d = conj(dense);
                    return transposed ? csr_sample(start, columns, d, g)
                                      : csr_sample(start, columns, g, d);
                  }),
              wrt(dense, [start = Saved(start), columns = Saved(columns), values = Saved(values),
                          width, transposed](const Tensor& g) {
                return csr_mm(start, columns, conj(values), g, width, !transposed);
              }));
}

Tensor csr_sample(const Tensor& start, const Tensor& columns, const Tensor& a, const Tensor& b) {
  check_same_device("_csr_sample", start, {&columns, &a, &b});
  check_rows("_csr_sample", start, columns);
  check(a.dim() == 2 && b.dim() == 2 && a.size(0) == start.numel() - 1 && a.size(1) == b.size(1),
        Kind::Runtime, "_csr_sample(): expected matrices of ", start.numel() - 1,
        " rows and of one width, got ", a.shape(), " and ", b.shape());
  check(a.dtype() == b.dtype(), Kind::Runtime, "_csr_sample(): expected one dtype, got ", a.dtype(),
        " and ", b.dtype());
  Tensor out;
  {
    NoGrad guard;
    Tensor at = contiguous(start), to = contiguous(columns);
    out = empty(columns.shape(), a.dtype(), a.device());
    backend_of(out).sampled_mm(out, {at, to, b.size(0)}, contiguous(a), contiguous(b));
  }
  if (!grad_needed(a, b)) return out;
  return tape(
      out, "_csr_sample",
      wrt(a,
          [start = Saved(start), columns = Saved(columns), b = Saved(b)](const Tensor& g) {
            Tensor other = conj(b);
            return csr_mm(start, columns, g, other, other.size(0), false);
          }),
      wrt(b, [start = Saved(start), columns = Saved(columns), a = Saved(a), width = b.size(0)](
                 const Tensor& g) { return csr_mm(start, columns, g, conj(a), width, true); }));
}

}  // namespace

EMBER_OP(
    "_csr_mm(Tensor start, Tensor columns, Tensor values, Tensor dense, int width, bool "
    "transposed=False) -> Tensor",
    &csr_mm, Function | Whole,
    "The product of a sparse matrix of `width` columns, or of its transpose, and a dense one.");
EMBER_OP("_csr_sample(Tensor start, Tensor columns, Tensor a, Tensor b) -> Tensor", &csr_sample,
         Function | Whole, "The elements of a @ b.T at the positions of a sparse matrix.");

}  // namespace ember
