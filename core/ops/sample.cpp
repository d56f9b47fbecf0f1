// Draws with a tensor of parameters: normal, bernoulli, poisson, binomial, gamma, dirichlet,
// multinomial. On the CPU they are torch's, number for number; on other devices they are made of
// ops (sample_device.cpp).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/overlap.h"
#include "ops/pointwise.h"
#include "ops/sample_device.h"
#include "random/reparametrize.h"

namespace ember {

namespace {

Generator& or_default(Generator* g) { return g ? *g : default_generator(); }

// Whether a draw is made of ops, on the device of `t`.
bool composes(const Tensor& t) {
  return !t.device().is_cpu() && !t.device().is_meta() && t.numel() > 0;
}

// Contiguous host memory with the elements of `t`.
Tensor on_host(const Tensor& t) {
  NoGrad guard;
  return contiguous(t.device().is_cpu() ? t : to(t, Device(), t.dtype()));
}

// A new tensor of `shape` that fill(memory) writes, on the device of `like`.
template <class F>
Tensor sampled(const Tensor& like, const Shape& shape, Dtype dtype, F&& fill) {
  if (like.device().is_meta()) return empty(shape, dtype, like.device());
  Tensor out = empty(shape, dtype);
  fill(out.data());
  return like.device().is_cpu() ? out : to(out, like.device(), dtype);
}

// The result of a draw hangs in the graph, but nothing flows through it.
template <class... Inputs>
Tensor without_gradient(const Tensor& out, const char* op, const Inputs&... inputs) {
  if (!grad_needed(inputs...)) return out;
  return tape(out, op,
              wrt(inputs, [shape = inputs.shape(), dtype = inputs.dtype()](const Tensor& g) {
                return zeros(shape, dtype, g.device());
              })...);
}

void check_floating(const char* kernel, const Tensor& t) {
  check(is_floating(t.dtype()), Kind::NotImplemented, "\"", kernel, "\" not implemented for '",
        type_name(t.dtype()), "'");
}

}  // namespace

// -- normal
// ------------------------------------------------------------------------------------------------

namespace {

void check_std(const Tensor& std) {
  check(!is_complex(std.dtype()), Kind::Runtime,
        "normal expects standard deviation to be non-complex");
  if (std.device().is_meta()) return;
  if (composes(std))
    return by_ops::check_all(detach(std) >= Scalar(0), "normal expects all elements of std >= 0.0");
  Tensor host = to(on_host(std), Dtype::Float64);
  for (int64_t i = 0; i < host.numel(); i++)
    check(!(host.data<double>()[i] < 0.0), Kind::Runtime,
          "normal expects all elements of std >= 0.0");
}

Tensor standard_normal(const Tensor& like, const Shape& shape, Generator* g, double std) {
  check(std >= 0.0, Kind::Runtime, "normal expects std >= 0.0, but found std ", std);
  check(is_differentiable(like.dtype()), Kind::NotImplemented,
        "\"normal_kernel_cpu\" not implemented for '", type_name(like.dtype()), "'");
  return draw(empty(shape, like.dtype(), like.device()), g, {Distribution::Normal, 0.0, std});
}

}  // namespace

EMBER_OP("normal(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor",
         ([](const Tensor& mean, const Tensor& std, Generator* g) {
           Shape shape = broadcast_shapes("normal", mean.shape(), std.shape());
           check_std(std);
           Tensor out;
           {
             NoGrad guard;
             Tensor z = standard_normal(mean, shape, g, 1.0);
             out = to(z * std + mean, mean.dtype());
           }
           return without_gradient(out, "normal", mean, std);
         }),
         Function | Out | Pointwise | Random,
         "Normal numbers with a mean and a standard deviation for each.");
EMBER_OP("normal(Tensor mean, float std=1.0, *, Generator? generator=None) -> Tensor",
         ([](const Tensor& mean, double std, Generator* g) {
           Tensor out;
           {
             NoGrad guard;
             out = standard_normal(mean, mean.shape(), g, std) + mean;
           }
           return without_gradient(out, "normal", mean);
         }),
         Function | Out | Pointwise | Random, "Normal numbers with a mean for each.");
EMBER_OP("normal(float mean, Tensor std, *, Generator? generator=None) -> Tensor",
         ([](double mean, const Tensor& std, Generator* g) {
           check_std(std);
           Tensor out;
           {
             NoGrad guard;
             out = standard_normal(std, std.shape(), g, 1.0) * std + Scalar(mean);
           }
           return without_gradient(out, "normal", std);
         }),
         Function | Out | Pointwise | Random, "Normal numbers with a standard deviation for each.");

// -- bernoulli
// ---------------------------------------------------------------------------------------------

namespace {

// Draws along the memory of `out`, with the probabilities in the same order.
void fill_bernoulli(const Tensor& out, const Tensor& p, Generator* g) {
  check_floating("bernoulli_tensor_cpu_p_", p);
  check(!is_complex(out.dtype()), Kind::NotImplemented,
        "\"bernoulli_tensor_cpu_self_\" not implemented for '", type_name(out.dtype()), "'");
  if (out.device().is_meta()) return;
  if (composes(out)) return by_ops::bernoulli(out, p, g);
  Tensor ordered = random::in_memory_order(out, out);
  Tensor chance = on_host(random::in_memory_order(expand(p, out.shape()), out));
  Tensor wide = to(chance, Dtype::Float64);
  for (int64_t i = 0; i < wide.numel(); i++) {
    double each = wide.data<double>()[i];
    check(each >= 0.0 && each <= 1.0, Kind::Runtime,
          "bernoulli(): Expected p_in >= 0 && p_in <= 1 to be true, got ", each);
  }
  bool direct = out.device().is_cpu() && ordered.is_contiguous();
  Tensor drawn = direct ? ordered : empty(ordered.shape(), out.dtype());
  random::bernoulli(or_default(g), drawn.data(), drawn.numel(), out.dtype(), chance.data(),
                    chance.dtype());
  if (!direct) copy_(ordered, drawn);
}

}  // namespace

EMBER_OP("bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
         ([](const Tensor& self, Generator* g) {
           Tensor out = empty(self.shape(), self.dtype(), self.device());
           {
             NoGrad guard;
             fill_bernoulli(out, self, g);
           }
           return without_gradient(out, "bernoulli", self);
         }),
         kForms | Out | Pointwise | Random,
         "1 with the probability that `input` gives for each element, else 0.");
EMBER_OP("bernoulli(Tensor self, float p, *, Generator? generator=None) -> Tensor",
         ([](const Tensor& self, double p, Generator* g) {
           return without_gradient(
               bernoulli_(empty(self.shape(), self.dtype(), self.device()), p, g), "bernoulli",
               self);
         }),
         kForms | Out | Pointwise | Random,
         "1 with probability `p`, else 0, in the shape of `input`.");
EMBER_OP("bernoulli_(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor",
         ([](const Tensor& self, const Tensor& p, Generator* g) {
           check_in_place("bernoulli_", self);
           {
             NoGrad guard;
             fill_bernoulli(self, beside("bernoulli_", self, p, Sharing::Copied), g);
           }
           bump_version(self);
           if (grad_needed(self))
             tape_inplace(self, "bernoulli_",
                          wrt(self, [](const Tensor& grad) { return zeros_like(grad); }));
           return self;
         }),
         Method | Pointwise | Random,
         "Fills the tensor with 1 with the probabilities `p`, else 0.");
EMBER_OP("bernoulli_(Tensor self, float p=0.5, *, Generator? generator=None) -> Tensor",
         &bernoulli_, Method | Pointwise | Random,
         "Fills the tensor with 1 with probability `p`, else 0.");

// -- one sampler per element
// -------------------------------------------------------------------------------

EMBER_OP("poisson(Tensor self, Generator? generator=None) -> Tensor",
         ([](const Tensor& self, Generator* g) {
           check_floating("poisson_cpu", self);
           if (composes(self)) return without_gradient(by_ops::poisson(self, g), "poisson", self);
           Tensor out = sampled(self, self.shape(), self.dtype(), [&](void* data) {
             random::poisson(or_default(g), data, on_host(self).data(), self.numel(), self.dtype());
           });
           return without_gradient(out, "poisson", self);
         }),
         Function | Pointwise | Random, "Poisson numbers with the rates in `input`.");

EMBER_OP("binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor",
         ([](const Tensor& count, const Tensor& prob, Generator* g) {
           check(is_floating(count.dtype()), Kind::Value,
                 "binomial only supports floating-point dtypes for count, got: ", count.dtype());
           check(is_floating(prob.dtype()), Kind::Value,
                 "binomial only supports floating-point dtypes for prob, got: ", prob.dtype());
           check(count.dtype() == prob.dtype(), Kind::Runtime, "binomial(): Found dtype ",
                 prob.dtype(), " but expected ", count.dtype());
           const Operand given[2] = {count, prob};
           const auto met = pointwise::meet("binomial", {&given[0], &given[1]});
           const Shape shape = met.shape;
           if (composes(count) && numel_of(shape))
             return without_gradient(by_ops::binomial(expand(count, shape), expand(prob, shape), g),
                                     "binomial", prob);
           Tensor out = pointwise::result_tensor("binomial", {}, met, count.dtype());
           if (!out.device().is_meta() && out.numel()) {
             NoGrad guard;
             Tensor ordered = random::in_memory_order(out, out);
             auto given_to = [&](const Tensor& t) {
               return on_host(random::in_memory_order(expand(t, shape), out));
             };
             copy_(ordered, sampled(count, ordered.shape(), count.dtype(), [&](void* data) {
                     random::binomial(or_default(g), data, given_to(count).data(),
                                      given_to(prob).data(), out.numel(), count.dtype());
                   }));
           }
           return without_gradient(out, "binomial", prob);
         }),
         Function | Pointwise | Random,
         "How many of `count` tries succeed with probability `prob`.");

EMBER_OP("_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor",
         ([](const Tensor& self, Generator* g) {
           check_floating("dirichlet", self);
           if (composes(self)) return by_ops::dirichlet(self, g);
           int64_t k = self.dim() ? self.size(-1) : 1;
           return sampled(self, self.shape(), self.dtype(), [&](void* data) {
             random::dirichlet(or_default(g), data, on_host(self).data(), k ? self.numel() / k : 0,
                               k, self.dtype());
           });
         }),
         Function | Whole | Random,
         "Points of the simplex, with concentrations along the last dimension.");
namespace {

// f(a, b, c) for each element, in double precision.
template <class F>
Tensor each(const Tensor& a, const Tensor& b, const Tensor& c, F f) {
  check_floating("_standard_gamma_grad", a);
  check(!composes(a), Kind::NotImplemented,
        "gradients of gamma numbers: not implemented for device ", a.device(),
        "; move the parameters to the CPU first");
  NoGrad guard;
  auto wide = [&](const Tensor& t) { return to(on_host(expand(t, a.shape())), Dtype::Float64); };
  Tensor out = sampled(a, a.shape(), a.dtype(), [&](void* data) {
    Tensor x = wide(a), y = wide(b), z = wide(c);
    with_dtype(a.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (!is_complex_type<T>)
        for (int64_t i = 0; i < a.numel(); i++)
          static_cast<T*>(data)[i] =
              convert<T>(f(x.data<double>()[i], y.data<double>()[i], z.data<double>()[i]));
    });
  });
  return out;
}

Tensor standard_gamma_grad(const Tensor& self, const Tensor& output) {
  return each(self, output, output,
              [](double alpha, double x, double) { return random::gamma_grad(alpha, x); });
}

}  // namespace

EMBER_OP("_standard_gamma(Tensor self, Generator? generator=None) -> Tensor",
         ([](const Tensor& self, Generator* g) {
           check_floating("gamma_cpu", self);
           Tensor out;
           if (composes(self))
             out = by_ops::standard_gamma(self, g);
           else
             out = sampled(self, self.shape(), self.dtype(), [&](void* data) {
               random::standard_gamma(or_default(g), data, on_host(self).data(), self.numel(),
                                      self.dtype());
             });
           if (!grad_needed(self)) return out;
           return tape(out, "standard_gamma",
                       wrt(self, [alpha = Saved(self), x = Saved::output(out)](const Tensor& grad) {
                         return grad * standard_gamma_grad(*alpha, *x);
                       }));
         }),
         Function | Pointwise | Random, "Gamma numbers of rate 1 with the shapes in `input`.");
EMBER_OP("_standard_gamma_grad(Tensor self, Tensor output) -> Tensor", &standard_gamma_grad,
         Function | Pointwise, "How the gamma numbers `output` move with their shapes `input`.");
EMBER_OP("_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor",
         ([](const Tensor& x, const Tensor& alpha, const Tensor& total) {
           return each(x, alpha, total, [](double v, double a, double sum) {
             return random::dirichlet_grad(v, a, sum);
           });
         }),
         Function | Pointwise, "How points of the simplex move with their concentrations.");

// -- multinomial
// -------------------------------------------------------------------------------------------

namespace {

// Raises unless each row can be drawn from.
void check_weights(const Tensor& weights, int64_t k) {
  Tensor wide = to(weights, Dtype::Float64);
  for (int64_t row = 0; row < (k ? wide.numel() / k : 0); row++) {
    double sum = 0.0;
    for (int64_t i = 0; i < k; i++) {
      double w = wide.data<double>()[row * k + i];
      check(std::isfinite(w) && w >= 0.0, Kind::Runtime,
            "probability tensor contains either `inf`, `nan` or element < 0");
      sum += w;
    }
    check(sum > 0.0, Kind::Runtime, "invalid multinomial distribution (sum of probabilities <= 0)");
  }
}

// The indices of the `samples` largest w / q of each row, largest first: each w / q is the inverse
// time of an event of rate w, so that this is drawing without replacement (Efraimidis and Spirakis,
// 2006).
void first_events(int64_t* out, const Tensor& w, const Tensor& q, int64_t n, int64_t k,
                  int64_t samples) {
  with_dtype(w.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!is_complex_type<T>) {
      std::vector<T> key(static_cast<size_t>(k));
      std::vector<int64_t> order(static_cast<size_t>(k));
      for (int64_t row = 0; row < n; row++) {
        for (int64_t i = 0; i < k; i++)
          key[size_t(i)] = convert<T>(w.data<T>()[row * k + i] / q.data<T>()[row * k + i]);
        std::iota(order.begin(), order.end(), 0);
        std::partial_sort(order.begin(), order.begin() + samples, order.end(),
                          [&](int64_t i, int64_t j) {
                            return key[size_t(i)] > key[size_t(j)] ||
                                   (!(key[size_t(i)] < key[size_t(j)]) && i < j);
                          });
        std::copy(order.begin(), order.begin() + samples, out + row * samples);
      }
    }
  });
}

}  // namespace

Tensor multinomial(const Tensor& self, int64_t num_samples, bool replacement,
                   Generator* generator) {
  check(self.dim() == 1 || self.dim() == 2, Kind::Runtime,
        "multinomial(): prob_dist must be 1 or 2 dim, got ", self.shape());
  check(is_floating(self.dtype()), Kind::Runtime,
        "multinomial only supports floating-point dtypes for input, got: ", self.dtype());
  check(num_samples > 0, Kind::Runtime, "multinomial(): cannot sample n_sample <= 0 samples, got ",
        num_samples);
  int64_t k = self.size(-1);
  check(replacement || num_samples <= k, Kind::Runtime,
        "multinomial(): cannot sample n_sample > prob_dist.size(-1) samples without replacement, "
        "got ",
        num_samples, " of ", k);
  Shape shape = self.shape();
  shape.back() = num_samples;
  if (composes(self)) return by_ops::multinomial(self, num_samples, replacement, generator);
  return sampled(self, shape, Dtype::Int64, [&](void* data) {
    NoGrad guard;
    Tensor weights = on_host(self);
    check_weights(weights, k);
    int64_t n = k ? weights.numel() / k : 0;
    auto* out = static_cast<int64_t*>(data);
    if (replacement && num_samples > 1)
      return random::multinomial(or_default(generator), out, weights.data(), n, k, num_samples,
                                 self.dtype());
    Tensor q = draw(empty_like(self.device().is_cpu() ? self : weights), generator,
                    {Distribution::Exponential, 1.0});
    first_events(out, weights, contiguous(q), n, k, num_samples);
  });
}
EMBER_OP(
    "multinomial(Tensor self, int num_samples, bool replacement=False, *, Generator? "
    "generator=None) -> Tensor",
    ([](const Tensor& self, int64_t num_samples, bool replacement, Generator* g, Dest dest) {
      check(!dest.tensor || dest.tensor->dtype() == Dtype::Int64, Kind::Runtime,
            "multinomial expects Long tensor out, got: ",
            dest.tensor ? dest.tensor->dtype() : Dtype::Int64);
      Tensor result = multinomial(self, num_samples, replacement, g);
      if (!dest.tensor) return result;
      copy_to_out("multinomial", *dest.tensor, result);
      return *dest.tensor;
    }),
    kForms | Out | Entries | Random, "Indices drawn with the weights in each row of `input`.");

}  // namespace ember
