// Complex and real Fourier transforms over several dimensions. The gradient of each is another one
// of them.
#include <algorithm>
#include <numeric>

#include "backend.h"
#include "ops/fft.h"

namespace ember::fft {

namespace {

// Note [Layout of transforms]
// As in PyTorch, results are dense with the transformed dimensions innermost, where a library of
// transforms wants its lines: first the others, those with large strides outermost, then `dims`,
// sorted likewise up to `fixed` of them at the end. Of a complex transform, three dimensions are
// taken at a time, from the innermost.
Shape transformed_strides(const Shape& shape, Shape strides, Shape dims, int fixed) {
  constexpr int kAtOnce = 3;
  auto outside = [&](int64_t a, int64_t b) { return strides[int(a)] > strides[int(b)]; };
  do {
    std::stable_sort(dims.begin(), dims.end() - fixed, outside);
    const int count = fixed ? dims.size() : std::min(dims.size(), kAtOnce);
    Shape order;
    for (int d = 0; d < shape.size(); d++)
      if (std::find(dims.end() - count, dims.end(), d) == dims.end()) order.push_back(d);
    std::stable_sort(order.begin(), order.end(), outside);
    for (int i = dims.size() - count; i < dims.size(); i++) order.push_back(dims[i]);
    int64_t step = 1;
    for (int i = order.size() - 1; i >= 0; i--) {
      strides[int(order[i])] = step;
      step *= std::max<int64_t>(shape[int(order[i])], 1);
    }
    dims.resize(dims.size() - count);
  } while (!dims.empty());
  return strides;
}

Tensor room_for(const Tensor& x, const Shape& shape, const Shape& dims, int fixed, Dtype dtype) {
  return empty_strided(shape, transformed_strides(shape, x.strides(), dims, fixed), dtype,
                       x.device());
}

// Along all of `dims`; the result is `x` itself if `own`.
Tensor run_complex(const Tensor& x, const Shape& dims, bool inverse, double scale, bool own) {
  Tensor out = own ? x : dims.empty() ? empty_like(x) : room_for(x, x.shape(), dims, 0, x.dtype());
  if (dims.empty()) {
    if (!own) backend_of(x).copy(out, x);
    return out;
  }
  for (int i = 0; i < dims.size(); i++)
    backend_of(x).fft_c2c(out, i ? out : x, int(dims[i]), inverse, i ? 1.0 : scale);
  return out;
}

Shape with_size(Shape shape, int64_t dim, int64_t n) {
  shape[int(dim)] = n;
  return shape;
}

Shape but_last(Shape dims) {
  dims.resize(dims.size() - 1);
  return dims;
}

// x with what stands for two of n elements, itself and its mirror image, multiplied by `factor`.
Tensor scale_doubles(const Tensor& x, int64_t dim, int64_t n, double factor) {
  const int64_t doubles = (n - 1) / 2;
  if (doubles == 0) return x;
  Tensor by = full({x.size(dim)}, Scalar(1.0), real_of(x.dtype()), x.device());
  fill_(narrow(by, 0, 1, doubles), Scalar(factor));
  Shape shape;
  for (int d = 0; d < x.dim(); d++) shape.push_back(d == dim ? x.size(dim) : 1);
  return x * view(by, shape);
}

}  // namespace

Tensor complex_to_complex(const Tensor& x, const Shape& dims, bool inverse, double scale) {
  Tensor out = run_complex(x, dims, inverse, scale, false);
  if (!grad_needed(x)) return out;
  return tape(out, "fft_c2c", wrt(x, [dims, inverse, scale](const Tensor& g) {
                return complex_to_complex(g, dims, !inverse, scale);
              }));
}

Tensor real_to_complex(const Tensor& x, const Shape& dims, double scale) {
  const int64_t last = dims.back(), n = x.size(last);
  Tensor out = room_for(x, with_size(x.shape(), last, n / 2 + 1), dims, 1, complex_of(x.dtype()));
  backend_of(x).fft_r2c(out, x, int(last), scale);
  run_complex(out, but_last(dims), false, 1, true);
  if (!grad_needed(x)) return out;
  return tape(out, "fft_r2c", wrt(x, [dims, last, n, scale](const Tensor& g) {
                return complex_to_real(scale_doubles(g, last, n, 0.5), dims, n, scale);
              }));
}

Tensor complex_to_real(const Tensor& x, const Shape& dims, int64_t n, double scale) {
  const int64_t last = dims.back();
  Tensor lines = dims.size() > 1 ? run_complex(x, but_last(dims), true, 1, false) : x;
  Tensor out = room_for(lines, with_size(x.shape(), last, n), {last}, 1, real_of(x.dtype()));
  backend_of(x).fft_c2r(out, lines, int(last), scale);
  if (!grad_needed(x)) return out;
  return tape(out, "fft_c2r", wrt(x, [dims, last, n, scale](const Tensor& g) {
                return scale_doubles(real_to_complex(g, dims, scale), last, n, 2);
              }));
}

Tensor resized(const Tensor& x, int dim, int64_t n) {
  if (n == x.size(dim)) return x;
  if (n < x.size(dim)) return narrow(x, dim, 0, n);
  Shape shape = with_size(x.shape(), dim, n);
  Tensor out = zeros(shape, x.dtype(), x.device());
  {
    NoGrad guard;
    copy_(narrow(out, dim, 0, x.size(dim)), x);
  }
  if (!grad_needed(x)) return out;
  return tape(out, "constant_pad_nd",
              wrt(x, [dim, was = x.size(dim)](const Tensor& g) { return narrow(g, dim, 0, was); }));
}

}  // namespace ember::fft
