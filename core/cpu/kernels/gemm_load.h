// Vectors from memory, float16 and bfloat16 widened to float in registers. Included by kernels
// alone.
#pragma once

#if defined(__x86_64__)
// GCC 12 takes what its own functions leave undefined on purpose for forgotten.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

#include <type_traits>

#include "cpu/kernels/gemm_tile.h"
#include "cpu/kernels/half.h"

namespace ember::cpu::EMBER_ISA {
namespace {

using Floats = Vector<float>;
using Words = Vector<uint32_t>;
typedef uint32_t Pairs __attribute__((vector_size(kVectorBytes), aligned(2), may_alias));
typedef uint16_t HalfWords __attribute__((vector_size(kVectorBytes / 2), aligned(2), may_alias));

template <class T>
inline T widened(T v) {
  return v;
}
inline float widened(Half v) { return to_float(v); }
inline float widened(BFloat16 v) { return to_float(v); }

template <class T>
inline Vector<T> load(const T* p) {
  return *(const Vector<T>*)p;
}

// GCC 12's __builtin_convertvector takes six instructions for the one here.
inline Words load_words(const void* p) {
#if defined(__AVX512F__)
  return (Words)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)p));
#elif defined(__AVX2__)
  return (Words)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)p));
#elif defined(__SSE4_1__)
  return (Words)_mm_cvtepu16_epi32(_mm_loadl_epi64((const __m128i*)p));
#else
  return __builtin_convertvector(*(const HalfWords*)p, Words);
#endif
}

inline Floats load(const BFloat16* p) { return (Floats)(load_words(p) << 16); }

// float16 in the lower halves of words.
inline Floats from_halves(Words h) {
  const Words m = h & 0x7fff;
  const Words subnormal = (Words)(__builtin_convertvector((Vector<int32_t>)m, Floats) * 0x1p-24f);
  const Words bits = m < 0x0400 ? subnormal : (m + 0x1c000) << 13;
  return (Floats)((h & 0x8000) << 16 | (m >= 0x7c00 ? m << 13 | 0x7f800000 : bits));
}

inline Floats load(const Half* p) {
#if defined(__AVX512F__)
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)p));
#elif defined(__F16C__)
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)p));
#else
  return from_halves(load_words(p));
#endif
}

// The first elements of pairs, and the second ones.
struct Two {
  Floats first, second;
};
template <class H>
inline Two split(Words v) {
  if constexpr (std::is_same_v<H, BFloat16>)
    return {(Floats)(v << 16), (Floats)(v & 0xffff0000)};
  else {
#if defined(__AVX512BW__)
    alignas(64) static constexpr uint16_t order[32] = {0,  2,  4,  6,  8,  10, 12, 14, 16, 18, 20,
                                                       22, 24, 26, 28, 30, 1,  3,  5,  7,  9,  11,
                                                       13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
    const __m512i y = _mm512_permutexvar_epi16(_mm512_load_si512(order), (__m512i)v);
    return {_mm512_cvtph_ps(_mm512_castsi512_si256(y)),
            _mm512_cvtph_ps(_mm512_extracti64x4_epi64(y, 1))};
#elif defined(__F16C__)
    const __m256i order = _mm256_setr_epi64x(0x0d0c090805040100, 0x0f0e0b0a07060302,
                                             0x0d0c090805040100, 0x0f0e0b0a07060302);
    const __m256i y = _mm256_permute4x64_epi64(_mm256_shuffle_epi8((__m256i)v, order), 0xd8);
    return {_mm256_cvtph_ps(_mm256_castsi256_si128(y)),
            _mm256_cvtph_ps(_mm256_extracti128_si256(y, 1))};
#else
    return {from_halves(v & 0xffff), from_halves(v >> 16)};
#endif
  }
}

// Two vectors from adjacent elements, in an order that is the type's own: bfloat16 is split, which
// is a single instruction each.
inline Two load_two(const BFloat16* p) { return split<BFloat16>(*(const Pairs*)p); }
inline Two load_two(const Half* p) { return {load(p), load(p + kLanes<float>)}; }

// The same for the last `n` elements of a row; zeros follow.
template <class H>
inline Two load_last(const H* p, int64_t n) {
  H rest[2 * kLanes<float>] = {};
#if defined(__AVX512BW__)
  _mm512_storeu_si512(rest, _mm512_maskz_loadu_epi16((__mmask32(1) << n) - 1, p));
#else
  for (int64_t i = 0; i < n; i++) rest[i] = p[i];
#endif
  return load_two(rest);
}

// Brings near what is read next. At the end of a row, which is often that of a page, the processor
// does not foresee where reading goes on.
inline void bring_row(const void* line) { __builtin_prefetch(line, 0, 2); }

// Rounds n floats to H.
inline void narrow(int64_t n, const float* x, BFloat16* y) {
  for (int64_t i = 0; i < n; i++) y[i] = to_bfloat(x[i]);
}
inline void narrow(int64_t n, const float* x, Half* y) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128((__m128i*)(y + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
#endif
  for (; i < n; i++) y[i] = to_half(x[i]);
}

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
