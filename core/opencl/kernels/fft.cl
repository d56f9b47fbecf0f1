// Fourier transforms of lines, each in one piece of a buffer: Stockham's passes, one launch per
// factor of the length, each item making one result, or the four of a pass of radix 4. Lengths with
// a large prime factor go by Bluestein's convolution. Numbers T are complex. Van Loan,
// "Computational Frameworks for the Fast Fourier Transform", 1.7 and 4.2.

// exp(-2 pi i j / n), 0 <= j < n, from an angle of at most pi / 4, so that it is rounded once.
DEVICE T root_of(i64 j, i64 n) {
  i64 octant = 8 * j / n, rest = 8 * j - octant * n;
  int odd = (int)(octant & 1);
  R angle = (R)(odd ? n - rest : rest) / (R)n * (R)0.78539816339744830962;
  R c = cos(angle), s = odd ? -sin(angle) : sin(angle);
  i64 quarter = (octant + odd) / 2 & 3;
  if (quarter == 1) return pair(-s, -c);
  if (quarter == 2) return pair(-c, s);
  if (quarter == 3) return pair(s, c);
  return pair(c, -s);
}

KERNEL fft_roots(GLOBAL T* roots, i64 n) {
  i64 j = GLOBAL_ID;
  if (j < n) roots[j] = root_of(j, n);
}

// exp(-pi i j^2 / n), and the filter made of it: its conjugates around 0, in a circle of `size`.
KERNEL fft_chirp(GLOBAL T* chirp, GLOBAL T* filter, i64 n, i64 size) {
  i64 j = GLOBAL_ID;
  if (j >= size) return;
  i64 k = j < n ? j : size - j;
  T v = k < n ? root_of(k * k % (2 * n), 2 * n) : number(0);
  if (j < n) chirp[j] = v;
  filter[j] = conjugate(v);
}

#define FFT_REAL 1     // the elements are real
#define FFT_HALF 2     // the second half of them is the mirror image of the first
#define FFT_INVERSE 4  // conjugates go in and come out
#define FFT_CHIRP 8

// Lines of x (operand 1) into lines of `size` >= n.
KERNEL fft_load(GLOBAL T* lines, GLOBAL const T* x, GLOBAL const T* chirp, Geometry g, i64 total,
                i64 n, i64 size, i64 step, i32 how) {
  i64 e = GLOBAL_ID;
  if (e >= total) return;
  i64 line = e / size, j = e - line * size;
  T v = number(0);
  if (j < n) {
    i64 at = line_at(&g, 1, line), mirror = (how & FFT_HALF) && j > n / 2;
    at += (mirror ? n - j : j) * step;
    if (how & FFT_REAL)
      v = number(((GLOBAL const R*)x)[at]);
    else
      v = x[at];
    if ((how & FFT_HALF) && (j == 0 || 2 * j == n)) v = number(real_of(v));
    if (mirror) v = conjugate(v);
    if (how & FFT_INVERSE) v = conjugate(v);
    if (how & FFT_CHIRP) v = times(v, chirp[j]);
  }
  lines[e] = v;
}

// The first n results of each line (operand 0), or their real parts.
KERNEL fft_store(GLOBAL T* out, GLOBAL const T* lines, GLOBAL const T* chirp, Geometry g, i64 total,
                 i64 n, i64 size, i64 step, R scale, i32 how) {
  i64 e = GLOBAL_ID;
  if (e >= total) return;
  i64 line = e / n, j = e - line * n, at = line_at(&g, 0, line) + j * step;
  T v = lines[line * size + j];
  if (how & FFT_CHIRP) v = times(conjugate(v), chirp[j]);
  if (how & FFT_INVERSE) v = conjugate(v);
  v = scaled(v, scale);
  if (how & FFT_REAL)
    ((GLOBAL R*)out)[at] = real_of(v);
  else
    out[at] = v;
}

// lines = conj(lines * filter), so that the next transform goes back.
KERNEL fft_filter(GLOBAL T* lines, GLOBAL const T* filter, i64 total, i64 size) {
  i64 e = GLOBAL_ID;
  if (e < total) lines[e] = conjugate(times(lines[e], filter[e % size]));
}

// `done` is the length of the transforms so far: element k * (n / done) + s is result k of those
// x[s + (n / done) * t]. Afterwards they are `radix` times as long.
KERNEL fft_pass(GLOBAL T* out, GLOBAL const T* in, GLOBAL const T* roots, i64 total, i64 n,
                i64 done, i64 radix) {
  i64 e = GLOBAL_ID;
  if (e >= total) return;
  i64 line = e / n, o = e - line * n, width = n / (done * radix), k = o / width;
  GLOBAL const T* from = in + line * n + k % done * width * radix + (o - k * width);
  T sum = from[0];
  i64 turn = 0, by = k * width;
  for (i64 u = 1; u < radix; u++) {
    turn += by;
    if (turn >= n) turn -= n;
    sum = plus_(sum, times(from[u * width], roots[turn]));
  }
  out[e] = sum;
}

KERNEL fft_pass4(GLOBAL T* out, GLOBAL const T* in, GLOBAL const T* roots, i64 total, i64 n,
                 i64 done) {
  i64 e = GLOBAL_ID;
  if (e >= total) return;
  i64 quarter = n / 4, line = e / quarter, o = e - line * quarter, width = quarter / done;
  i64 k = o / width, s = o - k * width;
  GLOBAL const T* from = in + line * n + k * width * 4 + s;
  GLOBAL T* to = out + line * n + k * width + s;
  T a = from[0], b = times(from[width], roots[k * width]);
  T c = times(from[2 * width], roots[2 * k * width]),
    d = times(from[3 * width], roots[3 * k * width]);
  T even = plus_(a, c), odd = minus_(a, c), sum = plus_(b, d), gap = minus_(b, d);
  gap = pair(gap.im, -gap.re);  // times -i
  to[0] = plus_(even, sum);
  to[quarter] = plus_(odd, gap);
  to[2 * quarter] = minus_(even, sum);
  to[3 * quarter] = minus_(odd, gap);
}
