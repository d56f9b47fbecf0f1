// Eigenvalues of complex matrices in Hessenberg form, by QR steps with Wilkinson's shifts to the
// triangle of Schur, and eigenvectors from that triangle. Golub and Van Loan, 7.5 and 7.6. Matrices
// are laid out by columns: element (i, j) is a[j * n + i].
#define STEPS 60  // per eigenvalue

DEVICE T root_of(T v) {
  R size = magnitude(v);
  if (size == 0) return v;
  R half_ = sqrt((fabs(v.re) + size) / 2), other = fabs(v.im) / (2 * half_);
  R re = v.re >= 0 ? half_ : other, im = v.re >= 0 ? other : half_;
  return pair(re, v.im < 0 ? -im : im);
}

// The eigenvalue of the last 2 x 2 block before row `last` + 1 that is nearer to its last element.
DEVICE T shift_of(GLOBAL const T* h, i64 n, i64 last) {
  T a = h[(last - 1) * n + last - 1], b = h[last * n + last - 1];
  T c = h[(last - 1) * n + last], d = h[last * n + last];
  T gap = scaled(minus_(a, d), (R)0.5), product = times(b, c);
  T root = root_of(plus_(times(gap, gap), product));
  T sum = plus_(gap, root), other = minus_(gap, root);
  if (size1(other) > size1(sum)) sum = other;
  return is_zero(sum) ? d : minus_(d, over(product, sum));
}

// The first row of the block that ends with row `last`: what is small below the diagonal counts as
// 0, in matrices whose largest element is 1.
DEVICE i64 block_start(GLOBAL T* h, i64 n, i64 last) {
  for (i64 i = last; i > 0; i--) {
    R around = size1(h[i * n + i]) + size1(h[(i - 1) * n + i - 1]);
    if (size1(h[(i - 1) * n + i]) <= EPS * (around > EPS ? around : EPS)) {
      h[(i - 1) * n + i] = number(0);
      return i;
    }
  }
  return 0;
}

// h becomes the triangle, z the unitary matrix with a = z h z^H. turns: 2 * n for each matrix.
KERNEL eig_schur(GLOBAL T* matrices, GLOBAL T* all_z, GLOBAL T* all_turns, GLOBAL const R* scales,
                 GLOBAL T* values, i64 at_values, GLOBAL i32* info, i64 at_info, i64 n,
                 i32 wants_vectors) {
  LOCAL i64 start;
  LOCAL T shift;
  int t = LOCAL_ID;
  GLOBAL T* h = matrices + GROUP_ID * n * n;
  GLOBAL T* z = all_z + (wants_vectors ? GROUP_ID * n * n : 0);
  GLOBAL T* turns = all_turns + GROUP_ID * 2 * n;
  i64 last = n - 1;
  i32 steps = 0, failed = 0;
  while (last > 0 && !failed) {
    if (t == 0) {
      start = block_start(h, n, last);
      shift = start == last ? number(0) : shift_of(h, n, last);
      if (start != last && steps % 10 == 9)  // something else, where steps go in circles
        shift = number(size1(h[(last - 1) * n + last]) + size1(h[last * n + last]));
    }
    BARRIER_GLOBAL();
    i64 low = start, high = last;
    T by = shift;
    BARRIER_GLOBAL();
    for (i64 i = low + t; i <= high; i += LOCAL_SIZE) h[i * n + i] = minus_(h[i * n + i], by);
    BARRIER_GLOBAL();
    for (i64 k = low; k < high; k++) {
      T f = h[k * n + k], g = h[k * n + k + 1];
      R size = hypot(magnitude(f), magnitude(g));
      T c = size > 0 ? shrunk(f, size) : number(1), s = size > 0 ? shrunk(g, size) : number(0);
      BARRIER_GLOBAL();
      if (t == 0) {
        turns[2 * k] = c;
        turns[2 * k + 1] = s;
      }
      for (i64 j = k + t; j < n; j += LOCAL_SIZE) {
        T p = h[j * n + k], q = h[j * n + k + 1];
        h[j * n + k] = plus_(times(conjugate(c), p), times(conjugate(s), q));
        h[j * n + k + 1] = minus_(times(c, q), times(s, p));
      }
      BARRIER_GLOBAL();
    }
    for (i64 e = t; e < (wants_vectors ? 2 * n : n); e += LOCAL_SIZE) {
      GLOBAL T* row = e < n ? h + e : z + (e - n);
      for (i64 k = low; k < high; k++) {
        T c = turns[2 * k], s = turns[2 * k + 1], p = row[k * n], q = row[(k + 1) * n];
        if (e < n && e > k + 1) continue;
        row[k * n] = plus_(times(p, c), times(q, s));
        row[(k + 1) * n] = minus_(times(q, conjugate(c)), times(p, conjugate(s)));
      }
    }
    BARRIER_GLOBAL();
    for (i64 i = low + t; i <= high; i += LOCAL_SIZE) h[i * n + i] = plus_(h[i * n + i], by);
    BARRIER_GLOBAL();
    steps = low == last ? 0 : steps + 1;
    if (low == last) last--;
    if (steps > STEPS) failed = (i32)(last + 1);
  }
  for (i64 i = t; i < n; i += LOCAL_SIZE)
    values[at_values + GROUP_ID * n + i] = scaled(h[i * n + i], scales[GROUP_ID]);
  if (t == 0) info[at_info + GROUP_ID] = failed;
}

// One work-item per vector: that of the triangle in `room`, then z times it, of length 1 and with a
// real largest element. With `pairs`, the matrix was real: the first of two conjugate ones, which
// is the one with a positive imaginary part, makes both.
KERNEL eig_vectors(GLOBAL const T* matrices, GLOBAL const T* all_z, GLOBAL T* room,
                   GLOBAL T* vectors, i64 at_vectors, i64 total, i64 n, i32 pairs) {
  i64 item = GLOBAL_ID;
  if (item >= total) return;
  i64 batch = item / n, k = item - batch * n;
  GLOBAL const T* h = matrices + batch * n * n;
  GLOBAL const T* z = all_z + batch * n * n;
  GLOBAL T* x = room + item * n;
  GLOBAL T* v = vectors + at_vectors + item * n;
  R side = pairs ? imag_of(h[k * n + k]) : (R)0;
  if (side < 0) return;
  x[k] = number(1);
  for (i64 i = k - 1; i >= 0; i--) {
    T sum = h[k * n + i];
    sum = times(sum, x[k]);
    for (i64 j = i + 1; j < k; j++) sum = plus_(sum, times(h[j * n + i], x[j]));
    T gap = minus_(h[k * n + k], h[i * n + i]);
    if (size1(gap) < EPS) gap = number(EPS);
    x[i] = over(sum, gap);
    R size = size1(x[i]);
    if (size > 1 / EPS)
      for (i64 j = i; j <= k; j++) x[j] = shrunk(x[j], size);
  }
  R top = 0;
  for (i64 i = 0; i < n; i++) {
    T sum = number(0);
    for (i64 j = 0; j <= k; j++) sum = plus_(sum, times(z[j * n + i], x[j]));
    v[i] = sum;
    top = larger(top, size1(sum));
  }
  R length = 0, best = -1;
  T turn = number(1);
  for (i64 i = 0; i < n; i++) {
    v[i] = shrunk(v[i], top);
    R size = square(v[i]);
    length += size;
    if (size > best) {
      best = size;
      turn = shrunk(conjugate(v[i]), sqrt(size));
    }
  }
  length = sqrt(length);
  for (i64 i = 0; i < n; i++) {
    T w = shrunk(times(v[i], turn), length);
    v[i] = pairs && side == 0 ? number(real_of(w)) : w;
    if (side > 0) v[n + i] = conjugate(w);
  }
}

// The triangle of complex numbers from a real one (`reals`) with blocks of two, and with it z (from
// `real_z`). One work-item per matrix.
KERNEL eig_complex(GLOBAL T* matrices, GLOBAL T* all_z, GLOBAL const R* reals,
                   GLOBAL const R* real_z, GLOBAL const R* scales, GLOBAL T* values, i64 at_values,
                   i64 total, i64 n, i32 wants_vectors) {
  i64 batch = GLOBAL_ID;
  if (batch >= total) return;
  GLOBAL T* h = matrices + batch * n * n;
  GLOBAL T* z = all_z + (wants_vectors ? batch * n * n : 0);
  for (i64 e = 0; e < n * n; e++) {
    h[e] = number(reals[batch * n * n + e]);
    if (wants_vectors) z[e] = number(real_z[batch * n * n + e]);
  }
  for (i64 k = 0; k + 1 < n; k++) {
    R a = h[k * n + k].re, b = h[(k + 1) * n + k].re, c = h[k * n + k + 1].re;
    R d = h[(k + 1) * n + k + 1].re, middle = (a + d) / 2;
    if (c == 0) continue;
    // The eigenvector (b, value - a) of the block becomes its first unit vector.
    T value = pair(middle, sqrt(fabs((a - d) / 2 * ((a - d) / 2) + b * c)));
    T p = number(b), q = minus_(value, number(a));
    R size = sqrt(square(p) + square(q));
    p = shrunk(p, size);
    q = shrunk(q, size);
    for (i64 j = k; j < n; j++) {
      T x = h[j * n + k], y = h[j * n + k + 1];
      h[j * n + k] = plus_(times(conjugate(p), x), times(conjugate(q), y));
      h[j * n + k + 1] = minus_(times(p, y), times(q, x));
    }
    for (i64 e = 0; e < (wants_vectors ? 2 * n : n); e++) {
      if (e < n && e > k + 1) continue;
      GLOBAL T* row = (e < n ? h + e : z + (e - n)) + k * n;
      T x = row[0], y = row[n];
      row[0] = plus_(times(x, p), times(y, q));
      row[n] = minus_(times(y, conjugate(p)), times(x, conjugate(q)));
    }
    h[k * n + k] = value;
    h[(k + 1) * n + k + 1] = conjugate(value);
    h[k * n + k + 1] = number(0);
    k++;
  }
  for (i64 i = 0; i < n; i++)
    values[at_values + batch * n + i] = scaled(h[i * n + i], scales[batch]);
}
