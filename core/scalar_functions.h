// The pointwise functions, one row each: name, dtypes, what the tape keeps, formula, derivative, doc.
// Include it with the row macros you want defined (the others expand to nothing; all are undefined
// again at the end), and, to see one family only, with FAMILY defined to its name.
//
//   UNARY    (name, types, keep, fwd, deriv, doc)           y = fwd(x); keep: x or y, whichever deriv
//                                                           names; none if it is a constant; never if
//                                                           there is no derivative
//   UNARY_P  (name, params, types, keep, fwd, deriv, doc)   the same with numbers p0, p1, p2
//   PREDICATE(name, types, expr, doc)                       bool from x
//   BINARY   (name, types, fwd, grad_a, grad_b, doc)        gradients in terms of g, a, b, y
//   COMPARE  (name, types, expr, doc)                       bool from a and b (and p0, p1, p2)
//   TERNARY  (name, types, fwd, grad_a, grad_b, grad_c, doc)
//
// Note [One text, four compilers]: a formula is compiled as CPU loops, as OpenCL C, as text for
// `compile`, and derivatives also as differentiable tensor code, so it keeps to what all accept.
// T is the element type (double in tensor code, where x, y, a, b, c and g are tensors): write (T)0.5
// for a constant that is not an integer, branch with where(c, t, f) and give both arms type T, join
// conditions with & and |, call only functions that are rows here (or live in special_functions.h).
// conj(x) is x for a real T. A derivative is plain: the product with g, and the conjugate, are added
// by chain(). Gradients of BINARY and TERNARY rows include g. `never` there means: none exists.
// A derivative that begins with cut(c, d) is 0 where c, and there the gradient is 0 whatever g is:
// inf and NaN do not pass.

// The families: each is one object file per level of the CPU backend.
#ifndef ARITHMETIC
#define ARITHMETIC 1
#define EXPONENTIAL 2
#define TRIGONOMETRIC 3
#define ACTIVATION 4
#define SPECIAL 5
#define COMPARISON 6
#endif

#ifndef UNARY
#define UNARY(...)
#endif
#ifndef UNARY_P
#define UNARY_P(...)
#endif
#ifndef PREDICATE
#define PREDICATE(...)
#endif
#ifndef BINARY
#define BINARY(...)
#endif
#ifndef COMPARE
#define COMPARE(...)
#endif
#ifndef TERNARY
#define TERNARY(...)
#endif

#if !defined(FAMILY) || FAMILY == ARITHMETIC
UNARY(abs, kNumber | kStored | kNarrow | kToReal, x, abs(x), conj(sgn(x)), "Absolute value of each element; of a complex one, its modulus.")
UNARY(neg, kNumber | kHasComplex32 | kNarrow, none, -x, -1, "Each element with its sign changed.")
UNARY(sign, kRealBool, none, sign(x), 0, "-1, 0 or 1 by the sign of each element.")
UNARY(sgn, kNumberBool | kHasComplex32, none, sgn(x), 0, "Sign of each element; of a complex one, x / abs(x).")
UNARY(ceil, kRounds, none, ceil(x), 0, "Smallest integer not below each element.")
UNARY(floor, kRounds, none, floor(x), 0, "Largest integer not above each element.")
UNARY(trunc, kRounds, none, trunc(x), 0, "Integer part of each element.")
UNARY(round, kRounds, none, round(x), 0, "Nearest integer to each element, halves to even.")
UNARY_P(round_decimals, (divides, scale), kFloatOnly, none,
        where(p0 != 0, round(x / p1) * p1, round(x * p1) / p1), 0,
        "Each element rounded to a number of decimals; scale is 10 to the power of their number.")
UNARY(frac, kFloatOnly, none, x - trunc(x), 1, "Fractional part of each element, with its sign.")
UNARY(frexp_mantissa, kFloatOnly | kNoOp, x, frexp_mantissa(x), exp2(-frexp_exponent(x)),
      "x / 2**exponent, in [0.5, 1) but for its sign.")
UNARY(frexp_exponent, kFloatOnly | kNoOp, none, frexp_exponent(x), 0, "The exponent of frexp().")
UNARY(square, kNumber | kNoOp, x, x * x, 2 * x, "Square of each element.")
UNARY(reciprocal, kFloat, y, reciprocal(x), -y * y, "1 / x for each element.")
UNARY(sqrt, kFloat, y, sqrt(x), 1 / (2 * y), "Square root of each element.")
UNARY(rsqrt, kFloat, y, rsqrt(x), (T)-0.5 * y * y * y, "1 / sqrt(x) for each element.")
UNARY(conj_physical, kAny | kStored, never, conj(x), 0, "Complex conjugate of each element.")
UNARY(bitwise_not, kIntBool | kNarrow, never, bitwise_not(x), 0, "Bitwise complement; for bool, logical not.")
UNARY(deg2rad, kRealFloat, none, x * (T)0.017453292519943295, (T)0.017453292519943295,
      "Degrees to radians.")
UNARY(rad2deg, kRealFloat, none, x * (T)57.29577951308232, (T)57.29577951308232,
      "Radians to degrees.")
UNARY_P(nan_to_num, (nan, posinf, neginf), kRealAny, x,
        where(x != x, p0, where(isinf(x), where(x > 0, p1, p2), x)),
        where(isfinite(x), (T)1, (T)0), "NaN and the infinities replaced by given numbers.")

BINARY(add, kAny | kHasComplex32 | kTakesOnlyNumbers | kCommutes | kNarrow | kByNumber, a + b, g, g, "Sum of two tensors, broadcast together.")
BINARY(sub, kNumber | kNoMask | kHasComplex32 | kTakesOnlyNumbers | kNarrow | kByNumber, a - b, g, -g, "Difference of two tensors, broadcast together.")
BINARY(mul, kAny | kStored | kTakesOnlyNumbers | kExactNumber | kCommutes | kNarrow | kByNumber, a * b, g * conj(b), g * conj(a), "Product of two tensors, broadcast together.")
BINARY(div, kFloat | kTakesOnlyNumbers | kExactNumber | kByNumber, a / b, g / conj(b), -g * conj(y / b), "Quotient of two tensors, broadcast together.")
BINARY(floor_divide, kReal | kTakesOnlyNumbers | kExactNumber | kDivides | kModulo | kRounds16, floor_divide(a, b), zeros_like(g), zeros_like(g),
       "Quotient rounded towards minus infinity.")
BINARY(trunc_divide, kReal | kExactNumber | kDivides | kNoOp, trunc_divide(a, b), zeros_like(g), zeros_like(g), "Quotient rounded towards zero.")
BINARY(remainder, kReal | kTakesNumbers | kDivides | kModulo, remainder(a, b), g, -g * floor_divide(a, b),
       "Remainder of the division, with the divisor's sign.")
BINARY(fmod, kReal | kTakesNumber | kDivides | kModulo, fmod(a, b), g, -g * trunc_divide(a, b),
       "Remainder of the division, with the dividend's sign.")
BINARY(maximum, kRealBool | kNarrow, maximum(a, b), where(a == b, g / 2, where(a < b, (T)0, g)),
       where(a == b, g / 2, where(b < a, (T)0, g)), "Larger of two elements; NaN if either is.")
BINARY(minimum, kRealBool | kNarrow, minimum(a, b), where(a == b, g / 2, where(a > b, (T)0, g)),
       where(a == b, g / 2, where(b > a, (T)0, g)), "Smaller of two elements; NaN if either is.")
BINARY(fmax, kRealBool, fmax(a, b), where((a >= b) | isnan(b), g, (T)0),
       where((a >= b) | isnan(b), (T)0, g), "Larger of two elements; a NaN loses.")
BINARY(fmin, kRealBool, fmin(a, b), where((a <= b) | isnan(b), g, (T)0),
       where((a <= b) | isnan(b), (T)0, g), "Smaller of two elements; a NaN loses.")
BINARY(clamp_min, kRealBool | kBounds | kTakesNumber | kFunctionInPlace, maximum(a, b), where(a >= b, g, (T)0), where(a < b, g, (T)0),
       "Elements below a bound replaced by it.")
BINARY(clamp_max, kRealBool | kBounds | kTakesNumber | kFunctionInPlace, minimum(a, b), where(a <= b, g, (T)0), where(a > b, g, (T)0),
       "Elements above a bound replaced by it.")
BINARY(copysign, kRealFloat | kTakesNumber, copysign(a, b), where(a == 0, (T)0, g * (y / where(a == 0, (T)1, a))),
       zeros_like(g), "Magnitude of the first with the sign of the second.")
BINARY(nextafter, kFloatOnly | kOwnHalf, nextafter(a, b), g, zeros_like(g), "Next number after the first towards the second.")
BINARY(heaviside, kRealBool | kNoOp, heaviside(a, b), zeros_like(g), zeros_like(g),
       "0 below zero, 1 above it, the second operand at zero.")
BINARY(bitwise_and, kBits | kTakesNumbers | kNarrow, a & b, never, never, "Bitwise and; for bool, logical and.")
BINARY(bitwise_or, kBits | kTakesNumbers | kNarrow, a | b, never, never, "Bitwise or; for bool, logical or.")
BINARY(bitwise_xor, kBits | kTakesNumbers | kNarrow, a ^ b, never, never, "Bitwise exclusive or.")
BINARY(bitwise_left_shift, kInt | kTakesNumbers, left_shift(a, b), never, never, "Bits shifted left.")
BINARY(bitwise_right_shift, kInt | kTakesNumbers, right_shift(a, b), never, never, "Bits shifted right, keeping the sign.")
BINARY(gcd, kInt | kFunctionInPlace, gcd(a, b), never, never, "Greatest common divisor.")
BINARY(lcm, kInt | kFunctionInPlace, lcm(a, b), never, never, "Least common multiple.")
BINARY(prelu, kFloatOnly, where(a > 0, a, b * a), where(a > 0, g, g * b), where(a > 0, (T)0, g * a),
       "x where it is positive, weight * x elsewhere.")

TERNARY(where, kAny | kStored | kChooses, where(a, b, c), never, where(a, g, (T)0), where(a, (T)0, g),
        "The second operand where the first is true, the third elsewhere.")
TERNARY(lerp, kFloatComplex | kExactNumber, lerp(a, b, c), g * conj(1 - c), g * conj(c), g * conj(b - a),
        "Linear interpolation from the first to the second by a weight.")
TERNARY(addcmul, kNumber | kHasComplex32, a + p0 * b * c, g, g * conj(p0 * c), g * conj(p0 * b), "a + value * b * c.")
TERNARY(addcdiv, kFloatComplex, a + p0 * b / c, g, g * conj(p0 / c), -g * conj(p0 * b / (c * c)),
        "a + value * b / c.")
TERNARY(clamp, kReal | kNarrow, minimum(c, maximum(b, a)), where((a >= b) & (a <= c), g, (T)0),
        where((a < b) & (b < c), g, (T)0), where((a > c) | (c < b), g, (T)0),
        "Elements limited to the range between two bounds.")
#endif

#if !defined(FAMILY) || FAMILY == EXPONENTIAL
UNARY(exp, kFloat, y, exp(x), y, "e to the power of each element.")
UNARY(exp2, kFloat, y, exp2(x), y * (T)0.69314718055994530942, "2 to the power of each element.")
UNARY(expm1, kFloat, y, expm1(x), y + 1, "exp(x) - 1, accurate near zero.")
UNARY(log, kFloat, x, log(x), 1 / x, "Natural logarithm of each element.")
UNARY(log2, kFloat, x, log2(x), 1 / (x * (T)0.69314718055994530942), "Base-2 logarithm of each element.")
UNARY(log10, kFloat, x, log10(x), 1 / (x * (T)2.30258509299404568402), "Base-10 logarithm of each element.")
UNARY(log1p, kFloat, x, log1p(x), 1 / (x + 1), "log(1 + x), accurate near zero.")
UNARY(sinh, kFloat, x, sinh(x), cosh(x), "Hyperbolic sine of each element.")
UNARY(cosh, kFloat, x, cosh(x), sinh(x), "Hyperbolic cosine of each element.")
UNARY(tanh, kFloat, y, tanh(x), 1 - y * y, "Hyperbolic tangent of each element.")
UNARY(asinh, kFloat, x, asinh(x), rsqrt(x * x + 1), "Inverse hyperbolic sine of each element.")
UNARY(acosh, kFloat, x, acosh(x), rsqrt(x - 1) * rsqrt(x + 1), "Inverse hyperbolic cosine of each element.")
UNARY(atanh, kFloat, x, atanh(x), 1 / (1 - x * x), "Inverse hyperbolic tangent of each element.")
UNARY_P(pow_scalar, (exponent), kFloatComplex | kOfNumbers, x, pow(x, p0),
        where(p0 == 0, (T)0, p0 * pow(x, p0 - 1)), "Each element to the power of a number.")

BINARY(pow, kNumber | kTakesNumbers | kPowers, pow(a, b), where(b == 0, (T)0, g * conj(b * pow(a, b - 1))),
       where((a == 0) & isfinite(y), (T)0, g * conj(y * log(a))), "The first to the power of the second.")
BINARY(ldexp, kFloat | kExact | kFunctionInPlace | kUnaligned, a * exp2(b), g * conj(exp2(b)), g * conj(y * (T)0.69314718055994530942),
       "The first times 2 to the power of the second.")
BINARY(xlogy, kRealFloat | kTakesNumbers | kOwnHalf | kFunctionInPlace, xlogy(a, b), g * where((a == 0) & (b <= 0), (T)0, log(b)), g * a / b,
       "a * log(b), which is 0 where a is.")
BINARY(xlog1py, kRealFloat | kOwnHalf | kNoOp, xlog1py(a, b), g * where((a == 0) & (b <= -1), (T)0, log1p(b)), g * a / (b + 1),
       "a * log(1 + b), which is 0 where a is.")
BINARY(logaddexp, kFloatComplex, logaddexp(a, b), g / conj(1 + exp(b - a)), g / conj(1 + exp(a - b)),
       "log(exp(a) + exp(b)) without overflow.")
BINARY(logaddexp2, kFloatOnly, logaddexp2(a, b), g / (1 + exp2(b - a)), g / (1 + exp2(a - b)),
       "log2(2**a + 2**b) without overflow.")
#endif

#if !defined(FAMILY) || FAMILY == TRIGONOMETRIC
UNARY(sin, kFloat | kTurns, x, sin(x), cos(x), "Sine of each element.")
UNARY(cos, kFloat | kTurns, x, cos(x), -sin(x), "Cosine of each element.")
UNARY(tan, kFloat | kTurns, y, tan(x), 1 + y * y, "Tangent of each element.")
UNARY(asin, kFloat, x, asin(x), rsqrt(1 - x * x), "Inverse sine of each element.")
UNARY(acos, kFloat, x, acos(x), -rsqrt(1 - x * x), "Inverse cosine of each element.")
UNARY(atan, kFloat, x, atan(x), 1 / (x * x + 1), "Inverse tangent of each element.")
UNARY(sinc, kFloat | kTurns, x, sinc(x),
      where(x == 0, (T)0, (cos((T)3.14159265358979323846 * x) - sinc(x)) / where(x == 0, (T)1, x)),
      "sin(pi x) / (pi x), which is 1 at zero.")
UNARY(angle, kRealFloat | kNoOp, none, where(x != x, x, where(x < 0, (T)3.14159265358979323846, (T)0)), 0,
      "Angle of each element with the positive real axis: 0 or pi for a real one.")

BINARY(atan2, kRealFloat, atan2(a, b), g * b / where(a * a + b * b == 0, (T)1, a * a + b * b),
       -g * a / where(a * a + b * b == 0, (T)1, a * a + b * b), "Angle of the point (b, a).")
BINARY(hypot, kFloatOnly, hypot(a, b), g * (a / y), g * (b / y), "sqrt(a * a + b * b) without overflow.")
#endif

#if !defined(FAMILY) || FAMILY == ACTIVATION
UNARY(sigmoid, kFloat, y, sigmoid(x), y * (1 - y), "1 / (1 + exp(-x)) for each element.")
UNARY(logsigmoid, kFloatOnly, x, -log1p_exp(-x), sigmoid(-x), "log(sigmoid(x)).")
UNARY(relu, kReal, y, where(x <= 0, (T)0, x), cut(y <= 0, (T)1), "max(x, 0) for each element.")
UNARY(relu6, kReal, x, minimum(maximum(x, (T)0), (T)6), cut((x <= 0) | (x >= 6), (T)1),
      "x limited to the range from 0 to 6.")
UNARY(erf, kRealFloat, x, erf(x), (T)1.12837916709551257390 * exp(-x * x), "Error function of each element.")
UNARY(erfc, kRealFloat, x, erfc(x), (T)-1.12837916709551257390 * exp(-x * x),
      "1 - erf(x), accurate where that is small.")
UNARY(ndtr, kRealFloat, x, ndtr(x), (T)0.39894228040143267794 * exp((T)-0.5 * x * x),
      "Normal distribution function.")
UNARY(gelu, kFloatOnly, x, x * ndtr(x), ndtr(x) + x * (T)0.39894228040143267794 * exp((T)-0.5 * x * x),
      "x times the normal distribution function of x.")
UNARY(gelu_tanh, kFloatOnly, x,
      x * sigmoid((T)1.59576912160573071176 * x * (1 + (T)0.044715 * x * x)),
      sigmoid((T)1.59576912160573071176 * x * (1 + (T)0.044715 * x * x)) *
          (1 + x * (T)1.59576912160573071176 * (1 + (T)0.134145 * x * x) *
                   sigmoid((T)-1.59576912160573071176 * x * (1 + (T)0.044715 * x * x))),
      "gelu by its approximation with tanh.")
UNARY(silu, kFloatComplex, x, x * sigmoid(x), sigmoid(x) * (1 + x * (1 - sigmoid(x))), "x * sigmoid(x).")
UNARY(mish, kFloatOnly, x,
      x * where(x > 20, (T)1, exp(x) * (exp(x) + 2) / (exp(x) * (exp(x) + 2) + 2)),
      where(x > 20, (T)1, exp(x) * (exp(x) + 2) / (exp(x) * (exp(x) + 2) + 2)) +
          x * where(x > 20, (T)0,
                    4 * exp(x) * (exp(x) + 1) /
                        ((exp(x) * (exp(x) + 2) + 2) * (exp(x) * (exp(x) + 2) + 2))),
      "x * tanh(softplus(x)).")
UNARY_P(softplus, (beta, threshold, 1 / beta), kFloatOnly, x, where(x * p0 > p1, x, log1p_exp(x * p0) * p2),
        where(x * p0 > p1, (T)1, sigmoid(x * p0)), "log(1 + exp(beta * x)) / beta; x itself above a threshold.")
UNARY(softsign, kRealFloat, x, x / (1 + abs(x)), 1 / ((1 + abs(x)) * (1 + abs(x))), "x / (1 + abs(x)).")
UNARY(tanhshrink, kFloat, x, x - tanh(x), tanh(x) * tanh(x), "x - tanh(x).")
UNARY_P(hardtanh, (min_val, max_val), kReal, x, minimum(p1, maximum(p0, x)),
        cut((x <= p0) | (x >= p1), (T)1), "x limited to a range.")
UNARY(hardsigmoid, kFloatOnly, x, minimum(maximum(x + 3, (T)0), (T)6) / 6,
      cut((x <= -3) | (x >= 3) | (x != x), (T)0.16666666666666666667), "relu6(x + 3) / 6.")
UNARY(hardswish, kFloatOnly, x, x * minimum(maximum(x + 3, (T)0), (T)6) / 6,
      cut(x <= -3, where(x >= 3, (T)1, x / 3 + (T)0.5)), "x * relu6(x + 3) / 6.")
UNARY_P(leaky_relu, (negative_slope), kFloatOnly, x, where(x > 0, x, x * p0), where(x > 0, (T)1, p0),
        "x where it is positive, slope * x elsewhere.")
UNARY_P(elu, (alpha, scale, input_scale), kFloatOnly, x,
        where(x > 0, p1 * x, p0 * p1 * expm1(minimum(x, (T)0) * p2)),
        where(x > 0, p1, p0 * p1 * p2 * exp(minimum(x, (T)0) * p2)),
        "scale * x where it is positive, scale * alpha * (exp(input_scale * x) - 1) elsewhere.")
UNARY_P(hardshrink, (lambd), kFloatOnly, x, where((x >= -p0) & (x <= p0), (T)0, x),
        cut((x >= -p0) & (x <= p0), (T)1), "x outside [-lambd, lambd], 0 inside.")
UNARY_P(softshrink, (lambd), kFloatOnly, x, where(x > p0, x - p0, where(x < -p0, x + p0, x * 0)),
        cut((x >= -p0) & (x <= p0), (T)1), "x moved towards 0 by lambd, 0 within it.")
UNARY_P(huber, (delta), kFloatOnly, x, where(abs(x) <= p0, (T)0.5 * x * x, p0 * (abs(x) - (T)0.5 * p0)),
        where(x > p0, p0, where(x < -p0, -p0, x)), "x * x / 2 within [-delta, delta], straight lines outside.")
UNARY_P(threshold, (threshold, value), kReal, x, where(x <= p0, p1, x), cut(x <= p0, (T)1),
        "x above a threshold, a given value elsewhere.")
UNARY(logit, kRealFloat, x, log(x / (1 - x)),
      where((x < 0) | (x > 1), (T)NAN, 1 / (x * (1 - x))), "log(x / (1 - x)).")
UNARY_P(logit_eps, (low, high), kRealFloat, x,
        log(minimum(p1, maximum(p0, x)) / (1 - minimum(p1, maximum(p0, x)))),
        cut((x < p0) | (x > p1), 1 / (x * (1 - x))), "logit of x limited to [low, high].")
#endif

#if !defined(FAMILY) || FAMILY == SPECIAL
UNARY(erfinv, kRealFloat, y, erfinv(x), (T)0.88622692545275801365 * exp(y * y), "Inverse error function.")
UNARY(erfcx, kSpecial, x, erfcx(x), 2 * x * erfcx(x) - (T)1.12837916709551257390, "exp(x * x) * erfc(x).")
UNARY(ndtri, kSpecial, y, ndtri(x), (T)2.50662827463100050242 * exp((T)0.5 * y * y),
      "Inverse of the normal distribution function.")
UNARY(log_ndtr, kSpecial, x, log_ndtr(x),
      (T)0.79788456080286535588 / erfcx((T)-0.70710678118654752440 * x), "Logarithm of ndtr(x).")
UNARY(entr, kRealFloat, x, entr(x), -1 - log(x), "-x * log(x); 0 at zero, -inf below.")
UNARY(lgamma, kRealFloat, x, lgamma(x), digamma(x), "Logarithm of the absolute value of gamma(x).")
UNARY(digamma, kRealFloat, x, digamma(x), trigamma(x), "Derivative of lgamma.")
UNARY(trigamma, kRealFloat, x, trigamma(x), polygamma(2, x), "Derivative of digamma.")
UNARY_P(polygamma, (n), kRealFloat, x, polygamma(p0, x), polygamma(p0 + 1, x), "n-th derivative of digamma.")
UNARY(i0, kRealFloat, x, i0(x), i1(x), "Modified Bessel function of the first kind, order 0.")
UNARY(i0e, kRealFloat, x, i0e(x), i1e(x) - sgn(x) * i0e(x), "exp(-abs(x)) * i0(x).")
UNARY(i1, kRealFloat, x, i1(x), where(x == 0, (T)0.5, i0(x) - i1(x) / where(x == 0, (T)1, x)),
      "Modified Bessel function of the first kind, order 1.")
UNARY(i1e, kRealFloat, x, i1e(x), where(abs(x) < (T)1e-30, (T)0.5,
            i0e(x) - i1e(x) * (sgn(x) + 1 / where(abs(x) < (T)1e-30, (T)1, x))),
      "exp(-abs(x)) * i1(x).")
UNARY(bessel_j0, kSpecial, x, bessel_j0(x), -bessel_j1(x), "Bessel function of the first kind, order 0.")
UNARY(bessel_j1, kSpecial, x, bessel_j1(x), where(x == 0, (T)0.5, bessel_j0(x) - bessel_j1(x) / where(x == 0, (T)1, x)),
      "Bessel function of the first kind, order 1.")
UNARY(bessel_y0, kSpecial, x, bessel_y0(x), -bessel_y1(x), "Bessel function of the second kind, order 0.")
UNARY(bessel_y1, kSpecial, x, bessel_y1(x), bessel_y0(x) - bessel_y1(x) / x,
      "Bessel function of the second kind, order 1.")
UNARY(modified_bessel_i0, kSpecial, x, i0(x), i1(x), "Modified Bessel function of the first kind, order 0.")
UNARY(modified_bessel_i1, kSpecial, x, i1(x), where(x == 0, (T)0.5, i0(x) - i1(x) / where(x == 0, (T)1, x)),
      "Modified Bessel function of the first kind, order 1.")
UNARY(modified_bessel_k0, kSpecial, x, modified_bessel_k0(x), -modified_bessel_k1(x),
      "Modified Bessel function of the second kind, order 0.")
UNARY(modified_bessel_k1, kSpecial, x, modified_bessel_k1(x),
      -modified_bessel_k0(x) - modified_bessel_k1(x) / x, "Modified Bessel function of the second kind, order 1.")
UNARY(scaled_modified_bessel_k0, kSpecial, x, scaled_modified_bessel_k0(x),
      scaled_modified_bessel_k0(x) - scaled_modified_bessel_k1(x), "exp(x) * modified_bessel_k0(x).")
UNARY(scaled_modified_bessel_k1, kSpecial, x, scaled_modified_bessel_k1(x),
      scaled_modified_bessel_k1(x) * (1 - 1 / x) - scaled_modified_bessel_k0(x),
      "exp(x) * modified_bessel_k1(x).")
UNARY(spherical_bessel_j0, kSpecial, x, spherical_bessel_j0(x),
      where(abs(x) < (T)0.001, -x / 3,
            (cos(x) - spherical_bessel_j0(x)) / where(abs(x) < (T)0.001, (T)1, x)),
      "Spherical Bessel function of the first kind, order 0.")
UNARY(airy_ai, kSpecial, never, airy_ai(x), 0, "Airy function Ai.")

BINARY(zeta, kSpecial, zeta(a, b), never, -g * a * zeta(a + 1, b), "Hurwitz zeta function.")
BINARY(gamma_density, kFloatOnly, gamma_density(a, b), g * gamma_density(a, b) * (log(b) - digamma(a)),
       g * gamma_density(a, b) * ((a - 1) / b - 1), "Derivative of igamma by its second operand.")
BINARY(igamma, kFloatOnly, igamma(a, b), never, g * gamma_density(a, b),
       "Regularised lower incomplete gamma function.")
BINARY(igammac, kFloatOnly, igammac(a, b), never, -g * gamma_density(a, b),
       "Regularised upper incomplete gamma function.")
BINARY(chebyshev_polynomial_t, kSpecial, chebyshev_polynomial_t(a, b), never, never,
       "Chebyshev polynomial of the first kind of degree b.")
BINARY(chebyshev_polynomial_u, kSpecial, chebyshev_polynomial_u(a, b), never, never,
       "Chebyshev polynomial of the second kind of degree b.")
BINARY(chebyshev_polynomial_v, kSpecial, chebyshev_polynomial_v(a, b), never, never,
       "Chebyshev polynomial of the third kind of degree b.")
BINARY(chebyshev_polynomial_w, kSpecial, chebyshev_polynomial_w(a, b), never, never,
       "Chebyshev polynomial of the fourth kind of degree b.")
BINARY(shifted_chebyshev_polynomial_t, kSpecial, chebyshev_polynomial_t(a + a - 1, b), never, never,
       "Chebyshev polynomial of the first kind of 2a - 1.")
BINARY(shifted_chebyshev_polynomial_u, kSpecial, chebyshev_polynomial_u(a + a - 1, b), never, never,
       "Chebyshev polynomial of the second kind of 2a - 1.")
BINARY(shifted_chebyshev_polynomial_v, kSpecial, chebyshev_polynomial_v(a + a - 1, b), never, never,
       "Chebyshev polynomial of the third kind of 2a - 1.")
BINARY(shifted_chebyshev_polynomial_w, kSpecial, chebyshev_polynomial_w(a + a - 1, b), never, never,
       "Chebyshev polynomial of the fourth kind of 2a - 1.")
BINARY(hermite_polynomial_h, kSpecial, hermite_polynomial_h(a, b), never, never,
       "Physicists' Hermite polynomial of degree b.")
BINARY(hermite_polynomial_he, kSpecial, hermite_polynomial_he(a, b), never, never,
       "Probabilists' Hermite polynomial of degree b.")
BINARY(laguerre_polynomial_l, kSpecial, laguerre_polynomial_l(a, b), never, never,
       "Laguerre polynomial of degree b.")
BINARY(legendre_polynomial_p, kSpecial, legendre_polynomial_p(a, b), never, never,
       "Legendre polynomial of degree b.")
#endif

#if !defined(FAMILY) || FAMILY == COMPARISON
PREDICATE(isnan, kAny | kStored, isnan(x), "True where an element is not a number.")
PREDICATE(isinf, kAny | kStored, isinf(x), "True where an element is infinite.")
PREDICATE(isfinite, kAny | kStored, isfinite(x), "True where an element is neither infinite nor NaN.")
PREDICATE(isposinf, kRealAny, isinf(x) & (x > 0), "True where an element is plus infinity.")
PREDICATE(isneginf, kRealAny, isinf(x) & (x < 0), "True where an element is minus infinity.")
PREDICATE(signbit, kRealAny, signbit(x), "True where the sign bit is set, that of -0. included.")
PREDICATE(logical_not, kNumberBool | kNarrow | kInPlace, x == 0, "True where an element is zero.")
PREDICATE(isreal, kAny | kStored, isreal(x), "True where the imaginary part is zero.")

COMPARE(eq, kAny | kStored | kTakesNumber | kNarrow, a == b, "True where the two elements are equal.")
COMPARE(ne, kAny | kStored | kTakesNumber | kNarrow, a != b, "True where the two elements differ.")
COMPARE(lt, kRealBool | kTakesNumber | kNarrow, a < b, "True where the first is less than the second.")
COMPARE(le, kRealBool | kTakesNumber | kNarrow, a <= b, "True where the first is at most the second.")
COMPARE(gt, kRealBool | kTakesNumber | kNarrow, a > b, "True where the first is greater than the second.")
COMPARE(ge, kRealBool | kTakesNumber | kNarrow, a >= b, "True where the first is at least the second.")
COMPARE(logical_and, kNumberBool | kNarrow, (a != 0) & (b != 0), "True where both elements are nonzero.")
COMPARE(logical_or, kNumberBool | kNarrow, (a != 0) | (b != 0), "True where one of the elements is nonzero.")
COMPARE(logical_xor, kNumberBool | kNarrow, (a != 0) != (b != 0), "True where just one element is nonzero.")
COMPARE(isclose, kFloat | kNoOp, (a == b) | ((p2 != 0) & isnan(a) & isnan(b)) |
                             (isfinite(a - b) & (abs(a - b) <= abs(p1) + abs(p0 * b))),
        "True where abs(a - b) <= atol + rtol * abs(b); p0 rtol, p1 atol, p2 whether NaN equals NaN.")
#endif

#undef UNARY
#undef UNARY_P
#undef PREDICATE
#undef BINARY
#undef COMPARE
#undef TERNARY
#undef FAMILY
