// Conversion between element types, contiguous. As C++ casts do, with the choices PyTorch makes
// where those are undefined; complex to real takes the real part.
#include <cstdint>
#include <type_traits>

#include "cpu/kernels/arithmetic.h"
#include "cpu/kernels/half.h"
#include "cpu/kernels/loops.h"
#include "cpu/kernels/table.h"
#include "tensor/float8.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace ember::cpu::EMBER_ISA {

namespace {

struct Bool {  // any byte but 0 is true
  uint8_t byte;
};

template <class To, class From>
EMBER_INLINE To convert(From v) {
  if constexpr (std::is_same_v<From, Bool>) {
    return convert<To>(uint8_t(v.byte != 0));
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return convert<To>(to_float(v));
  } else if constexpr (std::is_same_v<To, Bool>) {
    return Bool{uint8_t(v != From(0))};
  } else if constexpr (is_complex_type<To>) {
    if constexpr (is_complex_type<From>)
      return To(v);
    else
      return To(convert<Real<To>>(v));
  } else if constexpr (is_complex_type<From>) {
    return convert<To>(v.re);
  } else if constexpr (std::is_same_v<To, Half>) {
    return to_half(float(v));
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return to_bfloat(float(v));
  } else if constexpr (is_real<From> && is_int<To>) {
    if constexpr (std::is_same_v<To, uint64_t>)
      return v >= From(9223372036854775808.0) ? uint64_t(v) : uint64_t(int64_t(v));
    // Below 2^31 both ways agree, and above it the low 8 and 16 bits of a float are 0 or nearly so.
    else if constexpr (std::is_same_v<From, float> && sizeof(To) < 4)
      return To(int32_t(v));
    else if constexpr (std::is_same_v<To, int32_t>)
      return int32_t(v);
    else
      return To(int64_t(v));
  } else {
    return To(v);
  }
}

template <class From, class To>
void cast_kernel(const void* x, void* out, int64_t n) {
  const From* from = static_cast<const From*>(x);
  To* to = static_cast<To*>(out);
  if constexpr (is_complex_type<From> || is_complex_type<To>) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) to[i] = convert<To>(from[i]);
  } else {
    map1(from, to, n, [](From v) EMBER_LAMBDA { return convert<To>(v); });
  }
}

#ifdef __F16C__
// The machine converts float16 itself, but the compiler does not know how to ask in a loop.
constexpr int kHalves = 8;
EMBER_INLINE void halves_to_floats(const Half* from, float* to) {
  _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}
EMBER_INLINE void floats_to_halves(const float* from, Half* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT));
}
template <class From, class To, void (*step)(const From*, To*)>
void cast_halves(const void* x, void* out, int64_t n) {
  const From* from = static_cast<const From*>(x);
  To* to = static_cast<To*>(out);
  int64_t i = 0;
  for (; i + kHalves <= n; i += kHalves) step(from + i, to + i);
  if (i == n) return;
  From from_tail[kHalves] = {};
  To to_tail[kHalves];
  step(padded(from_tail, from + i, n - i), to_tail);
  padded(to + i, to_tail, n - i);
}
#endif

template <class From>
void add_from(Kernels& k, Column c) {
  Cast* to = k.cast[c];
  to[kColumnBool] = cast_kernel<From, Bool>;
  to[kColumnUInt8] = cast_kernel<From, uint8_t>;
  to[kColumnInt8] = cast_kernel<From, int8_t>;
  to[kColumnInt16] = cast_kernel<From, int16_t>;
  to[kColumnInt32] = cast_kernel<From, int32_t>;
  to[kColumnInt64] = cast_kernel<From, int64_t>;
  to[kColumnFloat16] = cast_kernel<From, Half>;
  to[kColumnBFloat16] = cast_kernel<From, BFloat16>;
  to[kColumnFloat32] = cast_kernel<From, float>;
  to[kColumnFloat64] = cast_kernel<From, double>;
  to[kColumnComplex64] = cast_kernel<From, complex64>;
  to[kColumnComplex128] = cast_kernel<From, complex128>;
  to[kColumnUInt16] = cast_kernel<From, uint16_t>;
  to[kColumnUInt32] = cast_kernel<From, uint32_t>;
  to[kColumnUInt64] = cast_kernel<From, uint64_t>;
}

// The other casts of these are in stored_casts.cpp.
template <class Format>
void add_float8(Kernels& k, Column c) {
  k.cast[c][kColumnFloat32] = [](const void* x, void* out, int64_t n) {
    const uint8_t* from = static_cast<const uint8_t*>(x);
    float* to = static_cast<float*>(out);
    for (int64_t i = 0; i < n; i++) to[i] = kFloat8Values<Format>.value[from[i]];
  };
  k.cast[kColumnFloat32][c] = [](const void* x, void* out, int64_t n) {
    map1(static_cast<const float*>(x), static_cast<uint8_t*>(out), n,
         [](float v) EMBER_LAMBDA { return float_to_float8<Format>(v); });
  };
}

}  // namespace

void add_cast(Kernels& k) {
  add_from<Bool>(k, kColumnBool);
  add_from<uint8_t>(k, kColumnUInt8);
  add_from<int8_t>(k, kColumnInt8);
  add_from<int16_t>(k, kColumnInt16);
  add_from<int32_t>(k, kColumnInt32);
  add_from<int64_t>(k, kColumnInt64);
  add_from<Half>(k, kColumnFloat16);
  add_from<BFloat16>(k, kColumnBFloat16);
  add_from<float>(k, kColumnFloat32);
  add_from<double>(k, kColumnFloat64);
  add_from<complex64>(k, kColumnComplex64);
  add_from<complex128>(k, kColumnComplex128);
  add_from<uint16_t>(k, kColumnUInt16);
  add_from<uint32_t>(k, kColumnUInt32);
  add_from<uint64_t>(k, kColumnUInt64);
  add_float8<E4M3fn>(k, kColumnFloat8_e4m3fn);
  add_float8<E5M2>(k, kColumnFloat8_e5m2);
  add_float8<E4M3fnuz>(k, kColumnFloat8_e4m3fnuz);
  add_float8<E5M2fnuz>(k, kColumnFloat8_e5m2fnuz);
  add_float8<E8M0fnu>(k, kColumnFloat8_e8m0fnu);
#ifdef __F16C__
  k.cast[kColumnFloat16][kColumnFloat32] = cast_halves<Half, float, halves_to_floats>;
  k.cast[kColumnFloat32][kColumnFloat16] = cast_halves<float, Half, floats_to_halves>;
#endif
}

}  // namespace ember::cpu::EMBER_ISA
