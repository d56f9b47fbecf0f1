// The CPU's convolutions: which kernel a convolution gets, and its tensors as that kernel reads
// them.
#include "cpu/conv.h"
#include "cpu/cpu_backend.h"

#include "cpu/depthwise.h"
#include "cpu/gemm.h"
#include "cpu/layout.h"

namespace ember::cpu {

ConvSizes::ConvSizes(const Shape& x, const Shape& w, const Shape& y, const Moves& moves)
    : axes(x.size() - 2), n(x[0]), c(x[1]), o(w[0]), groups(moves.groups) {
  for (int i = 0; i < 3; i++) {
    const int from = i - (3 - axes);
    in[i] = from < 0 ? 1 : x[2 + from];
    kernel[i] = from < 0 ? 1 : w[2 + from];
    out[i] = from < 0 ? 1 : y[2 + from];
    stride[i] = from < 0 ? 1 : moves.stride[from];
    pad[i] = from < 0 ? 0 : moves.padding[from];
    dilation[i] = from < 0 ? 1 : moves.dilation[from];
  }
}

bool ConvSizes::pointwise() const {
  for (int i = 0; i < 3; i++)
    if (kernel[i] != 1 || stride[i] != 1 || pad[i] != 0 || in[i] != out[i]) return false;
  return true;
}

namespace {

constexpr int64_t kSmallWork = 1 << 18;  // below, oneDNN's calls cost more than they save
constexpr int64_t kFewChannels = 4;      // of an input, whose gradient oneDNN is slow to compute

enum class Way { Columns, Rows, Depthwise, OneDnn };

// oneDNN counts in 32 bits, and wants no fewer places than the inputs have room for.
bool onednn_can(const ConvSizes& s) {
  constexpr int64_t kMost = (int64_t(1) << 31) - 1;
  for (int i = 0; i < 3; i++)
    if (s.pad_after(i) <= -s.stride[i] || s.in[i] + s.pad[i] + s.pad_after(i) > kMost) return false;
  return s.n * s.c * s.inputs() <= kMost && s.n * s.o * s.places() <= kMost;
}

Way way_of(Dtype dtype, const ConvSizes& s) {
  if (s.depthwise() && depthwise::can(dtype, s)) return Way::Depthwise;
  if (s.channels_last && s.groups == 1 && s.pointwise()) return Way::Rows;
  if (!has_onednn() || dtype != Dtype::Float32 || !onednn_can(s)) return Way::Columns;
  if (!s.channels_last && ((s.groups == 1 && s.taps() == 1) || s.work() < kSmallWork))
    return Way::Columns;
  return Way::OneDnn;
}

void* data_of(const Tensor& t) { return t ? t.data() : nullptr; }

// A bias as it is added to y: (1, O, 1 ...).
Tensor along_channels(const Tensor& bias, int dim) {
  Shape shape = Shape::filled(dim, 1), strides = Shape::filled(dim, 0);
  shape[1] = bias.size(0);
  strides[1] = bias.stride(0);
  return alias(bias, shape, strides, bias.offset());
}

ConvSizes window_sizes(const Tensor& x, const Shape& kernel, const Shape& size,
                       const Moves& moves) {
  Shape w{1, x.size(1)}, y{x.size(0), 1};
  for (int64_t k : kernel) w.push_back(k);
  for (int64_t n : size) y.push_back(n);
  return ConvSizes(x.shape(), w, y, moves);
}
void weights_by_columns(Dtype dtype, const ConvSizes& s, const Tensor& g, const Tensor& x,
                        const Tensor& dw) {
  const int parts = column_conv::part_count(s);
  if (parts == 1) return column_conv::backward_weights(dtype, s, g.data(), x.data(), dw.data());
  Tensor sums = empty({parts, dw.numel()}, dtype, dw.device());
  column_conv::backward_weights(dtype, s, g.data(), x.data(), sums.data());
  backend_of(dw).reduce(Reduction::sum, alias(dw, {1, dw.numel()}, {dw.numel(), 1}, dw.offset()),
                        sums, {0}, 2);
}
void sum_channels(const Tensor& to, const Tensor& g) {
  Shape shape = Shape::filled(g.dim(), 1), dims;
  shape[1] = g.size(1);
  for (int d = 0; d < g.dim(); d++)
    if (d != 1) dims.push_back(d);
  backend_of(g).reduce(Reduction::sum, alias(to, shape, contiguous_strides(shape), to.offset()), g,
                       dims, 2);
}

}  // namespace

bool has_onednn() { return EMBER_ONEDNN; }

#if !EMBER_ONEDNN
constexpr const char* kWithout = "a convolution by oneDNN in a build without it";
void onednn_conv::forward(const ConvSizes&, const float*, const float*, const float*, float*) {
  internal_check(false, kWithout);
}
void onednn_conv::backward(const ConvSizes&, const float*, const float*, const float*, ConvGrads) {
  internal_check(false, kWithout);
}
#endif

void CpuBackend::conv(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias,
                      const Moves& moves) {
  ConvSizes s(x.shape(), w.shape(), y.shape(), moves);
  const Dtype dtype = compute_of(x.dtype());
  s.channels_last = dtype == Dtype::Float32 && is_channels_last(y);
  const Way way = way_of(dtype, s);
  if (way == Way::Columns) s.channels_last = false;
  s.weights_last = way == Way::OneDnn && is_channels_last(w);
  Tensor from = laid_out(x, dtype, s.channels_last);
  Tensor weights = laid_out(w, dtype, s.weights_last);
  Tensor add = laid_out(bias, dtype, false);
  Output to(y, dtype, s.channels_last);
  if (way == Way::OneDnn) {
    onednn_conv::forward(s, from.data<float>(), weights.data<float>(),
                         static_cast<const float*>(data_of(add)), static_cast<float*>(to.data()));
  } else if (way == Way::Depthwise) {
    depthwise::forward(dtype, s, from.data(), weights.data(), data_of(add), to.data());
  } else {
    // One product for all places if channels come last, else one for each sample.
    if (add) {
      Tensor b = along_channels(add, y.dim());
      Shape repeated = broadcast_strides(b.shape(), b.strides(), y.shape());
      backend_of(y).copy(to.tensor(), alias(b, y.shape(), repeated, b.offset()));
    }
    if (way == Way::Rows)
      gemm(dtype, s.n * s.places(), s.o, s.c, {from.data(), s.c, 1}, {weights.data(), 1, s.c},
           {to.data(), s.o, 1}, 1.0, add ? 1.0 : 0.0);
    else
      column_conv::forward(dtype, s, from.data(), weights.data(), to.data(), bool(add));
  }
  to.store();
}

void CpuBackend::conv_grad(const Tensor& dx, const Tensor& dw, const Tensor& dbias, const Tensor& g,
                           const Tensor& x, const Tensor& w, const Moves& moves) {
  const Shape &in = (x ? x : dx).shape(), &kernel = (w ? w : dw).shape();
  ConvSizes s(in, kernel, g.shape(), moves);
  const Dtype dtype = compute_of(g.dtype());
  s.channels_last = dtype == Dtype::Float32 && is_channels_last(dx ? dx : x);
  Way way = way_of(dtype, s);
  if (dx && way == Way::OneDnn && s.c / s.groups <= kFewChannels) {
    if (dw) conv_grad({}, dw, dbias, g, x, {}, moves);
    if (dw) return conv_grad(dx, {}, {}, g, {}, w, moves);
    way = Way::Columns;
  }
  if (way == Way::Columns) s.channels_last = false;
  Tensor grad = laid_out(g, dtype, s.channels_last);
  Tensor from = dw ? laid_out(x, dtype, s.channels_last) : Tensor();
  s.weights_last = way == Way::OneDnn && is_channels_last(w ? w : dw);
  Tensor weights = dx ? laid_out(w, dtype, s.weights_last) : Tensor();
  Output to_x(dx, dtype, s.channels_last), to_w(dw, dtype, s.weights_last);
  Output to_b(dbias, dtype, false);
  bool has_bias = false;
  if (way == Way::OneDnn) {
    onednn_conv::backward(s, grad.data<float>(), static_cast<const float*>(data_of(from)),
                          static_cast<const float*>(data_of(weights)),
                          {to_x.data(), to_w.data(), to_b.data()});
    has_bias = bool(dw);
  } else if (way == Way::Depthwise) {
    if (dx) depthwise::backward_data(dtype, s, grad.data(), weights.data(), to_x.data());
    if (dw) depthwise::backward_weights(dtype, s, grad.data(), from.data(), to_w.data());
  } else if (way == Way::Rows) {
    const int64_t rows = s.n * s.places();
    if (dx)
      gemm(dtype, rows, s.c, s.o, {grad.data(), s.o, 1}, {weights.data(), s.c, 1},
           {to_x.data(), s.c, 1});
    if (dw)
      gemm(dtype, s.o, s.c, rows, {grad.data(), 1, s.o}, {from.data(), s.c, 1},
           {to_w.data(), s.c, 1});
  } else {
    if (dx) column_conv::backward_data(dtype, s, grad.data(), weights.data(), to_x.data());
    if (dw) weights_by_columns(dtype, s, grad, from, to_w.tensor());
  }
  if (dbias && !has_bias) sum_channels(to_b.tensor(), grad);
  to_x.store();
  to_w.store();
  to_b.store();
}

void CpuBackend::unfold(const Tensor& columns, const Tensor& x, const Shape& kernel,
                        const Shape& size, const Moves& moves) {
  const Tensor from = dense(x, x.dtype());
  const Output to(columns, x.dtype(), false);
  column_conv::unfold(x.dtype(), window_sizes(x, kernel, size, moves), from.data(), to.data());
  to.store();
}
void CpuBackend::fold(const Tensor& x, const Tensor& columns, const Shape& kernel,
                      const Shape& size, const Moves& moves) {
  const Dtype dtype = compute_of(x.dtype());
  const Tensor from = dense(columns, dtype);
  const Output to(x, dtype, false);
  column_conv::fold(dtype, window_sizes(x, kernel, size, moves), from.data(), to.data());
  to.store();
}

}  // namespace ember::cpu
