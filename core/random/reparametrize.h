// How a sample moves with the parameters it was drawn with, for gradients through gamma and beta
// draws.
#pragma once

namespace ember::random {

// dx / d(alpha) of a sample x from the gamma distribution of shape alpha and rate 1.
double gamma_grad(double alpha, double x);

// dx / d(alpha) / (1 - x) of a sample x from the beta distribution of alpha and total - alpha: what
// the gradient of a Dirichlet sample is put together from.
double dirichlet_grad(double x, double alpha, double total);

}  // namespace ember::random
