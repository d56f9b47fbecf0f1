// The three products of a convolution and their gradients, which are the other two: F(x, w) = y,
// D(y, w) = x and W(y, x) = w are each linear in both operands. Arguments are checked in conv.cpp.
#include "backend.h"
#include "ops/conv.h"

namespace ember {

namespace {

Shape joined(int64_t a, int64_t b, const Shape& rest) {
  Shape shape{a, b};
  for (int64_t n : rest) shape.push_back(n);
  return shape;
}

Shape last_axes(const Shape& shape) { return Shape(shape.data() + 2, shape.size() - 2); }

Tensor along_channels(const Tensor& bias, int dim) {
  Shape shape = Shape::filled(dim, 1);
  shape[1] = bias.size(0);
  return reshape(bias, shape);
}

Tensor sum_channels(const Tensor& g) {
  Shape dims{0};
  for (int d = 2; d < g.dim(); d++) dims.push_back(d);
  return sum(g, Dims(dims));
}

bool has_work(const Tensor& a, const Tensor& b, const Tensor& out) {
  return a.numel() && b.numel() && out.numel();
}

bool fuses_convolution(const Backend& b) { return b.has(Primitive::conv, Primitive::conv_grad); }

using Needed = std::vector<bool>;

// Kept for the gradient of `other`, if that is wanted.
Saved kept(const Tensor& t, const Tensor& other) { return grad_needed(other) ? Saved(t) : Saved(); }

// The gradients of x, w and the bias in one call, which shares what they have in common.
std::vector<Tensor> all_gradients(const Tensor& g, const Tensor& x, const Tensor& w,
                                  const Shape& x_shape, const Shape& w_shape, bool w_last,
                                  bool x_last, const Moves& moves, const Needed& needed) {
  Tensor dx, dw, db;
  if (needed[0]) dx = empty_laid_out(x_shape, g.dtype(), g.device(), x_last);
  if (needed[1]) dw = empty_laid_out(w_shape, g.dtype(), g.device(), w_last);
  if (needed[2]) db = empty({w_shape[0]}, g.dtype(), g.device());
  backend_of(g).conv_grad(dx, dw, db, g, x, w, moves);
  return {dx, dw, db};
}

}  // namespace

// The strides grow from the channels over the other axes, last to first, to the batch; there may be
// gaps, as in a slice of such a tensor.
bool prefers_channels_last(const Tensor& t) {
  const int n = t.dim();
  if ((n != 4 && n != 5) || t.numel() == 0 || t.stride(1) == 0) return false;
  int64_t least = t.stride(1) * t.size(1);
  for (int d = n - 1; d != 1; d = d == 2 ? 0 : d - 1) {
    if (t.stride(d) < least || (d == 0 && least == t.stride(1))) return false;
    least = t.stride(d) * t.size(d);
    if (d == 0) break;
  }
  return !t.is_contiguous();
}

Tensor empty_laid_out(const Shape& shape, Dtype dtype, Device device, bool channels_last) {
  if (!channels_last || shape[1] == 1) return empty(shape, dtype, device);
  return empty_strided(shape, channels_last_strides(shape), dtype, device);
}

Tensor convolution(const Tensor& x, const Tensor& w, const Tensor& bias, const Shape& size,
                   const Moves& moves) {
  if (!fuses_convolution(backend_of(x))) {
    Tensor y = convolution_in_steps(x, w, size, moves);
    return bias ? y + along_channels(bias, y.dim()) : y;
  }
  const bool x_last = prefers_channels_last(x), w_last = prefers_channels_last(w);
  Tensor y =
      empty_laid_out(joined(x.size(0), w.size(0), size), x.dtype(), x.device(), x_last || w_last);
  const bool work = has_work(x, w, y);
  if (work) {
    backend_of(y).conv(y, x, w, bias, moves);
  } else {
    NoGrad guard;
    if (bias)
      backend_of(y).copy(y, expand(along_channels(bias, y.dim()), y.shape()));
    else
      backend_of(y).fill(y, Scalar(0.0));
  }
  if (!grad_needed(x, w, bias)) return y;
  return tape_list(
      y, "convolution", {x, w, bias},
      [x_ = kept(x, w), w_ = kept(w, x), x_shape = x.shape(), w_shape = w.shape(), x_last, w_last,
       moves, work](const Tensor& g, const Needed& needed) -> std::vector<Tensor> {
        Tensor x = needed[1] ? x_.get() : Tensor(), w = needed[0] ? w_.get() : Tensor();
        if (work && !grad_enabled() && (needed[0] || needed[1]) && !is_complex(g.dtype()))
          return all_gradients(g, x, w, x_shape, w_shape, w_last, x_last, moves, needed);
        Tensor none;
        return {needed[0] ? convolution_data(g, conj(w), none, last_axes(x_shape), moves) : none,
                needed[1] ? convolution_weights(g, conj(x), last_axes(w_shape), moves) : none,
                needed[2] ? sum_channels(g) : none};
      });
}

Tensor convolution_data(const Tensor& g, const Tensor& w, const Tensor& bias, const Shape& size,
                        const Moves& moves) {
  if (!fuses_convolution(backend_of(g))) {
    Tensor x = convolution_data_in_steps(g, w, size, moves);
    return bias ? x + along_channels(bias, x.dim()) : x;
  }
  Tensor x = empty_laid_out(joined(g.size(0), w.size(1) * moves.groups, size), g.dtype(),
                            g.device(), prefers_channels_last(g) || prefers_channels_last(w));
  {
    NoGrad guard;
    if (has_work(g, w, x))
      backend_of(x).conv_grad(x, {}, {}, g, {}, w, moves);
    else
      backend_of(x).fill(x, Scalar(0.0));
    if (bias) add(x, along_channels(bias, x.dim()), {&x, true});
  }
  if (!grad_needed(g, w, bias)) return x;
  return tape_list(x, "convolution", {g, w, bias},
                   [g_ = kept(g, w), w_ = kept(w, g), places = last_axes(g.shape()),
                    kernel = last_axes(w.shape()), moves](const Tensor& u, const Needed& needed) {
                     Tensor none;
                     return std::vector<Tensor>{
                         needed[0] ? convolution(u, conj(w_.get()), none, places, moves) : none,
                         needed[1] ? convolution_weights(conj(g_.get()), u, kernel, moves) : none,
                         needed[2] ? sum_channels(u) : none};
                   });
}

Tensor convolution_weights(const Tensor& g, const Tensor& x, const Shape& kernel,
                           const Moves& moves) {
  Tensor w = empty(joined(g.size(1), x.size(1) / moves.groups, kernel), g.dtype(), g.device());
  if (has_work(g, x, w))
    backend_of(w).conv_grad({}, w, {}, g, x, {}, moves);
  else
    backend_of(w).fill(w, Scalar(0.0));
  if (!grad_needed(g, x)) return w;
  return tape(
      w, "convolution_weights",
      wrt(g, [x = Saved(x), places = last_axes(g.shape()),
              moves](const Tensor& u) { return convolution(conj(x.get()), u, {}, places, moves); }),
      wrt(x, [g = Saved(g), size = last_axes(x.shape()), moves](const Tensor& u) {
        return convolution_data(conj(g.get()), u, {}, size, moves);
      }));
}

}  // namespace ember
