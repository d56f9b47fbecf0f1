// See recurrent_kernels.h. Every element of a gate is read and written once.
#include "cpu/kernels/recurrent_kernels.h"

#include "cpu/kernels/loops.h"
#include "cpu/vmath.h"

namespace ember::cpu::EMBER_ISA {
namespace {

template <class T>
void lstm(int64_t rows, int64_t n, const T* bias, T* gates, T* c, T* before, T* h) {
  const T *bi = bias, *bf = bias + n, *bg = bias + 2 * n, *bo = bias + 3 * n;
  for (int64_t r = 0; r < rows; r++, gates += 4 * n, c += n, h += n) {
    T *i = gates, *f = gates + n, *g = gates + 2 * n, *o = gates + 3 * n;
    if (before) {
      __builtin_memcpy(before, c, uint64_t(n) * sizeof(T));
      before += n;
    }
#pragma omp simd
    for (int64_t j = 0; j < n; j++) {
      T enter = sigmoid(i[j] + bi[j]), forget = sigmoid(f[j] + bf[j]);
      T cell = tanh(g[j] + bg[j]), leave = sigmoid(o[j] + bo[j]);
      T now = forget * c[j] + enter * cell;
      i[j] = enter;
      f[j] = forget;
      g[j] = cell;
      o[j] = leave;
      c[j] = now;
      h[j] = leave * tanh(now);
    }
  }
}

template <class T>
void lstm_grad(int64_t rows, int64_t n, const T* gates, const T* before, const T* dh, T* dc,
               T* dgates) {
  for (int64_t r = 0; r < rows;
       r++, gates += 4 * n, dgates += 4 * n, before += n, dh += n, dc += n) {
    const T *i = gates, *f = gates + n, *g = gates + 2 * n, *o = gates + 3 * n;
    T *di = dgates, *df = dgates + n, *dg = dgates + 2 * n, *d_o = dgates + 3 * n;
#pragma omp simd
    for (int64_t j = 0; j < n; j++) {
      const T enter = i[j], forget = f[j], cell = g[j], leave = o[j], was = before[j];
      T top = tanh(forget * was + enter * cell);
      T d = dc[j] + dh[j] * leave * (1 - top * top);
      di[j] = d * cell * enter * (1 - enter);
      df[j] = d * was * forget * (1 - forget);
      dg[j] = d * enter * (1 - cell * cell);
      d_o[j] = dh[j] * top * leave * (1 - leave);
      dc[j] = d * forget;
    }
  }
}

template <class T>
void gru(int64_t rows, int64_t n, const T* bias, const T* bias_h, T* gates, const T* sums, T* h,
         T* hidden) {
  const T *br = bias, *bz = bias + n, *bw = bias + 2 * n;
  const T *cr = bias_h, *cz = bias_h + n, *cw = bias_h + 2 * n;
  for (int64_t row = 0; row < rows; row++, gates += 3 * n, sums += 3 * n, h += n) {
    T *r = gates, *z = gates + n, *w = gates + 2 * n;
    T* kept = hidden ? hidden + row * n : nullptr;
#pragma omp simd
    for (int64_t j = 0; j < n; j++) {
      T reset = sigmoid(r[j] + br[j] + sums[j] + cr[j]);
      T update = sigmoid(z[j] + bz[j] + sums[n + j] + cz[j]);
      T old = sums[2 * n + j] + cw[j], fresh = tanh(w[j] + bw[j] + reset * old);
      r[j] = reset;
      z[j] = update;
      w[j] = fresh;
      if (kept) kept[j] = old;
      h[j] = fresh + update * (h[j] - fresh);
    }
  }
}

template <class T>
void gru_grad(int64_t rows, int64_t n, const T* gates, const T* before, const T* hidden, T* dh,
              T* dgates, T* dsums) {
  for (int64_t row = 0; row < rows;
       row++, gates += 3 * n, before += n, hidden += n, dh += n, dgates += 3 * n, dsums += 3 * n) {
    const T *r = gates, *z = gates + n, *w = gates + 2 * n;
#pragma omp simd
    for (int64_t j = 0; j < n; j++) {
      const T reset = r[j], update = z[j], fresh = w[j], d = dh[j];
      T dw = d * (1 - update) * (1 - fresh * fresh);
      T dr = dw * hidden[j] * reset * (1 - reset);
      T dz = d * (before[j] - fresh) * update * (1 - update);
      dgates[j] = dsums[j] = dr;
      dgates[n + j] = dsums[n + j] = dz;
      dgates[2 * n + j] = dw;
      dsums[2 * n + j] = dw * reset;
      dh[j] = d * update;
    }
  }
}

template <class T>
void tanh_all(int64_t rows, int64_t n, const T* bias, const T* x, T* y) {
  for (int64_t r = 0; r < rows; r++, x += n, y += n)
    map2(x, bias, y, n, [](T v, T b) EMBER_LAMBDA { return tanh(v + b); });
}
template <class T>
void tanh_grad(int64_t n, const T* y, const T* g, T* dx) {
  map2(y, g, dx, n, [](T v, T d) EMBER_LAMBDA { return d * (1 - v * v); });
}
template <class T>
void relu_all(int64_t rows, int64_t n, const T* bias, const T* x, T* y) {
  for (int64_t r = 0; r < rows; r++, x += n, y += n)
    map2(x, bias, y, n, [](T v, T b) EMBER_LAMBDA { return v + b <= 0 ? T(0) : v + b; });
}
template <class T>
void relu_grad(int64_t n, const T* y, const T* g, T* dx) {
  map2(y, g, dx, n, [](T v, T d) EMBER_LAMBDA { return v <= 0 ? T(0) : d; });
}
template <class T>
void add_all(int64_t n, const T* x, T* y) {
  map2(x, static_cast<const T*>(y), y, n, [](T a, T b) EMBER_LAMBDA { return a + b; });
}

template <class T>
void sum_rows(int64_t rows, int64_t n, const T* x, T* y) {
  constexpr int W = 256 / sizeof(T);  // columns whose sums stay in registers
  int64_t j = 0;
  for (; j + W <= n; j += W) {
    T sum[W] = {};
    for (int64_t r = 0; r < rows; r++)
      for (int c = 0; c < W; c++) sum[c] += x[r * n + j + c];
    for (int c = 0; c < W; c++) y[j + c] += sum[c];
  }
  for (; j < n; j++) {
    T sum = 0;
    for (int64_t r = 0; r < rows; r++) sum += x[r * n + j];
    y[j] += sum;
  }
}

template <class T>
constexpr RecurrentLoops<T> loops{lstm<T>,     lstm_grad<T>, gru<T>,      gru_grad<T>,
                                  tanh_all<T>, tanh_grad<T>, relu_all<T>, relu_grad<T>,
                                  add_all<T>,  sum_rows<T>};

}  // namespace

const RecurrentTable& recurrent_table() {
  static constexpr RecurrentTable table{loops<float>, loops<double>};
  return table;
}

}  // namespace ember::cpu::EMBER_ISA
