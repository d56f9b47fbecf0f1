// Packed factors L D L^T (or L D L^H) of symmetric matrices, whose lower triangle is read, with the
// diagonal pivots of Bunch and Kaufman, in the layout of LAPACK's sytrf: matrices by columns, a
// pair of negative pivots for a block of two. One work-group per matrix, one work-item per
// right-hand side.

// The largest of a[first] .. before a[last], a step apart, and where it is.
DEVICE R largest_of(GLOBAL const T* a, i64 first, i64 last, i64 step, i64* place) {
  R top = -1;
  for (i64 i = first; i < last; i++)
    if (size1(a[i * step]) > top) {
      top = size1(a[i * step]);
      *place = i;
    }
  return top;
}

// Which row comes to the diagonal for step k, and whether the block there has one row or two.
// 0 rows: there is nothing to divide by.
DEVICE i32 choose_pivot(GLOBAL const T* a, i64 n, i64 k, int hermitian, i64* row) {
  const R alpha = (R)0.6403882032022076;  // (1 + sqrt(17)) / 8
  R here = hermitian ? fabs(real_of(a[k * n + k])) : size1(a[k * n + k]);
  i64 below = k, other = 0;
  R top = largest_of(a + k * n, k + 1, n, 1, &below);
  *row = k;
  if (!(here > 0) && !(top > 0)) return 0;
  if (here >= alpha * top) return 1;
  R across = largest_of(a + below, k, below, n, &other);
  across = larger(across, largest_of(a + below * n, below + 1, n, 1, &other));
  if (here >= alpha * top * (top / across)) return 1;
  *row = below;
  R there = hermitian ? fabs(real_of(a[below * n + below])) : size1(a[below * n + below]);
  return there >= alpha * across ? 1 : 2;
}

DEVICE void swap_numbers(GLOBAL T* x, GLOBAL T* y) {
  T kept = *x;
  *x = *y;
  *y = kept;
}

// Rows and columns `from` and `row` > from of the part of a from k on, by one item.
DEVICE void exchange(GLOBAL T* a, i64 n, i64 k, i64 from, i64 row, int hermitian) {
  for (i64 i = row + 1; i < n; i++) swap_numbers(a + from * n + i, a + row * n + i);
  for (i64 j = from + 1; j < row; j++) {
    T kept = a[from * n + j];
    a[from * n + j] = conjugate_if(a[j * n + row], hermitian);
    a[j * n + row] = conjugate_if(kept, hermitian);
  }
  if (hermitian) a[from * n + row] = conjugate(a[from * n + row]);
  swap_numbers(a + from * n + from, a + row * n + row);
  if (from > k) swap_numbers(a + k * n + from, a + k * n + row);
}

KERNEL ldl(GLOBAL T* matrices, i64 at, GLOBAL i32* pivots, i64 at_pivots, GLOBAL i32* info,
           i64 at_info, i64 n, i32 hermitian) {
  LOCAL i32 block;
  int t = LOCAL_ID;
  GLOBAL T* a = matrices + at + GROUP_ID * n * n;
  GLOBAL i32* rows = pivots + at_pivots + GROUP_ID * n;
  i32 failed = 0;
  i64 k = 0;
  while (k < n) {
    if (t == 0) {
      i64 row;
      i32 size = choose_pivot(a, n, k, hermitian, &row);
      i64 from = size == 2 ? k + 1 : k;
      if (row != from) exchange(a, n, k, from, row, hermitian);
      if (hermitian) {
        a[k * n + k] = number(real_of(a[k * n + k]));
        if (size == 2) a[from * n + from] = number(real_of(a[from * n + from]));
      }
      rows[k] = size == 2 ? -(i32)(row + 1) : (i32)(row + 1);
      if (size == 2) rows[k + 1] = rows[k];
      block = size;
    }
    BARRIER_GLOBAL();
    i32 size = block;
    if (size == 0 && !failed) failed = (i32)(k + 1);
    GLOBAL T* x = a + k * n;
    GLOBAL T* y = size == 2 ? x + n : x;
    i64 first = size == 2 ? k + 2 : k + 1, rest = n - first;
    // The columns times the inverse of the block, for row j: what the rest loses, and then L.
    T inv_x = number(0), inv_y = number(0), cross = number(0), back = number(0);
    if (size == 1) inv_x = over(number(1), x[k]);
    if (size == 2) {
      T corner = x[k + 1];
      T opposite = conjugate_if(corner, hermitian);
      // Divided by the corner first, so that nothing overflows.
      T p = over(x[k], opposite), q = over(y[k + 1], corner);
      T all = minus_(times(p, q), number(1));
      cross = over(over(number(-1), opposite), all);
      back = over(over(number(-1), corner), all);
      inv_x = minus_(number(0), times(q, cross));
      inv_y = minus_(number(0), times(p, back));
    }
    if (size)
      for (i64 j = first + t; j < n; j += LOCAL_SIZE) {
        T u = size == 1 ? times(x[j], inv_x) : plus_(times(x[j], inv_x), times(y[j], cross));
        T v = size == 1 ? number(0) : plus_(times(x[j], back), times(y[j], inv_y));
        u = conjugate_if(u, hermitian);
        v = conjugate_if(v, hermitian);
        GLOBAL T* to = a + j * n;
        for (i64 i = j; i < n; i++) {
          T less = times(x[i], u);
          if (size == 2) less = plus_(less, times(y[i], v));
          to[i] = minus_(to[i], less);
        }
        if (hermitian) to[j] = number(real_of(to[j]));
      }
    BARRIER_GLOBAL();
    if (size && rest > 0)
      for (i64 j = first + t; j < n; j += LOCAL_SIZE) {
        T p = x[j], q = y[j];
        x[j] = size == 1 ? times(p, inv_x) : plus_(times(p, inv_x), times(q, cross));
        if (size == 2) y[j] = plus_(times(p, back), times(q, inv_y));
      }
    BARRIER_GLOBAL();
    k = size == 2 ? k + 2 : k + 1;
  }
  if (t == 0) info[at_info + GROUP_ID] = failed;
}

// The place of a pivot that leads to no row, or of half a block of two; n if there is none.
DEVICE i64 wrong_pivot(GLOBAL const i32* rows, i64 n) {
  for (i64 i = 0; i < n; i++) {
    if (rows[i] > 0 ? rows[i] > n : rows[i] == 0 || rows[i] < -n) return i;
    if (rows[i] < 0) {
      i++;
      if (i == n || rows[i] >= 0 || rows[i] < -n) return i - 1;
    }
  }
  return n;
}

KERNEL ldl_solve(GLOBAL const T* factors, i64 at, GLOBAL const i32* pivots, i64 at_pivots,
                 GLOBAL T* sides, i64 at_sides, FAULTS, i64 total, i64 n, i64 columns,
                 i32 hermitian) {
  i64 item = GLOBAL_ID;
  if (item >= total) return;
  i64 batch = item / columns;
  GLOBAL const T* a = factors + at + batch * n * n;
  GLOBAL const i32* rows = pivots + at_pivots + batch * n;
  GLOBAL T* b = sides + at_sides + item * n;
  i64 wrong = wrong_pivot(rows, n);
  if (wrong < n) {
    FAULT(rows[wrong] - 1, 0, n);
    return;
  }
  for (i64 k = 0; k < n;) {
    GLOBAL const T* x = a + k * n;
    if (rows[k] > 0) {
      swap_numbers(b + k, b + rows[k] - 1);
      for (i64 i = k + 1; i < n; i++) b[i] = minus_(b[i], times(x[i], b[k]));
      b[k] = over(b[k], x[k]);
      k++;
      continue;
    }
    GLOBAL const T* y = x + n;
    swap_numbers(b + k + 1, b - rows[k] - 1);
    for (i64 i = k + 2; i < n; i++)
      b[i] = minus_(b[i], plus_(times(x[i], b[k]), times(y[i], b[k + 1])));
    T corner = x[k + 1];
    T opposite = conjugate_if(corner, hermitian);
    T p = over(x[k], opposite), q = over(y[k + 1], corner);
    T all = minus_(times(p, q), number(1));
    T u = over(b[k], opposite), v = over(b[k + 1], corner);
    b[k] = over(minus_(times(q, u), v), all);
    b[k + 1] = over(minus_(times(p, v), u), all);
    k += 2;
  }
  for (i64 k = n - 1; k >= 0;) {
    i64 first = rows[k] > 0 ? k : k - 1;
    for (i64 j = first; j <= k; j++) {
      T v = b[j];
      for (i64 i = k + 1; i < n; i++)
        v = minus_(v, times(conjugate_if(a[j * n + i], hermitian), b[i]));
      b[j] = v;
    }
    swap_numbers(b + k, b + (rows[k] > 0 ? rows[k] : -rows[k]) - 1);
    k = first - 1;
  }
}
