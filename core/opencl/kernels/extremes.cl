// The largest or smallest elements and their places; follows reduce.cl, which says how work is
// divided.
// The first of the largest (or smallest); a NaN is both.
DEVICE int better(ACC a, i64 i, ACC b, i64 j) {
  int a_nan = a != a, b_nan = b != b;
  if (a_nan | b_nan) return a_nan & (!b_nan | (i < j));
  if (a == b) return i < j;
  return MOST ? a > b : a < b;
}
// A later element takes the place of an earlier one only if it is better by itself.
#define TAKE(best, at, v, i)                                                                 \
  {                                                                                          \
    int takes_ = ((best) == (best)) & ((MOST ? (v) > (best) : (v) < (best)) | ((v) != (v))); \
    best = takes_ ? (v) : (best);                                                            \
    at = takes_ ? (int)(i) : (at);                                                           \
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
  EACH_OUTPUT {
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
    shared[LOCAL_ID] = best[0];
    places[LOCAL_ID] = at[0];
    BARRIER();
    TREE(GROUP, 1, {
      if (better(shared[other], places[other], shared[me], places[me])) {
        shared[me] = shared[other];
        places[me] = places[other];
      }
    })
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
