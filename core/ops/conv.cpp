// conv1d, conv2d, conv3d and their transposes: argument checks and shapes. The products themselves
// and their gradients are in conv_products.cpp.
#include "ops/conv.h"

namespace ember {

namespace {

constexpr int64_t kMost = (int64_t(1) << 31) - 1;  // of a stride, padding or dilation

}  // namespace

Shape expanded(const char* op, const char* name, const Dims& value, int axes) {
  if (value.values.size() == 1) return Shape::filled(axes, value.values[0]);
  check(value.values.size() == axes, Kind::Runtime, op, "(): expected ", name,
        " to be a single integer value or a list of ", axes,
        " values to match the convolution dimensions, but got ", name, "=", value.values);
  return value.values;
}

std::ostream& operator<<(std::ostream& out, const Product& p) {
  out << '(';
  for (int i = p.first; i < p.sizes.size(); i++) out << (i > p.first ? " x " : "") << p.sizes[i];
  return out << ')';
}

namespace {

struct Arguments {
  const char* op;
  int axes;
  const Tensor &input, &weight, &bias;
  const Dims &stride, &dilation;
  int64_t groups;

  bool batched() const { return input.dim() == axes + 2; }
  int64_t channels() const { return input.size(-axes - 1); }
  Shape kernel() const { return Shape(weight.shape().data() + 2, axes); }
};

void check_operands(const Arguments& a) {
  const Tensor &x = a.input, &w = a.weight;
  check(x.dim() == a.axes + 1 || x.dim() == a.axes + 2, Kind::Runtime, "Expected ", a.axes + 1,
        "D (unbatched) or ", a.axes + 2, "D (batched) input to ", a.op,
        ", but got input of size: ", x.shape());
  check(w.dim() == a.axes + 2, Kind::Runtime, a.op, "(): expected a ", a.axes + 2,
        "-dimensional weight, but got weight of size ", w.shape());
  check(a.groups > 0, Kind::Runtime, a.op, "(): non-positive groups is not supported, got ",
        a.groups);
  for (const Tensor* other : {&a.weight, &a.bias}) {
    if (!*other) continue;
    const char* what = other == &a.weight ? "weight" : "bias";
    check(other->dtype() == x.dtype(), Kind::Runtime, a.op, "(): Input type (",
          type_name(x.dtype()), ") and ", what, " type (", type_name(other->dtype()),
          ") should be the same (expected scalar type ", type_name(x.dtype()), " but found ",
          type_name(other->dtype()), ")");
    check(other->device().kind == x.device().kind, Kind::Runtime, a.op,
          "(): Expected all tensors to be on the same device, but the input is on ", x.device(),
          " and the ", what, " on ", other->device());
  }
  check(x.dtype() != Dtype::Bool && x.dtype() < Dtype::UInt16, Kind::NotImplemented, a.op,
        "(): not implemented for ", x.dtype());
  for (int i = 2; i < w.dim(); i++)
    check(w.size(i) > 0, Kind::Runtime, a.op,
          "(): kernel size should be greater than zero, but got ", a.kernel());
}

Moves moves_of(const Arguments& a) {
  Moves m{expanded(a.op, "stride", a.stride, a.axes), Shape::filled(a.axes, 0),
          expanded(a.op, "dilation", a.dilation, a.axes), a.groups};
  for (int i = 0; i < a.axes; i++) {
    check(m.stride[i] > 0, Kind::Runtime, a.op, "(): non-positive stride is not supported, got ",
          m.stride);
    check(m.dilation[i] > 0, Kind::Runtime, a.op, "(): dilation should be greater than zero, got ",
          m.dilation);
    check(m.stride[i] <= kMost && m.dilation[i] <= kMost, Kind::Runtime, a.op, "(): stride ",
          m.stride, " and dilation ", m.dilation, " must be less than 2^31");
  }
  return m;
}

Shape checked_padding(const char* op, const char* name, const Dims& given, int axes) {
  Shape padding = expanded(op, name, given, axes);
  for (int64_t p : padding) {
    check(p >= 0, Kind::Runtime, op, "(): negative ", name, " is not supported, got ", padding);
    check(p <= kMost, Kind::Runtime, op, "(): ", name, " ", padding, " must be less than 2^31");
  }
  return padding;
}

void check_bias(const Arguments& a, int64_t out) {
  check(!a.bias || (a.bias.dim() == 1 && a.bias.size(0) == out), Kind::Runtime, a.op,
        "(): Given weight of size ", a.weight.shape(), ", expected bias to be 1-dimensional with ",
        out, " elements, but got bias of size ", a.bias ? a.bias.shape() : Shape{}, " instead");
}

// `total` is the padding of both sides together, as it counts for the output's size.
Tensor convolved(const Arguments& a, const Moves& moves, const Shape& total) {
  const Shape& w = a.weight.shape();
  check(w[0] >= a.groups && w[0] % a.groups == 0, Kind::Runtime, a.op,
        "(): Given groups=", a.groups, ", expected weight to be at least ", a.groups,
        " at dimension 0 and divisible by it, but got weight of size ", w, " instead");
  check(a.channels() == size_product(a.op, w[1], a.groups), Kind::Runtime, a.op,
        "(): Given groups=", a.groups, ", weight of size ", w, ", expected input", a.input.shape(),
        " to have ", w[1] * a.groups, " channels, but got ", a.channels(), " channels instead");
  check_bias(a, w[0]);
  Shape size, full, reach;
  bool fits = true;
  for (int i = 0; i < a.axes; i++) {
    full.push_back(a.input.size(i - a.axes) + total[i]);
    reach.push_back(size_sum(a.op, size_product(a.op, moves.dilation[i], w[2 + i] - 1), 1));
    fits = fits && reach[i] <= full[i];
    size.push_back((full[i] - reach[i]) / moves.stride[i] + 1);
  }
  check(fits, Kind::Runtime, a.op, "(): Calculated padded input size per channel: ", Product{full},
        ". Kernel size: ", Product{reach}, ". Kernel size can't be greater than actual input size");
  if (a.batched()) return convolution(a.input, a.weight, a.bias, size, moves);
  return squeeze(convolution(unsqueeze(a.input, 0), a.weight, a.bias, size, moves), Dims(0));
}

Tensor conv(const Arguments& a, const Dims& padding) {
  check_operands(a);
  Moves moves = moves_of(a);
  moves.padding = checked_padding(a.op, "padding", padding, a.axes);
  Shape total = moves.padding;
  for (int64_t& p : total) p *= 2;
  return convolved(a, moves, total);
}

Tensor conv(const Arguments& a, const std::string& padding) {
  check_operands(a);
  Moves moves = moves_of(a);
  Shape total = Shape::filled(a.axes, 0);
  if (padding != "valid") {
    check(padding == "same", Kind::Runtime, a.op, "(): Invalid padding string: '", padding,
          "'; it may be 'valid' or 'same'");
    for (int i = 0; i < a.axes; i++) {
      check(moves.stride[i] == 1, Kind::Runtime, a.op,
            "(): padding='same' is not supported for strided convolutions");
      total[i] = size_product(a.op, moves.dilation[i], a.weight.size(2 + i) - 1);
      moves.padding[i] = total[i] / 2;
    }
  }
  return convolved(a, moves, total);
}

Tensor conv_transpose(const Arguments& a, const Dims& padding, const Dims& output_padding) {
  check_operands(a);
  Moves moves = moves_of(a);
  moves.padding = checked_padding(a.op, "padding", padding, a.axes);
  const Shape extra = checked_padding(a.op, "output_padding", output_padding, a.axes);
  for (int i = 0; i < a.axes; i++)
    check(extra[i] < moves.stride[i] || extra[i] < moves.dilation[i], Kind::Runtime, a.op,
          "(): output padding must be smaller than either stride or dilation, but got "
          "output_padding: ",
          extra, " stride: ", moves.stride, " dilation: ", moves.dilation);
  const Shape& w = a.weight.shape();
  check(a.channels() == w[0] && w[0] % a.groups == 0, Kind::Runtime, a.op,
        "(): Given transposed=1, weight of size ", w, ", groups=", a.groups, ", expected input",
        a.input.shape(), " to have ", w[0], " channels, divisible by groups, but got ",
        a.channels(), " channels instead");
  check_bias(a, size_product(a.op, w[1], a.groups));
  Shape size;
  bool fits = true;
  for (int i = 0; i < a.axes; i++) {
    const int64_t starts = size_product(a.op, a.input.size(i - a.axes) - 1, moves.stride[i]);
    const int64_t reach = size_product(a.op, moves.dilation[i], w[2 + i] - 1);
    const int64_t more = extra[i] + 1 - 2 * moves.padding[i];
    size.push_back(size_sum(a.op, size_sum(a.op, starts, reach), more));
    fits = fits && size[i] > 0;
  }
  check(fits, Kind::Runtime, a.op,
        "(): Given input size per channel: ", Product{a.input.shape(), a.input.dim() - a.axes},
        ". Calculated output size per channel: ", Product{size}, ". Output size is too small");
  if (a.batched()) return convolution_data(a.input, a.weight, a.bias, size, moves);
  return squeeze(convolution_data(unsqueeze(a.input, 0), a.weight, a.bias, size, moves), Dims(0));
}

template <int axes, class Padding>
Tensor conv_op(const Tensor& x, const Tensor& w, const Tensor& bias, const Dims& stride,
               const Padding& padding, const Dims& dilation, int64_t groups) {
  static constexpr const char* names[] = {"conv1d", "conv2d", "conv3d"};
  return conv({names[axes - 1], axes, x, w, bias, stride, dilation, groups}, padding);
}

template <int axes>
Tensor conv_transpose_op(const Tensor& x, const Tensor& w, const Tensor& bias, const Dims& stride,
                         const Dims& padding, const Dims& output_padding, int64_t groups,
                         const Dims& dilation) {
  static constexpr const char* names[] = {"conv_transpose1d", "conv_transpose2d",
                                          "conv_transpose3d"};
  return conv_transpose({names[axes - 1], axes, x, w, bias, stride, dilation, groups}, padding,
                        output_padding);
}

}  // namespace

#define CONV(axes, doc)                                                                        \
  EMBER_OP("nn.functional.conv" #axes                                                          \
           "d(Tensor input, Tensor weight, Tensor? bias=None, Dims stride=1, Dims padding=0, " \
           "Dims dilation=1, int groups=1) -> Tensor",                                         \
           (&conv_op<axes, Dims>), Function | Entries | Lower, doc);                           \
  EMBER_OP(                                                                                    \
      "nn.functional.conv" #axes                                                               \
      "d(Tensor input, Tensor weight, Tensor? bias=None, Dims stride=1, str padding='valid', " \
      "Dims dilation=1, int groups=1) -> Tensor",                                              \
      (&conv_op<axes, std::string>), Function | Entries | Lower, "");                          \
  EMBER_OP("nn.functional.conv_transpose" #axes                                                \
           "d(Tensor input, Tensor weight, Tensor? bias=None, Dims stride=1, Dims padding=0, " \
           "Dims output_padding=0, int groups=1, Dims dilation=1) -> Tensor",                  \
           &conv_transpose_op<axes>, Function | Entries | Lower,                               \
           "The gradient of `conv" #axes                                                       \
           "d` as a layer; the kernels' first axis is the input's "                            \
           "channels.")
CONV(1, "Convolution of (N, C, L) with kernels (out, C / groups, K).");
CONV(2, "Convolution of (N, C, H, W) with kernels (out, C / groups, KH, KW).");
CONV(3, "Convolution of (N, C, D, H, W) with kernels (out, C / groups, KD, KH, KW).");

}  // namespace ember
