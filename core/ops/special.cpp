// The functions of ember.special, and those that PyTorch also has at its top level: rows of the
// SPECIAL family and second names of others. The formulas are in scalar_functions.h and
// special_functions.h.
#include <cmath>

#include "ops/pointwise.h"

namespace ember {

using namespace pointwise;

namespace {
constexpr unsigned kSpecialForms = Function | Out | Aligned | Pointwise;
}

#define EMBER_SPECIAL(name, row, doc) EMBER_UNARY_OP("special." name, row, kSpecialForms, doc)
#define EMBER_SPECIAL2(name, row, doc) EMBER_BINARY_OP("special." name, row, kSpecialForms, doc)

#define EMBER_TENSORS_OP(names, row, forms, doc)                                                \
  EMBER_OP(names "(Tensor self, Tensor other) -> Tensor",                                       \
           (static_cast<Tensor (*)(const Operand&, const Operand&, Dest)>(&ember::row)), forms, \
           doc)

// --- gamma functions -----------------------------------------------------------------------------

EMBER_UNARY_OP("lgamma", lgamma, kUnaryForms & ~FunctionInPlace,
               "Logarithm of the absolute value of gamma(x).");
EMBER_UNARY_OP("digamma", digamma, kUnaryForms & ~FunctionInPlace, "Derivative of lgamma.");
EMBER_TENSORS_OP("igamma", igamma, kPointwiseForms, "Regularised lower incomplete gamma function.");
EMBER_TENSORS_OP("igammac", igammac, kPointwiseForms,
                 "Regularised upper incomplete gamma function.");
EMBER_SPECIAL("gammaln", lgamma, "Logarithm of the absolute value of gamma(x).");
EMBER_SPECIAL("digamma", digamma, "Derivative of gammaln.");
EMBER_SPECIAL("psi", digamma, "Alias of digamma().");
EMBER_TENSORS_OP("special.gammainc", igamma, kSpecialForms,
                 "Regularised lower incomplete gamma function.");
EMBER_TENSORS_OP("special.gammaincc", igammac, kSpecialForms,
                 "Regularised upper incomplete gamma function.");
EMBER_SPECIAL2("zeta", zeta, "Hurwitz zeta function.");

static Tensor polygamma_of(int64_t n, const Tensor& self, Dest dest) {
  check(n >= 0, Kind::Runtime, "polygamma(n, x) does not support negative n.");
  if (n == 0) return digamma(self, dest);
  if (n == 1) return trigamma(self, dest);
  return polygamma(self, Params{double(n)}, dest);
}
EMBER_OP("polygamma(int n, Tensor self) -> Tensor", &polygamma_of,
         Function | Out | Aligned | Pointwise, "n-th derivative of digamma.");
EMBER_OP("special.polygamma(int n, Tensor self) -> Tensor", &polygamma_of, kSpecialForms,
         "n-th derivative of digamma.");
EMBER_OP("polygamma(Tensor self, int n) -> Tensor",
         ([](const Tensor& self, int64_t n, Dest dest) { return polygamma_of(n, self, dest); }),
         Method | InPlace | Pointwise, "n-th derivative of digamma.");

constexpr int64_t kMostTerms = 1 << 20;

// log of the multivariate gamma function: a sum of lgamma(x - i/2), and a constant.
static Tensor mvlgamma(const Tensor& self, int64_t p) {
  check(p >= 1, Kind::Runtime, "p has to be greater than or equal to 1");
  check(self.dtype() != Dtype::Bool && !is_complex(self.dtype()), Kind::Runtime,
        "mvlgamma(): not implemented for dtype ", self.dtype());
  check(p <= kMostTerms, Kind::Runtime, "mvlgamma(): p = ", p,
        " is a sum of too many terms, at most ", kMostTerms, " are taken");
  Tensor x = contiguous(is_floating(self.dtype()) ? self : to(self, default_dtype()));
  Tensor sum = lgamma(x);
  for (int64_t i = 1; i < p; i++) sum = sum + lgamma(x - double(i) / 2);
  return sum + double(p) * double(p - 1) / 4 * std::log(M_PI);
}
EMBER_OP("mvlgamma(Tensor self, int p) -> Tensor", &mvlgamma, kAllForms | Pointwise,
         "Logarithm of the multivariate gamma function.");
EMBER_OP("special.multigammaln(Tensor self, int p) -> Tensor", &mvlgamma,
         Function | Out | Pointwise, "Logarithm of the multivariate gamma function.");

// --- error functions -----------------------------------------------------------------------------

EMBER_UNARY_OP("erf", erf, kUnaryForms, "Error function of each element.");
EMBER_UNARY_OP("erfc", erfc, kUnaryForms, "1 - erf(x), accurate where that is small.");
EMBER_UNARY_OP("erfinv", erfinv, kPointwiseForms, "Inverse error function.");
EMBER_SPECIAL("erf", erf, "Error function of each element.");
EMBER_SPECIAL("erfc", erfc, "1 - erf(x), accurate where that is small.");
EMBER_SPECIAL("erfinv", erfinv, "Inverse error function.");
EMBER_SPECIAL("erfcx", erfcx, "exp(x * x) * erfc(x).");
EMBER_OP("special.ndtr(Tensor self) -> Tensor",
         ([](const Tensor& self,
             Dest dest) {  // parts are rounded to float16 and bfloat16, as in PyTorch
           return is_reduced(self.dtype()) ? mul(erf(self * M_SQRT1_2) + 1.0, 0.5, dest)
                                           : ndtr(self, dest);
         }),
         Function | Out | Pointwise, "Normal distribution function.");
EMBER_SPECIAL("ndtri", ndtri, "Inverse of the normal distribution function.");
EMBER_SPECIAL("log_ndtr", log_ndtr, "Logarithm of ndtr(x).");

// --- Bessel functions ----------------------------------------------------------------------------

EMBER_UNARY_OP("i0", i0, kUnaryForms, "Modified Bessel function of the first kind, order 0.");
EMBER_SPECIAL("i0", i0, "Modified Bessel function of the first kind, order 0.");
EMBER_SPECIAL("i0e", i0e, "exp(-abs(x)) * i0(x).");
EMBER_SPECIAL("i1", i1, "Modified Bessel function of the first kind, order 1.");
EMBER_SPECIAL("i1e", i1e, "exp(-abs(x)) * i1(x).");
EMBER_SPECIAL("bessel_j0", bessel_j0, "Bessel function of the first kind, order 0.");
EMBER_SPECIAL("bessel_j1", bessel_j1, "Bessel function of the first kind, order 1.");
EMBER_SPECIAL("bessel_y0", bessel_y0, "Bessel function of the second kind, order 0.");
EMBER_SPECIAL("bessel_y1", bessel_y1, "Bessel function of the second kind, order 1.");
EMBER_SPECIAL("modified_bessel_i0", modified_bessel_i0,
              "Modified Bessel function of the first kind, order 0.");
EMBER_SPECIAL("modified_bessel_i1", modified_bessel_i1,
              "Modified Bessel function of the first kind, order 1.");
EMBER_SPECIAL("modified_bessel_k0", modified_bessel_k0,
              "Modified Bessel function of the second kind, order 0.");
EMBER_SPECIAL("modified_bessel_k1", modified_bessel_k1,
              "Modified Bessel function of the second kind, order 1.");
EMBER_SPECIAL("scaled_modified_bessel_k0", scaled_modified_bessel_k0,
              "exp(x) * modified_bessel_k0(x).");
EMBER_SPECIAL("scaled_modified_bessel_k1", scaled_modified_bessel_k1,
              "exp(x) * modified_bessel_k1(x).");
EMBER_SPECIAL("spherical_bessel_j0", spherical_bessel_j0,
              "Spherical Bessel function of the first kind, order 0.");
EMBER_SPECIAL("airy_ai", airy_ai, "Airy function Ai.");

// --- orthogonal polynomials ----------------------------------------------------------------------

#define EMBER_POLYNOMIAL(row, doc)                                                       \
  EMBER_OP("special." #row "(Number x, Number n) -> Tensor",                             \
           (static_cast<Tensor (*)(const Operand&, const Operand&, Dest)>(&ember::row)), \
           kSpecialForms, doc)
EMBER_POLYNOMIAL(chebyshev_polynomial_t, "Chebyshev polynomial of the first kind of degree n.");
EMBER_POLYNOMIAL(chebyshev_polynomial_u, "Chebyshev polynomial of the second kind of degree n.");
EMBER_POLYNOMIAL(chebyshev_polynomial_v, "Chebyshev polynomial of the third kind of degree n.");
EMBER_POLYNOMIAL(chebyshev_polynomial_w, "Chebyshev polynomial of the fourth kind of degree n.");
EMBER_POLYNOMIAL(shifted_chebyshev_polynomial_t,
                 "Chebyshev polynomial of the first kind of 2x - 1.");
EMBER_POLYNOMIAL(shifted_chebyshev_polynomial_u,
                 "Chebyshev polynomial of the second kind of 2x - 1.");
EMBER_POLYNOMIAL(shifted_chebyshev_polynomial_v,
                 "Chebyshev polynomial of the third kind of 2x - 1.");
EMBER_POLYNOMIAL(shifted_chebyshev_polynomial_w,
                 "Chebyshev polynomial of the fourth kind of 2x - 1.");
EMBER_POLYNOMIAL(hermite_polynomial_h, "Physicists' Hermite polynomial of degree n.");
EMBER_POLYNOMIAL(hermite_polynomial_he, "Probabilists' Hermite polynomial of degree n.");
EMBER_POLYNOMIAL(laguerre_polynomial_l, "Laguerre polynomial of degree n.");
EMBER_POLYNOMIAL(legendre_polynomial_p, "Legendre polynomial of degree n.");

// --- others --------------------------------------------------------------------------------------

EMBER_SPECIAL("entr", entr, "-x * log(x); 0 at zero, -inf below.");
EMBER_SPECIAL("expit", sigmoid, "1 / (1 + exp(-x)).");
EMBER_SPECIAL("exp2", exp2, "2 to the power of each element.");
EMBER_SPECIAL("expm1", expm1, "exp(x) - 1, accurate near zero.");
EMBER_SPECIAL("log1p", log1p, "log(1 + x), accurate near zero.");
EMBER_SPECIAL("sinc", sinc, "sin(pi x) / (pi x), which is 1 at zero.");
EMBER_SPECIAL2("xlogy", xlogy, "self * log(other), which is 0 where self is.");
EMBER_SPECIAL2("xlog1py", xlog1py, "self * log(1 + other), which is 0 where self is.");
EMBER_OP("special.round(Tensor self, *, int decimals=0) -> Tensor",
         (static_cast<Tensor (*)(const Tensor&, int64_t, Dest)>(&ember::round)), kSpecialForms,
         "Each element rounded to a number of decimals, halves to even.");

}  // namespace ember
