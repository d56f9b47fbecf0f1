// Draws with parameters of their own for each number: torch's, number for number.
#include <cmath>
#include <numeric>

#include "cpu/cpu_backend.h"
#include "cpu/index_support.h"
#include "cpu/parallel.h"
#include "random/generator.h"
#include "random/reparametrize.h"

namespace ember::cpu {

namespace {

void check_chances(const Tensor& p) {
  const Tensor wide = dense(p, Dtype::Float64);
  for (int64_t i = 0; i < wide.numel(); i++) {
    const double each = wide.data<double>()[i];
    check(each >= 0.0 && each <= 1.0, Kind::Runtime,
          "bernoulli(): Expected p_in >= 0 && p_in <= 1 to be true, got ", each);
  }
}

// Raises unless each row can be drawn from.
void check_weights(const Tensor& weights, int64_t k) {
  const Tensor wide = dense(weights, Dtype::Float64);
  for (int64_t row = 0; row < wide.numel() / k; row++) {
    double sum = 0.0;
    for (int64_t i = 0; i < k; i++) {
      const double w = wide.data<double>()[row * k + i];
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
template <class T>
void first_events(int64_t* out, const T* w, const T* q, int64_t n, int64_t k, int64_t samples) {
  std::vector<T> key(static_cast<size_t>(k));
  std::vector<int64_t> order(static_cast<size_t>(k));
  for (int64_t row = 0; row < n; row++) {
    for (int64_t i = 0; i < k; i++) key[size_t(i)] = convert<T>(w[row * k + i] / q[row * k + i]);
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + samples, order.end(),
                      [&](int64_t i, int64_t j) {
                        const T a = key[size_t(i)], b = key[size_t(j)];
                        return a > b || (!(a < b) && i < j);
                      });
    std::copy(order.begin(), order.begin() + samples, out + row * samples);
  }
}

void draw_indices(Sampler f, int64_t* out, const Tensor& weights, const Tensor& times,
                  int64_t samples, Generator& g) {
  const int64_t k = weights.size(-1), n = k ? weights.numel() / k : 0;
  check(k > 0, Kind::Runtime, "multinomial(): expected weights to draw from, got none");
  check_weights(weights, k);
  if (f == Sampler::Multinomial)
    return random::multinomial(g, out, weights.data(), n, k, samples, weights.dtype());
  with_dtype(weights.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!is_complex_type<T>)
      first_events<T>(out, weights.data<T>(), times.data<T>(), n, k, samples);
  });
}

}  // namespace

void CpuBackend::sample(Sampler f, const Tensor& out, const Tensor& a, const Tensor& b,
                        Generator& g) {
  on_cpu(a, b);
  const bool rows = f == Sampler::Multinomial || f == Sampler::FirstEvents;
  // Everything in the order of the memory of `out`; the rows of weights are as they come.
  auto given = [&](const Tensor& t) {
    return !t ? t : dense(rows ? t : random::in_memory_order(t, out), t.dtype());
  };
  const Tensor ordered = rows ? out : random::in_memory_order(out, out);
  const bool whole = ordered.is_contiguous();
  const Tensor to = whole ? ordered : empty(ordered.shape(), out.dtype());
  const Tensor x = given(a), y = given(b);
  const Dtype dtype = to.dtype();
  const int64_t n = to.numel();
  switch (f) {
    case Sampler::Bernoulli:
      check_chances(x);
      random::bernoulli(g, to.data(), n, dtype, x.data(), x.dtype());
      break;
    case Sampler::Poisson: random::poisson(g, to.data(), x.data(), n, dtype); break;
    case Sampler::Binomial: random::binomial(g, to.data(), x.data(), y.data(), n, dtype); break;
    case Sampler::Gamma: random::standard_gamma(g, to.data(), x.data(), n, dtype); break;
    case Sampler::Dirichlet: {
      const int64_t k = out.dim() ? out.size(-1) : 1;
      random::dirichlet(g, to.data(), x.data(), n / k, k, dtype);
      break;
    }
    default: draw_indices(f, to.data<int64_t>(), x, y, out.size(-1), g);
  }
  if (!whole) copy(ordered, to);
}

// As in torch, only those that are not positive draw.
void CpuBackend::random_slopes(const Tensor& out, const Tensor& x, double lower, double upper,
                               Generator& g) {
  on_cpu(x);
  with_dtype(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!is_complex_type<T>) {
      const double low = double(convert<T>(lower)), span = double(convert<T>(upper)) - low;
      for (int64_t i = 0; i < x.numel(); i++)
        out.data<T>()[i] = convert<T>(x.data<T>()[i] <= T(0) ? g.uniform() * span + low : 1.0);
    }
  });
}

void CpuBackend::sample_grad(Sampler f, const Tensor& out, const Tensor& x, const Tensor& alpha,
                             const Tensor& total) {
  on_cpu(x, alpha, total);
  const Tensor xs = dense(x, Dtype::Float64), alphas = dense(alpha, Dtype::Float64);
  const Tensor totals = total ? dense(total, Dtype::Float64) : xs;
  const Tensor to = empty(out.shape(), Dtype::Float64);
  for (int64_t i = 0; i < to.numel(); i++) {
    const double v = xs.data<double>()[i], a = alphas.data<double>()[i];
    to.data<double>()[i] = f == Sampler::Gamma
                               ? random::gamma_grad(a, v)
                               : random::dirichlet_grad(v, a, totals.data<double>()[i]);
  }
  copy(out, to);
}

}  // namespace ember::cpu
