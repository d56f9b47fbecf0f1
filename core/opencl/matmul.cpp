// Matrix products in tiles, all batches in one launch. What a tile is follows from the device: see
// kernels/matmul.cl. Products with few columns are sums of rows; where there are fewer tiles than
// the device can work on at once, they are split along k.
#include <algorithm>

#include "opencl/complex.h"
#include "opencl/device.h"
#include "opencl/launch.h"
#include "opencl/lines.h"
#include "opencl/opencl_backend.h"
#include "opencl/sources.h"

namespace ember::opencl {

namespace {

// a, whose lines are rows, or b, whose lines are columns. Steps are in elements.
struct Side {
  Tensor tensor;
  Shape batch;  // steps from matrix to matrix
  int64_t offset, lines, line_step, step;
  int64_t panel = 0;  // from panel to panel, if packed
};

struct Product {
  Tensor out;
  Shape shape, batch;  // the batch dimensions, and the steps of `out` along them
  int64_t offset, row, column, k;
  Side a, b;
  Dtype acc;
  Scalar alpha, beta;

  void transpose() {
    std::swap(a, b);
    std::swap(row, column);
  }
  Geometry geometry() const {
    Walk walk(shape);
    walk.add(batch, offset);
    walk.add(a.batch, a.offset);
    walk.add(b.batch, b.offset);
    return walk.geometry();
  }
};

struct Tile {
  int side_y, side_x, rows, vectors, width;
  int m() const { return side_y * rows; }
  int n() const { return side_x * vectors * width; }
  std::string id() const {
    std::string text;
    for (int v : {side_y, side_x, rows, vectors, width}) text += ',' + std::to_string(v);
    return text;
  }
};

constexpr int kDepth = 16, kPiece = 256, kDotColumns = 4;

int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

std::string define(const char* name, int64_t value) {
  return std::string("#define ") + name + " " + std::to_string(value) + "\n";
}
std::string reads(const char* which, Dtype d) {
  return std::string("#define M_") + which + " " + memory_type(d) + "\n#define LOAD_" + which +
         " " + load_macro(d) + "\n";
}
std::string writes(Dtype acc, Dtype out) {
  return std::string("#define ACC ") + value_type(acc) + "\n" + reads("OUT", out) +
         "#define STORE(p, i, v) " + store_macro(out) + "(p, i, " + stored(acc, out, "v") + ")\n";
}
std::string vector_type(Dtype acc, int width) {
  const char* name = acc == Dtype::Float32   ? "float"
                     : acc == Dtype::Float64 ? "double"
                     : acc == Dtype::Int32   ? "int"
                                             : "long";
  return std::string("#define VECTOR ") + name + std::to_string(width) + "\n" +
         define("WIDTH", width);
}
// A tile of one item: the cheapest for the shape, by steps that the registers of a CPU take.
Tile tile_of_vectors(const Product& p, const Properties& device) {
  struct Block {
    int rows, vectors;
  };
  static constexpr Block many[] = {{6, 4}, {8, 3}, {14, 2}, {1, 8}},
                         few[] = {{6, 2}, {10, 1}, {2, 4}, {1, 8}};
  const int width = int(std::clamp<int64_t>(device.vector_bytes / item_size(p.acc), 2, 16));
  Tile best{1, 1, 1, 1, width};
  double least = 0;
  // Vectors of 64 bytes come with 32 registers, shorter ones often with 16.
  for (Block b : device.vector_bytes >= 64 ? many : few) {
    const double step = std::max({b.rows * b.vectors / 2., (b.rows + b.vectors) / 2., 4.});
    const double cost = double(up(p.a.lines, b.rows) * up(p.b.lines, b.vectors * width)) *
                        (step * double(p.k) + 2 * b.rows * b.vectors + 20);
    if (least == 0 || cost < least) least = cost, best = {1, 1, b.rows, b.vectors, width};
  }
  return best;
}

// A tile of a group: as large as the matrices and the device's limits allow.
Tile tile_of_group(const Product& p, const Properties& device) {
  const int64_t smaller = std::min(p.a.lines, p.b.lines);
  const int64_t tiles = numel_of(p.shape) * up(p.a.lines, 128) * up(p.b.lines, 128);
  const Tile all[] = {{16, 16, 8, 2, 4}, {16, 16, 4, 1, 4}, {8, 8, 4, 1, 4}, {8, 8, 2, 1, 2}};
  int first = smaller > 96 && tiles >= device.compute_units ? 0 : smaller > 48 ? 1 : 2;
  if (smaller <= 16) first = 3;
  for (int i = first; i < 3; i++) {
    const Tile& t = all[i];
    if (size_t(t.side_x * t.side_y) <= device.group_size &&
        uint64_t(kDepth * (t.m() + t.n()) * item_size(p.acc)) * 2 <= device.local_memory)
      return t;
  }
  return all[3];
}

// `side` as panels of the type to sum in.
void pack(Side& side, const Product& p, int lines) {
  Shape distinct = p.shape;  // matrices that are repeated are packed once
  for (int d = 0; d < distinct.size(); d++)
    if (side.batch[d] == 0) distinct[d] = 1;
  Walk walk(distinct);
  walk.skip();
  walk.add(side.batch, side.offset);
  const Geometry g = walk.geometry();
  const int64_t panels = up(side.lines, lines);
  const Tensor packed = empty({g.n, panels, p.k, lines}, p.acc, p.out.device());
  const bool adjacent = side.line_step == 1;
  const Dtype from = side.tensor.dtype();
  Launch launch(
      "pack" + dtype_ids({p.acc, from}) + ',' + std::to_string(lines) + (adjacent ? "a" : ""),
      "pack", [&] {
        return std::string("#define ACC ") + value_type(p.acc) + "\n" + reads("A", from) +
               define("PACK", 1) + define("LINES", lines) + define("PIECE", kPiece) +
               (adjacent ? define("ADJACENT", 1) : "") + sources::matmul;
      });
  launch.tensor(packed).tensor(side.tensor).value(g).value(side.lines).value(p.k);
  launch.value(side.line_step).value(side.step).run(g.n * panels * up(p.k, kPiece), 1);
  side.tensor = packed;
  side.panel = p.k * lines;
  side.line_step = 1;
  side.step = lines;
  side.offset = 0;
  int64_t size = panels * p.k * lines;
  for (int d = distinct.size() - 1; d >= 0; d--) {
    side.batch[d] = distinct[d] > 1 ? size : 0;
    size *= distinct[d];
  }
}

// Whether items may read vectors, or neighbouring lines, without packing: lines lie well, and
// reading them again and again from where they are costs less than packing.
bool lies_well(const Side& side, const Product& p, int lines, int64_t reads) {
  if (side.tensor.dtype() != p.acc || side.lines < lines) return false;
  return p.k * std::abs(side.step) * item_size(p.acc) <= (256 << 10) || reads <= 4;
}

void tiles(Product p) {
  const Properties& device = context().properties;
  const bool staged = device.staged;
  const Tile tile = staged ? tile_of_group(p, device) : tile_of_vectors(p, device);
  const int64_t m = p.a.lines, n = p.b.lines, batches = numel_of(p.shape);
  const int64_t down = up(m, tile.m()), across = up(n, tile.n());
  if (!staged) {
    const bool rows = p.a.step == 1 && p.a.tensor.dtype() == p.acc && m >= tile.m();
    if (!rows && !lies_well(p.a, p, tile.m(), across)) pack(p.a, p, tile.m());
    if (p.b.line_step != 1 || !lies_well(p.b, p, tile.n(), down)) pack(p.b, p, tile.n());
  }
  const int64_t wanted = (staged ? 8 : 4) * std::max<int64_t>(device.compute_units, 1);
  const int64_t groups = batches * down * across;
  int64_t splits = groups * 2 > wanted ? 1 : std::min(wanted / groups, p.k / 256);
  splits = std::max<int64_t>(splits, 1);
  const int64_t depth = std::max<int64_t>(up(p.k, splits), 1);
  splits = std::max<int64_t>(up(p.k, depth), 1);

  Product part = p;
  if (splits > 1) {
    part.out = empty({splits, batches, m, n}, p.acc, p.out.device());
    part.offset = 0;
    part.row = n;
    part.column = 1;
    part.alpha = 1;
    part.beta = 0;
    int64_t size = m * n;
    for (int d = p.shape.size() - 1; d >= 0; d--) {
      part.batch[d] = size;
      size *= p.shape[d];
    }
  }
  const Dtype to = part.out.dtype();
  Launch launch(
      "tiles" + dtype_ids({p.acc, to, p.a.tensor.dtype(), p.b.tensor.dtype()}) + tile.id(),
      "matmul", [&] {
        return writes(p.acc, to) + reads("A", p.a.tensor.dtype()) + reads("B", p.b.tensor.dtype()) +
               vector_type(p.acc, tile.width) + define("SIDE_Y", tile.side_y) +
               define("SIDE_X", tile.side_x) + define("ROWS", tile.rows) +
               define("VECTORS", tile.vectors) + define("DEPTH", kDepth) + define("TILES", 1) +
               (staged ? define("STAGED", 1) : "") + (to == p.acc ? define("PLAIN", 1) : "") +
               sources::matmul;
      });
  launch.tensor(part.out).tensor(p.a.tensor).tensor(p.b.tensor).value(part.geometry());
  launch.value(m).value(n).value(p.k).value(part.row).value(part.column);
  launch.value(p.a.line_step).value(p.a.step).value(p.b.step).value(p.b.line_step);
  launch.scalar(p.acc, part.alpha).scalar(p.acc, part.beta);
  launch.value(int32_t(!part.beta.equal(0))).value(p.a.panel).value(p.b.panel).value(splits);
  launch.value(depth).value(batches * m * n);
  const int64_t items = tile.side_x * tile.side_y;
  launch.run(groups * splits * items, items);
  if (splits == 1) return;

  Launch join("join_splits" + dtype_ids({p.acc, p.out.dtype()}), "join_splits", [&] {
    return writes(p.acc, p.out.dtype()) + define("JOIN_SPLITS", 1) + sources::matmul;
  });
  join.tensor(p.out).tensor(part.out).value(p.geometry()).value(splits).value(n);
  join.value(p.row).value(p.column).value(m * n).scalar(p.acc, p.alpha).scalar(p.acc, p.beta);
  join.value(int32_t(!p.beta.equal(0))).run(batches * m * n, 64);
}

// a has contiguous rows, b at most kDotColumns columns.
void dots(const Product& given) {
  Product p = given;
  const int64_t m = p.a.lines, columns = p.b.lines;
  if (p.b.tensor.dtype() != p.acc || p.b.step != 1 || p.b.line_step != p.k || columns > 1) {
    // As contiguous columns, of the type to sum in.
    Shape shape = p.shape, from = p.b.batch;
    for (int64_t v : {columns, p.k}) shape.push_back(v);
    for (int64_t v : {p.b.line_step, p.b.step}) from.push_back(v);
    const Tensor dense = empty(shape, p.acc, p.out.device());
    own().copy(dense, alias(p.b.tensor, shape, from, p.b.offset));
    p.b.tensor = dense;
    p.b.offset = 0;
    p.b.batch = Shape(dense.strides().data(), p.shape.size());
  }
  const bool staged = context().properties.staged;
  const int lanes = staged ? 1 : 64, group = staged ? 64 : 1, block = staged ? 1 : 8;
  const Dtype to = p.out.dtype(), from = p.a.tensor.dtype();
  Launch launch("dots" + dtype_ids({p.acc, to, from}) + ',' + std::to_string(columns), "dots", [&] {
    return writes(p.acc, to) + reads("A", from) + define("DOTS", 1) + define("COLUMNS", columns) +
           define("LANES", lanes) + define("GROUP", group) + define("BLOCK", block) +
           sources::fold + sources::matmul;
  });
  launch.tensor(p.out).tensor(p.a.tensor).tensor(p.b.tensor).value(p.geometry()).value(m);
  launch.value(p.k).value(p.row).value(p.column).value(p.a.line_step);
  launch.scalar(p.acc, p.alpha).scalar(p.acc, p.beta).value(int32_t(!p.beta.equal(0)));
  launch.run(numel_of(p.shape) * up(m, block) * group, group);
}

}  // namespace

void OpenClBackend::matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha,
                           const Scalar& beta) {
  if (is_complex(out.dtype())) return complex_matmul(out, a, b, alpha, beta);
  if (out.numel() == 0) return;
  for (const Tensor* t : {&out, &a, &b}) check_computes("matmul", t->dtype());
  const int batch = out.dim() - 2;
  auto batch_of = [&](const Shape& s) { return Shape(s.data(), batch); };
  Product p;
  p.out = out;
  p.shape = batch_of(out.shape());
  p.batch = batch_of(out.strides());
  p.offset = out.offset();
  p.row = out.stride(-2);
  p.column = out.stride(-1);
  p.k = a.size(-1);
  p.a = {a, batch_of(a.strides()), a.offset(), out.size(-2), a.stride(-2), a.stride(-1)};
  p.b = {b, batch_of(b.strides()), b.offset(), out.size(-1), b.stride(-1), b.stride(-2)};
  // Sums of integers are right modulo the size of the output whatever they are summed in.
  p.acc = is_floating(out.dtype())     ? compute_of(out.dtype())
          : item_size(out.dtype()) < 8 ? Dtype::Int32
                                       : Dtype::Int64;
  p.alpha = alpha;
  p.beta = beta;
  if (p.b.lines > p.a.lines && p.a.lines <= kDotColumns) p.transpose();
  if (p.b.lines <= kDotColumns && p.a.step == 1) return dots(p);
  // Vectors lie along the columns: better a dimension that is contiguous in the output, or long.
  if (std::min(p.a.lines, p.b.lines) <= kDotColumns ? p.b.lines < p.a.lines
                                                    : p.column != 1 && p.row == 1)
    p.transpose();
  tiles(p);
}

}  // namespace ember::opencl
