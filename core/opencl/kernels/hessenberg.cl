// Hessenberg form by reflectors: a = z h z^H with zeros below the first diagonal under the main
// one. Golub and Van Loan, 7.4.3. One work-group per matrix; matrices are laid out by columns.

// h becomes the form divided by `scales`, so that its largest element was 1 before.
KERNEL hessenberg(GLOBAL T* matrices, GLOBAL T* all_z, GLOBAL R* scales, i64 n, i32 wants_vectors) {
  LOCAL R shared[GROUP];
  int t = LOCAL_ID;
  GLOBAL T* h = matrices + GROUP_ID * n * n;
  GLOBAL T* z = all_z + (wants_vectors ? GROUP_ID * n * n : 0);
  R scale = all_largest(shared, h, n * n);
  if (scale == 0) scale = 1;
  for (i64 e = t; e < n * n; e += LOCAL_SIZE) {
    h[e] = shrunk(h[e], scale);
    if (wants_vectors) z[e] = number(e / n == e % n ? 1 : 0);
  }
  if (t == 0) scales[GROUP_ID] = scale;
  BARRIER_GLOBAL();
  for (i64 k = 0; k + 2 < n; k++) {
    GLOBAL T* v = h + k * n;
    T first = v[k + 1];
    R sum = 0;
    for (i64 i = k + 2 + t; i < n; i += LOCAL_SIZE) sum += square(v[i]);
    sum = all_sum(shared, sum);
    T tau = number(0), end = first;
    if (sum > 0) {
      R size = sqrt(square(first) + sum);
      if (real_of(first) > 0) size = -size;
      T gap = minus_(first, number(size));
      tau = shrunk(minus_(number(size), first), size);
      end = number(size);
      for (i64 i = k + 2 + t; i < n; i += LOCAL_SIZE) v[i] = over(v[i], gap);
    }
    if (t == 0) v[k + 1] = number(1);
    BARRIER_GLOBAL();
    for (i64 j = k + 1 + t; j < n; j += LOCAL_SIZE) {
      T dot = number(0);
      for (i64 i = k + 1; i < n; i++) dot = plus_(dot, times(conjugate(v[i]), h[j * n + i]));
      dot = times(conjugate(tau), dot);
      for (i64 i = k + 1; i < n; i++) h[j * n + i] = minus_(h[j * n + i], times(dot, v[i]));
    }
    BARRIER_GLOBAL();
    for (i64 e = t; e < (wants_vectors ? 2 * n : n); e += LOCAL_SIZE) {
      GLOBAL T* row = e < n ? h + e : z + (e - n);
      T dot = number(0);
      for (i64 j = k + 1; j < n; j++) dot = plus_(dot, times(row[j * n], v[j]));
      dot = times(tau, dot);
      for (i64 j = k + 1; j < n; j++) row[j * n] = minus_(row[j * n], times(dot, conjugate(v[j])));
    }
    BARRIER_GLOBAL();
    for (i64 i = k + 1 + t; i < n; i += LOCAL_SIZE) v[i] = i == k + 1 ? end : number(0);
    BARRIER_GLOBAL();
  }
}
