// Implicit reparametrization (Figurnov, Mohamed and Mnih, 2018): if F(x; a) is the distribution
// function, x moves by -(dF/da) / (dF/dx). Both distribution functions are a known prefactor times
// a series or continued fraction; its derivative is carried along with it, term by term.
#include "random/reparametrize.h"

#include <cmath>

namespace ember::random {

namespace {

constexpr int kMostTerms = 100000;
constexpr double kTolerance = 1e-16;

struct Dual {  // a number and its derivative
  double v, d = 0.0;
  Dual(double value, double derivative = 0.0) : v(value), d(derivative) {}
};
Dual operator+(Dual a, Dual b) { return {a.v + b.v, a.d + b.d}; }
Dual operator-(Dual a, Dual b) { return {a.v - b.v, a.d - b.d}; }
Dual operator*(Dual a, Dual b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
Dual operator/(Dual a, Dual b) { return {a.v / b.v, (a.d - a.v / b.v * b.d) / b.v}; }

double digamma(double x) {  // x > 0
  double below = 0.0;
  for (; x < 10.0; x += 1.0) below -= 1.0 / x;
  double z = 1.0 / (x * x);
  double series =
      z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132)))));
  return below + std::log(x) - 0.5 / x - series;
}

// Evaluates b0 + a1 / (b1 + a2 / (b2 + ...)) by Lentz's method, given term(i, a, b).
template <class F>
Dual continued_fraction(Dual b0, F term) {
  constexpr double kTiny = 1e-290;
  Dual value = b0.v == 0.0 ? Dual(kTiny) : b0, c = value, d = 0.0;
  for (int i = 1; i < kMostTerms; i++) {
    Dual a = 0.0, b = 0.0;
    term(i, a, b);
    d = b + a * d;
    c = b + a / c;
    if (d.v == 0.0) d = kTiny;
    if (c.v == 0.0) c = kTiny;
    d = Dual(1.0) / d;
    Dual step = c * d;
    value = value * step;
    if (std::fabs(step.v - 1.0) < kTolerance &&
        std::fabs(step.d) < kTolerance * (1.0 + std::fabs(value.d / value.v)))
      break;
  }
  return value;
}

// 1 / (1 + d1 x / (1 + d2 x / ...)) of the incomplete beta function (DLMF 8.17.22).
Dual beta_fraction(Dual a, Dual b, double x) {
  auto term = [&](int i, Dual& numerator, Dual& denominator) {
    denominator = 1.0;
    if (i == 1) {
      numerator = 1.0;
      return;
    }
    Dual m = double((i - 1) / 2), twice = m + m;
    numerator = i % 2 ? m * (b - m) * x / ((a + twice - 1.0) * (a + twice))
                      : Dual(0.0) - (a + m) * (a + b + m) * x / ((a + twice) * (a + twice + 1.0));
  };
  return continued_fraction(0.0, term);
}

}  // namespace

double gamma_grad(double alpha, double x) {
  if (!(x > 0.0) || !(alpha > 0.0) || std::isinf(x)) return x == 0.0 ? 0.0 : NAN;
  double log_x = std::log(x);
  if (x < alpha + 1.0) {  // P = x^a e^-x / Gamma(a + 1) * sum of x^k / ((a + 1) ... (a + k))
    double term = 1.0, inverse = 0.0, sum = 1.0, slope = 0.0;
    for (int k = 1; k < kMostTerms && term > sum * kTolerance * 0.01; k++) {
      term *= x / (alpha + k);
      inverse += 1.0 / (alpha + k);
      sum += term;
      slope -= term * inverse;
    }
    return -x / alpha * (sum * (log_x - digamma(alpha + 1.0)) + slope);
  }
  // 1 - P = x^a e^-x / Gamma(a) * 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / ...))
  Dual a(alpha, 1.0);
  Dual h = continued_fraction(0.0, [&](int i, Dual& numerator, Dual& denominator) {
    denominator = Dual(x + 2.0 * i - 1.0) - a;
    numerator = i == 1 ? Dual(1.0) : Dual(0.0) - Dual(i - 1.0) * (Dual(i - 1.0) - a);
  });
  return x * (h.v * (log_x - digamma(alpha)) + h.d);
}

double dirichlet_grad(double x, double alpha, double total) {
  double beta = total - alpha;
  if (!(x > 0.0 && x < 1.0 && alpha > 0.0 && beta > 0.0)) return NAN;
  double slope =
      std::log(x) - digamma(alpha) + digamma(total);  // of the logarithm of x^a / B(a, b)
  if (x < (alpha + 1.0) / (total + 2.0)) {
    Dual f = beta_fraction(Dual(alpha, 1.0), beta, x);
    return -x / alpha * (f.v * (slope - 1.0 / alpha) + f.d);
  }
  Dual f = beta_fraction(beta, Dual(alpha, 1.0), 1.0 - x);  // I_x(a, b) = 1 - I_(1-x)(b, a)
  return x / beta * (f.v * slope + f.d);
}

}  // namespace ember::random
