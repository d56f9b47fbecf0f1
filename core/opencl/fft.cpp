// Fourier transforms along one dimension, of any length; see kernels/fft.cl.

#include <utility>

#include "opencl/linalg.h"
#include "opencl/sources.h"

namespace ember::opencl {

namespace {

constexpr int32_t kReal = 1, kHalf = 2, kInverse = 4, kChirp = 8;
constexpr int64_t kLargestRadix = 61;  // primes above this go by Bluestein

Launch fft_kernel(const char* name, Dtype d) { return number_kernel("fft", name, sources::fft, d); }

bool is_smooth(int64_t n) {
  for (int64_t p = 2; p <= kLargestRadix; p++)
    while (n % p == 0) n /= p;
  return n == 1;
}

// Each line of `lines` (count, n), transformed; the result is there, or in the other tensor.
Tensor transform(const Tensor& lines) {
  const int64_t n = lines.size(1), total = lines.numel();
  const Dtype d = lines.dtype();
  if (n == 1) return lines;
  Tensor roots = scratch({n}, d, lines);
  {
    Launch launch = fft_kernel("fft_roots", d);
    launch.tensor(roots).value(n);
    run_items(launch, n);
  }
  Tensor from = lines, to = scratch({lines.size(0), n}, d, lines);
  int64_t done = 1;
  while (done < n) {
    int64_t rest = n / done, radix = rest % 4 == 0 ? 4 : 2;
    while (rest % radix) radix++;
    Launch launch = fft_kernel(radix == 4 ? "fft_pass4" : "fft_pass", d);
    const int64_t items = radix == 4 ? total / 4 : total;
    launch.tensor(to).tensor(from).tensor(roots).value(items).value(n).value(done);
    if (radix != 4) launch.value(radix);
    run_items(launch, items);
    std::swap(from, to);
    done *= radix;
  }
  return from;
}

// What of the lines is read and written, as flags of the kernels.
void run(const Tensor& out, const Tensor& x, int dim, int64_t n, double scale, int32_t load,
         int32_t store) {
  if (out.numel() == 0) return;
  const Dtype d = is_complex(out.dtype()) ? out.dtype() : x.dtype(), real = real_of(d);
  Shape shape = out.shape();
  shape[dim] = 1;
  Walk walk(shape);
  walk.add(out);
  walk.add(x);
  const Geometry g = walk.geometry();
  const int64_t count = numel_of(shape), kept = out.size(dim);
  int64_t size = n;
  Tensor chirp, filter;
  if (!is_smooth(n)) {
    for (size = 1; size < 2 * n - 1;) size *= 2;
    chirp = scratch({n}, d, out);
    filter = scratch({1, size}, d, out);
    {
      Launch launch = fft_kernel("fft_chirp", d);
      launch.tensor(chirp).tensor(filter).value(n).value(size);
      run_items(launch, size);
    }
    filter = transform(filter);
    load |= kChirp;
    store |= kChirp;
    scale /= double(size);
  }
  Tensor lines = scratch({count, size}, d, out);
  const int64_t total = count * size;
  {
    Launch launch = fft_kernel("fft_load", d);
    launch.tensor(lines).tensor(x).tensor(chirp).value(g).value(total).value(n).value(size);
    launch.value(x.stride(dim)).value(load);
    run_items(launch, total);
  }
  lines = transform(lines);
  if (chirp) {
    Launch launch = fft_kernel("fft_filter", d);
    launch.tensor(lines).tensor(filter).value(total).value(size);
    run_items(launch, total);
    lines = transform(lines);
  }
  Launch launch = fft_kernel("fft_store", d);
  launch.tensor(out).tensor(lines).tensor(chirp).value(g).value(count * kept).value(kept);
  launch.value(size).value(out.stride(dim)).scalar(real, Scalar(scale)).value(store);
  run_items(launch, count * kept);
}

}  // namespace

void OpenClBackend::fft_c2c(const Tensor& out, const Tensor& x, int dim, bool inverse,
                            double scale) {
  const int32_t how = inverse ? kInverse : 0;
  run(out, x, dim, x.size(dim), scale, how, how);
}
void OpenClBackend::fft_r2c(const Tensor& out, const Tensor& x, int dim, double scale) {
  run(out, x, dim, x.size(dim), scale, kReal, 0);
}
void OpenClBackend::fft_c2r(const Tensor& out, const Tensor& x, int dim, double scale) {
  run(out, x, dim, out.size(dim), scale, kHalf | kInverse, kReal | kInverse);
}

}  // namespace ember::opencl
