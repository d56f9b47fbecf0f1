// Convolutions: the three products as one kernel without a matrix of columns (implicit GEMM), which
// only differ in what its rows, columns and depth are. Strided input gradients are as many products
// as the stride has phases, none of which meets a place that no output saw.

#include <numeric>

#include "opencl/complex.h"
#include "opencl/device.h"
#include "opencl/launch.h"
#include "opencl/opencl_backend.h"
#include "opencl/sources.h"
#include "opencl/text.h"

namespace ember::opencl {

namespace {

constexpr int64_t kDots = 64, kItems = 64;

struct Conv {  // the struct of kernels/conv.cl
  int64_t groups = 1, rows = 1, columns = 1, depth = 1, chunk = 1;
  int64_t us[3] = {1, 1, 1}, js[3] = {1, 1, 1}, size[3] = {1, 1, 1};
  int64_t mul[3] = {1, 1, 1}, add[3] = {}, inc[3] = {1, 1, 1};
  int64_t from_at = 0, from_group = 0, from_a = 0, from_b = 0, from_axis[3] = {};
  int64_t left_at = 0, left_group = 0, left_row = 0, left_b = 0, left_j[3] = {};
  int64_t out_at = 0, out_group = 0, out_row = 0, out_a = 0, out_u[3] = {}, out_chunk = 0;
  int64_t bias_at = 0, bias_row = 0, has_bias = 0;
};

std::string types(Dtype in, Dtype out) {
  const Dtype acc = accumulator(in);
  return define("ACC", value_type(acc)) + element("", in, acc) + element("_OUT", out, acc);
}

// The last axes of t, as the last of three.
void last_axes(int64_t (&to)[3], const Shape& from, int64_t by = 1) {
  const int axes = from.size() - 2;
  for (int i = 0; i < axes; i++) to[3 - axes + i] = from[2 + i] * by;
}
void spread(int64_t (&to)[3], const Shape& from) {
  for (int i = 0; i < from.size(); i++) to[3 - from.size() + i] = from[i];
}
int64_t product(const int64_t (&n)[3]) { return n[0] * n[1] * n[2]; }

// Coordinates are 32 bits wide in kernels.
void check_range(const Conv& s) {
  constexpr int64_t most = int64_t(1) << 29;
  for (int d = 0; d < 3; d++)
    check(s.size[d] < most && std::abs(s.add[d]) < most && std::abs(s.mul[d]) <= most / s.us[d] &&
              std::abs(s.inc[d]) <= most / std::max<int64_t>(1, s.js[d]),
          Kind::NotImplemented, "convolution: OpenCL kernels take sizes below 2^29, got ",
          s.size[d]);
}

// How a work-group shares a tile: 64 items of 8 x 8 elements, or one that has it all.
struct Tile {
  int64_t rows, columns = 64, lanes_y = 8, lanes_x = 8, depth = 16, piece_y, piece_x = 8;
  Tile(int64_t wanted, Dtype acc) {
    rows = wanted > 32 ? 64 : wanted > 16 ? 32 : 16;
    if (items_work_alone()) {
      if (wanted > 64) rows = 128;
      lanes_y = lanes_x = 1;
      depth = 32;
      piece_x = acc == Dtype::Float32 ? 16 : 8;
    }
    piece_y = std::min<int64_t>(8, rows / lanes_y);
  }
  std::string text() const {
    return define("ROWS", rows) + define("COLUMNS", columns) + define("LANES_Y", lanes_y) +
           define("LANES_X", lanes_x) + define("DEPTH", depth) + define("PIECE_Y", piece_y) +
           define("PIECE_X", piece_x) + define("SHORT_RUN", 8) + define("TILED", 1);
  }
};

std::string key_of(const char* what, const Tensor& out, const Tensor& from, int64_t variant) {
  return what + std::to_string(int(from.dtype())) + ',' + std::to_string(int(out.dtype())) + ',' +
         std::to_string(variant);
}

void run_tiles(const Tensor& out, const Tensor& from, const Tensor& left, const Tensor& bias,
               const Conv& s, int64_t chunks) {
  const Tile tile(s.rows, accumulator(from.dtype()));
  Launch launch(key_of("conv:", out, from, tile.rows), "conv",
                [&] { return types(from.dtype(), out.dtype()) + tile.text() + sources::conv; });
  launch.tensor(out).tensor(from).tensor(left).tensor(bias ? bias : left).value(s);
  const int64_t tiles = ((s.columns + tile.columns - 1) / tile.columns) *
                        ((s.rows + tile.rows - 1) / tile.rows) * s.groups * chunks;
  const int64_t group = tile.lanes_y * tile.lanes_x;
  launch.run(tiles * group, group);
}

// One product; out may not be read.
void multiply(const Tensor& out, const Tensor& from, const Tensor& left, const Tensor& bias,
              Conv s) {
  check_range(s);
  s.chunk = s.depth;
  const int64_t results = s.groups * s.rows * s.columns;
  if (s.rows <= 2 && s.depth >= 16 * s.columns && !bias) {
    Launch launch(key_of("conv_dots:", out, from, 0), "conv_dots", [&] {
      return types(from.dtype(), out.dtype()) + define("DOTS", 1) + define("GROUP", kDots) +
             sources::fold + sources::conv;
    });
    launch.tensor(out).tensor(from).tensor(left).value(s);
    return launch.run(results * kDots, kDots);
  }
  if (s.rows <= 2) {
    const int64_t columns = items_work_alone() ? 64 : 1;
    Launch launch(key_of("conv_direct:", out, from, columns), "conv_direct", [&] {
      return types(from.dtype(), out.dtype()) + define("COLUMNS", columns) + define("DIRECT", 1) +
             sources::conv;
    });
    launch.tensor(out).tensor(from).tensor(left).tensor(bias ? bias : left).value(s);
    const int64_t blocks = (s.us[2] + columns - 1) / columns;
    return launch.run(s.columns / s.us[2] * blocks * s.rows * s.groups,
                      items_work_alone() ? 8 : kItems);
  }
  // A long depth for few results is shared out to work-groups, whose sums are added up.
  const int64_t tiles = s.groups * ((s.rows + 63) / 64) * ((s.columns + 63) / 64);
  const int64_t units = std::max<int64_t>(context().properties.compute_units, 4);
  const int64_t chunks = std::min({4 * units / tiles, s.depth / 256, int64_t(64)});
  if (chunks <= 1 || bias || product(s.us) < 0) return run_tiles(out, from, left, bias, s, 1);
  const Dtype acc = accumulator(from.dtype());
  Tensor partial = empty({chunks, results}, acc, out.device());
  Conv p = s;
  p.chunk = (s.depth + chunks - 1) / chunks;
  p.out_at = 0;
  p.out_chunk = results;
  p.out_group = s.rows * s.columns;
  p.out_row = s.columns;
  p.out_a = product(s.us);
  p.out_u[0] = s.us[1] * s.us[2], p.out_u[1] = s.us[2], p.out_u[2] = 1;
  run_tiles(partial, from, left, {}, p, chunks);
  // (chunk, group, row, a, u...) summed into the places of the output.
  const int64_t as = s.columns / product(s.us);
  const Shape shape{chunks, s.groups, s.rows, as, s.us[0], s.us[1], s.us[2]};
  Tensor parts = alias(partial, shape, contiguous_strides(shape), 0);
  Shape to = shape;
  to[0] = 1;
  own().reduce(
      Reduction::sum,
      alias(out, to, {0, s.out_group, s.out_row, s.out_a, s.out_u[0], s.out_u[1], s.out_u[2]},
            s.out_at),
      parts, {0}, 2);
}

// What forward and the gradient of the weights have in common, which is all but the roles: `out`
// and `left` have their rows along these axes of the first two, x is read at u * mul - padding + j
// * inc, with columns along `x_column` and depth along the other.
Conv over_windows(const Tensor& out, int out_row, const Tensor& left, int left_row, const Tensor& x,
                  int x_column, const Shape& mul, const Shape& inc, const Moves& moves) {
  Conv s;
  s.groups = moves.groups;
  s.rows = left.size(left_row) / s.groups;
  last_axes(s.us, out.shape());
  last_axes(s.js, left.shape());
  last_axes(s.size, x.shape());
  spread(s.mul, mul);
  spread(s.inc, inc);
  Shape padding = moves.padding;
  for (int64_t& p : padding) p = -p;
  spread(s.add, padding);
  const int out_other = 1 - out_row, left_other = 1 - left_row;
  s.columns = out.size(out_other) * product(s.us);
  s.depth = left.size(left_other) * product(s.js);
  s.from_at = x.offset(), s.from_group = x.size(1) / s.groups * x.stride(1);
  s.from_a = x.stride(x_column), s.from_b = x.stride(1 - x_column);
  last_axes(s.from_axis, x.strides());
  s.left_at = left.offset(), s.left_group = s.rows * left.stride(left_row);
  s.left_row = left.stride(left_row), s.left_b = left.stride(left_other);
  last_axes(s.left_j, left.strides());
  s.out_at = out.offset(), s.out_group = s.rows * out.stride(out_row);
  s.out_row = out.stride(out_row), s.out_a = out.stride(out_other);
  last_axes(s.out_u, out.strides());
  return s;
}

// y (N, O, p), from x and w.
void forward_product(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias,
                     const Moves& moves) {
  Conv s = over_windows(y, 1, w, 0, x, 0, moves.stride, moves.dilation, moves);
  if (bias) s.has_bias = 1, s.bias_at = bias.offset(), s.bias_row = bias.stride(0);
  multiply(y, x, w, bias, s);
}

// w (O, C, k), from the gradient g of y and x.
void weight_product(const Tensor& dw, const Tensor& g, const Tensor& x, const Moves& moves) {
  multiply(dw, x, g, {}, over_windows(dw, 0, g, 1, x, 1, moves.dilation, moves.stride, moves));
}

// x (N, C, q), from the gradient g of y and w. Places q = r + stride * u meet the taps k for which
// r + padding - k * dilation is a multiple of the stride: every (stride / gcd)th of them.
void data_product(const Tensor& dx, const Tensor& g, const Tensor& w, const Moves& moves) {
  int64_t stride[3] = {1, 1, 1}, padding[3] = {}, dilation[3] = {1, 1, 1}, taps[3] = {1, 1, 1};
  int64_t size[3] = {1, 1, 1}, out_step[3] = {}, tap_step[3] = {};
  spread(stride, moves.stride);
  spread(padding, moves.padding);
  spread(dilation, moves.dilation);
  last_axes(taps, w.shape());
  last_axes(size, dx.shape());
  last_axes(out_step, dx.strides());
  last_axes(tap_step, w.strides());
  Conv s;
  s.groups = moves.groups;
  s.rows = w.size(1);
  const int64_t outs = w.size(0) / s.groups;
  last_axes(s.size, g.shape());
  s.from_group = outs * g.stride(1), s.from_a = g.stride(0), s.from_b = g.stride(1);
  last_axes(s.from_axis, g.strides());
  s.left_group = outs * w.stride(0), s.left_row = w.stride(1), s.left_b = w.stride(0);
  s.out_group = s.rows * dx.stride(1), s.out_row = dx.stride(1), s.out_a = dx.stride(0);
  const int64_t phases = product(stride);
  for (int64_t phase = 0; phase < phases; phase++) {
    s.from_at = g.offset(), s.left_at = w.offset(), s.out_at = dx.offset();
    int64_t rest = phase;
    bool any = true;
    for (int d = 2; d >= 0; d--) {
      const int64_t r = rest % stride[d], step = stride[d] / std::gcd(stride[d], dilation[d]);
      rest /= stride[d];
      int64_t first = 0;  // the first tap of this phase
      while (first < step && (r + padding[d] - first * dilation[d]) % stride[d] != 0) first++;
      s.js[d] = first < step && first < taps[d] ? (taps[d] - first + step - 1) / step : 0;
      s.us[d] = r < size[d] ? (size[d] - r + stride[d] - 1) / stride[d] : 0;
      any = any && s.us[d] > 0;
      s.mul[d] = 1;
      s.add[d] = s.js[d] ? (r + padding[d] - first * dilation[d]) / stride[d] : 0;
      s.inc[d] = -(step * dilation[d] / stride[d]);
      s.left_at += s.js[d] ? first * tap_step[d] : 0;
      s.left_j[d] = step * tap_step[d];
      s.out_at += r * out_step[d];
      s.out_u[d] = stride[d] * out_step[d];
    }
    if (!any) continue;
    s.columns = g.size(0) * product(s.us);
    s.depth = outs * product(s.js);
    multiply(dx, g, w, {}, s);
  }
}

Conv windows(const Tensor& x, const Shape& kernel, const Shape& size, const Moves& moves) {
  Conv s;
  spread(s.us, size);
  spread(s.js, kernel);
  last_axes(s.size, x.shape());
  spread(s.mul, moves.stride);
  spread(s.inc, moves.dilation);
  Shape padding = moves.padding;
  for (int64_t& p : padding) p = -p;
  spread(s.add, padding);
  return s;
}

// Calls product(out, a, b, which), which is linear in both; for complex tensors with their parts,
// `which` being that of the output that is written, or -1 for a term that is added to it.
template <class F>
void by_parts(const Tensor& out, const Tensor& a, const Tensor& b, F product) {
  if (!is_complex(out.dtype())) return product(out, a, b, 0);
  const Tensor ar = part(a, 0), ai = part(a, 1), br = part(b, 0), bi = part(b, 1);
  Tensor term = empty(out.shape(), real_of(out.dtype()), out.device());
  auto add = [&](Binary f, const Tensor& to) {
    Input x, y;
    x.tensor = &to, y.tensor = &term;
    own().binary(f, term.dtype(), to, x, y);
  };
  product(part(out, 0), ar, br, 0);
  product(term, ai, bi, -1);
  add(Binary::sub, part(out, 0));
  product(part(out, 1), ar, bi, 1);
  product(term, ai, br, -1);
  add(Binary::add, part(out, 1));
}

}  // namespace

void OpenClBackend::conv(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias,
                         const Moves& moves) {
  check_holds("convolution", x.dtype());
  by_parts(y, x, w, [&](const Tensor& out, const Tensor& a, const Tensor& b, int which) {
    Tensor start = which < 0 ? Tensor() : bias;
    if (start && is_complex(start.dtype())) start = part(start, which);
    forward_product(out, a, b, start, moves);
  });
}
void OpenClBackend::conv_grad(const Tensor& dx, const Tensor& dw, const Tensor& dbias,
                              const Tensor& g, const Tensor& x, const Tensor& w,
                              const Moves& moves) {
  check_holds("convolution", g.dtype());
  if (dx)
    by_parts(dx, g, w, [&](const Tensor& out, const Tensor& a, const Tensor& b, int) {
      data_product(out, a, b, moves);
    });
  if (dw)
    by_parts(dw, g, x, [&](const Tensor& out, const Tensor& a, const Tensor& b, int) {
      weight_product(out, a, b, moves);
    });
  if (!dbias) return;
  Shape dims{0}, shape = Shape::filled(g.dim(), 1), strides = Shape::filled(g.dim(), 0);
  for (int d = 2; d < g.dim(); d++) dims.push_back(d);
  shape[1] = dbias.size(0);
  strides[1] = dbias.stride(0);
  const Tensor sums = alias(dbias, shape, strides, dbias.offset());
  if (is_complex(g.dtype()))
    complex_reduce(Reduction::sum, sums, g, dims, 2);
  else
    own().reduce(Reduction::sum, sums, g, dims, 2);
}
void OpenClBackend::unfold(const Tensor& columns, const Tensor& x, const Shape& kernel,
                           const Shape& size, const Moves& moves) {
  check_holds("im2col", x.dtype());
  if (is_complex(x.dtype())) {
    for (int k : {0, 1}) unfold(part(columns, k), part(x, k), kernel, size, moves);
    return;
  }
  Conv s = windows(x, kernel, size, moves);
  s.rows = columns.numel();
  s.from_at = x.offset(), s.from_a = x.stride(0), s.from_b = x.stride(1);
  last_axes(s.from_axis, x.strides());
  s.out_at = columns.offset(), s.out_u[2] = columns.stride(2);
  Launch launch(key_of("unfold:", columns, x, 0), "unfold",
                [&] { return types(x.dtype(), x.dtype()) + define("FOLDS", 1) + sources::conv; });
  launch.tensor(columns).tensor(x).value(s).value(x.size(1)).run(s.rows, kItems);
}
void OpenClBackend::fold(const Tensor& x, const Tensor& columns, const Shape& kernel,
                         const Shape& size, const Moves& moves) {
  check_holds("col2im", x.dtype());
  if (is_complex(x.dtype())) {
    for (int k : {0, 1}) fold(part(x, k), part(columns, k), kernel, size, moves);
    return;
  }
  Conv s = windows(x, kernel, size, moves);
  s.rows = x.numel();
  s.from_at = columns.offset(), s.from_a = columns.stride(0), s.from_b = columns.stride(1);
  s.from_group = columns.stride(2);
  s.out_at = x.offset(), s.out_a = x.stride(0), s.out_row = x.stride(1);
  last_axes(s.out_u, x.strides());
  Launch launch(key_of("fold:", x, columns, 0), "fold", [&] {
    return types(columns.dtype(), x.dtype()) + define("FOLDS", 1) + sources::conv;
  });
  launch.tensor(x).tensor(columns).value(s).value(x.size(1)).run(s.rows, kItems);
}

}  // namespace ember::opencl
