// Reductions; follows fold.cl. Operand 0 of geometry `g` walks the outputs (kept dimensions),
// operand 1 the inputs, operand 2 a second output; `r` is the geometry of the reduced dimensions of
// the input (operand 1). Of what belongs to an output, chunk after chunk is the work of other
// groups; with PARTIAL, what they find is left for a second launch. Two forms. Rows: the GROUP
// items of a group fold `per` outputs one after the other, each item in LANES sums side by side (a
// vector on CPUs). With COLUMNS, an item folds LANES neighbouring outputs; the group has GX items
// side by side and GROUP / GX below each other. The program defines ACC, M_IN, M_OUT, LOAD, STORE,
// and UNIT if neighbours are adjacent.
#ifdef UNIT
#define TIMES(i, step) (i)
#else
#define TIMES(i, step) ((i) * (step))
#endif
#define GY (GROUP / GX)
#if GROUP > 1  // `per` is 1: no loop around barriers, of which some compilers make a lot
#define EACH_OUTPUT
#else
#define EACH_OUTPUT for (; o < last; o++)
#endif
#define BLOCK 4096  // so many elements of a row are summed before sums are summed
#define BELOW 128   // and so many of a column

DEVICE APART i64 place(const Geometry* g, int operand, i64 i) {
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

// For the items below each other in the form of columns.
#define FOLD_BELOW(shared, value, JOIN) FOLD_ROWS(shared, value, GY, GX, JOIN, BARRIER)

// Which outputs and which chunk are this group's, in the form of columns: those from `column` on of
// dimension 0, `wide` of them, the other kept dimensions being at `rest`.
#define COLUMN_GROUP()                                                                \
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
              ACC init, ACC p, i64 n) {
  SHARED(ACC, shared);
  i64 chunk = GROUP_ID % chunks, o = GROUP_ID / chunks * per, last = least(o + per, g.n);
  i64 size = (r.n + chunks - 1) / chunks, step = r.stride[1][0];
  EACH_OUTPUT {
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
              ACC init, ACC p, i64 n) {
  SHARED(ACC, shared);
  COLUMN_GROUP()
  ACC total[LANES], acc[LANES];
  for (int l = 0; l < LANES; l++) total[l] = acc[l] = init;
  for (i64 i = begin + y_; i < end;) {
    i64 stop = least(end, i + BELOW * GY);
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
