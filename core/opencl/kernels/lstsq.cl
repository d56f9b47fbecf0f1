// The ends of least squares: from singular values and vectors, or from a triangular factor.
// Matrices are laid out by columns; b (rows x columns) holds right-hand sides and becomes
// solutions.

// c (m x columns) = u^H b, u (m x m).
KERNEL project(GLOBAL T* c, GLOBAL const T* u, GLOBAL const T* b, i64 at_b, i64 total, i64 m,
               i64 rows, i64 columns) {
  i64 e = GLOBAL_ID;
  if (e >= total) return;
  i64 line = e / m, i = e - line * m;
  GLOBAL const T* v = u + (line / columns * m + i) * m;
  GLOBAL const T* x = b + at_b + line * rows;
  T sum = number(0);
  for (i64 r = 0; r < m; r++) sum = plus_(sum, times(conjugate(v[r]), x[r]));
  c[e] = sum;
}

// The first n rows of b from c, the values s (k) that count and vh (k x n); the others are what
// of c no solution reaches.
KERNEL combine(GLOBAL T* b, i64 at_b, GLOBAL const T* c, GLOBAL const R* s, i64 at_s,
               GLOBAL const T* vh, GLOBAL i32* rank, i64 at_rank, i64 total, i64 m, i64 n, i64 k,
               i64 rows, i64 columns, R cutoff) {
  i64 e = GLOBAL_ID;
  if (e >= total) return;
  i64 line = e / rows, i = e - line * rows, batch = line / columns;
  GLOBAL const R* values = s + at_s + batch * k;
  i64 used = 0;
  while (used < k && values[used] > 0 && values[used] > cutoff * values[0]) used++;
  if (i == 0 && line % columns == 0) rank[at_rank + batch] = (i32)used;
  T sum = number(0);
  if (i >= n) {
    sum = c[line * m + i];
  } else {
    for (i64 j = 0; j < used; j++)
      sum = plus_(
          sum, times(conjugate(vh[(batch * n + i) * k + j]), shrunk(c[line * m + j], values[j])));
  }
  b[at_b + e] = sum;
}

// The triangle R on top of each a (height x k), or its adjoint, divides the first k rows of b. A
// zero on its diagonal makes the info; the rows of b from k on become 0 if the adjoint is used.
KERNEL divide(GLOBAL const T* a, i64 at_a, GLOBAL T* b, i64 at_b, GLOBAL i32* info, i64 at_info,
              i64 total, i64 height, i64 k, i64 rows, i64 columns, i32 adjoint) {
  i64 line = GLOBAL_ID;
  if (line >= total) return;
  i64 batch = line / columns;
  GLOBAL const T* r = a + at_a + batch * height * k;
  GLOBAL T* x = b + at_b + line * rows;
  i32 failed = 0;
  for (i64 j = 0; j < k && !failed; j++)
    if (is_zero(r[j * height + j])) failed = (i32)(j + 1);
  if (line % columns == 0) info[at_info + batch] = failed;
  if (failed) return;
  for (i64 step = 0; step < k; step++) {
    i64 j = adjoint ? step : k - 1 - step;
    T v = x[j];
    for (i64 i = adjoint ? 0 : j + 1; i < (adjoint ? j : k); i++)
      v = minus_(v, times(adjoint ? conjugate(r[j * height + i]) : r[i * height + j], x[i]));
    x[j] = over(v, conjugate_if(r[j * height + j], adjoint));
  }
  if (adjoint)
    for (i64 i = k; i < rows; i++) x[i] = number(0);
}
