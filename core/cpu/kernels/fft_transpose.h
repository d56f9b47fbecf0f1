// Transposition of W x W numbers in registers.
#pragma once

#include "cpu/kernels/fft_vector.h"

namespace ember::cpu::EMBER_ISA {
namespace {

template <class T>
struct MaskOf;
template <>
struct MaskOf<float> {
  typedef int32_t element;
  typedef int32_t type __attribute__((vector_size(kVectorBytes)));
};
template <>
struct MaskOf<double> {
  typedef int64_t element;
  typedef int64_t type __attribute__((vector_size(kVectorBytes)));
};

// A vector of indices; `index` says which of the 2 W numbers of two vectors lane l gets.
template <class T, class F>
EMBER_INLINE typename MaskOf<T>::type mask(F index) {
  typename MaskOf<T>::type m = {};
#pragma GCC unroll 16
  for (int l = 0; l < kLanes<T>; l++) m[l] = typename MaskOf<T>::element(index(l));
  return m;
}

// Exchanges, for S = 1, 2, 4 ..., the blocks of S x S that lie beside the diagonal.
template <class T, int S>
EMBER_INLINE void transpose(Vec<T>* v) {
  constexpr int W = kLanes<T>;
  if constexpr (S < W) {
    const auto low = mask<T>([](int l) EMBER_LAMBDA { return l & S ? W + l - S : l; });
    const auto high = mask<T>([](int l) EMBER_LAMBDA { return l & S ? W + l : l + S; });
#pragma GCC unroll 16
    for (int i = 0; i < W; i++)
      if (!(i & S)) {
        const Vec<T> a = v[i], b = v[i + S];
        v[i] = __builtin_shuffle(a, b, low);
        v[i + S] = __builtin_shuffle(a, b, high);
      }
    transpose<T, 2 * S>(v);
  }
}

template <class T>
EMBER_INLINE Vec<T> at(const T* p) {
  return *reinterpret_cast<const Vec<T>*>(p);
}
template <class T>
EMBER_INLINE void put(T* p, Vec<T> v) {
  *reinterpret_cast<Vec<T>*>(p) = v;
}

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
