// The logarithm of floats where AVX-512 takes numbers apart by itself. With x = 2^k m and m in
// [3/4, 3/2), the upper four bits of m choose a c near 1 / m: log(x) = k log(2) - log(c) +
// log1p(m c - 1). Beside 1 the c is 1, so that nothing cancels. Half the work of log() in vmath.h,
// which is a polynomial over all of [sqrt(1/2), sqrt(2)).
#pragma once

#if defined(__AVX512F__)
#include <immintrin.h>

#include <cstdint>

namespace ember::cpu::EMBER_ISA {
namespace {

// Numbers c near the middle of each 1 / m, chosen such that -log(c) is a float within 4e-12.
alignas(64) constexpr float kInverse[16] = {
    1,
    0x1.d43636p-1f,
    0x1.badefep-1f,
    0x1.a42db0p-1f,
    0x1.8f9708p-1f,
    0x1.7cf1b6p-1f,
    0x1.6c1380p-1f,
    0x1.5caeb8p-1f,
    0x1.4e77aep+0f,
    0x1.41525ap+0f,
    0x1.352496p+0f,
    0x1.29e368p+0f,
    0x1.1f81eep+0f,
    0x1.1599e2p+0f,
    0x1.0cadccp+0f,
    1,
};
alignas(64) constexpr float kMinusLogInverse[16] = {
    0,
    0x1.6e32d6p-4f,
    0x1.290ddap-3f,
    0x1.94c6f2p-3f,
    0x1.fbab7ep-3f,
    0x1.2ec494p-2f,
    0x1.5d2504p-2f,
    0x1.8961fep-2f,
    -0x1.11c76ap-2f,
    -0x1.d1707ap-3f,
    -0x1.824e78p-3f,
    -0x1.365b36p-3f,
    -0x1.db6deep-4f,
    -0x1.4bceccp-4f,
    -0x1.8bff52p-5f,
    0,
};

inline __m512 log_vector(__m512 x, __m512 inverse, __m512 minus_log_inverse) {
  const __m512 m = _mm512_getmant_ps(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_src);
  const __m512 k = _mm512_sub_ps(_mm512_getexp_ps(x), _mm512_getexp_ps(m));
  const __m512i at = _mm512_srli_epi32(_mm512_castps_si512(m), 19);  // permutes read four bits
  const __m512 r = _mm512_fmsub_ps(m, _mm512_permutexvar_ps(at, inverse), _mm512_set1_ps(1.0f));
  __m512 p = _mm512_set1_ps(0.18837492f);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(-0.25005612f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.33334461f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(-0.5f));
  p = _mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r);
  const __m512 high = _mm512_fmadd_ps(k, _mm512_set1_ps(0.693147181f),
                                      _mm512_permutexvar_ps(at, minus_log_inverse));
  // What is not a positive finite number: NaN stays, 0 gives -inf, inf itself, negatives NaN.
  return _mm512_fixupimm_ps(_mm512_add_ps(high, p), x, _mm512_set1_epi32(0x03530422), 0);
}

inline void log_floats(const float* x, float* out, int64_t n) {
  const __m512 inverse = _mm512_load_ps(kInverse);
  const __m512 minus_log_inverse = _mm512_load_ps(kMinusLogInverse);
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const __m512 a = _mm512_loadu_ps(x + i), b = _mm512_loadu_ps(x + i + 16);
    _mm512_storeu_ps(out + i, log_vector(a, inverse, minus_log_inverse));
    _mm512_storeu_ps(out + i + 16, log_vector(b, inverse, minus_log_inverse));
  }
  for (; i < n; i += 16) {
    const __mmask16 some = n - i < 16 ? __mmask16((1 << (n - i)) - 1) : __mmask16(0xffff);
    const __m512 a = _mm512_mask_loadu_ps(_mm512_set1_ps(1.0f), some, x + i);
    _mm512_mask_storeu_ps(out + i, some, log_vector(a, inverse, minus_log_inverse));
  }
}

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
#endif
