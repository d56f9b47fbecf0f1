// Variances and means; follows reduce.cl, which says how work is divided.
// Block after block: its mean, the squares of what differs from it, and both joined with those of
// the blocks before (Chan, Golub and LeVeque).
#define JOIN_BLOCK(mean, squares, seen, mean_b, squares_b, n_b) \
  {                                                             \
    ACC both_ = (ACC)((seen) + (n_b)), d_ = (mean_b) - (mean);  \
    ACC part_ = (ACC)(n_b) / both_;                             \
    squares += (squares_b) + d_ * d_ * part_ * (ACC)(seen);     \
    mean += d_ * part_;                                         \
  }
#ifndef COLUMNS
KERNEL variance(GLOBAL M_OUT* out, GLOBAL M_OUT* means, GLOBAL const M_IN* x, GLOBAL ACC* parts,
                Geometry g, Geometry r, i64 chunks, i64 per, ACC correction, i32 root, i32 wants) {
  SHARED(ACC, shared);
  i64 chunk = GROUP_ID % chunks, o = GROUP_ID / chunks * per, last = least(o + per, g.n);
  i64 size = (r.n + chunks - 1) / chunks, step = r.stride[1][0];
  EACH_OUTPUT {
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
