// Reductions, in one of two forms (see kernels/reduce.cl) that follow from layout and device, and
// in two launches where there are fewer outputs than the device can work on at once.
#include <algorithm>

#include "opencl/complex.h"
#include "opencl/device.h"
#include "opencl/launch.h"
#include "opencl/lines.h"
#include "opencl/opencl_backend.h"
#include "opencl/sources.h"
#include "opencl/text.h"

namespace ember::opencl {

namespace {

struct Split {  // the kept and the reduced dimensions of x
  Geometry kept, reduced;
};

// Operand 0 is `out`, 1 is x, 2 is `also`; outputs have size 1 along the reduced dimensions.
Split split(const Tensor& x, const Shape& dims, const Tensor& out, const Tensor& also = {}) {
  Shape kept = x.shape(), order;
  for (int d = 0; d < x.dim(); d++)
    if (dims.contains(d)) {
      kept[d] = 1;
      order.push_back(d);
    }
  // The order of what is reduced is free: neighbours in memory come last, so that they merge.
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return std::abs(x.strides()[a]) > std::abs(x.strides()[b]);
  });
  Shape rest, strides;
  for (int64_t d : order) {
    rest.push_back(x.shape()[d]);
    strides.push_back(x.strides()[d]);
  }
  Walk a(kept), b(rest);
  auto add = [&](const Tensor& t) { t ? a.add(t) : a.skip(); };
  add(out);
  a.add(x);
  add(also);
  b.add(Shape::filled(rest.size(), 0), 0);
  b.add(strides, 0);
  return {a.geometry(), b.geometry()};
}

// How the kernels of kernels/reduce.cl go about it.
struct Form {
  bool columns = false, unit = false;
  int group = 1, gx = 1, lanes = 1;
  int64_t units = 0, chunks = 1, per = 1;

  int64_t groups() const { return (columns ? units : (units + per - 1) / per) * chunks; }
  std::string id() const {
    return (columns ? "c" : "r") + std::string(unit ? "u" : "") + std::to_string(group) + 'x' +
           std::to_string(gx) + 'x' + std::to_string(lanes);
  }
  std::string text() const {
    return "#define GROUP " + std::to_string(group) + "\n#define GX " + std::to_string(gx) +
           "\n#define LANES " + std::to_string(lanes) + "\n" +
           (columns ? "#define COLUMNS 1\n" : "") + (unit ? "#define UNIT 1\n" : "");
  }
};

// `below`: items below each other in a group may share the work for a column.
Form form_of(const Split& s, bool below) {
  const Properties& device = context().properties;
  const Geometry &kept = s.kept, &reduced = s.reduced;
  const int64_t side = kept.ndim ? kept.size[0] : 1, aside = kept.stride[1][0],
                down = reduced.stride[1][0];
  Form f;
  f.columns =
      reduced.n > 0 && ((aside == 1 && down != 1 && side >= 8) || (reduced.n <= 16 && side >= 16));
  f.unit = (f.columns ? aside : down) == 1;
  if (device.staged) {
    f.group = reduced.n < 1024 && !f.columns ? 64 : 256;
    while (size_t(f.group) > device.group_size) f.group /= 2;
    f.lanes = f.columns ? 1 : 4;
    f.gx = !f.columns ? 1 : below && reduced.n > 32 ? std::min(32, f.group) : f.group;
  } else {
    f.lanes = !f.columns ? 32 : side >= 512 ? 256 : 64;
  }
  const int64_t wide = int64_t(f.gx) * f.lanes;
  f.units = f.columns ? (side + wide - 1) / wide * (kept.n / side) : kept.n;
  const int64_t wanted = (device.staged ? 16 : 4) * std::max<int64_t>(device.compute_units, 1);
  const int64_t least = f.columns ? 256 : device.staged ? 16 * f.group : 8192;
  f.chunks = std::clamp<int64_t>(wanted / f.units, 1, std::max<int64_t>(reduced.n / least, 1));
  f.chunks = std::max(f.chunks, (reduced.n >> 30) + 1);  // places in a chunk are 32-bit
  const int64_t size = (reduced.n + f.chunks - 1) / f.chunks;
  if (size) f.chunks = (reduced.n + size - 1) / size;  // none is empty
  if (!f.columns && !device.staged) f.per = std::clamp<int64_t>(f.units / (8 * wanted), 1, 256);
  return f;
}
// Of a launch that goes over what the chunks of another have left.
Split after(const Split& s, int64_t chunks) {
  Split again;
  again.kept = s.kept;
  again.kept.offset[1] = 0;
  int64_t step = chunks;  // the first launch wrote in the order of the kept dimensions
  for (int d = 0; d < again.kept.ndim; d++) {
    again.kept.stride[1][d] = step;
    step *= again.kept.size[d];
  }
  again.reduced.n = again.reduced.size[0] = chunks;
  again.reduced.ndim = 1;
  again.reduced.stride[1][0] = 1;
  return again;
}

std::string types(Dtype acc, Dtype in, Dtype out) {
  return std::string("#define ACC ") + value_type(acc) + "\n#define M_IN " + memory_type(in) +
         "\n#define M_OUT " + memory_type(out) + "\n#define LOAD " + load_macro(in) +
         "\n#define STORE(p, i, v) " + store_macro(out) + "(p, i, " + stored(acc, out, "v") + ")\n";
}

// The type to fold in.
Dtype accumulates(const ReductionRow& row, Dtype out, Dtype x) {
  const bool in_x = row.map == Map::nonzero || row.fold == Fold::max || row.fold == Fold::min;
  const Dtype d = in_x ? x : out;
  return is_floating(d) ? compute_of(d) : Dtype::Int64;
}

}  // namespace

void OpenClBackend::reduce(Reduction f, const Tensor& out, const Tensor& x, const Shape& dims,
                           double p) {
  if (is_complex(x.dtype()) || is_complex(out.dtype())) return complex_reduce(f, out, x, dims, p);
  if (out.numel() == 0) return;
  check_computes("reduce", x.dtype());
  check_computes("reduce", out.dtype());
  const ReductionRow& row = row_of(f, p);
  Dtype acc = accumulates(row, out.dtype(), x.dtype());
  if (row.map == Map::nonzero && row.fold == Fold::sum && acc == Dtype::Float32 &&
      x.numel() > (1 << 24) && context().properties.has_double)
    acc = Dtype::Float64;  // counts past 2^24
  const Scalar init =
      is_floating(acc) ? Scalar(start_as<double>(row.fold)) : Scalar(start_as<int64_t>(row.fold));
  const Split s = split(x, dims, out);
  auto start = [&](const Tensor& to, const Tensor& from, const Split& over, const Form& form,
                   bool first, bool last) {
    const Dtype in = from.dtype(), out = to.dtype();
    const std::string map = text_of(first ? row.map : Map::value), join = text_of(row.fold),
                      finish = text_of(row.finish);
    Launch launch("reduce:" + map + ';' + join + ';' + finish + dtype_ids({acc, in, out}) +
                      (last ? "l" : "") + form.id(),
                  "reduce", [&] {
                    return functions_for(acc, map + join + finish) + types(acc, in, out) +
                           form.text() + "#define FOLD 1\n#define MAP(x) (T)(" + map +
                           ")\n#define COMBINE(a, b) (" + join + ")\n#define FINISH(a) (" + finish +
                           ")\n" + (last ? "" : "#define PARTIAL 1\n") + sources::fold +
                           sources::reduce;
                  });
    launch.tensor(to).tensor(from).value(over.kept).value(over.reduced).value(form.chunks);
    launch.value(form.per).scalar(acc, init).scalar(acc, Scalar(p)).value(s.reduced.n);
    launch.run(form.groups() * form.group, form.group);
  };
  const Form form = form_of(s, true);
  if (form.chunks == 1) return start(out, x, s, form, true, true);
  Tensor partial = empty({s.kept.n, form.chunks}, acc, x.device());
  start(partial, x, s, form, true, false);
  const Split again = after(s, form.chunks);
  Form second = form_of(again, true);
  start(out, partial, again, second, false, true);
}

void OpenClBackend::extremes(const Tensor& values, const Tensor& indices, const Tensor& x, int dim,
                             bool most) {
  const Tensor& some = values ? values : indices;
  if (some.numel() == 0) return;
  check_computes(most ? "max" : "min", x.dtype());
  const Dtype acc = is_floating(x.dtype()) ? compute_of(x.dtype()) : Dtype::Int64;
  const Dtype out = values ? values.dtype() : x.dtype();
  const Split s = split(x, x.dim() ? Shape{dim} : Shape{}, values, indices);
  const Form form = form_of(s, false);
  auto start = [&](const Tensor& best, const Tensor& at, const Tensor& from, const Tensor& found,
                   const Split& over, const Form& form, Dtype to, bool last) {
    const Dtype in = from.dtype();
    Launch launch(
        "extremes:" + dtype_ids({in, to}) + (most ? "+" : "-") + (last ? "l" : "") + form.id(),
        "extremes", [&] {
          return types(acc, in, to) + form.text() + "#define MOST " + (most ? "1\n" : "0\n") +
                 (last ? "" : "#define PARTIAL 1\n") + sources::fold + sources::reduce +
                 sources::extremes;
        });
    const int32_t wants = (best ? 1 : 0) | (at ? 2 : 0) | (found ? 4 : 0);
    launch.tensor(best).tensor(at).tensor(from).tensor(found).value(over.kept).value(over.reduced);
    launch.value(form.chunks).value(form.per).value(wants);
    launch.run(form.groups() * form.group, form.group);
  };
  if (form.chunks == 1) return start(values, indices, x, {}, s, form, out, true);
  const Tensor best = empty({s.kept.n, form.chunks}, acc, x.device());
  const Tensor at = empty({s.kept.n, form.chunks}, Dtype::Int64, x.device());
  start(best, at, x, {}, s, form, acc, false);
  const Split again = after(s, form.chunks);
  Form rows = form_of(again, false);
  if (rows.columns) {  // of which only the other form looks up places
    rows = Form();
    rows.unit = true;
    rows.lanes = 32;
    rows.units = again.kept.n;
  }
  start(values, indices, best, at, again, rows, out, true);
}

void OpenClBackend::variance(const Tensor& out, const Tensor& mean, const Tensor& x,
                             const Shape& dims, double correction, bool root) {
  const Tensor& some = out ? out : mean;
  if (some.numel() == 0) return;
  check_computes("var", x.dtype());
  // The squares of 1e25 or 1e-25 are beyond float.
  const Dtype acc = context().properties.has_double ? Dtype::Float64 : compute_of(some.dtype());
  const Split s = split(x, dims, out, mean);
  const Form form = form_of(s, false);
  const bool parts = form.chunks > 1 || form.columns;
  const std::string id = dtype_ids({x.dtype(), some.dtype()}) + form.id() + (parts ? "p" : "");
  auto text = [&] {
    return types(acc, x.dtype(), some.dtype()) + form.text() +
           (parts ? "#define PARTIAL 1\n" : "") + sources::fold + sources::reduce +
           sources::variance;
  };
  const int32_t wants = (out ? 1 : 0) | (mean ? 2 : 0), rooted = root;
  Tensor left;
  if (parts) left = empty({s.kept.n, form.chunks, 2}, acc, x.device());
  Launch launch("variance:" + id, "variance", text);
  launch.tensor(out).tensor(mean).tensor(x).tensor(left).value(s.kept).value(s.reduced);
  launch.value(form.chunks).value(form.per);
  launch.scalar(acc, Scalar(correction)).value(rooted).value(wants);
  launch.run(form.groups() * form.group, form.group);
  if (!parts) return;
  Launch join("join_variance:" + id, "join_variance", text);
  join.tensor(out).tensor(mean).tensor(left).value(s.kept).value(s.reduced.n).value(form.chunks);
  join.scalar(acc, Scalar(correction)).value(rooted).value(wants).run(s.kept.n, 64);
}

}  // namespace ember::opencl
