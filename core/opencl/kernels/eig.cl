// Eigenvalues of any square matrix: Hessenberg form by reflectors, then QR steps with Wilkinson's
// shifts to the triangle of Schur, all in complex numbers. Golub and Van Loan, 7.4 to 7.6. Matrices
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
KERNEL eig_schur(GLOBAL T* matrices, GLOBAL T* all_z, GLOBAL T* all_turns, GLOBAL T* values,
                 i64 at_values, GLOBAL i32* info, i64 at_info, i64 n, i32 wants_vectors) {
  LOCAL R shared[GROUP];
  LOCAL i64 start;
  LOCAL T shift;
  int t = LOCAL_ID;
  GLOBAL T* h = matrices + GROUP_ID * n * n;
  GLOBAL T* z = all_z + (wants_vectors ? GROUP_ID * n * n : 0);
  GLOBAL T* turns = all_turns + GROUP_ID * 2 * n;
  R scale = all_largest(shared, h, n * n);
  if (scale == 0) scale = 1;
  for (i64 e = t; e < n * n; e += LOCAL_SIZE) {
    h[e] = shrunk(h[e], scale);
    if (wants_vectors) z[e] = number(e / n == e % n ? 1 : 0);
  }
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
      for (i64 j = k + 1; j < n; j++)
        row[j * n] = minus_(row[j * n], times(dot, conjugate(v[j])));
    }
    BARRIER_GLOBAL();
    for (i64 i = k + 1 + t; i < n; i += LOCAL_SIZE) v[i] = i == k + 1 ? end : number(0);
    BARRIER_GLOBAL();
  }
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
    values[at_values + GROUP_ID * n + i] = scaled(h[i * n + i], scale);
  if (t == 0) info[at_info + GROUP_ID] = failed;
}

// One work-item per vector: that of the triangle in `room`, then z times it, of length 1 and with a
// real largest element.
KERNEL eig_vectors(GLOBAL const T* matrices, GLOBAL const T* all_z, GLOBAL T* room,
                   GLOBAL T* vectors, i64 at_vectors, i64 total, i64 n) {
  i64 item = GLOBAL_ID;
  if (item >= total) return;
  i64 batch = item / n, k = item - batch * n;
  GLOBAL const T* h = matrices + batch * n * n;
  GLOBAL const T* z = all_z + batch * n * n;
  GLOBAL T* x = room + item * n;
  GLOBAL T* v = vectors + at_vectors + item * n;
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
  for (i64 i = 0; i < n; i++) v[i] = shrunk(times(v[i], turn), length);
}

// Of a real matrix, what is not real comes in conjugate pairs, side by side, the positive
// imaginary part first. One work-item per matrix.
KERNEL eig_pairs(GLOBAL T* all_values, i64 at_values, GLOBAL T* all_vectors, i64 at_vectors,
                 i64 total, i64 n, i32 wants_vectors) {
  i64 batch = GLOBAL_ID;
  if (batch >= total) return;
  GLOBAL T* w = all_values + at_values + batch * n;
  GLOBAL T* v = all_vectors + (wants_vectors ? at_vectors + batch * n * n : 0);
  R largest = 0;
  for (i64 i = 0; i < n; i++) largest = larger(largest, size1(w[i]));
  for (i64 i = 0; i < n; i++) {
    i64 mate = -1;
    R best = INFINITY;
    for (i64 j = i + 1; j < n; j++) {
      R far = size1(minus_(w[j], conjugate(w[i])));
      if (far < best) {
        best = far;
        mate = j;
      }
    }
    if (fabs(w[i].im) <= 8 * EPS * n * largest || best > fabs(w[i].im)) mate = -1;
    if (mate < 0) {
      w[i].im = 0;
      for (i64 r = 0; wants_vectors && r < n; r++) v[i * n + r].im = 0;
      continue;
    }
    if (w[i].im < 0) {
      w[i] = conjugate(w[i]);
      for (i64 r = 0; wants_vectors && r < n; r++) v[i * n + r] = conjugate(v[i * n + r]);
    }
    w[mate] = w[i + 1];
    w[i + 1] = conjugate(w[i]);
    for (i64 r = 0; wants_vectors && r < n; r++) {
      v[mate * n + r] = v[(i + 1) * n + r];
      v[(i + 1) * n + r] = conjugate(v[i * n + r]);
    }
    i++;
  }
}
