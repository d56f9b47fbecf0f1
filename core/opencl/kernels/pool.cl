// Pooling over windows of three axes, and resampling along one. Windows slide, or, where the stride
// is 0, are adaptive. The program defines ACC, M, LOAD, STORE, LOWEST, RUN and INT,
// the type of coordinates.
typedef struct {
  i64 n, channels, last;  // what the items make; whether neighbours are channels
  i64 in[3], out[3], taps[3], stride[3], pad[3], gap[3], pads[3], divisor;
  i64 x_at, x_n, x_c, x_axis[3];
  i64 y_at, y_n, y_c, y_axis[3];
  i64 i_at, i_n, i_c, i_axis[3];
} Pool;

// Item i of (n, c, sizes) in the order of memory.
DEVICE void pool_place(const Pool* s, const i64* size, INT i, INT* n, INT* c, INT* k) {
  const INT channels = (INT)s->channels;
  INT next;
  if (s->last) {
    next = i / channels;
    *c = i - next * channels;
    i = next;
  }
  for (int d = 2; d >= 0; d--) {
    const INT many = (INT)size[d];
    next = many == 1 ? i : i / many;
    k[d] = i - next * many;
    i = next;
  }
  if (!s->last) {
    next = i / channels;
    *c = i - next * channels;
    i = next;
  }
  *n = i;
}

// The elements of window i of an axis, and what it counts for in a mean.
DEVICE void window(const Pool* s, int d, INT i, INT* first, INT* last, INT* count) {
  const INT size = (INT)s->in[d], many = (INT)s->out[d], stride = (INT)s->stride[d];
  if (stride == 0) {
    *first = i * size / many;
    *last = ((i + 1) * size + many - 1) / many;
    *count = *last - *first;
    return;
  }
  const INT gap = (INT)s->gap[d], pad = (INT)s->pad[d];
  const INT start = i * stride - pad, end = start + gap * ((INT)s->taps[d] - 1) + 1;
  INT low = start;
  if (start < 0) low = gap == 1 ? 0 : start + (-start + gap - 1) / gap * gap;
  const INT high = end < size ? end : size, padded = end < size + pad ? end : size + pad;
  *count = s->pads[d] ? padded - start : high - low;
  if (*count < 1) *count = 1;
  *first = low < size ? low : size - 1;
  *last = low < high ? high : *first;
}

#ifdef POOL
// An item makes RUN neighbours.
#define EACH_ITEM                                                                             \
  for (INT item = (INT)GLOBAL_ID * RUN, end_ = item + RUN < (INT)s.n ? item + RUN : (INT)s.n; \
       item < end_; item++)
KERNEL pool_max(GLOBAL M* y, GLOBAL i64* indices, GLOBAL const M* x, Pool s, i32 wants) {
  EACH_ITEM {
    INT n, c, o[3], first[3], last[3], none;
    pool_place(&s, s.out, item, &n, &c, o);
    for (int d = 0; d < 3; d++) window(&s, d, o[d], first + d, last + d, &none);
    i64 base = s.x_at + n * s.x_n + c * s.x_c;
    i64 at = (first[0] * s.in[1] + first[1]) * s.in[2] + first[2];
    ACC best = LOWEST;
    for (INT i = first[0]; i < last[0]; i += (INT)s.gap[0])
      for (INT j = first[1]; j < last[1]; j += (INT)s.gap[1])
        for (INT k = first[2]; k < last[2]; k += (INT)s.gap[2]) {
          ACC v = (ACC)LOAD(x, base + i * s.x_axis[0] + j * s.x_axis[1] + k * s.x_axis[2]);
          if (v > best || v != v) best = v, at = (i * s.in[1] + j) * s.in[2] + k;
        }
    i64 to = s.y_at + n * s.y_n + c * s.y_c;
    for (int d = 0; d < 3; d++) to += o[d] * s.y_axis[d];
    STORE(y, to, best);
    if (wants) {
      to = s.i_at + n * s.i_n + c * s.i_c;
      for (int d = 0; d < 3; d++) to += o[d] * s.i_axis[d];
      indices[to] = at;
    }
  }
}
// x is the gradient of the input, filled with zeros; y that of the maxima. An item takes a plane:
// no two of them ever write one element, and sums have one order.
KERNEL pool_max_grad(GLOBAL ACC* x, GLOBAL const M* y, GLOBAL const i64* indices, Pool s) {
  if (GLOBAL_ID >= s.n) return;
  i64 n = GLOBAL_ID / s.channels, c = GLOBAL_ID - n * s.channels;
  i64 base = s.x_at + n * s.x_n + c * s.x_c, bound = s.in[0] * s.in[1] * s.in[2];
  for (i64 i = 0; i < s.out[0]; i++)
    for (i64 j = 0; j < s.out[1]; j++)
      for (i64 k = 0; k < s.out[2]; k++) {
        i64 p = indices[s.i_at + n * s.i_n + c * s.i_c + i * s.i_axis[0] + j * s.i_axis[1] +
                        k * s.i_axis[2]];
        if (p < 0 || p >= bound) continue;
        i64 lines = p / s.in[2], k2 = p - lines * s.in[2];
        i64 k0 = lines / s.in[1], k1 = lines - k0 * s.in[1];
        x[base + k0 * s.x_axis[0] + k1 * s.x_axis[1] + k2 * s.x_axis[2]] +=
            (ACC)LOAD(y, s.y_at + n * s.y_n + c * s.y_c + i * s.y_axis[0] + j * s.y_axis[1] +
                             k * s.y_axis[2]);
      }
}
KERNEL pool_mean(GLOBAL M* y, GLOBAL const M* x, Pool s) {
  EACH_ITEM {
    INT n, c, o[3], first[3], last[3], count[3];
    pool_place(&s, s.out, item, &n, &c, o);
    for (int d = 0; d < 3; d++) window(&s, d, o[d], first + d, last + d, count + d);
    i64 base = s.x_at + n * s.x_n + c * s.x_c;
    ACC sum = 0;
    for (INT i = first[0]; i < last[0]; i += (INT)s.gap[0])
      for (INT j = first[1]; j < last[1]; j += (INT)s.gap[1])
        for (INT k = first[2]; k < last[2]; k += (INT)s.gap[2])
          sum += (ACC)LOAD(x, base + i * s.x_axis[0] + j * s.x_axis[1] + k * s.x_axis[2]);
    i64 to = s.y_at + n * s.y_n + c * s.y_c;
    for (int d = 0; d < 3; d++) to += o[d] * s.y_axis[d];
    sum = sum / (ACC)(s.divisor ? s.divisor : (i64)count[0] * count[1] * count[2]);
    STORE(y, to, sum);
  }
}
// Every element of x adds up the windows that hold it.
#define MISSES(d) (s.gap[d] > 1 && (q[d] - first) % (INT)s.gap[d])
KERNEL pool_mean_grad(GLOBAL M* x, GLOBAL const M* y, Pool s) {
  EACH_ITEM {
    INT n, c, q[3], low[3], high[3];
    pool_place(&s, s.in, item, &n, &c, q);
    for (int d = 0; d < 3; d++) {
      const INT size = (INT)s.in[d], many = (INT)s.out[d], stride = (INT)s.stride[d];
      if (many == 1) {
        low[d] = 0;
        high[d] = 1;
      } else if (stride == 0) {
        low[d] = q[d] * many / size;
        high[d] = ((q[d] + 1) * many + size - 1) / size;
      } else {
        const INT t = q[d] + (INT)s.pad[d], reach = t - (INT)s.gap[d] * ((INT)s.taps[d] - 1);
        low[d] = reach > 0 ? (reach + stride - 1) / stride : 0;
        high[d] = t / stride + 1;
      }
      if (high[d] > many) high[d] = many;
    }
    i64 base = s.y_at + n * s.y_n + c * s.y_c;
    INT first, last, counts[3];
    ACC sum = 0;
    for (INT i = low[0]; i < high[0]; i++) {
      window(&s, 0, i, &first, &last, counts);
      if (q[0] < first || q[0] >= last || MISSES(0)) continue;
      for (INT j = low[1]; j < high[1]; j++) {
        window(&s, 1, j, &first, &last, counts + 1);
        if (q[1] < first || q[1] >= last || MISSES(1)) continue;
        for (INT k = low[2]; k < high[2]; k++) {
          window(&s, 2, k, &first, &last, counts + 2);
          if (q[2] < first || q[2] >= last || MISSES(2)) continue;
          ACC g = (ACC)LOAD(y, base + i * s.y_axis[0] + j * s.y_axis[1] + k * s.y_axis[2]);
          sum += g / (ACC)(s.divisor ? s.divisor : (i64)counts[0] * counts[1] * counts[2]);
        }
      }
    }
    i64 to = s.x_at + n * s.x_n + c * s.x_c;
    for (int d = 0; d < 3; d++) to += q[d] * s.x_axis[d];
    STORE(x, to, sum);
  }
}
#endif

#ifdef BLEND
// out[i] is the sum of weights[e] * x[places[e]] for e from starts[i] to starts[i + 1], along a
// line; operands 0 and 1 of the geometry are out and x without it.
KERNEL blend(GLOBAL M* out, GLOBAL const M* x, GLOBAL const i64* starts, GLOBAL const i64* places,
             GLOBAL const ACC* weights, Geometry g, i64 size, i64 out_step, i64 x_step, i32 inner) {
  i64 i, line;
  if (inner) {  // neighbours lie along the line
    line = GLOBAL_ID / size;
    i = GLOBAL_ID - line * size;
  } else {
    i = GLOBAL_ID / g.n;
    line = GLOBAL_ID - i * g.n;
  }
  if (line >= g.n || i >= size) return;
  i64 at0 = g.offset[0] + i * out_step, at1 = g.offset[1];
  for (int d = 0; d < g.ndim; d++) {
    i64 next = d + 1 < g.ndim ? line / g.size[d] : 0, j = line - next * g.size[d];
    line = next;
    at0 += j * g.stride[0][d];
    at1 += j * g.stride[1][d];
  }
  ACC sum = 0;
  for (i64 e = starts[i]; e < starts[i + 1]; e++)
    sum += weights[e] * (ACC)LOAD(x, at1 + places[e] * x_step);
  STORE(out, at0, sum);
}
#endif
