// The default of Backend::sample: draws made of ops, so that a device needs no kernels for them.
// Rejection goes on for all elements until the last one is accepted; that takes a few rounds, each
// of which waits for the device.
#include "backend.h"
#include "ops/ops.h"

namespace ember {

namespace {

constexpr int kRounds = 1000;  // far beyond what chance allows: parameters that accept nothing

Tensor uniform(const Tensor& like, Generator* g) {
  return draw(empty(like.shape(), like.dtype(), like.device()), g,
              {Distribution::Uniform, 0.0, 1.0});
}

Tensor either(const Tensor& c, const Tensor& a, const Tensor& b) { return where(c, a, b); }

// Rounds of propose() -> (candidates, accepted), of which each element takes its first.
template <class F>
Tensor first_accepted(const Tensor& like, const Tensor& skipped, F&& propose) {
  Tensor out = zeros(like.shape(), like.dtype(), like.device()), done = skipped;
  for (int round = 0; round < kRounds; round++) {
    auto [candidates, accepted] = propose();
    out = either(done, out, candidates);
    done = done | accepted;
    if (item(all(done)).to<bool>()) break;
  }
  return out;
}

// How many of the cumulated chances, of which step(k) gives the k-th, lie below a uniform number.
template <class F>
Tensor inverted(const Tensor& first, Generator* g, F&& step) {
  constexpr int kMost = 48;  // of means below 10
  Tensor u = uniform(first, g), chance = first, sum = first;
  Tensor out = to(u > sum, first.dtype());
  for (int k = 1; k < kMost; k++) {
    chance = chance * step(Scalar(double(k)));
    sum = sum + chance;
    out = out + to(u > sum, first.dtype());
  }
  return out;
}

// lgamma(k + 1) less Stirling's formula for it.
Tensor stirling_rest(const Tensor& k) {
  Tensor n = k + Scalar(1), square_ = n * n;
  Tensor series =
      (Scalar(1.0 / 12) - (Scalar(1.0 / 360) - Scalar(1.0 / 1260) / square_) / square_) / n;
  Tensor low = minimum(n, Scalar(10));
  Tensor exact =
      lgamma(low) - ((low - Scalar(0.5)) * log(low) - low + Scalar(0.91893853320467274178));
  return either(n < Scalar(10), exact, series);
}

// What raises unless `flags` (a bool tensor) are all true.
void check_all(const Tensor& flags, const char* message) {
  check(item(all(flags)).to<bool>(), Kind::Runtime, message);
}

void bernoulli(const Tensor& out, const Tensor& p, Generator* g) {
  check_all((p >= Scalar(0)) & (p <= Scalar(1)),
            "bernoulli(): Expected p_in >= 0 && p_in <= 1 to be true for every element");
  Tensor u = draw(empty(out.shape(), compute_of(p.dtype()), out.device()), g,
                  {Distribution::Uniform, 0.0, 1.0});
  copy_(out, u < p);
}

void check_weights(const Tensor& w) {
  check_all(isfinite(w) & (w >= Scalar(0)),
            "probability tensor contains either `inf`, `nan` or element < 0");
  check_all(sum(w, Dims(-1)) > Scalar(0),
            "invalid multinomial distribution (sum of probabilities <= 0)");
}

// By looking uniform numbers up in the running sum.
Tensor multinomial_by_sums(const Tensor& weights, int64_t samples, Generator* g) {
  Tensor w = to(weights, compute_of(weights.dtype()));
  check_weights(w);
  Tensor running = cumsum(w, -1), total = narrow(running, -1, w.size(-1) - 1, 1);
  Shape shape = w.shape();
  shape.back() = samples;
  Tensor u = uniform(empty(shape, w.dtype(), w.device()), g);
  // What rounds to the total would be beyond all of them.
  Tensor below = minimum(u * total, nextafter(total, Scalar(0)));
  return searchsorted(running, contiguous(below), true);
}

// By the first events of all weights (Efraimidis and Spirakis, 2006).
Tensor first_events(const Tensor& weights, const Tensor& times, int64_t samples) {
  Tensor w = to(weights, compute_of(weights.dtype()));
  check_weights(w);
  return std::get<1>(topk(w / times, samples, -1));
}

// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
Tensor standard_gamma(const Tensor& given, Generator* g) {
  Tensor alpha = to(given, compute_of(given.dtype()));
  Tensor small = alpha < Scalar(1);
  Tensor d = either(small, alpha + Scalar(1), alpha) - Scalar(1.0 / 3),
         c = Scalar(1.0 / 3) * rsqrt(d);
  Tensor out = first_accepted(d, alpha <= Scalar(0), [&] {
    Tensor x = draw(empty(d.shape(), d.dtype(), d.device()), g, {Distribution::Normal, 0.0, 1.0});
    Tensor root = Scalar(1) + c * x, v = root * root * root;
    Tensor bound = Scalar(0.5) * x * x + d * (Scalar(1) - v + log(maximum(v, Scalar(1e-37))));
    return std::pair(d * v, (root > Scalar(0)) & (log(uniform(d, g)) < bound));
  });
  // A shape below 1 is drawn one higher, and scaled by a power.
  Tensor scale = pow(Scalar(1) - uniform(d, g), reciprocal(alpha));
  return to(either(small, out * scale, out), given.dtype());
}

Tensor dirichlet(const Tensor& alpha, Generator* g) {
  Tensor gamma = to(standard_gamma(alpha, g), compute_of(alpha.dtype()));
  return to(gamma / (alpha.dim() ? sum(gamma, Dims{-1}, true) : gamma), alpha.dtype());
}

// Inversion below a mean of 10, else Hoermann's PTRS ("The transformed rejection method for
// generating Poisson random variables", 1993).
Tensor poisson(const Tensor& given, Generator* g) {
  Tensor rate = to(given, compute_of(given.dtype()));
  check_all(rate >= Scalar(0), "invalid Poisson rate, expected rate to be non-negative");
  Tensor few = rate < Scalar(10), low = minimum(rate, Scalar(10)), mu = maximum(rate, Scalar(10));
  Tensor out = inverted(exp(-low), g, [&](const Scalar& k) { return low / k; });
  if (item(all(few)).to<bool>()) return to(out, given.dtype());
  Tensor b = Scalar(0.931) + Scalar(2.53) * sqrt(mu), a = Scalar(0.02483) * b - Scalar(0.059);
  Tensor scale = Scalar(1.1239) + Scalar(1.1328) / (b - Scalar(3.4));
  Tensor sure = Scalar(0.9277) - Scalar(3.6224) / (b - Scalar(2)), center = mu + Scalar(0.43);
  Tensor many = first_accepted(mu, few, [&] {
    Tensor u = uniform(mu, g) - Scalar(0.5), v = Scalar(1) - uniform(mu, g);
    Tensor us = Scalar(0.5) - abs(u), k = floor((Scalar(2) * a / us + b) * u + center);
    Tensor quick = (us >= Scalar(0.07)) & (v <= sure);
    Tensor possible = (k >= Scalar(0)) & ((us >= Scalar(0.013)) | (v <= us));
    Tensor kept = maximum(k, Scalar(0)), n = kept + Scalar(1);
    // log of mu^k e^-mu / k!, by Stirling's formula: no difference of large numbers
    Tensor chance = (n - Scalar(0.5)) * log1p((mu - n) / n) + n - mu - Scalar(0.5) * log(mu) -
                    Scalar(0.91893853320467274178) - stirling_rest(kept);
    Tensor accepted = log(v * scale / (a / (us * us) + b)) <= chance;
    return std::pair(k, quick | (possible & accepted));
  });
  return to(either(few, out, many), given.dtype());
}

// Inversion below a mean of 10, else Hoermann's BTRS ("The generation of binomial random variates",
// 1993); a chance above one half counts failures.
Tensor binomial(const Tensor& count, const Tensor& p, Generator* g) {
  const Dtype compute = compute_of(count.dtype());
  Tensor n = to(count, compute), chance = to(p, compute), turned = chance > Scalar(0.5);
  Tensor q = either(turned, Scalar(1) - chance, chance), few = n * q < Scalar(10);
  // Those that belong to the other method take part with harmless parameters.
  Tensor none = zeros(n.shape(), compute, n.device());
  Tensor low = either(few, q, none), odds = low / (Scalar(1) - low);
  Tensor out = inverted(exp(n * log1p(-low)), g, [&](const Scalar& k) {
    return odds * (maximum(n - k + Scalar(1), Scalar(0)) / k);
  });
  if (!item(all(few)).to<bool>()) {
    Tensor half = none + Scalar(0.5), many = either(few, none + Scalar(40), n),
           r = either(few, half, q);
    Tensor spread = sqrt(many * r * (Scalar(1) - r)), b = Scalar(1.15) + Scalar(2.53) * spread;
    Tensor a = Scalar(0.0248) * b + Scalar(0.01) * r - Scalar(0.0873),
           center = many * r + Scalar(0.5);
    Tensor sure = Scalar(0.92) - Scalar(4.2) / b, alpha = (Scalar(2.83) + Scalar(5.1) / b) * spread;
    Tensor ratio = r / (Scalar(1) - r), m = floor((many + Scalar(1)) * r),
           top = many - m + Scalar(1);
    Tensor fixed = (m + Scalar(0.5)) * log((m + Scalar(1)) / (ratio * top)) + stirling_rest(m) +
                   stirling_rest(many - m);
    Tensor drawn = first_accepted(many, few, [&] {
      Tensor u = uniform(many, g) - Scalar(0.5), v = Scalar(1) - uniform(many, g);
      Tensor us = Scalar(0.5) - abs(u), k = floor((Scalar(2) * a / us + b) * u + center);
      Tensor possible = (k >= Scalar(0)) & (k <= many);
      Tensor kept = either(possible, k, none), rest = many - kept + Scalar(1);
      Tensor bound = fixed + (many + Scalar(1)) * log1p((top - rest) / rest) +
                     (kept + Scalar(0.5)) * log(ratio * rest / (kept + Scalar(1))) -
                     stirling_rest(kept) - stirling_rest(many - kept);
      Tensor accepted = log(v * alpha / (a / (us * us) + b)) <= bound;
      return std::pair(k, ((us >= Scalar(0.07)) & (v <= sure)) | (possible & accepted));
    });
    out = either(few, out, drawn);
  }
  return to(either(turned, n - out, out), count.dtype());
}

}  // namespace

void Backend::sample(Sampler f, const Tensor& out, const Tensor& a, const Tensor& b, Generator& g) {
  auto drawn = [&] {
    switch (f) {
      case Sampler::Poisson: return poisson(a, &g);
      case Sampler::Binomial: return binomial(a, b, &g);
      case Sampler::Gamma: return standard_gamma(a, &g);
      case Sampler::Dirichlet: return dirichlet(a, &g);
      case Sampler::Multinomial: return multinomial_by_sums(a, out.size(-1), &g);
      default: return first_events(a, b, out.size(-1));
    }
  };
  if (f == Sampler::Bernoulli) return bernoulli(out, a, &g);
  copy(out, drawn());
}

}  // namespace ember
