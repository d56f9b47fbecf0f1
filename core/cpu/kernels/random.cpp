// Vector loops of the random number generator and its distributions.
//
// The numbers are to be torch's to the bit, so the rounding of every step matters: a fused
// multiply-add stands where torch's own kernel has one, and nowhere else. The polynomials are those
// of the Cephes library (logf, sinf, cosf).
#include "cpu/kernels/random_kernels.h"

#include <cmath>
#include <cstring>

#pragma GCC optimize("fp-contract=off")

namespace ember::cpu::EMBER_ISA {
namespace {

// --- the Mersenne twister ------------------------------------------------------------------------

constexpr int kWords = 624, kShift = 397;

inline uint32_t mix(uint32_t a, uint32_t b, uint32_t far) {
  uint32_t y = (a & 0x80000000u) | (b & 0x7fffffffu);
  return far ^ (y >> 1) ^ (-(b & 1u) & 0x9908b0dfu);
}

void temper(const uint32_t* state, uint32_t* output) {
  for (int i = 0; i < kWords; i++) {
    uint32_t y = state[i];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    output[i] = y ^ (y >> 18);
  }
}

void twist(uint32_t* s, uint32_t* output) {
  constexpr int kLap = kWords - kShift;  // each word depends on one this far back: room for vectors
  for (int i = 0; i < kLap; i++) s[i] = mix(s[i], s[i + 1], s[i + kShift]);
  for (int i = kLap; i < kWords - 1; i++) s[i] = mix(s[i], s[i + 1], s[i - kLap]);
  s[kWords - 1] = mix(s[kWords - 1], s[0], s[kShift - 1]);
  temper(s, output);
}

// --- uniform -------------------------------------------------------------------------------------

inline uint64_t bits53(const uint32_t* draws, int64_t i) {
  return (uint64_t(draws[2 * i] & 0x1fffffu) << 32) | draws[2 * i + 1];
}

// The 53 bits as a double, without the conversion from 64-bit integers that AVX2 lacks: both halves
// are placed in mantissas, and their sum is exact.
inline double to_double(uint64_t bits) {
  uint64_t high = (bits >> 32) | 0x4530000000000000u,
           low = (bits & 0xffffffffu) | 0x4330000000000000u;
  double h, l;
  std::memcpy(&h, &high, 8);
  std::memcpy(&l, &low, 8);
  return (h - 0x1.00000001p84) + l;
}

void uniform_float(const uint32_t* draws, float* out, int64_t n, float low, float high) {
  if (low == 0.0f && high == 1.0f) {
    for (int64_t i = 0; i < n; i++) out[i] = float(int32_t(draws[i] & 0xffffffu)) * 0x1p-24f;
    return;
  }
  float span = high - low;
  for (int64_t i = 0; i < n; i++) {
    float x = __builtin_fmaf(float(int32_t(draws[i] & 0xffffffu)) * 0x1p-24f, span, low);
    out[i] = x == high ? low : x;
  }
}

void uniform_double(const uint32_t* draws, double* out, int64_t n, double low, double high) {
  if (low == 0.0 && high == 1.0) {
    for (int64_t i = 0; i < n; i++) out[i] = to_double(bits53(draws, i)) * 0x1p-53;
    return;
  }
  double span = high - low;
  for (int64_t i = 0; i < n; i++) {
    double x = __builtin_fma(to_double(bits53(draws, i)) * 0x1p-53, span, low);
    out[i] = x == high ? low : x;
  }
}

// --- normal --------------------------------------------------------------------------------------

inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

inline float as_float(int32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
inline int32_t as_int(float value) {
  int32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

inline float log_positive(float value) {
  int32_t bits = as_int(value);
  float e = float((bits >> 23) - 127) + 1.0f;
  float x = as_float((bits & ~0x7f800000) | 0x3f000000);  // the mantissa, in [1/2, 1)
  bool low = x < 0.707106781186547524f;
  e -= low ? 1.0f : 0.0f;
  x = (x - 1.0f) + (low ? x : 0.0f);
  float z = x * x, y = 7.0376836292e-2f;
  y = fma(y, x, -1.1514610310e-1f);
  y = fma(y, x, 1.1676998740e-1f);
  y = fma(y, x, -1.2420140846e-1f);
  y = fma(y, x, 1.4249322787e-1f);
  y = fma(y, x, -1.6668057665e-1f);
  y = fma(y, x, 2.0000714765e-1f);
  y = fma(y, x, -2.4999993993e-1f);
  y = fma(y, x, 3.3333331174e-1f);
  y = fma(y * x, z, e * -2.12194440e-4f);
  y = fma(-z, 0.5f, y);
  return fma(e, 0.693359375f, x + y);
}

inline void sin_cos(float x, float& sine, float& cosine) {  // x >= 0
  int32_t octant = (int32_t(x * 1.27323954473516f) + 1) & ~1;
  float y = float(octant);
  x = fma(y, -0.78515625f, x);
  x = fma(y, -2.4187564849853515625e-4f, x);
  x = fma(y, -3.77489497744594108e-8f, x);
  float z = x * x;
  float c = fma(2.443315711809948e-5f, z, -1.388731625493765e-3f);
  c = fma(c, z, 4.166664568298827e-2f);
  c = fma(c * z, z, -(z * 0.5f)) + 1.0f;
  float s = fma(-1.9515295891e-4f, z, 8.3321608736e-3f);
  s = fma(s, z, -1.6666654611e-1f);
  s = fma(s * z, x, x);
  bool plain = (octant & 2) == 0;
  int32_t sine_sign = (octant & 4) << 29, cosine_sign = (~(octant - 2) & 4) << 29;
  sine = as_float(as_int(plain ? s : c) ^ sine_sign);
  cosine = as_float(as_int(plain ? c : s) ^ cosine_sign);
}

void normal_float(float* data, int64_t blocks, float mean, float std) {
  for (; blocks > 0; blocks--, data += 16) {
    float u[16];
    std::memcpy(u, data, sizeof u);
    for (int i = 0; i < 8; i++) {
      float radius = __builtin_sqrtf(-2.0f * log_positive(1.0f - u[i]));
      float sine, cosine;
      sin_cos(6.283185307179586f * u[i + 8], sine, cosine);
      data[i] = fma(radius * cosine, std, mean);
      data[i + 8] = fma(radius * sine, std, mean);
    }
  }
}

// --- others --------------------------------------------------------------------------------------

// u < p compares k * 2^-53 with p; so does the integer k with the ceiling of p * 2^53.
template <class T>
inline void bernoulli(const uint32_t* draws, T* out, int64_t n, double p, T value) {
  int64_t bound = p <= 0.0 ? 0 : p >= 1.0 ? int64_t(1) << 53 : int64_t(std::ceil(p * 0x1p53));
  for (int64_t i = 0; i < n; i++) out[i] = int64_t(bits53(draws, i)) < bound ? value : T(0);
}
void bernoulli_float(const uint32_t* draws, float* out, int64_t n, double p, float value) {
  bernoulli(draws, out, n, p, value);
}
void bernoulli_byte(const uint32_t* draws, uint8_t* out, int64_t n, double p, uint8_t value) {
  bernoulli(draws, out, n, p, value);
}

// Lemire, Kaser, Kurz, "Faster remainder by direct computation" (2019): two products for a
// division.
void modulo(const uint32_t* draws, int64_t* out, int64_t n, uint32_t width, int64_t low) {
  if ((width & (width - 1)) == 0) {
    for (int64_t i = 0; i < n; i++) out[i] = int64_t(draws[i] & (width - 1)) + low;
    return;
  }
  uint64_t inverse = ~uint64_t(0) / width + 1;
  for (int64_t i = 0; i < n; i++) {
    uint64_t fraction = inverse * draws[i];
    out[i] = int64_t(uint64_t((unsigned __int128)fraction * width >> 64)) + low;
  }
}

}  // namespace

const RandomKernels& random_kernels() {
  static const RandomKernels kernels{twist,        temper,          uniform_float,  uniform_double,
                                     normal_float, bernoulli_float, bernoulli_byte, modulo};
  return kernels;
}

}  // namespace ember::cpu::EMBER_ISA
