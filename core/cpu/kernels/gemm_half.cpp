// Products of float16 and bfloat16 on one thread: read as they are, widened in registers or on the
// way into a block, and summed in float by the tiles of float32 (gemm_tile.h), or multiplied by
// pairs where the processor can (gemm_pairs.h). A few rows meet the large matrix where it lies, so
// that memory is all they wait for.
#include "cpu/kernels/gemm_blocks.h"
#include "cpu/kernels/gemm_kernels.h"
#include "cpu/kernels/gemm_pack.h"
#include "cpu/kernels/gemm_pairs.h"

namespace ember::cpu::EMBER_ISA {
namespace {

constexpr int L = kLanes<float>;
constexpr int64_t kMostRows = 2048;  // of C that wait, in float, for the next block of B

thread_local Workspace half_workspace;

template <class H>
void widen(int64_t n, const void* x, int64_t step, float* out) {
  const H* from = (const H*)x;
  int64_t i = 0;
  if (step == 1)
    for (; i + L <= n; i += L) *(Floats*)(out + i) = load(from + i);
  for (; i < n; i++) out[i] = to_float(from[i * step]);
}

template <class H>
void finish(int64_t n, float* sum, float alpha, float beta, void* to, int64_t step) {
  H* out = (H*)to;
  if (alpha != 1)
    for (int64_t i = 0; i < n; i++) sum[i] *= alpha;
  // In double: the last bit of the float may decide about that of the half.
  const auto add = [&](int64_t i, H c) {
    sum[i] = float(double(sum[i]) + double(beta) * double(to_float(c)));
  };
  if (beta != 0 && step == 1)
    for (int64_t i = 0; i < n; i++) add(i, out[i]);
  else if (beta != 0)
    for (int64_t i = 0; i < n; i++) add(i, out[i * step]);
  if (step == 1) return narrow(n, sum, out);
  for (int64_t i = 0; i < n; i++) narrow(1, sum + i, out + i * step);
}

// --- large products: a block of B, strips of A, as tiles read them ------------------------------

// Rows of A in a group: from each column of a transposed A a line of memory.
constexpr int64_t kHalfStrips = 32 / kRows, kHalfGroup = kHalfStrips * kRows;

// Columns 0 ... deep - 1 of up to kHalfGroup rows of A into strips as packed tiles read them.
template <class H>
void pack_strips(const H* a, int64_t a_row, int64_t a_col, int64_t rows, int64_t deep,
                 int64_t stride, float* out) {
  float column[kHalfGroup];
  for (int64_t p = 0; p < deep; p++) {
    widen<H>(rows, a + p * a_col, a_row, column);
    for (int64_t s = 0; s * kRows < rows; s++)
      __builtin_memcpy(out + s * stride + p * kRows, column + s * kRows, kRows * sizeof(float));
  }
}

// How the elements of H come to a tile: widened to floats.
template <class H>
struct Widened {
  using Element = H;
  static constexpr int64_t kStep = 1;  // elements along k in one step of a tile
  template <bool Packed>
  static void tile(int64_t rows, int64_t vectors, Tile<float>& t) {
    tiles<float, Packed>.run(rows, vectors, t);
  }
  static const float* in_place(const H*, int64_t, int64_t) { return nullptr; }
  static void row(int64_t n, const H* x, float* out) { widen<H>(n, x, 1, out); }
  static constexpr auto strips = pack_strips<H>;
  static constexpr auto block = pack_block<float, H>;
};

// The rows of A that are copied next, brought near a share at a time while tiles run.
template <class H>
struct Ahead {
  const H* a;
  int64_t row, lines;  // of a row
  int64_t count;       // of all rows
  void fetch(int64_t first, int64_t last) const {
    for (int64_t i = first; i < last; i++)
      __builtin_prefetch(a + i / lines * row + i % lines * 32, 0, 2);
  }
};

// One strip by all panels of a block of B, `steps` of its tiles deep; C is padded to whole vectors.
template <class Form, bool Packed>
void strip_by_block(const Panels<float>& panels, int64_t rows, const float* a, int64_t a_row,
                    const float* b, int64_t steps, float* c, int64_t c_row, float beta,
                    const Ahead<typename Form::Element>& ahead) {
  Tile<float> t{steps, a, a_row, nullptr, 0, nullptr, c_row, 1, beta};
  for (int64_t at = 0; at < panels.count; at++) {
    const int64_t j = panels.start(at);
    t.b = b + j * steps;
    t.b_row = panels.stride(at);
    t.c = c + j;
    ahead.fetch(at * ahead.count / panels.count, (at + 1) * ahead.count / panels.count);
    Form::template tile<Packed>(rows, (panels.width(at) + L - 1) / L, t);
  }
}

template <class Form>
void gemm(const HalfTask& task) {
  using H = typename Form::Element;
  constexpr int64_t kStep = Form::kStep;
  const H *a = (const H*)task.a, *b = (const H*)task.b;
  H* c = (H*)task.c;
  const int64_t m = task.m, n = task.n, k = task.k, steps_of_k = (k + kStep - 1) / kStep;
  const int64_t depth = even_depth(steps_of_k), widest = block_width<float>(steps_of_k);
  const int64_t width = widest > n ? n : widest, padded = Panels<float>(width).padded() + 2 * L;
  const bool once = depth >= steps_of_k, by_rows = task.a_col == 1 || k == 1;
  const int64_t stride = strip_stride<float>((depth + L - 1) / L * L);
  const int64_t a_row = (depth + L - 1) / L * L + L;
  // Of a product in one block of B, C is finished strip by strip.
  const int64_t chunk = once ? m : m < kMostRows ? m : kMostRows;
  const int64_t c_size = (once ? kRows : chunk) * padded, b_size = depth * padded;
  const int64_t a_size =
      kRows * a_row > kHalfStrips * stride || by_rows ? kRows * a_row : kHalfStrips * stride;
  float* block = (float*)half_workspace.get(size_t(a_size + b_size + c_size) * sizeof(float));
  float *strips = block + b_size, *sums = strips + a_size;
  for (int64_t i0 = 0; i0 < m; i0 += chunk)
    for (int64_t j0 = 0; j0 < n; j0 += width) {
      const int64_t bottom = i0 + chunk < m ? i0 + chunk : m;
      const Panels<float> panels(n - j0 < width ? n - j0 : width);
      for (int64_t p0 = 0; p0 < k; p0 += depth * kStep) {
        const int64_t deep = k - p0 < depth * kStep ? k - p0 : depth * kStep;
        const int64_t steps = (deep + kStep - 1) / kStep;
        Form::block(b + p0 * task.b_row + j0 * task.b_col, task.b_row, task.b_col, deep,
                    panels.columns, block);
        for (int64_t i = i0; i < bottom; i += kRows) {
          const int64_t rows = bottom - i < kRows ? bottom - i : kRows;
          const H* from = a + i * task.a_row + p0 * task.a_col;
          float* to = sums + (once ? 0 : i - i0) * padded;
          const float beta = p0 == 0 ? 0 : 1;
          const int64_t below = bottom - i - rows;
          Ahead<H> ahead{from + rows * task.a_row, task.a_row, (deep + 31) / 32, 0};
          if (by_rows) {
            const float* strip = Form::in_place(from, task.a_row, deep);
            const int64_t strip_row = strip ? task.a_row / kStep : a_row;
            for (int64_t r = 0; !strip && r < rows; r++)
              Form::row(deep, from + r * task.a_row, strips + r * a_row);
            ahead.count = ahead.lines * (below < kRows ? below : kRows);
            strip_by_block<Form, false>(panels, rows, strip ? strip : strips, strip_row, block,
                                        steps, to, padded, beta, ahead);
          } else {
            const int64_t in_group = (i - i0) / kRows % kHalfStrips;
            const int64_t group = bottom - i < kHalfGroup ? bottom - i : kHalfGroup;
            if (in_group == 0)
              Form::strips(from, task.a_row, task.a_col, group, deep, stride, strips);
            // The next group's columns, a quarter of them with each strip.
            if (below > 0 && group == kHalfGroup) {
              const int64_t first = in_group * deep / kHalfStrips;
              ahead = {
                  a + (i - in_group * kRows + kHalfGroup) * task.a_row + (p0 + first) * task.a_col,
                  task.a_col, 1, (in_group + 1) * deep / kHalfStrips - first};
            }
            strip_by_block<Form, true>(panels, rows, strips + in_group * stride, 0, block, steps,
                                       to, padded, beta, ahead);
          }
          if (p0 + deep < k) continue;
          for (int64_t r = 0; r < rows; r++)
            finish<H>(panels.columns, to + r * padded, task.alpha, task.beta,
                      c + (i + r) * task.c_row + j0 * task.c_col, task.c_col);
        }
      }
    }
}

// --- a few rows ---------------------------------------------------------------------------------

// Adds up the lanes of L vectors at once; out[i] is the sum of v[i]. Each round halves the number.
inline Floats sums_of(Floats* v) {
  constexpr auto order = std::make_integer_sequence<int, L>{};
#pragma GCC unroll 4
  for (int half = L / 2; half > 0; half /= 2)
#pragma GCC unroll 16
    for (int i = 0; i < half; i++)
      v[i] = interleave<float, false>(v[i], v[i + half], order) +
             interleave<float, true>(v[i], v[i + half], order);
  return v[0];
}

// The sums over the lanes of R * X vectors, to X rows of y.
template <int R, int X>
inline void store_sums(const Floats* parts, float* y, int64_t y_row) {
  constexpr int kCount = R * X;
#pragma GCC unroll 4
  for (int g = 0; g < kCount; g += L) {
    Floats all[L] = {};
#pragma GCC unroll 16
    for (int i = 0; i < L; i++)
      if (g + i < kCount) all[i] = parts[g + i];
    const Floats total = sums_of(all);
#pragma GCC unroll 16
    for (int i = 0; i < L; i++)
      if (g + i < kCount) y[(g + i) / R * y_row + (g + i) % R] = total[i];
  }
}

// R rows of W by X rows of x.
template <class H, int R, int X>
void dots_of(int64_t k, const H* w, int64_t w_row, const float* x, int64_t x_row, float* y,
             int64_t y_row) {
  Floats sum[R][X][2] = {};
  auto step = [&](const Two* u, int64_t j) __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int i = 0; i < X; i++) {
      const Floats first = load(x + i * x_row + j), second = load(x + i * x_row + j + L);
#pragma GCC unroll 4
      for (int r = 0; r < R; r++) {
        constexpr int other = R * X <= 8 ? 1 : 0;  // enough sums in flight as it is
        sum[r][i][0] += first * u[r].first;
        sum[r][i][other] += second * u[r].second;
      }
    }
  };
  Two u[R];
  int64_t j = 0;
  for (; j + 2 * L <= k; j += 2 * L) {
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) {
      bring_row(w + (R + r) * w_row + j);
      u[r] = load_two(w + r * w_row + j);
    }
    step(u, j);
  }
  if (j < k) {
    for (int r = 0; r < R; r++) u[r] = load_last(w + r * w_row + j, k - j);
    step(u, j);
  }
  Floats parts[R * X];
#pragma GCC unroll 16
  for (int i = 0; i < R * X; i++) parts[i] = sum[i % R][i / R][0] + sum[i % R][i / R][1];
  store_sums<R, X>(parts, y, y_row);
}

#if defined(__AVX512F__)
constexpr int kFewAtOnce = 4;
#else
constexpr int kFewAtOnce = 2;
#endif

// Of::dots<R, X>: dots_of for the elements and the processor.
template <class Of, int R>
void dots_by_few(int64_t few, int64_t k, const typename Of::Element* w, int64_t w_row,
                 const float* x, int64_t x_row, float* y, int64_t y_row) {
  int64_t i = 0;
  for (; i + kFewAtOnce <= few; i += kFewAtOnce)
    Of::template dots<R, kFewAtOnce>(k, w, w_row, x + i * x_row, x_row, y + i * y_row, y_row);
  for (; i + 2 <= few; i += 2)
    Of::template dots<R, 2>(k, w, w_row, x + i * x_row, x_row, y + i * y_row, y_row);
  if (i < few) Of::template dots<R, 1>(k, w, w_row, x + i * x_row, x_row, y + i * y_row, y_row);
}

template <class Of>
void dots(int64_t rows, int64_t few, int64_t k, const void* w, int64_t w_row, const float* x,
          int64_t x_row, float* y, int64_t y_row) {
  const auto* from = (const typename Of::Element*)w;
  int64_t r = 0;
  if constexpr (Of::kMore != 0)
    for (; few == Of::kMore && r + 2 <= rows; r += 2)
      Of::template dots<2, Of::kMore>(k, from + r * w_row, w_row, x, x_row, y + r, y_row);
  for (; r + 4 <= rows; r += 4)
    dots_by_few<Of, 4>(few, k, from + r * w_row, w_row, x, x_row, y + r, y_row);
  for (; r < rows; r++) dots_by_few<Of, 1>(few, k, from + r * w_row, w_row, x, x_row, y + r, y_row);
}

template <class H>
struct WidenedDots {
  using Element = H;
  static constexpr int kMore = 0;
  template <int R, int X>
  static constexpr auto dots = dots_of<H, R, X>;
};

#ifdef EMBER_HAVE_PAIRS
struct PairDots {
  using Element = BFloat16;
  static constexpr int kMore = 8;  // rows of x that meet two rows of W in one pass
  template <int R, int X>
  static void dots(int64_t k, const BFloat16* w, int64_t w_row, const float* x, int64_t x_row,
                   float* y, int64_t y_row) {
    Floats sums[R * X];
    pair_dots<R, X>(k, w, w_row, x, x_row, sums);
    store_sums<R, X>(sums, y, y_row);
  }
};
#endif

template <class H>
void pair(int64_t k, const void* x, int64_t step, float* out) {
  const H* from = (const H*)x;
  for (int64_t j = 0; j < k; j += 2 * L) {
    H piece[2 * L];
    const int64_t n = k - j < 2 * L ? k - j : 2 * L;
    if (step != 1)
      for (int64_t i = 0; i < n; i++) piece[i] = from[(j + i) * step];
    const H* at = step == 1 ? from + j : piece;
    const Two two = n == 2 * L ? load_two(at) : load_last(at, n);
    *(Floats*)(out + j) = two.first;
    *(Floats*)(out + j + L) = two.second;
  }
}

// y (+)= R rows of W times their factors.
template <class H, int R>
void add_rows(int64_t n, const H* w, int64_t w_row, const float* f, float* y, bool first) {
  int64_t j = 0;
  for (; j + L <= n; j += L) {
    Floats s = first ? Floats{} : load(y + j);
#pragma GCC unroll 8
    for (int r = 0; r < R; r++) s += f[r] * load(w + r * w_row + j);
    *(Floats*)(y + j) = s;
  }
  for (; j < n; j++) {
    float s = first ? 0 : y[j];
    for (int r = 0; r < R; r++) s += f[r] * to_float(w[r * w_row + j]);
    y[j] = s;
  }
}

// M rows of x by k rows of W, N vectors wide; y (+)= that.
template <class S, int M, int N>
void sums_tile(int64_t k, const S* w, int64_t w_row, const float* x, int64_t x_row, float* y,
               int64_t y_row, bool first) {
  Floats sum[M][N] = {};
  for (int64_t p = 0; p < k; p++) {
    Floats u[N];
#pragma GCC unroll 4
    for (int j = 0; j < N; j++) u[j] = load(w + p * w_row + j * L);
#pragma GCC unroll 8
    for (int i = 0; i < M; i++)
#pragma GCC unroll 4
      for (int j = 0; j < N; j++) sum[i][j] += x[i * x_row + p] * u[j];
  }
#pragma GCC unroll 8
  for (int i = 0; i < M; i++)
#pragma GCC unroll 4
    for (int j = 0; j < N; j++) {
      Floats* to = (Floats*)(y + i * y_row + j * L);
      *to = first ? sum[i][j] : *to + sum[i][j];
    }
}

template <class S, int N>
struct SumsTiles {
  decltype(&sums_tile<S, 1, N>) at[kRows];
  template <int... I>
  constexpr explicit SumsTiles(std::integer_sequence<int, I...>) : at{sums_tile<S, I + 1, N>...} {}
};
template <class S, int N>
constexpr SumsTiles<S, N> sums_tiles{std::make_integer_sequence<int, kRows>{}};

// Up to kRows rows of x by `deep` rows of W.
template <class H>
void sums_of_rows(int64_t deep, int64_t few, int64_t n, const H* w, int64_t w_row, const float* x,
                  int64_t x_row, float* y, int64_t y_row, bool first, const float* rest) {
  int64_t j = 0;
  for (; j + kVectors * L <= n; j += kVectors * L)
    sums_tiles<H, kVectors>.at[few - 1](deep, w + j, w_row, x, x_row, y + j, y_row, first);
  for (; j + L <= n; j += L)
    sums_tiles<H, 1>.at[few - 1](deep, w + j, w_row, x, x_row, y + j, y_row, first);
  if (j == n) return;
  alignas(64) float sum[kRows * L];
  sums_tiles<float, 1>.at[few - 1](deep, rest, L, x, x_row, sum, L, true);
  for (int64_t i = 0; i < few; i++)
    for (int64_t q = j; q < n; q++)
      y[i * y_row + q] = (first ? 0 : y[i * y_row + q]) + sum[i * L + q - j];
}

template <class H>
void sums(int64_t k, int64_t few, int64_t n, const void* w, int64_t w_row, const float* x,
          int64_t x_row, float* y, int64_t y_row) {
  const H* from = (const H*)w;
  if (few == 1) {
    constexpr int64_t kPiece = 4096;  // of y, which stays in L1
    for (int64_t j = 0; j < n; j += kPiece) {
      const int64_t columns = n - j < kPiece ? n - j : kPiece;
      int64_t p = 0;
      for (; p + 8 <= k; p += 8)
        add_rows<H, 8>(columns, from + p * w_row + j, w_row, x + p, y + j, p == 0);
      for (; p < k; p++) add_rows<H, 1>(columns, from + p * w_row + j, w_row, x + p, y + j, p == 0);
    }
    return;
  }
  constexpr int64_t kDown = 32;  // rows of W visited at once, each on a page of its own
  alignas(64) float rest[kDown * L];
  for (int64_t p = 0; p < k; p += kDown) {
    const int64_t deep = k - p < kDown ? k - p : kDown;
    if (n % L) pack_b(from + p * w_row + n / L * L, w_row, 1, deep, n % L, L, rest);
    for (int64_t i = 0; i < few; i += kRows)
      sums_of_rows(deep, few - i < kRows ? few - i : kRows, n, from + p * w_row, w_row,
                   x + i * x_row + p, x_row, y + i * y_row, y_row, p == 0, rest);
  }
}

template <class H>
constexpr HalfKernels kernels_of{
    16,      gemm<Widened<H>>, block_width<float>, dots<WidenedDots<H>>,
    sums<H>, pair<H>,          widen<H>,           finish<H>};

#ifdef EMBER_HAVE_PAIRS
int64_t pair_block_width(int64_t k) { return block_width<float>((k + 1) / 2); }

constexpr HalfKernels kernels_of_pairs{
    8,        gemm<Paired>,    pair_block_width, dots<PairDots>, sums<BFloat16>,
    pair_row, widen<BFloat16>, finish<BFloat16>};
#endif

}  // namespace

static_assert(HalfKernels::kUnit % (2 * L) == 0);

const GemmHalves& gemm_halves() {
#ifdef EMBER_HAVE_PAIRS
  static constexpr GemmHalves table{kernels_of<Half>, kernels_of<BFloat16>, &kernels_of_pairs};
#else
  static constexpr GemmHalves table{kernels_of<Half>, kernels_of<BFloat16>, nullptr};
#endif
  return table;
}

}  // namespace ember::cpu::EMBER_ISA
