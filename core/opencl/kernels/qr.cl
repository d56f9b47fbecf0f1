// Householder reflectors H = I - tau v v^H, v having a 1 in front that is not kept. Matrices are
// laid out by columns.

// column -= by * v, where by = factor * (v^H column), for the rows from `first` on.
DEVICE void reflect_column(GLOBAL T* column, GLOBAL const T* v, T factor, i64 first, i64 m) {
  T dot = column[first];
  for (i64 i = first + 1; i < m; i++) dot = plus_(dot, times(conjugate(v[i]), column[i]));
  dot = times(factor, dot);
  column[first] = minus_(column[first], dot);
  for (i64 i = first + 1; i < m; i++) column[i] = minus_(column[i], times(dot, v[i]));
}

// One work-group per matrix, one work-item per column that a reflector changes.
KERNEL qr(GLOBAL T* matrices, i64 at, GLOBAL T* factors, i64 at_factors, i64 m, i64 n) {
  LOCAL R shared[GROUP];
  int t = LOCAL_ID;
  i64 k = m < n ? m : n;
  GLOBAL T* a = matrices + at + GROUP_ID * m * n;
  for (i64 j = 0; j < k; j++) {
    GLOBAL T* v = a + j * m;
    T first = v[j];
    R top = all_largest(shared, v + j + 1, m - j - 1), sum = 0;
    for (i64 i = j + 1 + t; i < m; i += LOCAL_SIZE) sum += square(shrunk(v[i], top));
    sum = all_sum(shared, sum);
    R rest = top == 0 ? (R)0 : top * sqrt(sum);
    T tau = number(0);
    if (rest != 0 || imag_of(first) != 0) {
      R end = hypot(magnitude(first), rest);
      if (real_of(first) > 0) end = -end;
      T gap = minus_(first, number(end));
      tau = shrunk(minus_(number(end), first), end);
      for (i64 i = j + 1 + t; i < m; i += LOCAL_SIZE) v[i] = over(v[i], gap);
      if (t == 0) v[j] = number(end);
    }
    if (t == 0) factors[at_factors + GROUP_ID * k + j] = tau;
    BARRIER_GLOBAL();
    for (i64 c = j + 1 + t; c < n; c += LOCAL_SIZE)
      reflect_column(a + c * m, v, conjugate(tau), j, m);
    BARRIER_GLOBAL();
  }
}

// The first n columns of the product of k reflectors, in their place.
KERNEL reflect_identity(GLOBAL T* matrices, i64 at, GLOBAL const T* factors, i64 at_factors, i64 m,
                        i64 n, i64 k) {
  int t = LOCAL_ID;
  GLOBAL T* a = matrices + at + GROUP_ID * m * n;
  for (i64 e = t; e < (n - k) * m; e += LOCAL_SIZE)
    a[k * m + e] = number(e % m == k + e / m ? 1 : 0);
  for (i64 j = k - 1; j >= 0; j--) {
    GLOBAL T* v = a + j * m;
    T tau = factors[at_factors + GROUP_ID * k + j];
    BARRIER_GLOBAL();
    for (i64 c = j + 1 + t; c < n; c += LOCAL_SIZE) reflect_column(a + c * m, v, tau, j, m);
    BARRIER_GLOBAL();
    for (i64 i = t; i < m; i += LOCAL_SIZE)
      v[i] = i < j    ? number(0)
             : i == j ? minus_(number(1), tau)
                      : minus_(number(0), times(tau, v[i]));
  }
}

// One work-item per column of c (q c), or per row (c q); `down`: the last reflector comes first.
KERNEL reflect(GLOBAL const T* matrices, i64 at, GLOBAL const T* factors, i64 at_factors,
               GLOBAL T* c, i64 at_c, i64 total, i64 m, i64 n, i64 k, i64 others, i32 left,
               i32 adjoint, i32 down) {
  i64 item = GLOBAL_ID;
  if (item >= total) return;
  i64 batch = item / others, line = item - batch * others;
  GLOBAL const T* a = matrices + at + batch * m * n;
  GLOBAL const T* tau = factors + at_factors + batch * k;
  GLOBAL T* x = c + at_c + batch * m * others + (left ? line * m : line);
  i64 step = left ? 1 : others;
  for (i64 turn = 0; turn < k; turn++) {
    i64 j = down ? k - 1 - turn : turn;
    GLOBAL const T* v = a + j * m;
    T dot = x[j * step];
    for (i64 i = j + 1; i < m; i++) dot = plus_(dot, times(conjugate_if(v[i], left), x[i * step]));
    dot = times(conjugate_if(tau[j], adjoint), dot);
    x[j * step] = minus_(x[j * step], dot);
    for (i64 i = j + 1; i < m; i++)
      x[i * step] = minus_(x[i * step], times(dot, conjugate_if(v[i], !left)));
  }
}
