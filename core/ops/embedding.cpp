// embedding: rows of a table, with a dense gradient. Bags of rows are products with sparse matrices
// (sparse.cpp) and put together in Python (ember/nn/functional/embedding.py).
#include <limits>

#include "ops/devices.h"
#include "ops/ops.h"

namespace ember {

namespace {

// The indices as a line of int64.
Tensor line_of(const char* op, const Tensor& indices) {
  check(
      indices.dtype() == Dtype::Int64 || indices.dtype() == Dtype::Int32, Kind::Runtime,
      "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, "
      "Int; but got ",
      indices.dtype(), " instead (while checking arguments for ", op, ")");
  NoGrad guard;
  return reshape(to(detach(indices), Dtype::Int64), {-1});
}

// 1 / n for each row that is used n times.
Tensor shares(const Tensor& line, int64_t rows, Dtype dtype) {
  NoGrad guard;
  Tensor ones = ember::ones(line.shape(), compute_of(dtype), line.device());
  Tensor counts = rows_back(ones, {rows}, 0, line);
  return to(reciprocal(index_select(counts, 0, line)), dtype);
}

Tensor embedding_back(const Tensor& g, const Tensor& line, int64_t rows, int64_t padding,
                      bool by_frequency) {
  Tensor lines = reshape(g, {line.numel(), g.size(-1)});
  if (by_frequency) lines = lines * unsqueeze(shares(line, rows, g.dtype()), 1);
  Tensor dw = rows_back(lines, {rows, g.size(-1)}, 0, line);
  if (padding < 0) return dw;
  Tensor place = full({1}, padding, Dtype::Int64, g.device());
  if (grad_enabled()) return index_fill(dw, 0, place, Scalar(0.0));
  backend_of(dw).fill(select(dw, 0, padding), Scalar(0.0));
  return dw;
}

}  // namespace

Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding, bool by_frequency,
                 bool sparse) {
  check(weight.dim() == 2, Kind::Runtime, "'weight' must be 2-D, got ", weight.dim(), "-D");
  check(padding < weight.size(0), Kind::Runtime, "embedding(): padding_idx ", padding,
        " is not a row of a table of ", weight.size(0));
  check(!sparse || !grad_needed(weight), Kind::NotImplemented,
        "embedding(): this op has a dense gradient; nn.functional.embedding has sparse ones");
  Tensor line = line_of("embedding", indices);
  Shape shape = indices.shape();
  shape.push_back(weight.size(1));
  Tensor out = empty(shape, weight.dtype(), weight.device());
  backend_of(weight).index_get(alias(out, {line.numel(), weight.size(1)}, {weight.size(1), 1}, 0),
                               weight, {{line}, 0, {0}, false});
  if (!grad_needed(weight)) return out;
  return tape(out, "embedding",
              wrt(weight, [line = Saved(line), rows = weight.size(0), padding,
                           by_frequency](const Tensor& g) {
                return embedding_back(g, line, rows, padding, by_frequency);
              }));
}
EMBER_OP(
    "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, "
    "bool sparse=False) -> Tensor",
    &embedding, Function | Whole, "Rows of `weight`; the row `padding_idx` gets no gradient.");

EMBER_OP(
    "embedding_renorm_(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor",
    ([](const Tensor& self, const Tensor& indices, double max_norm, double norm_type) {
      check(self.dim() == 2, Kind::Runtime, "embedding_renorm_(): self must be 2-D, got ",
            self.dim(), "-D");
      NoGrad guard;
      Tensor line = line_of("embedding_renorm_", indices), table = detach(self);
      Tensor marks =
          index_fill(zeros({self.size(0)}, Dtype::Bool, self.device()), 0, line, Scalar(true));
      if (!has_values(marks)) return self;
      Tensor used = reshape(nonzero(marks), {-1}), rows = index_select(table, 0, used);
      Tensor norms = norm_over("embedding_renorm_", rows, norm_type, Dims(1), true, std::nullopt);
      Tensor scale =
          where(norms > Scalar(max_norm), Scalar(max_norm) / (norms + Scalar(1e-7)), Scalar(1.0));
      backend_of(self).index_put(table, {{used}, 0, {0}, false}, rows * scale, ScatterMode::Set);
      bump_version(self);
      return self;
    }),
    Function | Whole, "Scales the rows that are used down to a norm of `max_norm`, in place.");

}  // namespace ember
