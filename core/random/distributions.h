// Random numbers on raw contiguous memory, number for number those of torch on a CPU.
//
// All draw serially, in the order of `out`; only arithmetic on what was drawn may run on several
// threads. torch fills strided tensors in the order of memory: a caller with gaps draws into a
// buffer and copies it along. Complex tensors are real ones of twice the size, with std / sqrt(2).
// Ranges and parameters are checked by the ops; NaN comes through as in torch.
#pragma once

#include <cstdint>

#include "random/generator.h"
#include "tensor/dtype.h"

namespace ember::random {

// --- floating dtypes -----------------------------------------------------------------------------

void uniform(Generator& g, void* out, int64_t n, Dtype dtype, double low, double high);
// `in_blocks` is whether the tensor is contiguous: one that is not is drawn one by one in double
// precision, as one of fewer than 16 elements is.
void normal(Generator& g, void* out, int64_t n, Dtype dtype, double mean, double std,
            bool in_blocks = true);
void exponential(Generator& g, void* out, int64_t n, Dtype dtype, double rate);
void cauchy(Generator& g, void* out, int64_t n, Dtype dtype, double median, double sigma);
void log_normal(Generator& g, void* out, int64_t n, Dtype dtype, double mean, double std);

// --- all real dtypes -----------------------------------------------------------------------------

// Integers in [low, low + width); for width 0, all 64 bits whatever `low`.
void integers(Generator& g, void* out, int64_t n, Dtype dtype, int64_t low, uint64_t width);
// Moves limits that a float or double does not hold inwards, as torch does, so that no number
// rounds to `high`.
void representable_range(Dtype dtype, int64_t& low, int64_t& high);
// random_() without a range: the non-negative integers that the dtype holds exactly.
void integers_of_dtype(Generator& g, void* out, int64_t n, Dtype dtype);
void geometric(Generator& g, void* out, int64_t n, Dtype dtype, double p);
// `value` with probability p, else 0 (dropout wants 1 / (1 - p)).
void bernoulli(Generator& g, void* out, int64_t n, Dtype dtype, double p, double value = 1.0);
// With a probability per element, of any floating dtype.
void bernoulli(Generator& g, void* out, int64_t n, Dtype dtype, const void* p, Dtype p_dtype);
// The numbers below n in random order.
void permutation(Generator& g, void* out, int64_t n, Dtype dtype);

// --- one parameter per element, in the floating dtype of the result ------------------------------

void poisson(Generator& g, void* out, const void* rate, int64_t n, Dtype dtype);
void binomial(Generator& g, void* out, const void* count, const void* p, int64_t n, Dtype dtype);
void standard_gamma(Generator& g, void* out, const void* alpha, int64_t n, Dtype dtype);
// n rows of k numbers that sum to 1.
void dirichlet(Generator& g, void* out, const void* alpha, int64_t n, int64_t k, Dtype dtype);
// For each of n rows of k weights, `samples` indices drawn with replacement.
void multinomial(Generator& g, int64_t* out, const void* weights, int64_t n, int64_t k,
                 int64_t samples, Dtype dtype);

}  // namespace ember::random
