// The optimizers that change each element by itself, one row each.
//
//   STEP(name, (state), (sometimes), (scalars), (options), (numbers), (once), each)
//     state      what is kept for each element, in lists of tensors beside the parameters. All that
//                is kept has the name it has in PyTorch's state_dict().
//     sometimes  the same, of lists that may be missing; has_x tells whether x is there
//     scalars    what is kept for each parameter, in tensors of one element; if `step` is one of
//                them, it has been counted
//     options    numbers that users choose
//     numbers    what `each` takes besides the options
//     once       for each parameter: makes the numbers and new scalars, in double
//     each       for each element: makes the parameter p and its state, of the gradient g
//
// Note [One text, four compilers] of scalar_functions.h holds here, too: `each` is compiled as
// loops of the CPU, as OpenCL, and both texts as differentiable tensor code, for tensors that those
// do not take. T is the type that `each` computes in, Number that of `once`.
//
// All rows have the options lr, weight_decay, decoupled_weight_decay and maximize, too. When `each`
// begins, g has its sign, and weight_decay has been added to it or taken off p.
//
// A row is an op, _fused_NAME_ (ops/optim.cpp); ember.optim calls it by the names in its schema.
// Include this with STEP defined; it is undefined again at the end.

// clang-format off
STEP(sgd, (), (momentum_buffer), (), (momentum, dampening, nesterov, first), (fresh),
  (fresh = 1 - dampening;),
  if (has_momentum_buffer) {
    momentum_buffer = where(first != 0, detach(g), momentum * momentum_buffer + fresh * g);
    g = where(nesterov != 0, g + momentum * momentum_buffer, momentum_buffer);
  }
  p -= lr * g;
)

STEP(adam, (exp_avg, exp_avg_sq), (max_exp_avg_sq), (step), (beta1, beta2, eps),
     (fresh1, fresh2, size, scale),
  (fresh1 = 1 - beta1;
   fresh2 = 1 - beta2;
   size = lr / (1 - pow(beta1, step));
   scale = sqrt(1 - pow(beta2, step));),
  exp_avg = lerp(exp_avg, g, fresh1);
  exp_avg_sq = exp_avg_sq * beta2 + fresh2 * g * g;
  T square = exp_avg_sq;
  if (has_max_exp_avg_sq) {
    square = maximum(max_exp_avg_sq, square);
    max_exp_avg_sq = square;
  }
  p -= size * exp_avg / (sqrt(square) / scale + eps);
)

STEP(adamax, (exp_avg, exp_inf), (), (step), (beta1, beta2, eps), (fresh, size),
  (fresh = 1 - beta1;
   size = lr / (1 - pow(beta1, step));),
  exp_avg = lerp(exp_avg, g, fresh);
  exp_inf = maximum(exp_inf * beta2, abs(g) + eps);
  p -= size * exp_avg / exp_inf;
)

STEP(nadam, (exp_avg, exp_avg_sq), (), (step, mu_product), (beta1, beta2, eps, momentum_decay),
     (fresh1, fresh2, by_g, by_avg, seen),
  (const Number mu = beta1 * (1 - 0.5 * pow(0.96, step * momentum_decay));
   const Number next_mu = beta1 * (1 - 0.5 * pow(0.96, (step + 1) * momentum_decay));
   mu_product = mu_product * mu;
   fresh1 = 1 - beta1;
   fresh2 = 1 - beta2;
   by_g = lr * (1 - mu) / (1 - mu_product);
   by_avg = lr * next_mu / (1 - mu_product * next_mu);
   seen = 1 - pow(beta2, step);),
  exp_avg = lerp(exp_avg, g, fresh1);
  exp_avg_sq = exp_avg_sq * beta2 + fresh2 * g * g;
  T root = sqrt(exp_avg_sq / seen) + eps;
  p -= by_g * g / root;
  p -= by_avg * exp_avg / root;
)

// Rectified: once the variance is known well enough to divide by it.
STEP(radam, (exp_avg, exp_avg_sq), (), (step), (beta1, beta2, eps),
     (fresh1, fresh2, size, rectified),
  (fresh1 = 1 - beta1;
   fresh2 = 1 - beta2;
   size = lr / (1 - pow(beta1, step));
   const Number seen = 1 - pow(beta2, step);
   const Number limit = 2 / (1 - beta2) - 1;
   const Number length = limit - 2 * step * pow(beta2, step) / seen;
   rectified = length > 5;
   if (rectified != 0)
    size *= sqrt((length - 4) * (length - 2) * limit * seen / ((limit - 4) * (limit - 2) * length));
  ),
  exp_avg = lerp(exp_avg, g, fresh1);
  exp_avg_sq = exp_avg_sq * beta2 + fresh2 * g * g;
  p -= size * where(rectified != 0, exp_avg / (sqrt(exp_avg_sq) + eps), exp_avg);
)

STEP(rmsprop, (square_avg), (grad_avg, momentum_buffer), (step), (alpha, eps, momentum), (fresh),
  (fresh = 1 - alpha;),
  square_avg = square_avg * alpha + fresh * g * g;
  T square = square_avg;
  if (has_grad_avg) {
    grad_avg = lerp(grad_avg, g, fresh);
    square -= grad_avg * grad_avg;
  }
  T ratio = g / (sqrt(square) + eps);
  if (has_momentum_buffer) {
    ratio += momentum * momentum_buffer;
    momentum_buffer = ratio;
  }
  p -= lr * ratio;
)

STEP(adagrad, (sum), (), (step), (lr_decay, eps), (size),
  (size = lr / (1 + (step - 1) * lr_decay);),
  sum += g * g;
  p -= size * g / (sqrt(sum) + eps);
)

STEP(adadelta, (square_avg, acc_delta), (), (step), (rho, eps), (fresh),
  (fresh = 1 - rho;),
  square_avg = square_avg * rho + fresh * g * g;
  T delta = sqrt(acc_delta + eps) / sqrt(square_avg + eps) * g;
  acc_delta = acc_delta * rho + fresh * delta * delta;
  p -= lr * delta;
)

STEP(rprop, (prev, step_size), (), (step), (eta_minus, eta_plus, step_min, step_max), (), (),
  T trend = g * prev;
  T larger = where(trend > 0, step_size * eta_plus, step_size);
  step_size = minimum(step_max, maximum(step_min, where(trend < 0, step_size * eta_minus, larger)));
  prev = where(trend < 0, (T)0, g);
  p -= sign(prev) * step_size;
)

STEP(asgd, (ax), (), (step, eta, mu), (lambd, alpha, t0), (rate, shrink, weight),
  (rate = eta;
   shrink = 1 - lambd * rate;
   weight = mu;
   eta = lr / pow(1 + lambd * lr * step, alpha);
   mu = 1 / fmax(1, step - t0);),
  p = p * shrink - rate * g;
  ax = where(weight == 1, p, ax + weight * (p - ax));
)
// clang-format on

#undef STEP
