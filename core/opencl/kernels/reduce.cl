// Reductions. Operand 0 of geometry `g` walks the outputs (kept dimensions), operand 1 the inputs,
// operand 2 a second output; `r` is the geometry of the reduced dimensions of the input (operand 1).
// Of what belongs to an output, chunk after chunk is the work of other groups; with PARTIAL, what
// they find is left for a second launch.
// Two forms. Rows: the GROUP items of a group fold `per` outputs one after the other, each item in
// LANES sums side by side (a vector on CPUs). With COLUMNS, an item folds LANES neighbouring
// outputs; the group has GX items side by side and GROUP / GX below each other.
// The program defines ACC, M_IN, M_OUT, LOAD, STORE, and UNIT if neighbours are adjacent.
#ifdef UNIT
#define TIMES(i, step) (i)
#else
#define TIMES(i, step) ((i) * (step))
#endif
#define GY (GROUP / GX)
#define BLOCK 4096  // so many elements are summed before sums are summed

DEVICE i64 place(const Geometry* g, int operand, i64 i) {
  i64 at = 0;
  for (int d = 0; d < g->ndim; d++) {
    i64 next = d + 1 < g->ndim ? i / g->size[d] : 0;
    at += (i - next * g->size[d]) * g->stride[operand][d];
    i = next;
  }
  return at;
}
DEVICE i64 least(i64 a, i64 b) { return a < b ? a : b; }

// Where the reduced elements from i on lie, and how many of them in equal steps.
DEVICE i64 stretch(const Geometry* r, i64 i, i64* length) {
  if (r->ndim <= 1) return i * r->stride[1][0];
  i64 outer = i / r->size[0], inner = i - outer * r->size[0];
  *length = least(*length, r->size[0] - inner);
  return place(r, 1, i);
}

// Folds what the items of a group have; item 0 gets the result.
#define FOLD_GROUP(shared, mine, JOIN_TWO)                                \
  if (GROUP > 1) {                                                        \
    shared[LOCAL_ID] = mine;                                              \
    BARRIER();                                                            \
    for (int reach = GROUP / 2; reach > 0; reach /= 2) {                  \
      if (LOCAL_ID < reach) {                                             \
        ACC a_ = shared[LOCAL_ID], b_ = shared[LOCAL_ID + reach];         \
        shared[LOCAL_ID] = JOIN_TWO(a_, b_);                              \
      }                                                                   \
      BARRIER();                                                          \
    }                                                                     \
    mine = shared[0];                                                     \
    BARRIER();                                                            \
  }
// The same for the items below each other in the form of columns; those of the first row get it.
#define FOLD_BELOW(shared, mine, JOIN_TWO)                                \
  if (GY > 1) {                                                           \
    shared[LOCAL_ID] = mine;                                              \
    BARRIER();                                                            \
    for (int reach = GY / 2; reach > 0; reach /= 2) {                     \
      if (LOCAL_ID < reach * GX) {                                        \
        ACC a_ = shared[LOCAL_ID], b_ = shared[LOCAL_ID + reach * GX];    \
        shared[LOCAL_ID] = JOIN_TWO(a_, b_);                              \
      }                                                                   \
      BARRIER();                                                          \
    }                                                                     \
    mine = shared[LOCAL_ID % GX];                                         \
    BARRIER();                                                            \
  }
#define FOLD_LANES(acc, JOIN_TWO)                                         \
  for (int reach = LANES / 2; reach > 0; reach /= 2)                      \
    for (int l = 0; l < reach; l++) acc[l] = JOIN_TWO(acc[l], acc[l + reach]);
#define ADD(a, b) ((a) + (b))

// Which outputs and which chunk are this group's, in the form of columns: those from `column` on of
// dimension 0, `wide` of them, the other kept dimensions being at `rest`.
#define COLUMN_GROUP()                                                               \
  i64 side = g.ndim ? g.size[0] : 1, across = (side + GX * LANES - 1) / (GX * LANES); \
  i64 chunk = GROUP_ID % chunks, column = GROUP_ID / chunks % across * (GX * LANES);  \
  i64 rest = GROUP_ID / chunks / across;                                              \
  i64 size = (r.n + chunks - 1) / chunks, begin = chunk * size;                       \
  i64 end = least(begin + size, r.n), step = g.stride[1][0];                          \
  i64 base = g.offset[1] + place(&g, 1, rest * side + column);                        \
  int x_ = LOCAL_ID % GX, y_ = LOCAL_ID / GX, wide = (int)least(side - column, GX * LANES);

#ifdef FOLD
#ifndef COLUMNS
KERNEL reduce(GLOBAL M_OUT* out, GLOBAL const M_IN* x, Geometry g, Geometry r, i64 chunks, i64 per,
              ACC init, ACC p, i64 count) {
#if GROUP > 1
  LOCAL ACC shared[GROUP];
#else
  ACC shared[1];
#endif
  i64 chunk = GROUP_ID % chunks, o = GROUP_ID / chunks * per, last = least(o + per, g.n);
  i64 size = (r.n + chunks - 1) / chunks, step = r.stride[1][0];
  for (; o < last; o++) {
    i64 base = g.offset[1] + place(&g, 1, o), end = least(chunk * size + size, r.n);
    ACC total = init, acc[LANES];
    for (int l = 0; l < LANES; l++) acc[l] = init;
    i64 since = 0;
    for (i64 i = chunk * size; i < end;) {
      i64 length = least(end - i, BLOCK * GROUP), at = base + stretch(&r, i, &length);
      i64 whole = length / (GROUP * LANES) * (GROUP * LANES);
      for (i64 j = LOCAL_ID; j < whole; j += GROUP * LANES)
        for (int l = 0; l < LANES; l++) {
          ACC v = (ACC)LOAD(x, at + TIMES(j + l * GROUP, step));
          ACC w = MAP(v);
          acc[l] = COMBINE(acc[l], w);
        }
      for (i64 j = whole + LOCAL_ID; j < length; j += GROUP) {
        ACC v = (ACC)LOAD(x, at + TIMES(j, step));
        ACC w = MAP(v);
        acc[0] = COMBINE(acc[0], w);
      }
      i += length;
      since += length;
      if (since >= BLOCK * GROUP || i >= end) {
        FOLD_LANES(acc, COMBINE)
        total = COMBINE(total, acc[0]);
        for (int l = 0; l < LANES; l++) acc[l] = init;
        since = 0;
      }
    }
    FOLD_GROUP(shared, total, COMBINE)
    if (LOCAL_ID == 0) {
#ifdef PARTIAL
      out[o * chunks + chunk] = total;
#else
      i64 at = g.offset[0] + place(&g, 0, o);
      total = FINISH(total);
      STORE(out, at, total);
#endif
    }
  }
}
#else
KERNEL reduce(GLOBAL M_OUT* out, GLOBAL const M_IN* x, Geometry g, Geometry r, i64 chunks, i64 per,
              ACC init, ACC p, i64 count) {
#if GROUP > 1
  LOCAL ACC shared[GROUP];
#else
  ACC shared[1];
#endif
  COLUMN_GROUP()
  ACC total[LANES], acc[LANES];
  for (int l = 0; l < LANES; l++) total[l] = acc[l] = init;
  for (i64 i = begin + y_; i < end;) {
    i64 stop = least(end, i + BLOCK * GY);
    for (; i < stop; i += GY) {
      i64 at = base + (r.ndim <= 1 ? i * r.stride[1][0] : place(&r, 1, i));
      if (wide == GX * LANES) {
        for (int l = 0; l < LANES; l++) {
          ACC v = (ACC)LOAD(x, at + TIMES(x_ + l * GX, step));
          ACC w = MAP(v);
          acc[l] = COMBINE(acc[l], w);
        }
      } else {
        for (int l = 0; l * GX + x_ < wide; l++) {
          ACC v = (ACC)LOAD(x, at + TIMES(x_ + l * GX, step));
          ACC w = MAP(v);
          acc[l] = COMBINE(acc[l], w);
        }
      }
    }
    for (int l = 0; l < LANES; l++) {
      total[l] = COMBINE(total[l], acc[l]);
      acc[l] = init;
    }
  }
  for (int l = 0; l < LANES; l++) {
    ACC value = total[l];
    FOLD_BELOW(shared, value, COMBINE)
    if (y_ == 0 && x_ + l * GX < wide) {
      i64 o = rest * side + column + x_ + l * GX;
#ifdef PARTIAL
      out[o * chunks + chunk] = value;
#else
      i64 at = g.offset[0] + place(&g, 0, o);
      value = FINISH(value);
      STORE(out, at, value);
#endif
    }
  }
}
#endif
#endif

#ifdef VARIANCE
// Block after block: its mean, the squares of what differs from it, and both joined with those of
// the blocks before (Chan, Golub and LeVeque).
#define JOIN_BLOCK(mean, squares, seen, mean_b, squares_b, n_b)           \
  {                                                                       \
    ACC both_ = (ACC)((seen) + (n_b)), d_ = (mean_b) - (mean);            \
    ACC part_ = (ACC)(n_b) / both_;                                       \
    squares += (squares_b) + d_ * d_ * part_ * (ACC)(seen);               \
    mean += d_ * part_;                                                   \
  }
#ifndef COLUMNS
KERNEL variance(GLOBAL M_OUT* out, GLOBAL M_OUT* means, GLOBAL const M_IN* x, GLOBAL ACC* parts,
                Geometry g, Geometry r, i64 chunks, i64 per, ACC correction, i32 root, i32 wants) {
#if GROUP > 1
  LOCAL ACC shared[GROUP];
#else
  ACC shared[1];
#endif
  i64 chunk = GROUP_ID % chunks, o = GROUP_ID / chunks * per, last = least(o + per, g.n);
  i64 size = (r.n + chunks - 1) / chunks, step = r.stride[1][0];
  for (; o < last; o++) {
    i64 base = g.offset[1] + place(&g, 1, o), end = least(chunk * size + size, r.n), seen = 0;
    ACC mean = 0, squares = 0;
    for (i64 i = chunk * size; i < end;) {
      i64 length = least(end - i, BLOCK * GROUP), at = base + stretch(&r, i, &length);
      i64 whole = length / (GROUP * LANES) * (GROUP * LANES);
      ACC acc[LANES];
      for (int l = 0; l < LANES; l++) acc[l] = 0;
      for (i64 j = LOCAL_ID; j < whole; j += GROUP * LANES)
        for (int l = 0; l < LANES; l++) acc[l] += (ACC)LOAD(x, at + TIMES(j + l * GROUP, step));
      for (i64 j = whole + LOCAL_ID; j < length; j += GROUP)
        acc[0] += (ACC)LOAD(x, at + TIMES(j, step));
      FOLD_LANES(acc, ADD)
      ACC middle = acc[0];
      FOLD_GROUP(shared, middle, ADD)
      middle /= (ACC)length;
      for (int l = 0; l < LANES; l++) acc[l] = 0;
      for (i64 j = LOCAL_ID; j < whole; j += GROUP * LANES)
        for (int l = 0; l < LANES; l++) {
          ACC d = (ACC)LOAD(x, at + TIMES(j + l * GROUP, step)) - middle;
          acc[l] += d * d;
        }
      for (i64 j = whole + LOCAL_ID; j < length; j += GROUP) {
        ACC d = (ACC)LOAD(x, at + TIMES(j, step)) - middle;
        acc[0] += d * d;
      }
      FOLD_LANES(acc, ADD)
      ACC spread = acc[0];
      FOLD_GROUP(shared, spread, ADD)
      JOIN_BLOCK(mean, squares, seen, middle, spread, length)
      seen += length;
      i += length;
    }
    if (LOCAL_ID == 0) {
#ifdef PARTIAL
      parts[(o * chunks + chunk) * 2] = mean;
      parts[(o * chunks + chunk) * 2 + 1] = squares;
#else
      ACC n = (ACC)r.n - correction;
      ACC v = squares / (n > 0 ? n : (ACC)0);
      v = root ? sqrt(v) : v;
      if (r.n == 0) v = mean = (ACC)NAN;
      if (wants & 1) STORE(out, g.offset[0] + place(&g, 0, o), v);
      if (wants & 2) STORE(means, g.offset[2] + place(&g, 2, o), mean);
#endif
    }
  }
}
#else
#define ROWS_AT_ONCE 64
// Always leaves parts, one for each row of items in the group.
KERNEL variance(GLOBAL M_OUT* out, GLOBAL M_OUT* means, GLOBAL const M_IN* x, GLOBAL ACC* parts,
                Geometry g, Geometry r, i64 chunks, i64 per, ACC correction, i32 root, i32 wants) {
  COLUMN_GROUP()
  ACC mean[LANES], squares[LANES], middle[LANES], spread[LANES];
  for (int l = 0; l < LANES; l++) mean[l] = squares[l] = 0;
  int lanes = (wide - x_ + GX - 1) / GX;
  i64 seen = 0;
  for (i64 i = begin; i < end; i += ROWS_AT_ONCE) {
    i64 length = least(end - i, ROWS_AT_ONCE);
    for (int l = 0; l < LANES; l++) middle[l] = spread[l] = 0;
    for (i64 j = i; j < i + length; j++) {
      i64 at = base + (r.ndim <= 1 ? j * r.stride[1][0] : place(&r, 1, j));
      for (int l = 0; l < lanes; l++) middle[l] += (ACC)LOAD(x, at + TIMES(x_ + l * GX, step));
    }
    for (int l = 0; l < LANES; l++) middle[l] /= (ACC)length;
    for (i64 j = i; j < i + length; j++) {
      i64 at = base + (r.ndim <= 1 ? j * r.stride[1][0] : place(&r, 1, j));
      for (int l = 0; l < lanes; l++) {
        ACC d = (ACC)LOAD(x, at + TIMES(x_ + l * GX, step)) - middle[l];
        spread[l] += d * d;
      }
    }
    for (int l = 0; l < LANES; l++)
      JOIN_BLOCK(mean[l], squares[l], seen, middle[l], spread[l], length)
    seen += length;
  }
  for (int l = 0; l < lanes; l++) {
    i64 o = rest * side + column + x_ + l * GX;
    parts[(o * chunks + chunk) * 2] = mean[l];
    parts[(o * chunks + chunk) * 2 + 1] = squares[l];
  }
}
#endif

// Joins the parts of chunks, an item for each output.
KERNEL join_variance(GLOBAL M_OUT* out, GLOBAL M_OUT* means, GLOBAL const ACC* parts, Geometry g,
                     i64 count, i64 chunks, ACC correction, i32 root, i32 wants) {
  i64 o = GLOBAL_ID, size = (count + chunks - 1) / chunks;
  if (o >= g.n) return;
  ACC mean = 0, squares = 0;
  for (i64 chunk = 0; chunk * size < count; chunk++) {
    GLOBAL const ACC* part = parts + (o * chunks + chunk) * 2;
    i64 seen = chunk * size, n = least(size, count - seen);
    JOIN_BLOCK(mean, squares, seen, part[0], part[1], n)
  }
  ACC n = (ACC)count - correction;
  ACC v = squares / (n > 0 ? n : (ACC)0);
  v = root ? sqrt(v) : v;
  if (wants & 1) STORE(out, g.offset[0] + place(&g, 0, o), v);
  if (wants & 2) STORE(means, g.offset[2] + place(&g, 2, o), mean);
}
#endif

#ifdef EXTREMES
// The first of the largest (or smallest); a NaN is both.
DEVICE int better(ACC a, i64 i, ACC b, i64 j) {
  int a_nan = a != a, b_nan = b != b;
  if (a_nan | b_nan) return a_nan & (!b_nan | (i < j));
  if (a == b) return i < j;
  return MOST ? a > b : a < b;
}
// A later element takes the place of an earlier one only if it is better by itself.
#define TAKE(best, at, v, i)                                                          \
  {                                                                                   \
    int takes_ = ((best) == (best)) & ((MOST ? (v) > (best) : (v) < (best)) | ((v) != (v))); \
    best = takes_ ? (v) : (best);                                                     \
    at = takes_ ? (int)(i) : (at);                                                    \
  }
// `found` holds the places that the elements of x stand for, in the second launch. Chunks have
// fewer than 2^31 elements.
#ifndef COLUMNS
KERNEL extremes(GLOBAL M_OUT* values, GLOBAL i64* indices, GLOBAL const M_IN* x,
                GLOBAL const i64* found, Geometry g, Geometry r, i64 chunks, i64 per, i32 wants) {
#if GROUP > 1
  LOCAL ACC shared[GROUP];
  LOCAL int places[GROUP];
#endif
  i64 chunk = GROUP_ID % chunks, o = GROUP_ID / chunks * per, last = least(o + per, g.n);
  i64 size = (r.n + chunks - 1) / chunks, step = r.stride[1][0], begin = chunk * size;
  int length = (int)(least(begin + size, r.n) - begin);
  int whole = length / (GROUP * LANES) * (GROUP * LANES);
  for (; o < last; o++) {
    i64 from = g.offset[1] + place(&g, 1, o) + begin * step;
    ACC best[LANES];
    int at[LANES];
    for (int l = 0; l < LANES; l++) {
      best[l] = (ACC)LOAD(x, from);
      at[l] = 0;
    }
    for (int j = LOCAL_ID; j < whole; j += GROUP * LANES)
      for (int l = 0; l < LANES; l++) {
        ACC v = (ACC)LOAD(x, from + TIMES((i64)(j + l * GROUP), step));
        TAKE(best[l], at[l], v, j + l * GROUP)
      }
    for (int l = 1; l < LANES; l++)
      if (better(best[l], at[l], best[0], at[0])) best[0] = best[l], at[0] = at[l];
    for (int j = whole + LOCAL_ID; j < length; j += GROUP) {
      ACC v = (ACC)LOAD(x, from + TIMES((i64)j, step));
      TAKE(best[0], at[0], v, j)
    }
#if GROUP > 1
    int t = LOCAL_ID;
    shared[t] = best[0];
    places[t] = at[0];
    BARRIER();
    for (int reach = GROUP / 2; reach > 0; reach /= 2) {
      if (t < reach && better(shared[t + reach], places[t + reach], shared[t], places[t])) {
        shared[t] = shared[t + reach];
        places[t] = places[t + reach];
      }
      BARRIER();
    }
    best[0] = shared[0];
    at[0] = places[0];
    BARRIER();
#endif
    if (LOCAL_ID == 0) {
#ifdef PARTIAL
      values[o * chunks + chunk] = best[0];
      indices[o * chunks + chunk] = begin + at[0];
#else
      if (wants & 1) STORE(values, g.offset[0] + place(&g, 0, o), best[0]);
      if (wants & 2)
        indices[g.offset[2] + place(&g, 2, o)] = wants & 4 ? found[o * r.n + at[0]] : begin + at[0];
#endif
    }
  }
}
#else
// The items of a group are side by side: GX is GROUP.
KERNEL extremes(GLOBAL M_OUT* values, GLOBAL i64* indices, GLOBAL const M_IN* x,
                GLOBAL const i64* found, Geometry g, Geometry r, i64 chunks, i64 per, i32 wants) {
  COLUMN_GROUP()
  ACC best[LANES];
  int at[LANES], lanes = (wide - x_ + GX - 1) / GX, length = (int)(end - begin);
  i64 from = base + begin * r.stride[1][0];
  for (int l = 0; l < lanes; l++) {
    best[l] = (ACC)LOAD(x, from + TIMES(x_ + l * GX, step));
    at[l] = 0;
  }
  for (int j = 1; j < length; j++) {
    i64 row = from + j * r.stride[1][0];
    for (int l = 0; l < lanes; l++) {
      ACC v = (ACC)LOAD(x, row + TIMES(x_ + l * GX, step));
      TAKE(best[l], at[l], v, j)
    }
  }
  for (int l = 0; l < lanes; l++) {
    i64 o = rest * side + column + x_ + l * GX;
#ifdef PARTIAL
    values[o * chunks + chunk] = best[l];
    indices[o * chunks + chunk] = begin + at[l];
#else
    if (wants & 1) STORE(values, g.offset[0] + place(&g, 0, o), best[l]);
    if (wants & 2) indices[g.offset[2] + place(&g, 2, o)] = begin + at[l];
#endif
  }
}
#endif
#endif
