// Primitives along one dimension: scans, softmax, sorting, searching. Raw loops and how they are
// shared out to threads; what they mean is said in primitives.h.
#pragma once

#include "backend.h"

namespace ember::cpu {

void scan(Fold f, const Tensor& out, const Tensor& indices, const Tensor& x, int dim);

void softmax(const Tensor& out, const Tensor& x, int dim, bool log);
void softmax_grad(const Tensor& out, const Tensor& g, const Tensor& y, int dim, bool log);
void logsumexp(const Tensor& out, const Tensor& x, int dim);

void sort(const Tensor& values, const Tensor& indices, const Tensor& x, int dim, bool descending);
void topk(const Tensor& values, const Tensor& indices, const Tensor& x, int dim, bool largest,
          bool sorted);
void pick(const Tensor& values, const Tensor& indices, const Tensor& x, int dim, Rank rank,
          int64_t k);
void search(const Tensor& out, const Tensor& sorted, const Tensor& values, const Tensor& sorter,
            bool right);

// A contiguous tensor seen as (outer, n, inner), where n is the size of `dim`.
struct Along {
  int64_t outer = 1, n = 1, inner = 1;
  Along(const Shape& shape, int dim) {
    for (int d = 0; d < shape.size(); d++) (d < dim ? outer : d == dim ? n : inner) *= shape[d];
  }
};

}  // namespace ember::cpu
