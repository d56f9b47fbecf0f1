// Cholesky factors and triangular systems, on batches of contiguous matrices (by rows).

// One work-group per matrix: the lower triangle becomes the factor, column by column.
KERNEL cholesky(GLOBAL T* matrices, i64 at, GLOBAL i32* info, i64 at_info, i64 n) {
  LOCAL R pivot;
  GLOBAL T* a = matrices + at + GROUP_ID * n * n;
  for (i64 j = 0; j < n; j++) {
    if (LOCAL_ID == 0) {
      R v = real_of(a[j * n + j]);
      for (i64 k = 0; k < j; k++) v -= square(a[j * n + k]);
      pivot = v;
      a[j * n + j] = number(v > 0 ? sqrt(v) : v);
    }
    BARRIER_GLOBAL();
    R v = pivot;
    if (!(v > 0)) {
      if (LOCAL_ID == 0) info[at_info + GROUP_ID] = (i32)(j + 1);
      return;
    }
    R scale = 1 / sqrt(v);
    for (i64 i = j + 1 + LOCAL_ID; i < n; i += LOCAL_SIZE) {
      T w = a[i * n + j];
      for (i64 k = 0; k < j; k++) w = minus_(w, times(a[i * n + k], conjugate(a[j * n + k])));
      a[i * n + j] = scaled(w, scale);
    }
    BARRIER_GLOBAL();
  }
  if (LOCAL_ID == 0) info[at_info + GROUP_ID] = 0;
}

// One work-item per right-hand side, a line of `b` with `step`; rows go up or down.
KERNEL solve_triangular(GLOBAL const T* a, i64 at_a, GLOBAL T* b, i64 at_b, i64 total, i64 n,
                        i64 sides, i64 a_row, i64 a_column, i64 b_step, i64 side_step, i32 upper,
                        i32 unit) {
  i64 t = GLOBAL_ID;
  if (t >= total) return;
  i64 batch = t / sides, side = t - batch * sides;
  GLOBAL const T* m = a + at_a + batch * n * n;
  GLOBAL T* x = b + at_b + batch * n * sides + side * side_step;
  for (i64 step = 0; step < n; step++) {
    i64 i = upper ? n - 1 - step : step;
    T v = x[i * b_step];
    for (i64 k = upper ? i + 1 : 0; k < (upper ? n : i); k++)
      v = minus_(v, times(m[i * a_row + k * a_column], x[k * b_step]));
    x[i * b_step] = unit ? v : over(v, m[i * a_row + i * a_column]);
  }
}
