// Eigenvalues of Hermitian matrices by Jacobi's method, one work-group per matrix: in each round,
// disjoint pairs of rows and columns are rotated at once. Golub and Van Loan, 8.5. Matrices are
// laid out by columns.
#define SWEEPS 60

// vectors: n * n for each matrix; turns: 4 * pairs for each. `upper` says which triangle is read.
KERNEL eigh(GLOBAL T* matrices, i64 at, GLOBAL R* values, i64 at_values, GLOBAL i32* info,
            i64 at_info, GLOBAL T* all_vectors, GLOBAL T* all_turns, i64 n, i32 upper,
            i32 wants_vectors) {
  LOCAL R shared[GROUP];
  LOCAL i32 busy, far;  // whether the sweep had to rotate, and by more than rounding does
  int t = LOCAL_ID;
  i64 pairs = pairs_of(n);
  GLOBAL T* a = matrices + at + GROUP_ID * n * n;
  GLOBAL T* v = all_vectors + GROUP_ID * n * n;
  GLOBAL T* turns = all_turns + GROUP_ID * 4 * pairs;
  for (i64 e = t; e < n * n; e += LOCAL_SIZE) {
    i64 j = e / n, i = e - j * n;
    if (wants_vectors) v[e] = number(i == j ? 1 : 0);
    if (i == j)
      a[e] = number(real_of(a[e]));
    else if (upper ? i < j : i > j)
      a[i * n + j] = conjugate(a[e]);
  }
  BARRIER_GLOBAL();
  R scale = all_largest(shared, a, n * n);
  if (scale == 0) scale = 1;
  for (i64 e = t; e < n * n; e += LOCAL_SIZE) a[e] = shrunk(a[e], scale);
  BARRIER_GLOBAL();
  i32 goes_on = 1, failed = 0;
  for (int sweep = 0; sweep < SWEEPS && goes_on; sweep++) {
    if (t == 0) busy = far = 0;
    BARRIER();
    for (i64 round = 0; round < rounds_of(n); round++) {
      for (i64 i = t; i < pairs; i += LOCAL_SIZE) {
        i64 p, q;
        pair_of(n, round, i, &p, &q);
        R c = 1, shift = 0;
        T s = number(0);
        if (q < n) {
          T z = a[q * n + p];
          R size = magnitude(z);
          if (!(size <= EPS)) busy = 1;
          if (!(size <= 1000 * EPS)) far = 1;
          if (size > 0)
            rotation_of(real_of(a[p * n + p]), real_of(a[q * n + q]), z, &c, &s, &shift);
          turns[4 * i + 2] = number(real_of(a[p * n + p]) - shift);
          turns[4 * i + 3] = number(real_of(a[q * n + q]) + shift);
        }
        turns[4 * i] = number(c);
        turns[4 * i + 1] = s;
      }
      BARRIER_GLOBAL();
      for (i64 e = t; e < pairs * n; e += LOCAL_SIZE) {
        i64 i = e / n, row = e - i * n, p, q;
        pair_of(n, round, i, &p, &q);
        if (q >= n) continue;
        R c = real_of(turns[4 * i]);
        T s = turns[4 * i + 1], x = a[p * n + row], y = a[q * n + row];
        a[p * n + row] = minus_(scaled(x, c), times(conjugate(s), y));
        a[q * n + row] = plus_(times(s, x), scaled(y, c));
        if (wants_vectors) {
          x = v[p * n + row];
          y = v[q * n + row];
          v[p * n + row] = minus_(scaled(x, c), times(conjugate(s), y));
          v[q * n + row] = plus_(times(s, x), scaled(y, c));
        }
      }
      BARRIER_GLOBAL();
      for (i64 e = t; e < pairs * n; e += LOCAL_SIZE) {
        i64 i = e / n, column = e - i * n, p, q;
        pair_of(n, round, i, &p, &q);
        if (q >= n) continue;
        R c = real_of(turns[4 * i]);
        T s = turns[4 * i + 1], x = a[column * n + p], y = a[column * n + q];
        x = minus_(scaled(a[column * n + p], c), times(s, y));
        y = plus_(times(conjugate(s), a[column * n + p]), scaled(y, c));
        if (column == p) x = turns[4 * i + 2], y = number(0);
        if (column == q) x = number(0), y = turns[4 * i + 3];
        a[column * n + p] = x;
        a[column * n + q] = y;
      }
      BARRIER_GLOBAL();
    }
    goes_on = busy;
    failed = far;
    BARRIER();
  }
  for (i64 i = t; i < n; i += LOCAL_SIZE) turns[i] = a[i * n + i];
  BARRIER_GLOBAL();
  for (i64 i = t; i < n; i += LOCAL_SIZE) {
    R value = real_of(turns[i]);
    i64 place = 0;
    for (i64 j = 0; j < n; j++)
      place += real_of(turns[j]) < value || (real_of(turns[j]) == value && j < i);
    values[at_values + GROUP_ID * n + place] = value * scale;
    if (wants_vectors)
      for (i64 r = 0; r < n; r++) a[place * n + r] = v[i * n + r];
  }
  if (t == 0) info[at_info + GROUP_ID] = failed;
}
