// The gates of recurrent layers: one step, an item for each unit of each row. The program defines
// the type T. A number that ends in _at is where a step begins in a tensor.
#define UNIT                     \
  const i64 row = GLOBAL_ID / n; \
  if (row >= rows) return;       \
  const i64 j = GLOBAL_ID - row * n, at = row * n + j;

DEVICE T gate(T v) { return 1 / (1 + exp(-v)); }
DEVICE T given(int has, T v) { return has ? v : (T)0; }

// h goes to `out` as well, if that is wanted.
KERNEL lstm(GLOBAL T* gates, i64 gates_at, GLOBAL const T* bias, i64 bias_at, GLOBAL T* c, i64 c_at,
            GLOBAL T* before, i64 before_at, GLOBAL T* h, i64 h_at, GLOBAL T* out, i64 out_at,
            i64 rows, i64 n, i32 has_bias, i32 has_before, i32 has_out) {
  UNIT GLOBAL T* g = gates + gates_at + row * 4 * n + j;
  GLOBAL const T* b = bias + (has_bias ? bias_at + j : 0);
  T v[4];
  for (int k = 0; k < 4; k++) v[k] = g[k * n] + given(has_bias, b[has_bias ? k * n : 0]);
  const T enter = gate(v[0]), forget = gate(v[1]), cell = tanh(v[2]), leave = gate(v[3]);
  const T was = c[c_at + at], now = forget * was + enter * cell, up = leave * tanh(now);
  g[0] = enter;
  g[n] = forget;
  g[2 * n] = cell;
  g[3 * n] = leave;
  c[c_at + at] = now;
  h[h_at + at] = up;
  if (has_before) before[before_at + at] = was;
  if (has_out) out[out_at + at] = up;
}
// dy is added to dh, if there is one.
KERNEL lstm_grad(GLOBAL const T* gates, i64 gates_at, GLOBAL const T* before, i64 before_at,
                 GLOBAL const T* dh, i64 dh_at, GLOBAL const T* dy, i64 dy_at, GLOBAL T* dc,
                 i64 dc_at, GLOBAL T* dgates, i64 dgates_at, i64 rows, i64 n, i32 has_dy) {
  UNIT GLOBAL const T* g = gates + gates_at + row * 4 * n + j;
  GLOBAL T* dg = dgates + dgates_at + row * 4 * n + j;
  const T i = g[0], f = g[n], cell = g[2 * n], o = g[3 * n], was = before[before_at + at];
  const T up = dh[dh_at + at] + given(has_dy, dy[has_dy ? dy_at + at : 0]),
          top = tanh(f * was + i * cell);
  const T d = dc[dc_at + at] + up * o * (1 - top * top);
  dg[0] = d * cell * i * (1 - i);
  dg[n] = d * was * f * (1 - f);
  dg[2 * n] = d * i * (1 - cell * cell);
  dg[3 * n] = up * top * o * (1 - o);
  dc[dc_at + at] = d * f;
}

// `sums` is what the recurrence gives to the gates.
KERNEL gru(GLOBAL T* gates, i64 gates_at, GLOBAL const T* bias, i64 bias_at, GLOBAL const T* bias_h,
           i64 bias_h_at, GLOBAL const T* sums, GLOBAL T* h, i64 h_at, GLOBAL T* hidden,
           i64 hidden_at, GLOBAL T* out, i64 out_at, i64 rows, i64 n, i32 has_bias, i32 has_bias_h,
           i32 has_hidden) {
  UNIT GLOBAL T* g = gates + gates_at + row * 3 * n + j;
  GLOBAL const T* s = sums + row * 3 * n + j;
  T v[3], w[3];
  for (int k = 0; k < 3; k++) {
    v[k] = g[k * n] + given(has_bias, bias[has_bias ? bias_at + k * n + j : 0]);
    w[k] = s[k * n] + given(has_bias_h, bias_h[has_bias_h ? bias_h_at + k * n + j : 0]);
  }
  const T reset = gate(v[0] + w[0]), update = gate(v[1] + w[1]);
  const T fresh = tanh(v[2] + reset * w[2]), now = fresh + update * (h[h_at + at] - fresh);
  g[0] = reset;
  g[n] = update;
  g[2 * n] = fresh;
  if (has_hidden) hidden[hidden_at + at] = w[2];
  h[h_at + at] = now;
  out[out_at + at] = now;
}
KERNEL gru_grad(GLOBAL const T* gates, i64 gates_at, GLOBAL const T* before, i64 before_at,
                GLOBAL const T* hidden, i64 hidden_at, GLOBAL T* dh, i64 dh_at, GLOBAL const T* dy,
                i64 dy_at, GLOBAL T* dgates, i64 dgates_at, GLOBAL T* dsums, i64 dsums_at, i64 rows,
                i64 n) {
  UNIT GLOBAL const T* g = gates + gates_at + row * 3 * n + j;
  GLOBAL T* dg = dgates + dgates_at + row * 3 * n + j;
  GLOBAL T* ds = dsums + dsums_at + row * 3 * n + j;
  const T r = g[0], z = g[n], w = g[2 * n], d = dh[dh_at + at] + dy[dy_at + at];
  const T dw = d * (1 - z) * (1 - w * w), dr = dw * hidden[hidden_at + at] * r * (1 - r);
  const T dz = d * (before[before_at + at] - w) * z * (1 - z);
  dg[0] = ds[0] = dr;
  dg[n] = ds[n] = dz;
  dg[2 * n] = dw;
  ds[2 * n] = dw * r;
  dh[dh_at + at] = d * z;
}

// Plain cells, with tanh or, if `relu`, without what is below zero.
KERNEL plain(GLOBAL const T* gates, i64 gates_at, GLOBAL const T* bias, i64 bias_at, GLOBAL T* h,
             i64 h_at, GLOBAL T* out, i64 out_at, i64 rows, i64 n, i32 has_bias, i32 relu) {
  UNIT const T v = gates[gates_at + at] + given(has_bias, bias[has_bias ? bias_at + j : 0]);
  const T now = !relu ? tanh(v) : v <= 0 ? (T)0 : v;
  h[h_at + at] = now;
  out[out_at + at] = now;
}
KERNEL plain_grad(GLOBAL const T* y, i64 y_at, GLOBAL const T* dh, i64 dh_at, GLOBAL const T* dy,
                  i64 dy_at, GLOBAL T* dgates, i64 dgates_at, i64 rows, i64 n, i32 relu) {
  UNIT const T d = dh[dh_at + at] + dy[dy_at + at], v = y[y_at + at];
  dgates[dgates_at + at] = !relu ? d * (1 - v * v) : v <= 0 ? (T)0 : d;
}

// to += from, and a copy of the sum.
KERNEL add_rows(GLOBAL T* to, i64 to_at, GLOBAL const T* from, i64 from_at, GLOBAL T* out,
                i64 out_at, i64 rows, i64 n) {
  UNIT const T sum = to[to_at + at] + from[from_at + at];
  to[to_at + at] = sum;
  out[out_at + at] = sum;
}
