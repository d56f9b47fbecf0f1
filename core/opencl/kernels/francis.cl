// The real Schur form of a real Hessenberg matrix h: upper triangular but for 2 x 2 blocks, one for
// each pair of conjugate eigenvalues. Francis's steps with two shifts, and LAPACK's choice of them,
// so that eigenvalues come in its order. Golub and Van Loan, 7.5. One work-group per matrix;
// element (i, j) is h[j * n + i]. Numbers T are real.
#define STEPS 60  // per eigenvalue
#define H(i, j) h[(j) * n + (i)]

// What one item finds out for all.
typedef struct {
  i64 low, from;  // the first rows of the block that ends with `last`, and of the step
  R v[3];         // the first column of the product of both shifted matrices, from row `from` on
} Step;

DEVICE i64 block_start(GLOBAL R* h, i64 n, i64 last) {
  for (i64 i = last; i > 0; i--) {
    R around = fabs(H(i, i)) + fabs(H(i - 1, i - 1));
    if (fabs(H(i, i - 1)) <= EPS * (around > EPS ? around : EPS)) {
      H(i, i - 1) = 0;
      return i;
    }
  }
  return 0;
}

DEVICE void plan(GLOBAL R* h, i64 n, i64 last, i32 steps, LOCAL Step* step) {
  i64 low = block_start(h, n, last);
  step->low = low;
  step->from = low;
  if (low + 1 >= last) return;
  R a = H(last - 1, last - 1), b = H(last - 1, last), c = H(last, last - 1), d = H(last, last);
  if (steps % 20 == 10) {  // something else, where steps go in circles
    R s = fabs(H(low + 1, low)) + fabs(H(low + 2, low + 1));
    a = d = (R)0.75 * s + H(low, low);
    b = (R)-0.4375 * s;
    c = s;
  }
  if (steps % 20 == 0 && steps > 0) {
    R s = fabs(H(last, last - 1)) + fabs(H(last - 1, last - 2));
    a = d = (R)0.75 * s + H(last, last);
    b = (R)-0.4375 * s;
    c = s;
  }
  // Both eigenvalues of (a b; c d), or twice the one that is nearer to d.
  R middle = (a + d) / 2, spread = (a - middle) * (d - middle) - b * c;
  R re = middle, im = 0, root = sqrt(fabs(spread));
  if (spread >= 0)
    im = root;
  else
    re = fabs(middle + root - d) <= fabs(middle - root - d) ? middle + root : middle - root;
  for (i64 m = last - 2; m >= low; m--) {  // two small elements in a row are as good as one of 0
    R here = H(m, m), next = H(m + 1, m + 1), under = H(m + 1, m);
    R all = fabs(here - re) + fabs(im) + fabs(under);
    if (all == 0) all = 1;
    under /= all;
    R x = under * H(m, m + 1) + (here - re) * ((here - re) / all) + im * (im / all);
    R y = under * (here + next - 2 * re), w = under * H(m + 2, m + 1);
    all = fabs(x) + fabs(y) + fabs(w);
    if (all == 0) all = 1;
    step->from = m;
    step->v[0] = x / all;
    step->v[1] = y / all;
    step->v[2] = w / all;
    if (m == low) return;
    R before = fabs(H(m, m - 1)) * (fabs(y) + fabs(w)) / all;
    if (before <= EPS * fabs(x) / all * (fabs(H(m - 1, m - 1)) + fabs(here) + fabs(next))) return;
  }
}

KERNEL francis(GLOBAL R* matrices, GLOBAL R* all_z, GLOBAL i32* info, i64 at_info, i64 n,
               i32 wants_vectors) {
  LOCAL Step step;
  int t = LOCAL_ID;
  GLOBAL R* h = matrices + GROUP_ID * n * n;
  GLOBAL R* z = all_z + (wants_vectors ? GROUP_ID * n * n : 0);
  i64 last = n - 1, rows = wants_vectors ? 2 * n : n;
  i32 steps = 0, failed = 0;
  while (last > 0 && !failed) {
    if (t == 0) plan(h, n, last, steps, &step);
    BARRIER_GLOBAL();
    i64 low = step.low, from = step.from;
    R x = step.v[0], y = step.v[1], w = step.v[2];
    BARRIER_GLOBAL();
    i64 end = low + 1 < last ? last : from;
    for (i64 k = from; k < end; k++) {
      int three = k + 2 <= last;
      if (k > from) {
        x = H(k, k - 1);
        y = H(k + 1, k - 1);
        w = three ? H(k + 2, k - 1) : (R)0;
      }
      if (!three) w = 0;
      R size = sqrt(x * x + y * y + w * w), tau = 0;
      BARRIER_GLOBAL();
      if (y != 0 || w != 0) {
        if (x > 0) size = -size;
        tau = (size - x) / size;
        y /= x - size;
        w /= x - size;
      } else {
        size = x;
      }
      if (t == 0 && k > from) {
        H(k, k - 1) = size;
        H(k + 1, k - 1) = 0;
        if (three) H(k + 2, k - 1) = 0;
      }
      if (t == 0 && k == from && from > low) H(k, k - 1) *= 1 - tau;
      for (i64 j = k + t; j < n; j += LOCAL_SIZE) {
        R sum = tau * (H(k, j) + y * H(k + 1, j) + (three ? w * H(k + 2, j) : (R)0));
        H(k, j) -= sum;
        H(k + 1, j) -= sum * y;
        if (three) H(k + 2, j) -= sum * w;
      }
      BARRIER_GLOBAL();
      i64 most = k + 3 < last ? k + 3 : last;
      for (i64 e = t; e < rows; e += LOCAL_SIZE) {
        if (e < n && e > most) continue;
        GLOBAL R* row = (e < n ? h + e : z + (e - n)) + k * n;
        R sum = tau * (row[0] + y * row[n] + (three ? w * row[2 * n] : (R)0));
        row[0] -= sum;
        row[n] -= sum * y;
        if (three) row[2 * n] -= sum * w;
      }
      BARRIER_GLOBAL();
    }
    // A block of two is done; with real eigenvalues it becomes a triangle.
    if (low + 1 == last) {
      R a = H(low, low), b = H(low, last), c = H(last, low), d = H(last, last);
      R half_ = (a - d) / 2, root = half_ * half_ + b * c, cs = 1, sn = 0;
      BARRIER_GLOBAL();
      if (root >= 0) {
        R far = half_ + (half_ >= 0 ? sqrt(root) : -sqrt(root)), all = hypot(c, far);
        cs = far / all;
        sn = c / all;
      }
      for (i64 j = low + t; j < n; j += LOCAL_SIZE) {
        R p = H(low, j), q = H(last, j);
        H(low, j) = cs * p + sn * q;
        H(last, j) = cs * q - sn * p;
      }
      BARRIER_GLOBAL();
      for (i64 e = t; e < rows; e += LOCAL_SIZE) {
        if (e < n && e > last) continue;
        GLOBAL R* row = (e < n ? h + e : z + (e - n)) + low * n;
        R p = row[0], q = row[n];
        row[0] = cs * p + sn * q;
        row[n] = cs * q - sn * p;
      }
      BARRIER_GLOBAL();
      if (t == 0 && root >= 0) H(last, low) = 0;
      BARRIER_GLOBAL();
    }
    steps = low + 1 >= last ? 0 : steps + 1;
    if (low + 1 >= last) last = low - 1;
    if (steps > STEPS) failed = (i32)(last + 1);
  }
  if (t == 0) info[at_info + GROUP_ID] = failed;
}
