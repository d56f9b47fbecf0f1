// Vectors and complex vectors for the Fourier kernels.
#pragma once

#include "cpu/kernels/vector.h"

namespace ember::cpu::EMBER_ISA {
namespace {

template <class T>
using Vec = Vector<T>;

template <class T>
struct Complex {
  Vec<T> re, im;
  EMBER_INLINE Complex operator+(Complex o) const { return {re + o.re, im + o.im}; }
  EMBER_INLINE Complex operator-(Complex o) const { return {re - o.re, im - o.im}; }
  EMBER_INLINE Complex operator*(Complex o) const {
    return {re * o.re - im * o.im, re * o.im + im * o.re};
  }
  EMBER_INLINE Complex times(T wr, T wi) const { return {re * wr - im * wi, re * wi + im * wr}; }
  EMBER_INLINE Complex times_minus_i() const { return {im, -re}; }
};

// An element of a block; Swap exchanges real and imaginary parts.
template <bool Swap, class T>
EMBER_INLINE Complex<T> element(const Vec<T>* p, T) {
  return {p[Swap], p[!Swap]};
}
template <bool Swap, class T>
EMBER_INLINE void set_element(Vec<T>* p, Complex<T> v) {
  p[Swap] = v.re;
  p[!Swap] = v.im;
}

// A block of complex elements, (n, 2, W); `swap` exchanges real and imaginary parts.
template <class T>
struct Block {
  Vec<T>*re, *im;
  EMBER_INLINE Block(void* p, bool swap = false)
      : re(static_cast<Vec<T>*>(p) + swap), im(static_cast<Vec<T>*>(p) + !swap) {}
  EMBER_INLINE Block(const void* p, bool swap = false) : Block(const_cast<void*>(p), swap) {}
  EMBER_INLINE Complex<T> get(int64_t i) const { return {re[2 * i], im[2 * i]}; }
  EMBER_INLINE void set(int64_t i, Complex<T> v) const {
    re[2 * i] = v.re;
    im[2 * i] = v.im;
  }
};

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
