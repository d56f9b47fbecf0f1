// LU factors with partial pivoting, one work-group per matrix, and systems solved with them, one
// work-item per right-hand side. Matrices are laid out by columns.

KERNEL lu(GLOBAL T* matrices, i64 at, GLOBAL i32* pivots, i64 at_pivots, GLOBAL i32* info,
          i64 at_info, i64 m, i64 n) {
  LOCAL R best[GROUP];
  LOCAL i64 place[GROUP];
  int t = LOCAL_ID;
  i64 k = m < n ? m : n;
  GLOBAL T* a = matrices + at + GROUP_ID * m * n;
  i32 failed = 0;
  for (i64 j = 0; j < k; j++) {
    GLOBAL T* column = a + j * m;
    R top = -1;
    i64 row = j;
    for (i64 i = j + t; i < m; i += LOCAL_SIZE) {
      R size = size1(column[i]);
      if (size > top) {
        top = size;
        row = i;
      }
    }
    best[t] = top;
    place[t] = row;
    BARRIER();
    TREE(LOCAL_SIZE, 1, {
      if (best[other] > best[me] || (best[other] == best[me] && place[other] < place[me])) {
        best[me] = best[other];
        place[me] = place[other];
      }
    })
    row = place[0];
    T pivot = column[row];
    BARRIER_GLOBAL();
    int usable = !is_zero(pivot);
    if (!usable && !failed) failed = (i32)(j + 1);
    if (t == 0) pivots[at_pivots + GROUP_ID * k + j] = (i32)(row + 1);
    if (usable && row != j)
      for (i64 c = t; c < n; c += LOCAL_SIZE) {
        T kept = a[c * m + j];
        a[c * m + j] = a[c * m + row];
        a[c * m + row] = kept;
      }
    BARRIER_GLOBAL();
    if (usable)
      for (i64 i = j + 1 + t; i < m; i += LOCAL_SIZE) column[i] = over(column[i], pivot);
    BARRIER_GLOBAL();
    i64 rows = m - j - 1, rest = usable ? rows * (n - j - 1) : 0;
    for (i64 e = t; e < rest; e += LOCAL_SIZE) {
      i64 c = e / rows, i = j + 1 + e - c * rows;
      GLOBAL T* to = a + (j + 1 + c) * m;
      to[i] = minus_(to[i], times(column[i], to[j]));
    }
    BARRIER_GLOBAL();
  }
  if (t == 0) info[at_info + GROUP_ID] = failed;
}

// `mode` is 0 for a x = b, 1 for the transpose of a, 2 for its adjoint. A pivot that is no row is a
// fault.
KERNEL lu_solve(GLOBAL const T* factors, i64 at, GLOBAL const i32* pivots, i64 at_pivots,
                GLOBAL T* sides, i64 at_sides, FAULTS, i64 total, i64 n, i64 columns, i32 mode) {
  i64 item = GLOBAL_ID;
  if (item >= total) return;
  i64 batch = item / columns;
  GLOBAL const T* a = factors + at + batch * n * n;
  GLOBAL const i32* rows = pivots + at_pivots + batch * n;
  GLOBAL T* x = sides + at_sides + item * n;
  for (i64 i = 0; i < n; i++)
    if (rows[i] < 1 || rows[i] > n) {
      FAULT(rows[i] - 1, 0, n);
      return;
    }
  if (mode == 0) {
    for (i64 i = 0; i < n; i++) {
      T kept = x[i];
      x[i] = x[rows[i] - 1];
      x[rows[i] - 1] = kept;
    }
    for (i64 j = 0; j < n; j++)
      for (i64 i = j + 1; i < n; i++) x[i] = minus_(x[i], times(a[j * n + i], x[j]));
    for (i64 j = n - 1; j >= 0; j--) {
      x[j] = over(x[j], a[j * n + j]);
      for (i64 i = 0; i < j; i++) x[i] = minus_(x[i], times(a[j * n + i], x[j]));
    }
    return;
  }
  int adjoint = mode == 2;
  for (i64 j = 0; j < n; j++) {
    T v = x[j];
    for (i64 i = 0; i < j; i++) v = minus_(v, times(conjugate_if(a[j * n + i], adjoint), x[i]));
    x[j] = over(v, conjugate_if(a[j * n + j], adjoint));
  }
  for (i64 j = n - 1; j >= 0; j--) {
    T v = x[j];
    for (i64 i = j + 1; i < n; i++) v = minus_(v, times(conjugate_if(a[j * n + i], adjoint), x[i]));
    x[j] = v;
  }
  for (i64 i = n - 1; i >= 0; i--) {
    T kept = x[i];
    x[i] = x[rows[i] - 1];
    x[rows[i] - 1] = kept;
  }
}

KERNEL pivot_order(GLOBAL const i32* pivots, i64 at_pivots, GLOBAL i64* rows, i64 at_rows, FAULTS,
                   i64 total, i64 k, i64 m) {
  i64 batch = GLOBAL_ID;
  if (batch >= total) return;
  GLOBAL i64* order = rows + at_rows + batch * m;
  for (i64 i = 0; i < m; i++) order[i] = i;
  for (i64 i = 0; i < k; i++) {
    i64 with = pivots[at_pivots + batch * k + i] - 1, kept = order[i];
    if (with < 0 || with >= m) {
      FAULT(with, 0, m);
      return;
    }
    order[i] = order[with];
    order[with] = kept;
  }
}
