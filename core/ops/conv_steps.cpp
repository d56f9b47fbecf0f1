// Convolutions in terms of other ops, for devices without kernels of their own: windows as views
// and one matrix product. A transposed convolution is one of the input with zeros between its
// elements and of the kernel turned around, so that both have all their gradients from the ops.
#include "ops/conv.h"

namespace ember {

namespace {

Shape joined(int64_t a, int64_t b, const Shape& rest) {
  Shape shape{a, b};
  for (int64_t n : rest) shape.push_back(n);
  return shape;
}

// x with `before` and `after` zeros at the ends of an axis; what is negative is cut off.
Tensor padded(Tensor x, int axis, int64_t before, int64_t after) {
  const int64_t size = x.size(axis);
  const int64_t cut = std::max<int64_t>(-before, 0), end = size + std::min<int64_t>(after, 0);
  if (cut || end < size) x = slice(x, axis, cut, std::max(end, cut), 1);
  before = std::max<int64_t>(before, 0);
  after = std::max<int64_t>(after, 0);
  if (!before && !after) return x;
  Shape shape = x.shape();
  shape[axis] += before + after;
  return slice_scatter(zeros(shape, x.dtype(), x.device()), x, axis, before, before + x.size(axis),
                       1);
}

// x with step - 1 zeros between neighbours along an axis.
Tensor spread(const Tensor& x, int axis, int64_t step) {
  if (step == 1) return x;
  Shape shape = x.shape();
  shape[axis] = (shape[axis] - 1) * step + 1;
  return slice_scatter(zeros(shape, x.dtype(), x.device()), x, axis, 0, shape[axis], step);
}

// Back to front, without an index: not every device has flip.
Tensor turned(const Tensor& w, int axis) {
  TensorList parts;
  for (int64_t i = w.size(axis) - 1; i >= 0; i--) parts.push_back(narrow(w, axis, i, 1));
  return cat(parts, axis);
}

}  // namespace

Tensor unfold_in_steps(const Tensor& x, const Shape& kernel, const Shape& places,
                       const Moves& moves) {
  const int axes = places.size();
  Tensor windows = x;
  Shape order{0, 1};
  for (int i = 0; i < axes; i++) {
    const int64_t reach = moves.dilation[i] * (kernel[i] - 1) + 1;
    const int64_t end = (places[i] - 1) * moves.stride[i] + reach;
    windows = padded(windows, 2 + i, moves.padding[i], end - x.size(2 + i) - moves.padding[i]);
    windows = unfold(windows, 2 + i, reach, moves.stride[i]);
    if (moves.dilation[i] > 1)
      windows = slice(windows, windows.dim() - 1, 0, reach, moves.dilation[i]);
  }
  for (int i = 0; i < axes; i++) order.push_back(2 + axes + i);
  for (int i = 0; i < axes; i++) order.push_back(2 + i);
  return reshape(permute(windows, order),
                 {x.size(0), x.size(1) * numel_of(kernel), numel_of(places)});
}

// Each tap is put where it belongs, and all are added.
Tensor fold_in_steps(const Tensor& columns, const Shape& size, const Shape& kernel,
                     const Shape& places, const Moves& moves) {
  const int axes = size.size();
  const int64_t taps = numel_of(kernel), channels = columns.size(1) / taps;
  Tensor parts = reshape(columns, {columns.size(0), channels, taps, columns.size(2)});
  Tensor total = zeros(joined(columns.size(0), channels, size), columns.dtype(), columns.device());
  for (int64_t tap = 0; tap < taps; tap++) {
    Tensor part = reshape(select(parts, 2, tap), joined(columns.size(0), channels, places));
    int64_t rest = tap;
    for (int i = axes - 1; i >= 0; i--) {
      part = spread(part, 2 + i, moves.stride[i]);
      const int64_t before = rest % kernel[i] * moves.dilation[i] - moves.padding[i];
      part = padded(part, 2 + i, before, size[i] - before - part.size(2 + i));
      rest /= kernel[i];
    }
    total = total + part;
  }
  return total;
}

Tensor convolution_in_steps(const Tensor& x, const Tensor& w, const Shape& size,
                            const Moves& moves) {
  const int64_t groups = moves.groups, out = w.size(0), n = x.size(0);
  if (!n || !out || !w.numel()) return zeros(joined(n, out, size), x.dtype(), x.device());
  const Shape kernel(w.shape().data() + 2, size.size());
  const int64_t taps = w.numel() / out;
  Tensor columns = unfold_in_steps(x, kernel, size, moves);
  columns = reshape(columns, {n, groups, taps, numel_of(size)});
  Tensor product = matmul(reshape(w, {groups, out / groups, taps}), columns);
  return reshape(product, joined(n, out, size));
}

// A convolution of g, spread out, with the kernel turned around.
Tensor convolution_data_in_steps(const Tensor& g, const Tensor& w, const Shape& size,
                                 const Moves& moves) {
  const int axes = size.size();
  const int64_t groups = moves.groups, in = w.size(1);
  if (!g.numel() || !w.numel())
    return zeros(joined(g.size(0), in * groups, size), g.dtype(), g.device());
  Tensor x = g, back_w = w;
  const Shape kernel(w.shape().data() + 2, axes);
  Moves back{Shape::filled(axes, 1), Shape::filled(axes, 0), moves.dilation, groups};
  for (int i = 0; i < axes; i++) {
    x = spread(x, 2 + i, moves.stride[i]);
    back.padding[i] = moves.dilation[i] * (kernel[i] - 1) - moves.padding[i];
    back_w = turned(back_w, 2 + i);
  }
  Shape apart{groups, w.size(0) / groups, in};
  for (int64_t n : kernel) apart.push_back(n);
  back_w = transpose(reshape(back_w, apart), 1, 2);
  back_w = reshape(back_w, joined(groups * in, w.size(0) / groups, kernel));
  return convolution_in_steps(x, back_w, size, back);
}

}  // namespace ember
