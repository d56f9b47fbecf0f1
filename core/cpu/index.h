// Indexing on the CPU: what CpuBackend calls for the index primitives of primitives.h.
#pragma once

#include "backend.h"

namespace ember::cpu {

void index_get(const Tensor& out, const Tensor& x, const Indexing& at);
void index_put(const Tensor& self, const Indexing& at, const Tensor& values, ScatterMode mode);
void gather(const Tensor& out, const Tensor& x, int dim, const Tensor& index);
void scatter(const Tensor& self, int dim, const Tensor& index, const Tensor& src, ScatterMode mode);
Tensor nonzero(const Tensor& x);
Tensor masked_select(const Tensor& x, const Tensor& mask);
void masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& src);
void flip(const Tensor& out, const Tensor& x, const Shape& dims);
void join(const Tensor& out, const TensorList& parts, int dim);
Tensor repeated_positions(const Tensor& counts);

}  // namespace ember::cpu
