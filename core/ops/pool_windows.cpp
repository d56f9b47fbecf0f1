// Maxima and means of windows with their gradients, which are linear and have gradients again. A
// device without kernels for them gathers the elements of every window by their positions.
#include "backend.h"
#include "ops/conv.h"
#include "ops/pool.h"

namespace ember {

PoolAxis sliding_windows(int64_t size, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
                         int64_t dilation, bool count_padding) {
  PoolAxis axis;
  axis.step = dilation;
  // No window begins before -padding, so what is beyond this many elements meets none of the input.
  axis.kernel = std::min(kernel, (size + padding + dilation - 1) / dilation);
  axis.stride = out == 1 ? std::min(stride, axis.kernel) : stride;  // a single window takes no step
  axis.padding = padding;
  for (int64_t i = 0; i < out; i++) {
    const int64_t start = i * stride - padding, end = start + dilation * (kernel - 1) + 1;
    const int64_t first =
        start >= 0 ? start : start + (-start + dilation - 1) / dilation * dilation;
    const int64_t last = std::min(end, size);
    axis.first.push_back(std::min(first, size - 1));
    axis.last.push_back(first < last ? last : axis.first.back());
    const int64_t count = count_padding ? std::min(end, size + padding) - start : last - first;
    axis.count.push_back(std::max<int64_t>(count, 1));
  }
  return axis;
}

PoolAxis adaptive_windows(int64_t size, int64_t out) {
  PoolAxis axis;
  for (int64_t i = 0; i < out; i++) {
    // i * size / out, rounded down, and (i + 1) * size / out, rounded up
    const __int128 first = __int128(i) * size, last = first + size;
    axis.first.push_back(int64_t(first / out));
    axis.last.push_back(int64_t((last + out - 1) / out));
    axis.count.push_back(axis.last.back() - axis.first.back());
  }
  return axis;
}

namespace {

Shape pooled_shape(const Tensor& x, const PoolWindows& windows) {
  Shape shape{x.size(0), x.size(1)};
  for (const PoolAxis& axis : windows) shape.push_back(axis.size());
  return shape;
}

// --- in steps ------------------------------------------------------------------------------------

Tensor host_tensor(const std::vector<int64_t>& values, const Shape& shape, Device device) {
  Tensor t = empty(shape, Dtype::Int64, device);
  backend_of(t).copy_from_host(t, values.data());
  return t;
}

// The flat position of element k of window p, as (P, K); windows that are shorter end in -1.
Tensor positions_of(const Tensor& x, const PoolWindows& windows) {
  std::vector<int64_t> flat{0};
  int64_t count = 1, longest = 1;
  for (size_t d = 0; d < windows.size(); d++) {
    const PoolAxis& axis = windows[d];
    int64_t most = 1;
    for (int64_t i = 0; i < axis.size(); i++)
      most = std::max(most,
                      (axis.last[size_t(i)] - axis.first[size_t(i)] + axis.step - 1) / axis.step);
    std::vector<int64_t> next;
    for (int64_t p = 0; p < count; p++)
      for (int64_t i = 0; i < axis.size(); i++)
        for (int64_t k = 0; k < longest; k++)
          for (int64_t j = 0; j < most; j++) {
            const int64_t outer = flat[size_t(p * longest + k)];
            const int64_t at = axis.first[size_t(i)] + j * axis.step;
            const bool inside = outer >= 0 && at < axis.last[size_t(i)];
            next.push_back(inside ? outer * x.size(int64_t(d) + 2) + at : -1);
          }
    flat = std::move(next);
    count *= axis.size();
    longest *= most;
  }
  return host_tensor(flat, {count, longest}, x.device());
}

// (N, C, P, K): the elements of the windows, `missing` where one is shorter than the longest.
Tensor elements_of(const Tensor& x, const Tensor& positions, const Scalar& missing) {
  Tensor absent = positions < Scalar(0);
  Tensor flat = reshape(where(absent, Scalar(0), positions), {positions.numel()});
  Tensor values = index_select(flatten(x, 2), 2, flat);
  values = reshape(values, {x.size(0), x.size(1), positions.size(0), positions.size(1)});
  return masked_fill(values, absent, missing);
}

Scalar lowest(Dtype dtype) {
  if (is_floating(dtype)) return Scalar(-std::numeric_limits<double>::infinity());
  if (dtype == Dtype::UInt8) return Scalar(0);
  return Scalar(int64_t(-1) << (8 * item_size(dtype) - 1));
}

std::tuple<Tensor, Tensor> max_in_steps(const Tensor& x, const PoolWindows& windows) {
  const Shape shape = pooled_shape(x, windows);
  Tensor positions = positions_of(x, windows);
  Tensor values = elements_of(x, positions, lowest(x.dtype()));
  Tensor best = argmax(values, -1, true);
  Tensor places = gather(expand(positions, values.shape()), -1, best);
  return {reshape(gather(values, -1, best), shape), reshape(places, shape)};
}

Tensor mean_in_steps(const Tensor& x, const PoolWindows& windows, int64_t divisor) {
  Tensor values = elements_of(x, positions_of(x, windows), Scalar(0));
  Tensor total = reshape(sum(values, Dims(-1), false, x.dtype()), pooled_shape(x, windows));
  if (divisor) return total / Scalar(divisor);
  for (size_t d = 0; d < windows.size(); d++) {
    Shape along = Shape::filled(x.dim(), 1);
    along[int64_t(d) + 2] = windows[d].size();
    total = total / to(host_tensor(windows[d].count, along, x.device()), x.dtype());
  }
  return total;
}

// --- gradients -----------------------------------------------------------------------------------

void check_gradient(const Tensor& g) {
  check(g.numel() > 0, Kind::Runtime,
        "pooling: Expected grad_output to have non-zero size for non-batch dimensions, but "
        "grad_output has sizes ",
        g.shape());
}

// g summed up at the positions of the maxima in a tensor of `shape`.
Tensor max_gradient(const Tensor& g, const Tensor& indices, const Shape& shape) {
  Tensor dx = empty_laid_out(shape, g.dtype(), g.device(), prefers_channels_last(indices));
  if (dx.numel()) {
    check_gradient(g);
    backend_of(g).max_pool_grad(dx, g, indices);
  }
  if (!grad_needed(g)) return dx;
  return tape(dx, "max_pool_backward", wrt(g, [indices = Saved(indices)](const Tensor& u) {
                Tensor at = indices.get();
                return reshape(gather(flatten(u, 2), 2, flatten(at, 2)), at.shape());
              }));
}

Tensor mean_gradient(const char* op, const Tensor& g, const Windows& windows, int64_t divisor,
                     const Shape& shape, bool channels_last) {
  Tensor dx = empty_laid_out(shape, g.dtype(), g.device(), channels_last);
  if (dx.numel()) {
    check_gradient(g);
    backend_of(g).mean_pool_grad(dx, g, *windows, divisor);
  }
  if (!grad_needed(g)) return dx;
  return tape(dx, op, wrt(g, [op, windows, divisor](const Tensor& u) {
                return mean_of_windows(op, u, windows, divisor);
              }));
}

}  // namespace

std::tuple<Tensor, Tensor> max_of_windows(const char* op, const Tensor& x, const Windows& windows,
                                          bool with_indices) {
  Backend& backend = backend_of(x);
  const Shape shape = pooled_shape(x, *windows);
  if (!backend.has(Primitive::max_pool, Primitive::max_pool_grad) && numel_of(shape))
    return max_in_steps(x, *windows);
  const bool last = prefers_channels_last(x), record = grad_needed(x);
  Tensor y = empty_laid_out(shape, x.dtype(), x.device(), last), indices;
  if (with_indices || record) indices = empty_laid_out(shape, Dtype::Int64, x.device(), last);
  if (y.numel()) backend.max_pool(y, indices, x, *windows);
  if (record)
    y = tape(y, op, wrt(x, [indices = Saved(indices), shape = x.shape()](const Tensor& g) {
               return max_gradient(g, indices.get(), shape);
             }));
  return {y, indices};
}

Tensor mean_of_windows(const char* op, const Tensor& x, const Windows& windows, int64_t divisor) {
  Backend& backend = backend_of(x);
  const Shape shape = pooled_shape(x, *windows);
  if (!backend.has(Primitive::mean_pool, Primitive::mean_pool_grad) && numel_of(shape))
    return mean_in_steps(x, *windows, divisor);
  const bool last = prefers_channels_last(x);
  Tensor y = empty_laid_out(shape, x.dtype(), x.device(), last);
  if (y.numel()) backend.mean_pool(y, x, *windows, divisor);
  if (!grad_needed(x)) return y;
  return tape(y, op, wrt(x, [op, windows, divisor, shape = x.shape(), last](const Tensor& g) {
                return mean_gradient(op, g, windows, divisor, shape, last);
              }));
}

}  // namespace ember
