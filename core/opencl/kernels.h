// The primitives of the OpenCL backend; core/backend.h says what each does.
#pragma once

#include "backend.h"

namespace ember::opencl {

// pointwise.cpp
void copy(const Tensor& out, const Tensor& x);
void fill(const Tensor& out, const Scalar& value);
void unary(Unary f, Dtype compute, const Tensor& out, const Input& x, const Params& p);
void binary(Binary f, Dtype compute, const Tensor& out, const Input& a, const Input& b);
void predicate(Predicate f, Dtype compute, const Tensor& out, const Input& x);
void compare(Compare f, Dtype compute, const Tensor& out, const Input& a, const Input& b,
             const Params& p);
void ternary(Ternary f, Dtype compute, const Tensor& out, const Input& a, const Input& b,
             const Input& c, const Params& p);
bool unary_grad(Unary f, Dtype compute, const Tensor& out, const Input& g, const Input& keep,
                const Params& p);

// reduce.cpp
void reduce(Reduction f, const Tensor& out, const Tensor& x, const Shape& dims, double p);
void extremes(const Tensor& values, const Tensor& indices, const Tensor& x, int dim, bool most);
void variance(const Tensor& out, const Tensor& mean, const Tensor& x, const Shape& dims,
              double correction, bool root);

// matmul.cpp
void matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha,
            const Scalar& beta);

// index.cpp
extern bool deterministic;  // scatters add up in order, not as work-items come
void index_get(const Tensor& out, const Tensor& x, const Indexing& at);
void index_put(const Tensor& self, const Indexing& at, const Tensor& values, ScatterMode mode);
void gather(const Tensor& out, const Tensor& x, int dim, const Tensor& index);
void scatter(const Tensor& self, int dim, const Tensor& index, const Tensor& src, ScatterMode mode);
Tensor nonzero(const Tensor& x);
Tensor repeated_positions(const Tensor& counts);

// fft.cpp
FftKernels& fft_kernels();

// linalg.cpp
LinalgKernels& linalg_kernels();
void cholesky(const Tensor& matrices, const Tensor& info);
void solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left, bool unit);

// scan.cpp
void scan(Scan f, const Tensor& out, const Tensor& indices, const Tensor& x, int dim);

// sort.cpp
void sort(const Tensor& values, const Tensor& indices, const Tensor& x, int dim, bool descending);
void pick(const Tensor& values, const Tensor& indices, const Tensor& x, int dim, Rank rank,
          int64_t k);
void topk(const Tensor& values, const Tensor& indices, const Tensor& x, int dim, bool largest);

// lines.cpp
void search(const Tensor& out, const Tensor& sorted, const Tensor& values, const Tensor& sorter,
            bool right);

// softmax.cpp
void softmax(const Tensor& out, const Tensor& x, int dim, bool log);
void softmax_grad(const Tensor& out, const Tensor& g, const Tensor& y, int dim, bool log);

// The families of core/families/, each in the file of its name.
ConvKernels* conv_kernels();
PoolKernels* pool_kernels();
NormKernels* norm_kernels();
OptimKernels* optim_kernels();
LossKernels* loss_kernels();
RecurrentKernels* recurrent_kernels();
SegmentKernels* segment_kernels();

}  // namespace ember::opencl
