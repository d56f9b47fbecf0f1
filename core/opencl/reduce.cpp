// Reductions: folds by work-groups, in two stages where there are fewer outputs than work-groups
// that the device can run at once.
#include <cmath>
#include <limits>

#include "opencl/complex.h"
#include "opencl/device.h"
#include "opencl/kernels.h"
#include "opencl/launch.h"
#include "opencl/sources.h"

namespace ember::opencl {

namespace {

constexpr int64_t kGroup = 64;  // GROUP of kernels/reduce.cl

struct Split {  // the kept and the reduced dimensions of x
  Geometry kept, reduced;
};

// Operand 0 is `out`, 1 is x, 2 is `also`; outputs have size 1 along the reduced dimensions.
Split split(const Tensor& x, const Shape& dims, const Tensor& out, const Tensor& also = {}) {
  Shape kept = x.shape(), rest, strides;
  for (int d = 0; d < x.dim(); d++)
    if (dims.contains(d)) {
      kept[d] = 1;
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

std::string types(Dtype acc, Dtype in, Dtype out) {
  return std::string("#define ACC ") + value_type(acc) + "\n#define M_IN " + memory_type(in) +
         "\n#define M_OUT " + memory_type(out) + "\n#define LOAD " + load_macro(in) +
         "\n#define STORE(p, i, v) " + store_macro(out) + "(p, i, " + stored(acc, out, "v") + ")\n";
}

struct Fold {
  std::string map, combine, finish;
  Scalar init;
};

Fold fold_of(Reduction f, Dtype acc, double p) {
  const bool real = is_floating(acc);
  const char* max = "(((a) != (a)) | ((a) > (b)) ? (a) : (b))";
  const char* min = "(((a) != (a)) | ((a) < (b)) ? (a) : (b))";
  const double inf = std::numeric_limits<double>::infinity();
  Scalar low = real ? Scalar(-inf) : Scalar(std::numeric_limits<int64_t>::min());
  Scalar high = real ? Scalar(inf) : Scalar(std::numeric_limits<int64_t>::max());
  switch (f) {
    case Reduction::Sum: return {"(v)", "((a) + (b))", "(a)", 0};
    case Reduction::Mean: return {"(v)", "((a) + (b))", "((a) / (ACC)count)", 0};
    case Reduction::Prod: return {"(v)", "((a) * (b))", "(a)", 1};
    case Reduction::Min: return {"(v)", min, "(a)", high};
    case Reduction::Max: return {"(v)", max, "(a)", low};
    case Reduction::Any: return {"((ACC)((v) != 0))", "((a) > (b) ? (a) : (b))", "(a)", 0};
    case Reduction::All: return {"((ACC)((v) != 0))", "((a) < (b) ? (a) : (b))", "(a)", 1};
    case Reduction::CountNonzero: return {"((ACC)((v) != 0))", "((a) + (b))", "(a)", 0};
    case Reduction::NanSum: return {"((v) != (v) ? (ACC)0 : (v))", "((a) + (b))", "(a)", 0};
    case Reduction::Norm: break;
  }
  if (p == 2) return {"((v) * (v))", "((a) + (b))", "sqrt(a)", 0};
  if (p == 1) return {"fabs(v)", "((a) + (b))", "(a)", 0};
  if (p == 0) return {"((ACC)((v) != 0))", "((a) + (b))", "(a)", 0};
  if (p == inf) return {"fabs(v)", max, "(a)", 0};
  if (p == -inf) return {"fabs(v)", min, "(a)", high};
  return {"pow(fabs(v), p)", "((a) + (b))", "pow(a, 1 / p)", 0};
}

// The type to fold in.
Dtype accumulates(Reduction f, Dtype out, Dtype x) {
  if (f == Reduction::Any || f == Reduction::All || f == Reduction::CountNonzero)
    return is_floating(x) ? compute_of(x) : Dtype::Int64;
  if (f == Reduction::Min || f == Reduction::Max)
    return is_floating(x) ? compute_of(x) : Dtype::Int64;
  if (is_floating(out)) return compute_of(out);
  return Dtype::Int64;
}

}  // namespace

void reduce(Reduction f, const Tensor& out, const Tensor& x, const Shape& dims, double p) {
  if (is_complex(x.dtype()) || is_complex(out.dtype())) return complex_reduce(f, out, x, dims, p);
  if (out.numel() == 0) return;
  check_computes("reduce", x.dtype());
  check_computes("reduce", out.dtype());
  const bool counts = f == Reduction::Any || f == Reduction::All || f == Reduction::CountNonzero;
  Dtype acc = accumulates(f, out.dtype(), x.dtype());
  if (counts && acc == Dtype::Float32 && f == Reduction::CountNonzero && x.numel() > (1 << 24) &&
      context().properties.has_double)
    acc = Dtype::Float64;  // counts past 2^24
  const Fold fold = fold_of(f, acc, p);
  const Split s = split(x, dims, out);
  auto text = [&](Dtype in, Dtype to, bool first, bool last) {
    return types(acc, in, to) + "#define FOLD 1\n#define MAP(v) " + (first ? fold.map : "(v)") +
           "\n#define COMBINE(a, b) " + fold.combine + "\n#define FINISH(a) " + fold.finish + "\n" +
           (last ? "" : "#define PARTIAL 1\n") + sources::reduce;
  };
  auto key = [&](Dtype in, Dtype to, bool first, bool last) {
    return "reduce:" + fold.map + fold.combine + fold.finish + std::to_string(int(acc)) + ',' +
           std::to_string(int(in)) + ',' + std::to_string(int(to)) + (first ? "f" : "") +
           (last ? "l" : "");
  };
  auto start = [&](const Tensor& to, const Tensor& from, const Geometry& kept,
                   const Geometry& reduced, int64_t chunks, bool first, bool last) {
    Launch launch(key(from.dtype(), to.dtype(), first, last), "reduce",
                  [&] { return text(from.dtype(), to.dtype(), first, last); });
    launch.tensor(to).tensor(from).value(kept).value(reduced).value(chunks);
    launch.scalar(acc, fold.init).scalar(acc, Scalar(p)).value(s.reduced.n);
    launch.run(kept.n * chunks * kGroup, kGroup);
  };
  const int64_t wanted = 8 * std::max<int64_t>(context().properties.compute_units, 4);
  int64_t chunks = std::min(wanted / std::max<int64_t>(s.kept.n, 1), s.reduced.n / (16 * kGroup));
  if (chunks <= 1) return start(out, x, s.kept, s.reduced, 1, true, true);
  Tensor partial = empty({s.kept.n, chunks}, acc, x.device());
  start(partial, x, s.kept, s.reduced, chunks, true, false);
  Geometry again = s.kept, few;
  // The outputs of the first stage are in the order of the kept dimensions.
  int64_t step = chunks;
  again.offset[1] = 0;
  for (int d = 0; d < again.ndim; d++) {
    again.stride[1][d] = step;
    step *= again.size[d];
  }
  few.n = few.size[0] = chunks;
  few.ndim = 1;
  few.stride[1][0] = 1;
  start(out, partial, again, few, 1, false, true);
}

void extremes(const Tensor& values, const Tensor& indices, const Tensor& x, int dim, bool most) {
  const Tensor& some = values ? values : indices;
  if (some.numel() == 0) return;
  check_computes(most ? "max" : "min", x.dtype());
  const Dtype acc = is_floating(x.dtype()) ? compute_of(x.dtype()) : Dtype::Int64;
  const Dtype out = values ? values.dtype() : x.dtype();
  const Split s = split(x, x.dim() ? Shape{dim} : Shape{}, values, indices);
  Launch launch("extremes:" + std::to_string(int(x.dtype())) + ',' + std::to_string(int(out)) +
                    (most ? "+" : "-"),
                "extremes", [&] {
                  return types(acc, x.dtype(), out) + "#define EXTREMES 1\n#define MOST " +
                         (most ? "1\n" : "0\n") + sources::reduce;
                });
  int32_t wants = (values ? 1 : 0) | (indices ? 2 : 0);
  launch.tensor(values).tensor(indices).tensor(x).value(s.kept).value(s.reduced).value(wants);
  launch.run(s.kept.n * kGroup, kGroup);
}

void variance(const Tensor& out, const Tensor& mean, const Tensor& x, const Shape& dims,
              double correction, bool root) {
  const Tensor& some = out ? out : mean;
  if (some.numel() == 0) return;
  check_computes("var", x.dtype());
  const Dtype acc = compute_of(some.dtype());
  const Split s = split(x, dims, out, mean);
  Launch launch(
      "variance:" + std::to_string(int(x.dtype())) + ',' + std::to_string(int(some.dtype())),
      "variance", [&] {
        return types(acc, x.dtype(), some.dtype()) + "#define VARIANCE 1\n" + sources::reduce;
      });
  int32_t wants = (out ? 1 : 0) | (mean ? 2 : 0), rooted = root;
  launch.tensor(out).tensor(mean).tensor(x).value(s.kept).value(s.reduced);
  launch.scalar(acc, Scalar(correction)).value(rooted).value(wants);
  launch.run(s.kept.n * kGroup, kGroup);
}

}  // namespace ember::opencl
