// Singular values by one-sided Jacobi: columns of w (rows x n, rows >= n) are rotated in pairs
// until they are orthogonal; their lengths are the values. Golub and Van Loan, 8.6. One work-group
// per matrix, one work-item per pair of columns. Matrices are laid out by columns.
#define SWEEPS 60

// The adjoint (n x m) of each matrix (m x n).
KERNEL adjoint(GLOBAL T* to, i64 at_to, GLOBAL const T* from, i64 at_from, i64 total, i64 m,
               i64 n) {
  i64 e = GLOBAL_ID;
  if (e >= total) return;
  i64 batch = e / (m * n), rest = e - batch * m * n, i = rest / n, j = rest - i * n;
  to[at_to + e] = conjugate(from[at_from + batch * m * n + j * m + i]);
}

DEVICE void turn(GLOBAL T* x, GLOBAL T* y, i64 count, R c, T s) {
  for (i64 i = 0; i < count; i++) {
    T p = x[i], q = y[i];
    x[i] = minus_(scaled(p, c), times(conjugate(s), q));
    y[i] = plus_(times(s, p), scaled(q, c));
  }
}

// values: n for each matrix, descending. What goes with them, if wanted (1: both, 2: the shorter
// only): `sides` (rows x n), columns of w of length 1, or 0 where the value is, and `shorts` (n x
// n), the rotations. all_v and all_lengths are room to work in.
KERNEL svd(GLOBAL T* matrices, i64 at, GLOBAL R* values, i64 at_values, GLOBAL i32* info,
           i64 at_info, GLOBAL T* all_v, GLOBAL R* all_lengths, GLOBAL T* sides, i64 side_step,
           GLOBAL T* shorts, i64 rows, i64 n, i32 wants_vectors) {
  LOCAL R shared[GROUP];
  LOCAL i32 busy, far;  // whether the sweep had to rotate, and by more than rounding does
  int t = LOCAL_ID;
  i64 pairs = pairs_of(n);
  GLOBAL T* w = matrices + at + GROUP_ID * rows * n;
  GLOBAL T* v = all_v + (wants_vectors ? GROUP_ID * n * n : 0);
  GLOBAL R* lengths = all_lengths + GROUP_ID * n;
  R scale = all_largest(shared, w, rows * n);
  if (scale == 0) scale = 1;
  for (i64 e = t; e < rows * n; e += LOCAL_SIZE) w[e] = shrunk(w[e], scale);
  if (wants_vectors)
    for (i64 e = t; e < n * n; e += LOCAL_SIZE) v[e] = number(e / n == e % n ? 1 : 0);
  BARRIER_GLOBAL();
  R bound = 2 * EPS * sqrt((R)rows), small = TINY / EPS;
  i32 goes_on = 1, failed = 0;
  for (int sweep = 0; sweep < SWEEPS && goes_on; sweep++) {
    if (t == 0) busy = far = 0;
    BARRIER();
    for (i64 round = 0; round < rounds_of(n); round++) {
      for (i64 i = t; i < pairs; i += LOCAL_SIZE) {
        i64 p, q;
        pair_of(n, round, i, &p, &q);
        if (q >= n) continue;
        GLOBAL T* x = w + p * rows;
        GLOBAL T* y = w + q * rows;
        R xx = 0, yy = 0;
        T xy = number(0);
        for (i64 r = 0; r < rows; r++) {
          xx += square(x[r]);
          yy += square(y[r]);
          xy = plus_(xy, times(conjugate(x[r]), y[r]));
        }
        if (xx < small || yy < small) continue;
        R angle = magnitude(xy) / (sqrt(xx) * sqrt(yy));
        if (angle <= bound) continue;
        busy = 1;
        if (!(angle <= 1000 * bound)) far = 1;
        R c, shift;
        T s;
        rotation_of(xx, yy, xy, &c, &s, &shift);
        turn(x, y, rows, c, s);
        if (wants_vectors) turn(v + p * n, v + q * n, n, c, s);
      }
      BARRIER_GLOBAL();
    }
    goes_on = busy;
    failed = far;
    BARRIER();
  }
  for (i64 i = t; i < n; i += LOCAL_SIZE) {
    R sum = 0;
    for (i64 r = 0; r < rows; r++) sum += square(w[i * rows + r]);
    lengths[i] = sqrt(sum);
  }
  BARRIER_GLOBAL();
  for (i64 i = t; i < n; i += LOCAL_SIZE) {
    R value = lengths[i];
    i64 place = 0;
    for (i64 j = 0; j < n; j++) place += lengths[j] > value || (lengths[j] == value && j < i);
    values[at_values + GROUP_ID * n + place] = value * scale;
    if (!wants_vectors) continue;
    GLOBAL T* short_ = shorts + GROUP_ID * n * n + place * n;
    for (i64 r = 0; r < n; r++) short_[r] = v[i * n + r];
    if (wants_vectors == 2) continue;
    GLOBAL T* side = sides + GROUP_ID * side_step + place * rows;
    int usable = value * value >= small;
    for (i64 r = 0; r < rows; r++) side[r] = usable ? shrunk(w[i * rows + r], value) : number(0);
  }
  if (t == 0) info[at_info + GROUP_ID] = failed;
}

// Columns of `side` (rows x columns) that are 0, or come after the first n, from those of q, which
// are orthogonal to all others. One work-item per column.
KERNEL complete(GLOBAL T* sides, GLOBAL const T* q, i64 total, i64 rows, i64 columns, i64 n) {
  i64 item = GLOBAL_ID;
  if (item >= total) return;
  GLOBAL T* side = sides + item * rows;
  int empty = item % columns >= n;
  for (i64 r = 0; r < rows && !empty; r++)
    if (!is_zero(side[r])) return;
  for (i64 r = 0; r < rows; r++) side[r] = q[item * rows + r];
}
