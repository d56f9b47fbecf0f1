// The kernels' own complex number: same layout as std::complex, plain formulas, and no inline
// library templates of which the linker could keep the AVX copy for everyone (Note [One namespace
// per level]).
#pragma once

namespace ember::cpu::EMBER_ISA {
namespace {

template <class R>
struct Complex {
  R re, im;
  Complex() = default;
  constexpr Complex(R real, R imag = 0) : re(real), im(imag) {}
  template <class S>
  explicit constexpr Complex(Complex<S> z) : re(R(z.re)), im(R(z.im)) {}

  friend Complex operator-(Complex a) { return {-a.re, -a.im}; }
  friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  friend Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  // Smith's method: scales by the larger part of b, so that nothing overflows on the way.
  friend Complex operator/(Complex a, Complex b) {
    bool by_real = __builtin_fabs(b.re) >= __builtin_fabs(b.im);
    R large = by_real ? b.re : b.im, small = by_real ? b.im : b.re;
    R ratio = large == 0 ? R(0) : small / large;
    R scale = R(1) / (large + small * ratio);
    R re = by_real ? a.re + a.im * ratio : a.re * ratio + a.im;
    R im = by_real ? a.im - a.re * ratio : a.im * ratio - a.re;
    return large == 0 ? Complex{a.re / large, a.im / large} : Complex{re * scale, im * scale};
  }
  friend bool operator==(Complex a, Complex b) { return (a.re == b.re) & (a.im == b.im); }
  friend bool operator!=(Complex a, Complex b) { return (a.re != b.re) | (a.im != b.im); }
};

using complex64 = Complex<float>;
using complex128 = Complex<double>;

template <class T>
constexpr bool is_complex_type = false;
template <class R>
constexpr bool is_complex_type<Complex<R>> = true;

template <class T>
struct RealOf {
  using type = T;
};
template <class R>
struct RealOf<Complex<R>> {
  using type = R;
};
template <class T>
using Real = typename RealOf<T>::type;

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
