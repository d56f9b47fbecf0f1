// Distributions with parameters of their own for every element: rejection samplers, and draws from
// a table. They work in double precision whatever the dtype, which is only that of parameters and
// results.
#include <cmath>
#include <vector>

#include "random/dispatch.h"
#include "random/distributions.h"

#pragma GCC optimize("fp-contract=off")  // rounding is part of the result

namespace ember::random {

namespace {

// W. Hoermann, "The transformed rejection method for generating Poisson random variables" (1993):
// PTRS.
int64_t poisson_by_rejection(Generator& g, double rate) {
  double root = std::sqrt(rate), log_rate = std::log(rate);
  double b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), squeeze = 0.9277 - 3.6224 / (b - 2.0);
  while (true) {
    double u = g.uniform() - 0.5, v = g.uniform();
    double us = 0.5 - std::fabs(u);
    int64_t k = int64_t(std::floor((2.0 * a / us + b) * u + rate + 0.43));
    if (us >= 0.07 && v <= squeeze) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <=
        -rate + double(k) * log_rate - std::lgamma(double(k) + 1.0))
      return k;
  }
}

int64_t poisson_one(Generator& g, double rate) {
  if (rate >= 10.0) return poisson_by_rejection(g, rate);
  if (rate == 0.0) return 0;
  double limit = std::exp(-rate), product = 1.0;
  for (int64_t k = 0;; k++) {
    product *= g.uniform();
    if (product <= limit) return k;
  }
}

// Counts successes by the geometric gaps between them; for few expected ones.
double binomial_by_gaps(Generator& g, double count, double p) {
  double total = 0.0, scale = std::log1p(-p);
  for (double successes = 0.0;; successes++) {
    total += std::ceil(std::log(g.uniform()) / scale);
    if (total > count) return successes;
  }
}

// log(k!) - Stirling's formula for it.
double stirling_rest(double k) {
  static const double kTable[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983,
                                  0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
                                  0.0118967099458917,  0.0104112652619720, 0.00925546218271273,
                                  0.00833056343336287};
  if (k <= 9.0) return kTable[int(k)];
  double square = (k + 1.0) * (k + 1.0);
  return (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / (k + 1.0);
}

// W. Hoermann, "The generation of binomial random variates" (1993): BTRS; for p <= 1/2.
double binomial_by_rejection(Generator& g, double count, double p) {
  double spread = std::sqrt(count * p * (1.0 - p));
  double b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * p, c = count * p + 0.5;
  double squeeze = 0.92 - 4.2 / b, odds = p / (1.0 - p);
  double alpha = (2.83 + 5.1 / b) * spread, mode = std::floor((count + 1.0) * p);
  while (true) {
    double u = g.uniform() - 0.5, v = g.uniform();
    double us = 0.5 - std::fabs(u);
    double k = std::floor((2.0 * a / us + b) * u + c);
    if (us >= 0.07 && v <= squeeze) return k;
    if (k < 0.0 || k > count) continue;
    v = std::log(v * alpha / (a / (us * us) + b));
    double bound = (mode + 0.5) * std::log((mode + 1.0) / (odds * (count - mode + 1.0))) +
                   (count + 1.0) * std::log((count - mode + 1.0) / (count - k + 1.0)) +
                   (k + 0.5) * std::log(odds * (count - k + 1.0) / (k + 1.0)) +
                   stirling_rest(mode) + stirling_rest(count - mode) - stirling_rest(k) -
                   stirling_rest(count - k);
    if (v <= bound) return k;
  }
}

double binomial_one(Generator& g, double count, double p) {
  if (count <= 0.0 || p <= 0.0) return 0.0;
  if (p >= 1.0 || !std::isfinite(count)) return std::isnan(p) ? p : count;  // no loop would end
  if (p > 0.5) return count - binomial_one(g, count, 1.0 - p);
  if (std::isnan(p)) return p;
  return count * p >= 10.0 ? binomial_by_rejection(g, count, p) : binomial_by_gaps(g, count, p);
}

// G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables" (2000).
// torch computes with alpha in its own type and has float constants; so what follows from it alone
// does too.
template <class A>
double gamma_one(Generator& g, A alpha) {
  double scale = 1.0;
  if (alpha < 1) {
    if (alpha == 0) return 0.0;
    scale = std::pow(1.0 - g.uniform(), double(A(1) / alpha));
    alpha += 1;
  }
  double d = double(alpha - A(1.0f / 3.0f)), c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    double x, y;
    do {
      x = g.normal();
      y = 1.0 + c * x;
    } while (y <= 0.0);
    double v = y * y * y, u = 1.0 - g.uniform(), xx = x * x;
    if (u < 1.0 - double(0.0331f) * xx * xx) return scale * d * v;
    if (std::log(u) < 0.5 * xx + d * (1.0 - v + std::log(v))) return scale * d * v;
  }
}

// Limits that keep the logarithm of a result finite.
template <class T>
T smallest_normal() {
  if constexpr (std::is_same_v<T, double>)
    return std::numeric_limits<double>::min();
  else
    return T(std::is_same_v<T, Half> ? 0x1p-14f : std::numeric_limits<float>::min());
}
template <class T>
T below_one() {
  if constexpr (std::is_same_v<T, double>)
    return 0x1.fffffffffffffp-1;
  else
    return T(std::is_same_v<T, Half>       ? 0x1.ffcp-1f
             : std::is_same_v<T, BFloat16> ? 0x1.fep-1f
                                           : 0x1.fffffep-1f);
}

}  // namespace

void poisson(Generator& g, void* out, const void* rate, int64_t n, Dtype dtype) {
  with_floating("poisson", dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < n; i++) {
      double each = double(static_cast<const T*>(rate)[i]);
      check(each >= 0.0, Kind::Runtime,
            "poisson(): invalid Poisson rate, expected rate to be non-negative, got ", each);
      static_cast<T*>(out)[i] = T(poisson_one(g, each));
    }
  });
}

void binomial(Generator& g, void* out, const void* count, const void* p, int64_t n, Dtype dtype) {
  with_floating("binomial", dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < n; i++) {
      double tries = double(static_cast<const T*>(count)[i]),
             chance = double(static_cast<const T*>(p)[i]);
      static_cast<T*>(out)[i] = T(binomial_one(g, tries, chance));
    }
  });
}

void standard_gamma(Generator& g, void* out, const void* alpha, int64_t n, Dtype dtype) {
  with_floating("_standard_gamma", dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = std::conditional_t<std::is_same_v<T, double>, double, float>;
    for (int64_t i = 0; i < n; i++) {
      T value = T(gamma_one(g, A(static_cast<const T*>(alpha)[i])));
      static_cast<T*>(out)[i] = value > smallest_normal<T>() ? value : smallest_normal<T>();
    }
  });
}

void dirichlet(Generator& g, void* out, const void* alpha, int64_t n, int64_t k, Dtype dtype) {
  with_floating("_sample_dirichlet", dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<double> gammas(static_cast<size_t>(n * k));
    const T* each = static_cast<const T*>(alpha);
    // At least the smallest number, so that a row of zeros is shared out rather than divided by 0.
    for (size_t i = 0; i < gammas.size(); i++)
      gammas[i] = std::max(gamma_one(g, double(each[i])), smallest_normal<double>());
    for (int64_t row = 0; row < n; row++) {
      const double* from = gammas.data() + row * k;
      double sum = 0.0;
      for (int64_t i = 0; i < k; i++) sum += from[i];
      for (int64_t i = 0; i < k; i++) {
        T value = T(from[i] / sum);
        if (value < smallest_normal<T>()) value = smallest_normal<T>();
        static_cast<T*>(out)[row * k + i] = value > below_one<T>() ? below_one<T>() : value;
      }
    }
  });
}

void multinomial(Generator& g, int64_t* out, const void* weights, int64_t n, int64_t k,
                 int64_t samples, Dtype dtype) {
  with_floating("multinomial", dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = std::conditional_t<std::is_same_v<T, double>, double, float>;
    std::vector<A> running(static_cast<size_t>(k));
    for (int64_t row = 0; row < n; row++) {
      const T* weight = static_cast<const T*>(weights) + row * k;
      A sum = 0;
      for (int64_t i = 0; i < k; i++) running[size_t(i)] = sum += A(weight[i]);
      for (A& each : running) each /= sum;
      running.back() = 1;
      for (int64_t s = 0; s < samples; s++) {
        double u = g.uniform();
        int64_t low = 0, high = k;
        while (low < high) {
          int64_t middle = low + (high - low) / 2;
          if (double(running[size_t(middle)]) < u)
            low = middle + 1;
          else
            high = middle;
        }
        out[row * samples + s] = low;
      }
    }
  });
}

}  // namespace ember::random
