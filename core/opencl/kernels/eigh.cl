// Eigenvalues of Hermitian matrices: those of a + shift * I, which is positive, are its singular
// values, and their vectors are what svd.cl finds for its rows. Matrices are laid out by columns.

// From one triangle of a, all of a / scale, where no sum of a column is larger than 1 and so no
// eigenvalue is, and in w the same plus 1 on the diagonal. One work-group per matrix.
KERNEL eigh_shift(GLOBAL T* matrices, i64 at, GLOBAL T* shifted, GLOBAL R* scales, i64 n,
                  i32 upper) {
  LOCAL R shared[GROUP];
  int t = LOCAL_ID;
  GLOBAL T* a = matrices + at + GROUP_ID * n * n;
  GLOBAL T* w = shifted + GROUP_ID * n * n;
  for (i64 j = t; j < n; j += LOCAL_SIZE)
    for (i64 i = 0; i < n; i++) {
      i64 e = j * n + i;
      if (i == j) a[e] = number(real_of(a[e]));
      if (upper ? i < j : i > j) a[i * n + j] = conjugate(a[e]);
    }
  BARRIER_GLOBAL();
  R mine = 0;
  for (i64 j = t; j < n; j += LOCAL_SIZE) {
    R sum = 0;
    for (i64 i = 0; i < n; i++) sum += magnitude(a[j * n + i]);
    mine = larger(mine, sum);
  }
  R scale = all_max(shared, mine);
  if (scale == 0) scale = 1;
  for (i64 j = t; j < n; j += LOCAL_SIZE)
    for (i64 i = 0; i < n; i++) {
      T v = shrunk(a[j * n + i], scale);
      a[j * n + i] = v;
      w[j * n + i] = i == j ? plus_(v, number(1)) : v;
    }
  if (t == 0) scales[GROUP_ID] = scale;
}

// The value of each vector v: v^H a v, which is more exact than the singular value without the
// shift.
KERNEL eigh_values(GLOBAL const T* matrices, i64 at, GLOBAL const T* vectors, GLOBAL R* found,
                   i64 total, i64 n) {
  i64 item = GLOBAL_ID;
  if (item >= total) return;
  GLOBAL const T* a = matrices + at + item / n * n * n;
  GLOBAL const T* v = vectors + item * n;
  R sum = 0;
  for (i64 j = 0; j < n; j++) {
    T part = number(0);
    for (i64 i = 0; i < n; i++) part = plus_(part, times(conjugate(v[i]), a[j * n + i]));
    sum += real_of(times(part, v[j]));
  }
  found[item] = sum;
}

// In ascending order; the vectors go to the place of the matrix.
KERNEL eigh_order(GLOBAL T* matrices, i64 at, GLOBAL R* values, i64 at_values,
                  GLOBAL const T* vectors, GLOBAL const R* found, GLOBAL const R* scales, i64 total,
                  i64 n, i32 wants_vectors) {
  i64 item = GLOBAL_ID;
  if (item >= total) return;
  i64 batch = item / n, k = item - batch * n, place = 0;
  GLOBAL const R* all = found + batch * n;
  for (i64 j = 0; j < n; j++) place += all[j] < all[k] || (all[j] == all[k] && j < k);
  values[at_values + batch * n + place] = all[k] * scales[batch];
  if (wants_vectors)
    for (i64 i = 0; i < n; i++) matrices[at + (batch * n + place) * n + i] = vectors[item * n + i];
}
