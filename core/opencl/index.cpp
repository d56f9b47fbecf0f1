// Indexing primitives. Positions become one tensor of offsets, all of them checked on the device
// (see fault.h); then one kernel moves the elements.
#include <vector>

#include "opencl/complex.h"
#include "opencl/device.h"
#include "opencl/lines.h"
#include "opencl/opencl_backend.h"
#include "opencl/sources.h"

namespace ember::opencl {

bool deterministic = false;

namespace {

struct Axis {  // positions along one dimension of the indexed tensor
  Tensor index;
  int64_t size, step;
  int64_t dim;  // for messages
};

// The offsets (contiguous, of the positions' shape). A position out of bounds is reported when the
// host next waits for the stream, and has no offset, so that nothing happens there.
Tensor offsets_of(const char* op, const std::vector<Axis>& axes, bool wraps, Kind kind) {
  const Shape& shape = axes[0].index.shape();
  Tensor out = empty(shape, Dtype::Int64, axes[0].index.device());
  for (size_t row = 0; row < axes.size(); row++) {
    const Axis& axis = axes[row];
    check(axis.size > 0, kind, "index is out of bounds for dimension with size 0");
    Walk walk(shape);
    walk.add(out);
    walk.add(axis.index);
    const Geometry g = walk.geometry();
    Launch launch("offsets", "offsets",
                  [] { return std::string("#define OFFSETS 1\n") + sources::index; });
    launch.tensor(out).tensor(axis.index).value(g).faults(op, kind).value(axis.dim);
    launch.value(axis.size).value(axis.step).value(int32_t(wraps)).value(int32_t(row > 0));
    launch.run(g.n, 64);
  }
  return out;
}

const char* raw_type(int64_t size) {
  return size == 1 ? "u8" : size == 2 ? "u16" : size == 4 ? "u32" : size == 8 ? "u64" : "u128";
}

void move(const char* name, const Tensor& to, const Tensor& from, const Tensor& offsets,
          const Geometry& g) {
  const char* type = raw_type(to.item_size());
  Launch launch(std::string(name) + type, name, [&] {
    return std::string("#define MOVE 1\n#define M ") + type + "\n" + sources::index;
  });
  launch.tensor(to).tensor(from).tensor(offsets).value(g).run(g.n, 64);
}

const char* formula(ScatterMode mode, bool complex) {
  const char* real[] = {"(b)", "((a) + (b))", "((a) * (b))",
                        "(((a) != (a)) | ((a) > (b)) ? (a) : (b))",
                        "(((a) != (a)) | ((a) < (b)) ? (a) : (b))"};
  const char* calls[] = {"(b)", "c_add(a, b)", "c_mul(a, b)"};
  return complex ? calls[int(mode)] : real[int(mode)];
}

// Whether elements are combined in order, by sorting, instead of atomically.
bool in_order(Dtype d) {
  return deterministic || is_complex(d) ||
         (item_size(d) == 8 && !context().properties.has_long_atomics);
}

void combine_in_order(const Tensor& self, const Tensor& values, const Tensor& offsets,
                      const Geometry& g, ScatterMode mode) {
  const Dtype d = self.dtype();
  check_holds("scatter", d);
  const bool complex = is_complex(d);
  check(!complex || mode <= ScatterMode::Mul, Kind::NotImplemented,
        "Could not run 'scatter' on device 'opencl': ", d, " has no order");
  auto line = [&] { return empty({g.n}, Dtype::Int64, self.device()); };
  Tensor to = line(), from = line(), sorted = line(), order = line();
  Launch("destinations", "destinations",
         [] {
           return "#define RUNS 1\n#define COMBINE(a, b) (b)\n" +
                  line_types(Dtype::Int64, Dtype::Int64, Dtype::Int64) + sources::index;
         })
      .tensor(to)
      .tensor(from)
      .tensor(offsets)
      .value(g)
      .run(g.n, 64);
  own().sort(sorted, order, to, 0, false);
  Launch launch("put_runs" + std::to_string(int(mode)) + dtype_ids({d}), "put_runs", [&] {
    return (complex ? complex_functions(d) : "") + "#define RUNS 1\n#define COMBINE(a, b) " +
           formula(mode, complex) + "\n" +
           line_types(is_integral(d, true) ? Dtype::Int64 : compute_of(d), d, d) + sources::index;
  });
  launch.tensor(self).tensor(values).tensor(sorted).tensor(order).tensor(from).value(g.n);
  launch.run(g.n, 64);
}

void combine(const Tensor& self, const Tensor& values, const Tensor& offsets, const Geometry& g,
             ScatterMode mode) {
  const Dtype d = self.dtype();
  check_holds("scatter", d);
  const bool wide = self.item_size() == 8;
  Launch launch("put_with" + std::to_string(int(mode)) + ',' + std::to_string(int(d)), "put_with",
                [&] {
                  const std::string type = memory_type(d), bits = wide ? "64" : "32";
                  std::string text = wide ? "#ifdef __OPENCL_VERSION__\n#pragma OPENCL EXTENSION "
                                            "cl_khr_int64_base_atomics : enable\n#endif\n"
                                          : "";
                  text += "#define MOVE 1\n#define M " + type + "\n#define BITS u" + bits +
                          "\n#define CAS SWAP" + bits + "\n#define TO_BITS BITS" + bits +
                          "\n#define FROM_BITS FROM_BITS_" + type + "\n#define COMBINE(a, b) " +
                          formula(mode, false) + "\n";
                  return text + sources::index;
                });
  launch.tensor(self).tensor(values).tensor(offsets).value(g).run(g.n, 64);
}

// Strides of `t` over the shape (before, I, after) of an indexing result: 0 along I.
struct Spread {
  Shape x, offsets;
};
Spread spread(const Tensor& x, const Tensor& offsets, int first, int count) {
  Spread s;
  for (int d = 0; d < first; d++) s.x.push_back(x.strides()[d]), s.offsets.push_back(0);
  for (int d = 0; d < offsets.dim(); d++)
    s.x.push_back(0), s.offsets.push_back(offsets.strides()[d]);
  for (int d = first + count; d < x.dim(); d++)
    s.x.push_back(x.strides()[d]), s.offsets.push_back(0);
  return s;
}

std::vector<Axis> axes_of(const Tensor& x, const Indexing& at) {
  std::vector<Axis> axes;
  for (size_t k = 0; k < at.indices.size(); k++) {
    int d = at.first + int(k);
    axes.push_back({at.indices[k], x.shape()[d], x.strides()[d],
                    int(k) < at.dims.size() ? at.dims[int64_t(k)] : d});
  }
  return axes;
}

void put(const Tensor& self, const Tensor& values, const Tensor& offsets, const Geometry& g,
         ScatterMode mode) {
  if (g.n && (deterministic || mode != ScatterMode::Set) && in_order(self.dtype()))
    return combine_in_order(self, values, offsets, g, mode);
  if (mode == ScatterMode::Set) return move("put", self, values, offsets, g);
  combine(self, values, offsets, g, mode);
}

// The dtype in which a device can combine atomically.
Dtype atomic_type(Dtype d) {
  if (in_order(d)) return d;
  return is_reduced(d) ? Dtype::Float32 : item_size(d) < 4 ? Dtype::Int32 : d;
}
Tensor converted(const Tensor& t, Dtype d) {
  Tensor out = empty(t.shape(), d, t.device());
  own().copy(out, t);
  return out;
}

Tensor as_line(const Tensor& t) { return t.dim() ? t : alias(t, {1}, {1}, t.offset()); }

Tensor cut_strides(const Tensor& x, const Tensor& like, int dim) {  // stride 0 along dim
  Shape strides = x.strides();
  strides[dim] = 0;
  return alias(x, like.shape(), strides, x.offset());
}

}  // namespace

void OpenClBackend::index_get(const Tensor& out, const Tensor& x, const Indexing& at) {
  if (at.indices[0].numel() == 0) return;
  Tensor offsets = offsets_of("index", axes_of(x, at), at.wrap, Kind::Index);
  if (out.numel() == 0) return;
  Spread s = spread(x, offsets, at.first, int(at.indices.size()));
  Walk walk(out.shape());
  walk.add(out);
  walk.add(s.x, x.offset());
  walk.add(s.offsets, 0);
  move("take", out, x, offsets, walk.geometry());
}

void OpenClBackend::index_put(const Tensor& self, const Indexing& at, const Tensor& values,
                              ScatterMode mode) {
  if (at.indices[0].numel() == 0) return;
  const Dtype d = mode == ScatterMode::Set ? self.dtype() : atomic_type(self.dtype());
  if (d != self.dtype()) {
    Tensor wide = converted(self, d);
    own().index_put(wide, at, converted(values, d), mode);
    return own().copy(self, wide);
  }
  Tensor offsets = offsets_of("index_put", axes_of(self, at), at.wrap, Kind::Index);
  if (values.numel() == 0) return;
  Spread s = spread(self, offsets, at.first, int(at.indices.size()));
  Walk walk(values.shape());
  walk.add(s.x, self.offset());
  walk.add(values);
  walk.add(s.offsets, 0);
  put(self, values, offsets, walk.geometry(), mode);
}

void OpenClBackend::gather(const Tensor& out_, const Tensor& x_, int dim, const Tensor& index_) {
  if (index_.numel() == 0) return;
  Tensor out = as_line(out_), x = as_line(x_), index = as_line(index_);
  Tensor offsets =
      offsets_of("gather", {{index, x.shape()[dim], x.strides()[dim], dim}}, false, Kind::Runtime);
  Walk walk(out.shape());
  walk.add(out);
  walk.add(cut_strides(x, index, dim));
  walk.add(offsets);
  move("take", out, x, offsets, walk.geometry());
}

void OpenClBackend::scatter(const Tensor& self_, int dim, const Tensor& index_, const Tensor& src_,
                            ScatterMode mode) {
  if (index_.numel() == 0) return;
  Tensor self = as_line(self_), src = as_line(src_), index = as_line(index_);
  const Dtype d = mode == ScatterMode::Set ? self.dtype() : atomic_type(self.dtype());
  if (d != self.dtype()) {
    Tensor wide = converted(self, d);
    own().scatter(wide, dim, index, converted(src, d), mode);
    return own().copy(self, wide);
  }
  Tensor offsets = offsets_of("scatter", {{index, self.shape()[dim], self.strides()[dim], dim}},
                              false, Kind::Runtime);
  Walk walk(index.shape());
  walk.add(cut_strides(self, index, dim));
  walk.add(src);
  walk.add(offsets);
  put(self, src, offsets, walk.geometry(), mode);
}

Tensor OpenClBackend::nonzero(const Tensor& x) {
  const int64_t n = x.numel();
  if (n == 0) return empty({0, x.dim()}, Dtype::Int64, x.device());
  Tensor truth = empty(x.shape(), Dtype::Bool, x.device());
  Tensor flags = empty({n}, Dtype::Int64, x.device());
  Tensor running = empty({n}, Dtype::Int64, x.device());
  own().copy(truth, x);
  own().copy(alias(flags, x.shape(), contiguous_strides(x.shape()), 0), truth);
  own().scan(Fold::sum, running, {}, flags, 0);
  int64_t total = 0;
  backend_of(x).copy_to_host(&total, alias(running, {1}, {1}, n - 1));
  Tensor out = empty({total, x.dim()}, Dtype::Int64, x.device());
  if (out.numel() == 0) return out;
  check(x.dim() <= kGeometryDims, Kind::NotImplemented, "nonzero(): at most ", kGeometryDims,
        " dimensions on device 'opencl', got ", x.dim());
  Geometry g;
  g.n = n;
  g.ndim = x.dim();
  for (int d = 0; d < x.dim(); d++) g.size[d] = x.shape()[x.dim() - 1 - d];
  Launch launch("compact", "compact",
                [] { return std::string("#define COMPACT 1\n") + sources::index; });
  launch.tensor(out).tensor(flags).tensor(running).value(g).run(n, 64);
  return out;
}

Tensor OpenClBackend::repeated_positions(const Tensor& counts) {
  const int64_t n = counts.numel();
  if (n == 0) return empty({0}, Dtype::Int64, counts.device());
  Tensor line = converted(counts, Dtype::Int64), least = empty({1}, Dtype::Int64, counts.device());
  Tensor running = empty({n}, Dtype::Int64, counts.device());
  own().reduce(Reduction::min, least, line, {0}, 2);
  own().scan(Fold::sum, running, {}, line, 0);
  int64_t lowest = 0, total = 0;
  Backend& b = backend_of(counts);
  b.copy_to_host(&lowest, least);
  check(lowest >= 0, Kind::Runtime, "repeats can not be negative");
  b.copy_to_host(&total, alias(running, {1}, {1}, n - 1));
  Tensor out = empty({total}, Dtype::Int64, counts.device());
  Tensor places = empty({total}, Dtype::Int64, counts.device());
  b.arange(places, Scalar(0), Scalar(1));
  own().search(out, running, places, {}, true);
  return out;
}

}  // namespace ember::opencl
