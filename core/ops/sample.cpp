// Draws with a tensor of parameters: normal, bernoulli, poisson, binomial, gamma, dirichlet,
// multinomial. On the CPU they are torch's, number for number.
#include "backend.h"
#include "ops/devices.h"
#include "ops/overlap.h"
#include "ops/pointwise.h"

namespace ember {

namespace {

Generator& or_default(Generator* g) { return g ? *g : default_generator(); }

// `out`, filled by the device.
Tensor sampled(Sampler f, const Tensor& out, const Tensor& a, const Tensor& b, Generator* g) {
  NoGrad guard;
  if (out.numel()) backend_of(out).sample(f, out, a, b, or_default(g));
  return out;
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

// --- normal --------------------------------------------------------------------------------------

namespace {

void check_std(const Tensor& std) {
  check(!is_complex(std.dtype()), Kind::Runtime,
        "normal expects standard deviation to be non-complex");
  if (!has_values(std)) return;
  // A look at the data: a negative one is an error.
  check(!item(any(detach(std) < Scalar(0))).to<bool>(), Kind::Runtime,
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

// --- bernoulli -----------------------------------------------------------------------------------

namespace {

// Draws along the memory of `out`, with the probabilities in the same order.
void fill_bernoulli(const Tensor& out, const Tensor& p, Generator* g) {
  check_floating("bernoulli_tensor_cpu_p_", p);
  check(!is_complex(out.dtype()), Kind::NotImplemented,
        "\"bernoulli_tensor_cpu_self_\" not implemented for '", type_name(out.dtype()), "'");
  sampled(Sampler::Bernoulli, out, expand(p, out.shape()), {}, g);
}

}  // namespace

EMBER_OP("bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
         ([](const Tensor& self, Generator* g, Dest dest) {
           const Dtype dtype = dest.tensor ? dest.tensor->dtype() : self.dtype();
           Tensor out = output_for("bernoulli", dest, self.shape(), dtype, self.device());
           {
             NoGrad guard;
             fill_bernoulli(out, beside("bernoulli", out, self, Sharing::Copied), g);
           }
           if (dest.tensor) {
             bump_version(out);
             return out;
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

// --- one sampler per element ---------------------------------------------------------------------

EMBER_OP("poisson(Tensor self, Generator? generator=None) -> Tensor",
         ([](const Tensor& self, Generator* g) {
           check_floating("poisson_cpu", self);
           Tensor out = empty(self.shape(), self.dtype(), self.device());
           return without_gradient(sampled(Sampler::Poisson, out, self, {}, g), "poisson", self);
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
           Tensor out = pointwise::result_tensor("binomial", {}, met, count.dtype());
           sampled(Sampler::Binomial, out, expand(count, shape), expand(prob, shape), g);
           return without_gradient(out, "binomial", prob);
         }),
         Function | Pointwise | Random,
         "How many of `count` tries succeed with probability `prob`.");

EMBER_OP("_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor",
         ([](const Tensor& self, Generator* g) {
           check_floating("dirichlet", self);
           Tensor out = empty(self.shape(), self.dtype(), self.device());
           return sampled(Sampler::Dirichlet, out, self, {}, g);
         }),
         Function | Whole | Random,
         "Points of the simplex, with concentrations along the last dimension.");
namespace {

Tensor sample_grad(Sampler f, const Tensor& x, const Tensor& alpha, const Tensor& total) {
  check_floating("_standard_gamma_grad", x);
  NoGrad guard;
  Tensor out = empty(x.shape(), x.dtype(), x.device());
  auto spread = [&](const Tensor& t) { return t ? expand(t, x.shape()) : t; };
  if (out.numel()) backend_of(out).sample_grad(f, out, x, spread(alpha), spread(total));
  return out;
}

Tensor standard_gamma_grad(const Tensor& self, const Tensor& output) {
  return sample_grad(Sampler::Gamma, expand(output, self.shape()), self, {});
}

}  // namespace

EMBER_OP("_standard_gamma(Tensor self, Generator? generator=None) -> Tensor",
         ([](const Tensor& self, Generator* g) {
           check_floating("gamma_cpu", self);
           Tensor out = empty(self.shape(), self.dtype(), self.device());
           sampled(Sampler::Gamma, out, self, {}, g);
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
           return sample_grad(Sampler::Dirichlet, x, alpha, total);
         }),
         Function | Pointwise, "How points of the simplex move with their concentrations.");

// --- multinomial ---------------------------------------------------------------------------------

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
  Tensor out = empty(shape, Dtype::Int64, self.device());
  if (replacement && num_samples > 1)
    return sampled(Sampler::Multinomial, out, self, {}, generator);
  Tensor times = draw(empty_like(self), generator, {Distribution::Exponential, 1.0});
  return sampled(Sampler::FirstEvents, out, self, times, generator);
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
