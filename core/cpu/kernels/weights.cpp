// Products with weights of 8 or 4 bits on one thread: read as they are, widened in registers and
// summed in float, so that memory is all that a few rows wait for.
#include "cpu/kernels/weight_kernels.h"

#include <cstring>

#include "cpu/kernels/gemm_load.h"

namespace ember::cpu::EMBER_ISA {
namespace {

constexpr int L = kLanes<float>;
static_assert(kWeightUnit % (2 * L) == 0);

// L integers of 8 bits as 32 bits.
using Ints = Vector<int32_t>;
inline Ints load_signed(const uint8_t* p) {
#if defined(__AVX512F__)
  return (Ints)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)p));
#elif defined(__AVX2__)
  return (Ints)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)p));
#elif defined(__SSE4_1__)
  return (Ints)_mm_cvtepi8_epi32(_mm_loadu_si32(p));
#else
  Ints v;
  for (int i = 0; i < L; i++) v[i] = int8_t(p[i]);
  return v;
#endif
}
inline Ints load_unsigned(const uint8_t* p) {
#if defined(__AVX512F__)
  return (Ints)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)p));
#elif defined(__AVX2__)
  return (Ints)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)p));
#elif defined(__SSE4_1__)
  return (Ints)_mm_cvtepu8_epi32(_mm_loadu_si32(p));
#else
  Ints v;
  for (int i = 0; i < L; i++) v[i] = p[i];
  return v;
#endif
}
inline Floats to_floats(Ints v) { return __builtin_convertvector(v, Floats); }

// How q lies in memory: step s has two vectors, of the columns at(s) and those kApart further on.
struct Bits8 {
  static constexpr int64_t kApart = L;
  static int64_t at(int64_t s) { return s * 2 * L; }
  static const uint8_t* place(const uint8_t* q, int64_t s) { return q + s * 2 * L; }
  static Two two(const uint8_t* q) {
    return {to_floats(load_signed(q)), to_floats(load_signed(q + L))};
  }
  // The last columns of a row, whose memory ends there.
  static Two two(const uint8_t* q, int64_t columns) {
    uint8_t rest[2 * L] = {};
    __builtin_memcpy(rest, q, std::size_t(columns));
    return two(rest);
  }
};
struct Bits4 {
  static constexpr int64_t kApart = kWeightUnit / 2, kSteps = kApart / L;
  static int64_t at(int64_t s) { return s / kSteps * kWeightUnit + s % kSteps * L; }
  static const uint8_t* place(const uint8_t* q, int64_t s) { return q + s * L; }
  static Two two(const uint8_t* q) {
    const Ints both = load_unsigned(q);
    return {to_floats(both & 15), to_floats(both >> 4)};
  }
  static Two two(const uint8_t* q, int64_t) { return two(q); }  // rows end with a unit
};

inline float sum_of(Floats v) {
  float sum = 0;
  for (int i = 0; i < L; i++) sum += v[i];
  return sum;
}

// R rows of weights by X rows of x.
template <class Bits, int R, int X>
void dots_of(const Weights& w, const float* x, int64_t x_row, const float* sums, float* y,
             int64_t y_row) {
  Floats total[R][X] = {};
  for (int64_t g = 0; g < w.groups; g++) {
    constexpr int kChains = R * X <= 8 ? 2 : 1;  // enough sums in flight
    Floats sum[R][X][kChains] = {};
    const int64_t begin = g * w.group, end = begin + w.group < w.k ? begin + w.group : w.k;
    auto step = [&](const Two* u, int64_t j) __attribute__((always_inline)) {
#pragma GCC unroll 4
      for (int i = 0; i < X; i++) {
        const float* from = x + i * x_row + j;
        const Floats first = load(from), second = load(from + Bits::kApart);
#pragma GCC unroll 4
        for (int r = 0; r < R; r++) {
          sum[r][i][0] += first * u[r].first;
          sum[r][i][kChains - 1] += second * u[r].second;
        }
      }
    };
    Two u[R];
    int64_t s = begin / (2 * L), last = end / (2 * L);
    for (; s < last; s++) {
#pragma GCC unroll 4
      for (int r = 0; r < R; r++) {
        const uint8_t* from = Bits::place(w.q + r * w.row, s);
        bring_row(from + R * w.row);
        u[r] = Bits::two(from);
      }
      step(u, Bits::at(s));
    }
    if (end > last * 2 * L) {
      for (int r = 0; r < R; r++)
        u[r] = Bits::two(Bits::place(w.q + r * w.row, s), end - last * 2 * L);
      step(u, Bits::at(s));
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) {
      const float scale = w.scales[r * w.groups + g];
#pragma GCC unroll 4
      for (int i = 0; i < X; i++)
        total[r][i] += (kChains == 2 ? sum[r][i][0] + sum[r][i][1] : sum[r][i][0]) * scale;
    }
  }
  for (int i = 0; i < X; i++)
    for (int r = 0; r < R; r++) {
      float out = sum_of(total[r][i]);
      if (w.offsets)
        for (int64_t g = 0; g < w.groups; g++)
          out += w.offsets[r * w.groups + g] * sums[i * w.groups + g];
      y[i * y_row + r] = out;
    }
}

#if defined(__AVX512F__)
constexpr int kAtOnce = 4;
#else
constexpr int kAtOnce = 2;
#endif

template <class Bits, int R>
void dots_by_few(const Weights& w, int64_t few, const float* x, int64_t x_row, const float* sums,
                 float* y, int64_t y_row) {
  int64_t i = 0;
  auto next = [&](auto dots, int64_t count) {
    dots(w, x + i * x_row, x_row, sums + i * w.groups, y + i * y_row, y_row);
    i += count;
  };
  while (i + kAtOnce <= few) next(dots_of<Bits, R, kAtOnce>, kAtOnce);
  while (i < few) next(dots_of<Bits, R, 1>, 1);
}

template <class Bits>
void dots(const Weights& w, int64_t rows, int64_t few, const float* x, int64_t x_row,
          const float* sums, float* y, int64_t y_row) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) dots_by_few<Bits, 4>(w.from(r), few, x, x_row, sums, y + r, y_row);
  for (; r < rows; r++) dots_by_few<Bits, 1>(w.from(r), few, x, x_row, sums, y + r, y_row);
}

template <class Bits>
void widen(const Weights& w, int64_t rows, float* out, int64_t out_row) {
  for (int64_t r = 0; r < rows; r++, out += out_row) {
    const Weights row = w.from(r);
    for (int64_t g = 0; g < w.groups; g++) {
      const float scale = row.scales[g], offset = row.offsets ? row.offsets[g] : 0;
      const int64_t begin = g * w.group, end = begin + w.group < w.k ? begin + w.group : w.k;
      int64_t s = begin / (2 * L), last = end / (2 * L);
      for (; s < last; s++) {
        const Two u = Bits::two(Bits::place(row.q, s));
        *(Floats*)(out + Bits::at(s)) = u.first * scale + offset;
        *(Floats*)(out + Bits::at(s) + Bits::kApart) = u.second * scale + offset;
      }
      for (int64_t j = last * 2 * L; j < end; j++)  // of 8 bits: others end with a unit
        out[j] = float(int8_t(row.q[j])) * scale + offset;
    }
  }
}

}  // namespace

const WeightTables& weight_kernels() {
  static constexpr WeightTables table{{dots<Bits8>, widen<Bits8>}, {dots<Bits4>, widen<Bits4>}};
  return table;
}

}  // namespace ember::cpu::EMBER_ISA
