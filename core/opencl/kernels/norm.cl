// Normalization; follows fold.cl. Lines are folded by work-groups of GROUP items that take LANES
// neighbours each; columns by items that take LANES of them. The program defines ACC, GROUP, LANES,
// RUN, M, LOAD and STORE for the data, M_W, LOAD_W and STORE_W for weights; vectors of statistics
// are ACC. A number that ends in _at is where a tensor begins.

// total = the sum of `value` (in terms of i) over a line of n, for all items of the group.
#define FOLD(total, n, value)                                        \
  {                                                                  \
    ACC part_[LANES];                                                \
    for (int l_ = 0; l_ < LANES; l_++) part_[l_] = 0;                \
    for (i64 i_ = LOCAL_ID * LANES; i_ < (n); i_ += GROUP * LANES) { \
      if (i_ + LANES <= (n)) {                                       \
        for (int l_ = 0; l_ < LANES; l_++) {                         \
          i64 i = i_ + l_;                                           \
          part_[l_] += (value);                                      \
        }                                                            \
      } else {                                                       \
        for (i64 i = i_; i < (n); i++) part_[0] += (value);          \
      }                                                              \
    }                                                                \
    FOLD_LANES(part_, ADD)                                           \
    FOLD_GROUP(shared, part_[0], ADD)                                \
    total = part_[0];                                                \
  }
// `action` for every i of a line of n, shared out in the same way.
#define EACH(n, action)                                            \
  for (i64 i_ = LOCAL_ID * LANES; i_ < (n); i_ += GROUP * LANES) { \
    i64 end_ = i_ + LANES < (n) ? i_ + LANES : (n);                \
    for (i64 i = i_; i < end_; i++) action                         \
  }

#ifdef LINES
KERNEL norm_rows(GLOBAL M* out, i64 out_at, GLOBAL ACC* means, GLOBAL ACC* rstds, GLOBAL const M* x,
                 i64 x_at, GLOBAL const M_W* w, i64 w_at, GLOBAL const M_W* b, i64 b_at, i64 n,
                 ACC eps, i32 has_mean, i32 has_w, i32 has_b, i32 writes) {
  SHARED(ACC, shared);
  const i64 row = GROUP_ID, at = x_at + row * n, to = out_at + row * n;
  ACC mean = 0, squares = 0;
  if (has_mean) {
    FOLD(mean, n, (ACC)LOAD(x, at + i))
    mean /= (ACC)n;
  }
  FOLD(squares, n, ((ACC)LOAD(x, at + i) - mean) * ((ACC)LOAD(x, at + i) - mean))
  const ACC rstd = 1 / sqrt(squares / (ACC)n + eps);
  if (LOCAL_ID == 0) {
    if (has_mean) means[row] = mean;
    rstds[row] = rstd;
  }
  if (!writes) return;
  if (has_w && has_b) {
    EACH(n, {
      ACC v = ((ACC)LOAD(x, at + i) - mean) * rstd * (ACC)LOAD_W(w, w_at + i) +
              (ACC)LOAD_W(b, b_at + i);
      STORE(out, to + i, v);
    })
  } else {
    EACH(n, {
      ACC v = ((ACC)LOAD(x, at + i) - mean) * rstd;
      if (has_w) v *= (ACC)LOAD_W(w, w_at + i);
      if (has_b) v += (ACC)LOAD_W(b, b_at + i);
      STORE(out, to + i, v);
    })
  }
}
KERNEL norm_rows_grad(GLOBAL M* dx, i64 dx_at, GLOBAL const M* g, i64 g_at, GLOBAL const M* x,
                      i64 x_at, GLOBAL const ACC* means, i64 means_at, GLOBAL const ACC* rstds,
                      i64 rstds_at, GLOBAL const M_W* w, i64 w_at, i64 n, i32 has_mean, i32 has_w) {
  SHARED(ACC, shared);
  const i64 row = GROUP_ID, at = x_at + row * n, at_g = g_at + row * n, to = dx_at + row * n;
  const ACC first = means[has_mean ? means_at + row : 0], mean = has_mean ? first : (ACC)0;
  const ACC rstd = rstds[rstds_at + row];
  ACC sum = 0, dot = 0;
#define UP (has_w ? (ACC)LOAD(g, at_g + i) * (ACC)LOAD_W(w, w_at + i) : (ACC)LOAD(g, at_g + i))
  if (has_mean) FOLD(sum, n, UP)
  FOLD(dot, n, UP * ((ACC)LOAD(x, at + i) - mean))
  const ACC by_x = -dot * rstd * rstd * rstd / (ACC)n, rest = -sum * rstd / (ACC)n - mean * by_x;
  EACH(n, {
    ACC v = UP * rstd + (ACC)LOAD(x, at + i) * by_x + rest;
    STORE(dx, to + i, v);
  })
}
#endif

#ifdef COLUMNS
// Sums over rows of (rows, n), for a chunk of rows and LANES columns an item: of g * (x - mean) *
// rstd and of g, where mean and rstd belong to rows.
KERNEL norm_weights(GLOBAL ACC* dw, GLOBAL ACC* db, GLOBAL const M* g, i64 g_at, GLOBAL const M* x,
                    i64 x_at, GLOBAL const ACC* means, i64 means_at, GLOBAL const ACC* rstds,
                    i64 rstds_at, i64 rows, i64 n, i64 chunk, i32 has_mean) {
  const i64 blocks = (n + LANES - 1) / LANES, part = GLOBAL_ID / blocks;
  const i64 first = (GLOBAL_ID - part * blocks) * LANES, begin = part * chunk;
  if (begin >= rows) return;
  const i64 end = begin + chunk < rows ? begin + chunk : rows;
  const int width = first + LANES <= n ? LANES : (int)(n - first);
  ACC sum[LANES], dot[LANES];
  for (int l = 0; l < LANES; l++) sum[l] = dot[l] = 0;
#define ROW(l_end)                                                  \
  for (i64 r = begin; r < end; r++) {                               \
    const ACC there = means[has_mean ? means_at + r : 0];           \
    const ACC mean = has_mean ? there : (ACC)0;                     \
    const ACC rstd = rstds[rstds_at + r];                           \
    const i64 at = r * n + first;                                   \
    for (int l = 0; l < l_end; l++) {                               \
      ACC up = (ACC)LOAD(g, g_at + at + l);                         \
      sum[l] += up;                                                 \
      dot[l] += up * (((ACC)LOAD(x, x_at + at + l) - mean) * rstd); \
    }                                                               \
  }
  if (width == LANES)
    ROW(LANES)
  else
    ROW(width)
#undef ROW
  for (int l = 0; l < width; l++) {
    dw[part * n + first + l] = dot[l];
    db[part * n + first + l] = sum[l];
  }
}
// Channels that lie beside each other: moments of a chunk of rows, and the sums of g and of g * (x
// - mean), where the mean belongs to the column.
KERNEL channel_columns(GLOBAL ACC* sums, GLOBAL ACC* dots, GLOBAL const M* g, i64 g_at,
                       GLOBAL const M* x, i64 x_at, GLOBAL const ACC* means, i64 means_at, i64 rows,
                       i64 n, i64 chunk, i32 moments) {
  const i64 blocks = (n + LANES - 1) / LANES, part = GLOBAL_ID / blocks;
  const i64 first = (GLOBAL_ID - part * blocks) * LANES, begin = part * chunk;
  if (begin >= rows) return;
  const i64 end = begin + chunk < rows ? begin + chunk : rows;
  const int width = first + LANES <= n ? LANES : (int)(n - first);
  ACC sum[LANES], dot[LANES], mean[LANES];
  for (int l = 0; l < LANES; l++) {
    sum[l] = dot[l] = mean[l] = 0;
    if (!moments && l < width) mean[l] = means[means_at + first + l];
  }
#define SUM_ROW(l_end)              \
  for (i64 r = begin; r < end; r++) \
    for (int l = 0; l < l_end; l++) sum[l] += (ACC)LOAD(g, g_at + r * n + first + l);
#define DOT_ROW(l_end, left)                                    \
  for (i64 r = begin; r < end; r++)                             \
    for (int l = 0; l < l_end; l++) {                           \
      ACC d = (ACC)LOAD(x, x_at + r * n + first + l) - mean[l]; \
      dot[l] += (left) * d;                                     \
    }
  if (width == LANES)
    SUM_ROW(LANES)
  else
    SUM_ROW(width)
  if (moments) {
    for (int l = 0; l < LANES; l++) mean[l] = sum[l] = sum[l] / (ACC)(end - begin);
    if (width == LANES)
      DOT_ROW(LANES, d)
    else
      DOT_ROW(width, d)
  } else {
    if (width == LANES)
      DOT_ROW(LANES, (ACC)LOAD(g, g_at + r * n + first + l))
    else
      DOT_ROW(width, (ACC)LOAD(g, g_at + r * n + first + l))
  }
  for (int l = 0; l < width; l++) {
    sums[part * n + first + l] = sum[l];
    dots[part * n + first + l] = dot[l];
  }
}
#endif

#ifdef PLANES
// The same for planes of s elements of one channel. The mean of a plane is number (plane % mod) /
// div.
KERNEL channel_planes(GLOBAL ACC* sums, GLOBAL ACC* dots, GLOBAL const M* g, i64 g_at,
                      GLOBAL const M* x, i64 x_at, GLOBAL const ACC* means, i64 means_at, i64 s,
                      i64 mod, i64 div, i32 moments) {
  SHARED(ACC, shared);
  const i64 plane = GROUP_ID, at = plane * s;
  ACC sum = 0, dot = 0;
  FOLD(sum, s, (ACC)LOAD(g, g_at + at + i))
  if (moments) {
    sum /= (ACC)s;
    FOLD(dot, s, ((ACC)LOAD(x, x_at + at + i) - sum) * ((ACC)LOAD(x, x_at + at + i) - sum))
  } else {
    const ACC mean = means[means_at + plane % mod / div];
    FOLD(dot, s, (ACC)LOAD(g, g_at + at + i) * ((ACC)LOAD(x, x_at + at + i) - mean))
  }
  if (LOCAL_ID == 0) {
    sums[plane] = sum;
    dots[plane] = dot;
  }
}
#endif

#ifdef VECTORS
// Means and squared deviations of parts (parts, n), of `each` elements but for the last, joined
// (Chan et al. 1983); the variance is divided by the count.
KERNEL join_moments(GLOBAL ACC* mean, i64 mean_at, GLOBAL ACC* variance, i64 variance_at,
                    GLOBAL const ACC* means, GLOBAL const ACC* squares, i64 parts, i64 n, i64 each,
                    i64 last) {
  const i64 c = GLOBAL_ID;
  if (c >= n) return;
  const ACC count = (ACC)((parts - 1) * each + last);
  ACC middle = 0, sum = 0;
  for (i64 p = 0; p < parts; p++)
    middle += means[p * n + c] * ((ACC)(p + 1 < parts ? each : last) / count);
  for (i64 p = 0; p < parts; p++) {
    ACC d = means[p * n + c] - middle;
    sum += squares[p * n + c] + d * d * (ACC)(p + 1 < parts ? each : last);
  }
  mean[mean_at + c] = middle;
  variance[variance_at + c] = sum / count;
}
// Scale and shift of every plane (sample, channel), by the statistics of its group of `each`
// channels.
KERNEL group_scale(GLOBAL ACC* scale, GLOBAL ACC* shift, GLOBAL const ACC* means,
                   GLOBAL const ACC* rstds, GLOBAL const M_W* w, i64 w_at, GLOBAL const M_W* b,
                   i64 b_at, i64 planes, i64 channels, i64 each, i32 has_w, i32 has_b) {
  const i64 plane = GLOBAL_ID;
  if (plane >= planes) return;
  const i64 c = plane % channels, group = plane / each;
  const ACC by = (ACC)LOAD_W(w, has_w ? w_at + c : 0), more = (ACC)LOAD_W(b, has_b ? b_at + c : 0);
  const ACC a = has_w ? rstds[group] * by : rstds[group];
  scale[plane] = a;
  shift[plane] = (has_b ? more : (ACC)0) - means[group] * a;
}
// What channel_combine needs, from the sums and dots of planes.
KERNEL group_terms(GLOBAL ACC* by_g, GLOBAL ACC* by_x, GLOBAL ACC* rest, GLOBAL const ACC* sums,
                   GLOBAL const ACC* dots, GLOBAL const ACC* means, i64 means_at,
                   GLOBAL const ACC* rstds, i64 rstds_at, GLOBAL const M_W* w, i64 w_at, i64 groups,
                   i64 channels, i64 each, i64 s, i32 has_w) {
  const i64 group = GLOBAL_ID;
  if (group >= groups) return;
  const ACC mean = means[means_at + group], rstd = rstds[rstds_at + group];
  ACC sum = 0, dot = 0;
  for (i64 p = group * each; p < (group + 1) * each; p++) {
    ACC by = (ACC)LOAD_W(w, has_w ? w_at + p % channels : 0);
    by = has_w ? by : (ACC)1;
    sum += sums[p] * by;
    dot += dots[p] * by;
    by_g[p] = rstd * by;
  }
  const ACC n = (ACC)(each * s), x = -rstd * rstd * rstd * dot / n;
  for (i64 p = group * each; p < (group + 1) * each; p++) {
    by_x[p] = x;
    rest[p] = -rstd * sum / n - mean * x;
  }
}
// Gradients of weights and biases of channels, from sums and dots of planes.
KERNEL group_weights(GLOBAL M_W* dw, i64 dw_at, GLOBAL M_W* db, i64 db_at, GLOBAL const ACC* sums,
                     GLOBAL const ACC* dots, GLOBAL const ACC* rstds, i64 rstds_at, i64 samples,
                     i64 channels, i64 each, i32 wants) {
  const i64 c = GLOBAL_ID;
  if (c >= channels) return;
  ACC by_w = 0, by_b = 0;
  for (i64 n = 0; n < samples; n++) {
    const i64 plane = n * channels + c;
    by_w += dots[plane] * rstds[rstds_at + plane / each];
    by_b += sums[plane];
  }
  if (wants & 1) STORE_W(dw, dw_at + c, by_w);
  if (wants & 2) STORE_W(db, db_at + c, by_b);
}
#endif

#ifdef RUNS
// out = g * by_g + x * by_x + rest, for each channel; without x: out = g * by_g + rest. An item
// takes RUN elements in a row: of planes of s elements, or, if s is 0, of all channels in turn.
KERNEL channel_combine(GLOBAL M* out, i64 out_at, GLOBAL const M* g, i64 g_at, GLOBAL const M* x,
                       i64 x_at, GLOBAL const ACC* by_g, i64 by_g_at, GLOBAL const ACC* by_x,
                       i64 by_x_at, GLOBAL const ACC* rest, i64 rest_at, INDEX total,
                       INDEX channels, INDEX s, i32 has_x) {
  INDEX i = (INDEX)GLOBAL_ID * RUN;
  if (i >= total) return;
  const INDEX end = i + RUN < total ? i + RUN : total;
  if (s == 0) {
    INDEX c = i % channels;
    while (i < end) {
      const INDEX left = channels - c, n = left < end - i ? left : end - i;
      if (has_x) {
        for (INDEX j = 0; j < n; j++) {
          ACC v = (ACC)LOAD(g, g_at + i + j) * by_g[by_g_at + c + j] +
                  (ACC)LOAD(x, x_at + i + j) * by_x[by_x_at + c + j] + rest[rest_at + c + j];
          STORE(out, out_at + i + j, v);
        }
      } else {
        for (INDEX j = 0; j < n; j++) {
          ACC v = (ACC)LOAD(g, g_at + i + j) * by_g[by_g_at + c + j] + rest[rest_at + c + j];
          STORE(out, out_at + i + j, v);
        }
      }
      i += n;
      c = 0;
    }
    return;
  }
  INDEX plane = i / s, at = i - plane * s, c = plane % channels;
  while (i < end) {
    const INDEX left = s - at, n = left < end - i ? left : end - i;
    const ACC a = by_g[by_g_at + c], r = rest[rest_at + c];
    if (has_x) {
      const ACC b = by_x[by_x_at + c];
      for (INDEX j = 0; j < n; j++) {
        ACC v = (ACC)LOAD(g, g_at + i + j) * a + (ACC)LOAD(x, x_at + i + j) * b + r;
        STORE(out, out_at + i + j, v);
      }
    } else {
      for (INDEX j = 0; j < n; j++) {
        ACC v = (ACC)LOAD(g, g_at + i + j) * a + r;
        STORE(out, out_at + i + j, v);
      }
    }
    i += n;
    at = 0;
    c = c + 1 < channels ? c + 1 : 0;
  }
}
#endif
