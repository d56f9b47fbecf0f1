// Draws with a tensor of parameters on devices other than the CPU, made of ops.
#pragma once

#include "ops/ops.h"

namespace ember::by_ops {

// What raises unless `flags` (a bool tensor) are all true.
void check_all(const Tensor& flags, const char* message);

void bernoulli(const Tensor& out, const Tensor& p, Generator* g);
Tensor multinomial(const Tensor& weights, int64_t samples, bool replacement, Generator* g);
Tensor poisson(const Tensor& rate, Generator* g);
Tensor binomial(const Tensor& count, const Tensor& p, Generator* g);  // of one shape
Tensor standard_gamma(const Tensor& alpha, Generator* g);
Tensor dirichlet(const Tensor& alpha, Generator* g);

}  // namespace ember::by_ops
