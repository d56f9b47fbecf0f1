// A number T of linear algebra, real or complex, and the arithmetic that kernels are written in.
// Follows fold.cl; GROUP is the most items that a group may have. The program defines R, its EPS
// and TINY (the smallest normal R), and COMPLEX where T is a pair.

#ifdef COMPLEX
typedef struct {
  R re, im;
} T;
DEVICE T pair(R re, R im) {
  T t;
  t.re = re;
  t.im = im;
  return t;
}
DEVICE T number(R v) { return pair(v, 0); }
DEVICE R real_of(T a) { return a.re; }
DEVICE R imag_of(T a) { return a.im; }
DEVICE T conjugate(T a) { return pair(a.re, -a.im); }
DEVICE T plus_(T a, T b) { return pair(a.re + b.re, a.im + b.im); }
DEVICE T minus_(T a, T b) { return pair(a.re - b.re, a.im - b.im); }
DEVICE T times(T a, T b) { return pair(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re); }
DEVICE T scaled(T a, R by) { return pair(a.re * by, a.im * by); }
DEVICE T shrunk(T a, R by) { return pair(a.re / by, a.im / by); }
DEVICE T over(T a, T b) {  // Smith: no square that overflows
  if (fabs(b.re) >= fabs(b.im)) {
    R ratio = b.im / b.re, all = b.re + b.im * ratio;
    return pair((a.re + a.im * ratio) / all, (a.im - a.re * ratio) / all);
  }
  R ratio = b.re / b.im, all = b.re * ratio + b.im;
  return pair((a.re * ratio + a.im) / all, (a.im * ratio - a.re) / all);
}
DEVICE R square(T a) { return a.re * a.re + a.im * a.im; }
DEVICE R size1(T a) { return fabs(a.re) + fabs(a.im); }  // how LAPACK compares
DEVICE R magnitude(T a) { return hypot(a.re, a.im); }
#else
typedef R T;
DEVICE T number(R v) { return v; }
DEVICE R real_of(T a) { return a; }
DEVICE R imag_of(T a) { return 0; }
DEVICE T conjugate(T a) { return a; }
DEVICE T plus_(T a, T b) { return a + b; }
DEVICE T minus_(T a, T b) { return a - b; }
DEVICE T times(T a, T b) { return a * b; }
DEVICE T scaled(T a, R by) { return a * by; }
DEVICE T shrunk(T a, R by) { return a / by; }
DEVICE T over(T a, T b) { return a / b; }
DEVICE R square(T a) { return a * a; }
DEVICE R size1(T a) { return fabs(a); }
DEVICE R magnitude(T a) { return fabs(a); }
#endif

DEVICE int is_zero(T a) { return real_of(a) == 0 && imag_of(a) == 0; }
DEVICE R larger(R a, R b) { return a != a || a >= b ? a : b; }  // NaN wins
DEVICE T conjugate_if(T a, int yes) { return yes ? conjugate(a) : a; }

// The same value for every item of the group.
DEVICE R all_sum(LOCAL R* shared, R mine) {
  FOLD_ROWS(shared, mine, LOCAL_SIZE, 1, ADD, BARRIER_GLOBAL)
  return mine;
}
DEVICE R all_max(LOCAL R* shared, R mine) {
  FOLD_ROWS(shared, mine, LOCAL_SIZE, 1, larger, BARRIER_GLOBAL)
  return mine;
}
// The largest part of a matrix of `count` elements, which scales it so that squares stay in range.
DEVICE R all_largest(LOCAL R* shared, GLOBAL const T* a, i64 count) {
  R mine = 0;
  for (i64 i = LOCAL_ID; i < count; i += LOCAL_SIZE)
    mine = larger(mine, larger(fabs(real_of(a[i])), fabs(imag_of(a[i]))));
  return all_max(shared, mine);
}

// Pairs of a round robin of n players: each meets each once in `rounds_of` rounds, and the pairs of
// a round share nobody. Pair i of `round`, with p < q; q >= n if somebody has nobody to meet.
DEVICE i64 rounds_of(i64 n) { return n + (n & 1) - 1; }
DEVICE i64 pairs_of(i64 n) { return (n + 1) / 2; }
DEVICE void pair_of(i64 n, i64 round, i64 i, i64* p, i64* q) {
  i64 turn = rounds_of(n);
  i64 a = i == 0 ? turn : (round + i) % turn, b = (round - i + turn) % turn;
  *p = a < b ? a : b;
  *q = a < b ? b : a;
}

// The rotation (p, q) -> (c p - conj(s) q, s p + c q) of columns that makes a Hermitian 2 x 2
// matrix with the diagonal x, y and z above it diagonal. `shift` is what y gains and x loses.
DEVICE void rotation_of(R x, R y, T z, R* c, T* s, R* shift) {
  R size = magnitude(z), slope = (y - x) / (2 * size);
  R t = 1 / (fabs(slope) + sqrt(slope * slope + 1));
  if (slope < 0) t = -t;
  *c = 1 / sqrt(t * t + 1);
  *s = scaled(shrunk(z, size), t * *c);
  *shift = t * size;
}
