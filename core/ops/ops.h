// Every op as a C++ function, for gradient rules and for composing ops. One section per family
// file.
#pragma once

#include <span>
#include <tuple>

#include "autograd/tape.h"
#include "backend.h"
#include "ops/schema.h"
#include "tensor/promote.h"
#include "tensor/tensor.h"

namespace ember {

// --- pointwise.cpp: the rows of the table --------------------------------------------------------
#define UNARY(name, ...) Tensor name(const Tensor& self, Dest dest = {});
#define UNARY_P(name, ...) Tensor name(const Tensor& self, const Params& params, Dest dest = {});
#define PREDICATE(name, ...) Tensor name(const Tensor& self, Dest dest = {});
#define BINARY(name, ...) Tensor name(const Operand& self, const Operand& other, Dest dest = {});
#define COMPARE(name, ...) Tensor name(const Operand& self, const Operand& other, Dest dest = {});
#define TERNARY(name, ...)                                                                     \
  Tensor name(const Operand& a, const Operand& b, const Operand& c, const Params& params = {}, \
              Dest dest = {});
#include "scalar_functions.h"

inline Tensor polygamma(double n, const Tensor& x) { return polygamma(x, Params{n}); }

inline Tensor operator-(const Tensor& a) { return neg(a); }
#define EMBER_OPERATOR(op, name)                                                     \
  inline Tensor operator op(const Tensor& a, const Tensor& b) { return name(a, b); } \
  inline Tensor operator op(const Tensor& a, const Scalar& b) { return name(a, b); } \
  inline Tensor operator op(const Scalar& a, const Tensor& b) { return name(a, b); }
EMBER_OPERATOR(+, add)
EMBER_OPERATOR(-, sub)
EMBER_OPERATOR(/, div)
EMBER_OPERATOR(<, lt)
EMBER_OPERATOR(<=, le)
EMBER_OPERATOR(>, gt)
EMBER_OPERATOR(>=, ge)
EMBER_OPERATOR(==, eq)
EMBER_OPERATOR(!=, ne)
EMBER_OPERATOR(&, bitwise_and)
EMBER_OPERATOR(|, bitwise_or)
#undef EMBER_OPERATOR
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator*(const Tensor& a, const Scalar& b) { return mul(a, b); }
// The number comes second, where it is exact: Note [Exact operands].
inline Tensor operator*(const Scalar& a, const Tensor& b) { return mul(b, a); }

// self + alpha * other
Tensor add_scaled(const Operand& self, const Operand& other, const Scalar& alpha, Dest dest = {});
Tensor conj(const Tensor& self);  // the tensor itself if it is real
Tensor round(const Tensor& self, int64_t decimals, Dest dest = {});

// --- dest.cpp: where results go ------------------------------------------------------------------
// The tensor an op writes to: new, or `dest` (resized if it is out=, checked if it is in place).
Tensor output_for(const char* op, Dest dest, const Shape& shape, Dtype dtype, Device device);
// What an op that writes says of a tensor some elements of which lie at one place: an expanded one.
enum class Repeats : uint8_t { Refused, Deprecated, Allowed };
void check_in_place(const char* op, const Tensor& self, Repeats repeats = Repeats::Refused);
void bump_version(const Tensor& t);
void copy_to_out(const char* op, const Tensor& out, const Tensor& result);
// self takes the value and the history of `result`.
void assign_in_place(const char* op, const Tensor& self, const Tensor& result);

// --- copy.cpp ------------------------------------------------------------------------------------
Tensor clone(const Tensor& self, MemoryFormat format = MemoryFormat::Preserve);
Tensor contiguous(const Tensor& self, MemoryFormat format = MemoryFormat::Contiguous);
Tensor to(const Tensor& self, Dtype dtype);
Tensor to(const Tensor& self, std::optional<Device> device, std::optional<Dtype> dtype,
          bool copy = false, std::optional<MemoryFormat> format = std::nullopt,
          bool non_blocking = false);
Tensor copy_(const Tensor& self, const Tensor& src, bool non_blocking = false);
Tensor fill_(const Tensor& self, const Operand& value);
Tensor data_of(const Tensor& self);
void set_data(const Tensor& self, const Tensor& value);
Scalar item(const Tensor& self);

// --- create.cpp ----------------------------------------------------------------------------------
Tensor full(const Shape& shape, const Scalar& value, Dtype dtype, Device device = {});
Tensor zeros(const Shape& shape, Dtype dtype, Device device = {});
Tensor ones(const Shape& shape, Dtype dtype, Device device = {});
Tensor zeros_like(const Tensor& t);
Tensor ones_like(const Tensor& t);
Tensor full_like(const Tensor& t, const Scalar& value);
Tensor scalar_tensor(const Scalar& value, Dtype dtype, Device device = {});
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, Dtype dtype,
              Device device = {});
Tensor tril(const Tensor& self, int64_t diagonal = 0);
Tensor triu(const Tensor& self, int64_t diagonal = 0);
Tensor complex(const Tensor& real, const Tensor& imag, Dest dest = {});

// --- shape.cpp: views ----------------------------------------------------------------------------
// A view of `self` with new geometry; the caller puts its rule on the tape.
Tensor make_view(const Tensor& self, Shape shape, Shape strides, int64_t offset);
Tensor view_alias(const Tensor& self);
Tensor as_strided(const Tensor& self, const Shape& size, const Shape& stride,
                  std::optional<int64_t> offset);
Tensor view(const Tensor& self, const Shape& size);
Tensor reshape(const Tensor& self, const Shape& size);
Tensor expand(const Tensor& self, const Shape& size);
Tensor permute(const Tensor& self, const Shape& dims);
Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1);
Tensor squeeze(const Tensor& self, const Dims& dim = {});
Tensor unsqueeze(const Tensor& self, int64_t dim);
Tensor select(const Tensor& self, int64_t dim, int64_t index);
Tensor slice(const Tensor& self, int64_t dim, std::optional<int64_t> start,
             std::optional<int64_t> end, int64_t step);
Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length);
Tensor numpy_T(const Tensor& self);
Tensor matrix_transpose(const Tensor& self);
Tensor matrix_adjoint(const Tensor& self, const char* op);
Tensor flatten(const Tensor& self, int64_t start_dim = 0, int64_t end_dim = -1);
Tensor unflatten(const Tensor& self, int64_t dim, const Shape& sizes);
Tensor movedim(const Tensor& self, const Shape& source, const Shape& destination);
Tensor t(const Tensor& self);
Tensor atleast(const Tensor& self, int n);  // atleast_1d, atleast_2d, atleast_3d
TensorList broadcast_tensors(const TensorList& tensors);
Tensor view_dtype(const Tensor& self, Dtype dtype);
Tensor diagonal(const Tensor& self, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);
Tensor diag_embed(const Tensor& self, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1);
Tensor diag(const Tensor& self, int64_t diagonal = 0);
Tensor unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step);
// Windows of unfold added up where they lie in a tensor of `shape`.
Tensor unfold_backward(const Tensor& g, const Shape& shape, int dim, int64_t size, int64_t step);
Tensor select_scatter(const Tensor& self, const Tensor& src, int64_t dim, int64_t index);
Tensor slice_scatter(const Tensor& self, const Tensor& src, int64_t dim,
                     std::optional<int64_t> start, std::optional<int64_t> end, int64_t step);
Tensor diagonal_scatter(const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1,
                        int64_t dim2);
TensorList unbind(const Tensor& self, int64_t dim = 0);
TensorList split(const Tensor& self, int64_t split_size, int64_t dim = 0);
TensorList split_with_sizes(const Tensor& self, const Shape& split_sizes, int64_t dim = 0);
TensorList chunk(const Tensor& self, int64_t chunks, int64_t dim = 0);
TensorList tensor_split(const Tensor& self, int64_t sections, int64_t dim);
TensorList tensor_split(const Tensor& self, const Shape& indices, int64_t dim);
Tensor real(const Tensor& self);
Tensor imag(const Tensor& self);
Tensor view_as_real(const Tensor& self);
Tensor view_as_complex(const Tensor& self);
// Sums `t` down to `shape`, which broadcasts to its shape.
Tensor sum_to(const Tensor& t, const Shape& shape);

// --- index.cpp -----------------------------------------------------------------------------------
// self[indices]: one tensor per dimension, undefined for a full slice; integers, or masks over one
// or more dimensions.
Tensor index(const Tensor& self, const TensorList& indices);
Tensor index_put(const Tensor& self, const TensorList& indices, const Tensor& values,
                 bool accumulate = false);
Tensor index_put_(const Tensor& self, const TensorList& indices, const Tensor& values,
                  bool accumulate = false);
Tensor nonzero(const Tensor& self);
TensorList nonzero_tuple(const Tensor& self);  // one tensor for each dimension

// --- join.cpp, rearrange.cpp ---------------------------------------------------------------------
Tensor cat(const TensorList& tensors, int64_t dim = 0);
Tensor cat(const TensorList& tensors, int64_t dim, Dest dest);
Tensor stack(const TensorList& tensors, int64_t dim = 0);
Tensor stack(const TensorList& tensors, int64_t dim, Dest dest);
Tensor block_diag(const TensorList& tensors);
Tensor repeat(const Tensor& self, const Shape& repeats);
Tensor tile(const Tensor& self, const Shape& dims);
Tensor repeat_interleave(const Tensor& self, int64_t repeats, std::optional<int64_t> dim);
Tensor repeat_interleave(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim);
Tensor flip(const Tensor& self, const Shape& dims);
Tensor roll(const Tensor& self, const Shape& shifts, const Shape& dims);
Tensor rot90(const Tensor& self, int64_t k, const Shape& dims);
Tensor kron(const Tensor& self, const Tensor& other);
Tensor trace(const Tensor& self);

// --- gather.cpp, index_rows.cpp, mask.cpp --------------------------------------------------------
Tensor gather(const Tensor& self, int64_t dim, const Tensor& index);
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Operand& src);
Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
Tensor scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                      const std::string& reduce, bool include_self = true);
Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim);
Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index);
// The gradient of index_select: zeros of `shape` with the rows of g added at their places.
Tensor rows_back(const Tensor& g, const Shape& shape, int64_t dim, const Tensor& line);
Tensor index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                 const Scalar& alpha = 1);
Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Operand& value);
Tensor take(const Tensor& self, const Tensor& index);
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Operand& value);
Tensor masked_select(const Tensor& self, const Tensor& mask);
Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source);

// --- reduce.cpp ----------------------------------------------------------------------------------
// The dimensions of a `dim=` argument: wrapped, sorted, without repetition; all of them for None
// (or []).
Shape reduced_dims(const char* op, const Dims& dim, int ndim);
#define REDUCE(name, ...)                                                     \
  Tensor name(const Tensor& self, const Dims& dim = {}, bool keepdim = false, \
              std::optional<Dtype> dtype = std::nullopt);
#include "reduction_formulas.h"
Tensor prod(const Tensor& self, const Dims& dim = {}, bool keepdim = false,
            std::optional<Dtype> dtype = std::nullopt);
Tensor any(const Tensor& self, const Dims& dim = {}, bool keepdim = false, Dest dest = {});
Tensor all(const Tensor& self, const Dims& dim = {}, bool keepdim = false, Dest dest = {});
Tensor var(const Tensor& self, const Dims& dim, double correction, bool keepdim);
Tensor std(const Tensor& self, const Dims& dim, double correction, bool keepdim);
Tensor norm_over(const char* op, const Tensor& self, double p, const Dims& dim, bool keepdim,
                 std::optional<Dtype> dtype);

// --- extremes.cpp --------------------------------------------------------------------------------
Tensor amin(const Tensor& self, const Dims& dim = {}, bool keepdim = false);
Tensor amax(const Tensor& self, const Dims& dim = {}, bool keepdim = false);
Tensor argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim = false);
Tensor argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim = false);
// The gradient of an op that picked one element along `dim`: g at `indices`, 0 elsewhere.
Tensor select_back(const Tensor& g, const Tensor& indices, const Shape& shape, int64_t dim,
                   bool keepdim);

// --- scan.cpp ------------------------------------------------------------------------------------
Tensor cumsum(const Tensor& self, int64_t dim, std::optional<Dtype> dtype = std::nullopt);
Tensor cumprod(const Tensor& self, int64_t dim, std::optional<Dtype> dtype = std::nullopt);
Tensor logcumsumexp(const Tensor& self, int64_t dim);
Tensor diff(const Tensor& self, int64_t n = 1, int64_t dim = -1, const Tensor& prepend = {},
            const Tensor& append = {});

// --- softmax.cpp ---------------------------------------------------------------------------------
Tensor softmax(const Tensor& self, int64_t dim, std::optional<Dtype> dtype = std::nullopt);
Tensor log_softmax(const Tensor& self, int64_t dim, std::optional<Dtype> dtype = std::nullopt);
Tensor logsumexp(const Tensor& self, const Dims& dim, bool keepdim);

// --- sort.cpp, unique.cpp, histogram.cpp ---------------------------------------------------------
std::tuple<Tensor, Tensor> sort(const Tensor& self, int64_t dim = -1, bool descending = false);
Tensor argsort(const Tensor& self, int64_t dim = -1, bool descending = false);
std::tuple<Tensor, Tensor> topk(const Tensor& self, int64_t k, int64_t dim = -1,
                                bool largest = true, bool sorted = true);
// How many elements of a sorted line are less than each value (`right`: not greater).
Tensor searchsorted(const Tensor& sorted, const Tensor& values, bool right = false);

// --- matmul.cpp ----------------------------------------------------------------------------------
Tensor mm(const Tensor& self, const Tensor& mat2, Dest dest = {});
Tensor bmm(const Tensor& self, const Tensor& mat2, Dest dest = {});
Tensor mv(const Tensor& self, const Tensor& vec);
Tensor dot(const Tensor& self, const Tensor& tensor);
Tensor matmul(const Tensor& self, const Tensor& other);

Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha);
Tensor outer(const Tensor& self, const Tensor& vec2);
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias);
// --- random.cpp ----------------------------------------------------------------------------------
// Fills `out` with random numbers, without checks or history; from the default generator if none is
// given.
Tensor draw(const Tensor& out, Generator* generator, const Draw& what);
Tensor rand(const Shape& size, Dtype dtype, Device device = {}, Generator* generator = nullptr);
Tensor randn(const Shape& size, Dtype dtype, Device device = {}, Generator* generator = nullptr);
Tensor randint(int64_t low, int64_t high, const Shape& size, Dtype dtype = Dtype::Int64,
               Device device = {}, Generator* generator = nullptr);
Tensor randperm(int64_t n, Dtype dtype = Dtype::Int64, Device device = {},
                Generator* generator = nullptr);
Tensor uniform_(const Tensor& self, double from = 0.0, double to = 1.0,
                Generator* generator = nullptr);
Tensor normal_(const Tensor& self, double mean = 0.0, double std = 1.0,
               Generator* generator = nullptr);
Tensor bernoulli_(const Tensor& self, double p = 0.5, Generator* generator = nullptr);

// --- sample.cpp, dropout.cpp ---------------------------------------------------------------------
Tensor multinomial(const Tensor& self, int64_t num_samples, bool replacement = false,
                   Generator* generator = nullptr);
Tensor dropout(const Tensor& self, double p, bool train);

// --- linalg.cpp ----------------------------------------------------------------------------------
Tensor solve_triangular(const Tensor& self, const Tensor& b, bool upper, bool left, bool unit);

}  // namespace ember
