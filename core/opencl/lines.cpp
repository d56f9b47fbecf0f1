// Primitives along one dimension: scans, sorting and what follows from it, softmax.
#include "opencl/device.h"
#include "opencl/kernels.h"
#include "opencl/launch.h"
#include "opencl/sources.h"

namespace ember::opencl {

namespace {

// The lines of up to three tensors along `dim`; a 0-d tensor is one line of one element.
struct Lines {
  Geometry g;
  int64_t n = 1, step[3] = {0, 0, 0};
  Lines(const Tensor& like, int dim, std::initializer_list<const Tensor*> tensors) {
    Shape shape = like.shape();
    if (shape.size()) {
      n = shape[dim];
      shape[dim] = 1;
    }
    Walk walk(shape);
    int k = 0;
    for (const Tensor* t : tensors) {
      if (!*t) {
        walk.skip();
      } else {
        walk.add(t->strides(), t->offset());
        if (shape.size()) step[k] = t->strides()[dim];
      }
      k++;
    }
    g = walk.geometry();
  }
};

std::string types(Dtype acc, Dtype in, Dtype out) {
  return std::string("#define ACC ") + value_type(acc) + "\n#define KEY " + value_type(acc) +
         "\n#define M_IN " + memory_type(in) + "\n#define M_OUT " + memory_type(out) +
         "\n#define LOAD " + load_macro(in) + "\n#define STORE(p, i, v) " + store_macro(out) +
         "(p, i, " + stored(acc, out, "v") + ")\n";
}

std::string ids(std::initializer_list<Dtype> dtypes) {
  std::string text;
  for (Dtype d : dtypes) text += ',' + std::to_string(int(d));
  return text;
}

Tensor contiguous(const Tensor& t, Dtype d) {
  if (t.is_contiguous() && t.dtype() == d) return t;
  Tensor out = empty(t.shape(), d, t.device());
  copy(out, t);
  return out;
}

}  // namespace

void scan(Scan f, const Tensor& out, const Tensor& indices, const Tensor& x, int dim) {
  if (x.numel() == 0) return;
  check_computes("scan", x.dtype());
  check_computes("scan", out.dtype());
  Dtype acc = is_floating(out.dtype()) ? compute_of(out.dtype()) : Dtype::Int64;
  // Gradients subtract these from each other.
  if (f == Scan::LogSumExp && context().properties.has_double) acc = Dtype::Float64;
  const char* steps[] = {
      "a += b;", "a *= b;",
      "{ ACC m = a > b ? a : b; a = (a == b && isinf(a)) ? a : m + log1p(exp(-fabs(a - b))); }",
      "if (b != b || (a == a && b >= a)) { a = b; where_ = i; }",
      "if (b != b || (a == a && b <= a)) { a = b; where_ = i; }"};
  Lines lines(x, dim, {&out, &x, &indices});
  Launch launch("scan" + std::to_string(int(f)) + ids({x.dtype(), out.dtype()}), "scan", [&] {
    return types(acc, x.dtype(), out.dtype()) + "#define SCAN 1\n#define STEP " + steps[int(f)] +
           "\n" + sources::lines;
  });
  int32_t wants = bool(indices);
  launch.tensor(out).tensor(indices).tensor(x).value(lines.g).value(lines.n);
  launch.value(lines.step[0]).value(lines.step[1]).value(lines.step[2]).value(wants);
  launch.run(lines.g.n, 16);
}

void sort(const Tensor& values, const Tensor& indices, const Tensor& x, int dim, bool descending) {
  if (x.numel() == 0) return;
  check_computes("sort", x.dtype());
  const Dtype d = x.dtype(), out = values ? values.dtype() : d;
  const Dtype key = is_floating(d) ? compute_of(d) : d == Dtype::UInt64 ? d : Dtype::Int64;
  Lines lines(x, dim, {&values, &x, &indices});
  int64_t padded = 1;
  while (padded < lines.n) padded *= 2;
  const int64_t total = lines.g.n * padded;
  Tensor keys = empty({total}, key, x.device()), places = empty({total}, Dtype::Int64, x.device());
  auto source = [&] {
    return types(key, d, out) + "#define SORT 1\n#define DESCENDING " +
           (descending ? "1\n" : "0\n") + sources::lines;
  };
  const std::string id = ids({d, out}) + (descending ? "d" : "a");
  Launch("sort_load" + id, "sort_load", source)
      .tensor(keys)
      .tensor(places)
      .tensor(x)
      .value(lines.g)
      .value(lines.n)
      .value(padded)
      .value(lines.step[1])
      .run(total, 64);
  for (int64_t size = 2; size <= padded; size *= 2)
    for (int64_t reach = size / 2; reach > 0; reach /= 2)
      Launch("sort_step" + id, "sort_step", source)
          .tensor(keys)
          .tensor(places)
          .value(total)
          .value(padded)
          .value(size)
          .value(reach)
          .run(total / 2, 64);
  int32_t wants = (values ? 1 : 0) | (indices ? 2 : 0);
  Launch("sort_store" + id, "sort_store", source)
      .tensor(values)
      .tensor(indices)
      .tensor(keys)
      .tensor(places)
      .value(lines.g)
      .value(lines.n)
      .value(padded)
      .value(lines.step[0])
      .value(lines.step[2])
      .value(wants)
      .run(lines.g.n * lines.n, 64);
}

void pick(const Tensor& values, const Tensor& indices, const Tensor& x, int dim, Rank rank,
          int64_t k) {
  const Tensor& some = values ? values : indices;
  if (some.numel() == 0) return;
  Shape shape = x.shape();
  const int64_t n = shape.size() ? shape[dim] : 1;
  // Sorted with the lines last, so that each is contiguous.
  Shape order = shape;
  if (order.size()) {
    order.erase(dim);
    order.push_back(n);
  }
  Tensor sorted = empty(order, x.dtype(), x.device()), at = empty(order, Dtype::Int64, x.device());
  auto moved = [&](const Tensor& t) {
    Shape strides = t.strides();
    if (strides.size()) {
      int64_t last = strides.back();
      strides.pop_back();
      strides.insert(dim, last);
    }
    return alias(t, shape, strides, 0);
  };
  sort(moved(sorted), moved(at), x, dim, false);
  Lines lines(some, dim, {&values, &some, &indices});
  Launch launch("pick" + ids({x.dtype()}), "pick", [&] {
    return types(compute_of(x.dtype()), x.dtype(), x.dtype()) + "#define PICK 1\n" + sources::lines;
  });
  int32_t wants = (values ? 1 : 0) | (indices ? 2 : 0), which = int32_t(rank);
  launch.tensor(values).tensor(indices).tensor(sorted).tensor(at).value(lines.g).value(n).value(k);
  launch.value(which).value(wants).run(lines.g.n, 16);
}

void search(const Tensor& out, const Tensor& sorted, const Tensor& values, const Tensor& sorter,
            bool right) {
  if (values.numel() == 0) return;
  check_computes("searchsorted", sorted.dtype());
  const Dtype d = sorted.dtype();
  Tensor lines = contiguous(sorted, d), wanted = contiguous(values, d);
  Tensor order = sorter ? contiguous(sorter, Dtype::Int64) : Tensor();
  Tensor found = out.is_contiguous() && out.dtype() == Dtype::Int64
                     ? out
                     : empty(values.shape(), Dtype::Int64, values.device());
  const int64_t n = sorted.dim() ? sorted.size(-1) : 1, total = values.numel();
  const bool shared = sorted.dim() <= 1;
  const int64_t per_line = shared || values.dim() == 0 ? total : values.size(-1);
  Launch launch("search" + ids({d}), "search",
                [&] { return types(compute_of(d), d, d) + "#define SEARCH 1\n" + sources::lines; });
  launch.tensor(found).tensor(lines).tensor(wanted).tensor(order).value(total).value(per_line);
  launch.value(n).value(shared ? int64_t(0) : n).value(int32_t(right)).value(int32_t(bool(sorter)));
  launch.run(total, 64);
  if (!found.same(out)) copy(out, found);
}

void softmax(const Tensor& out, const Tensor& x, int dim, bool log) {
  if (x.numel() == 0) return;
  check_computes("softmax", x.dtype());
  Lines lines(x, dim, {&out, &x});
  Launch launch("softmax" + ids({x.dtype(), out.dtype()}) + (log ? "l" : ""), "softmax", [&] {
    return types(compute_of(out.dtype()), x.dtype(), out.dtype()) + "#define M_Y " +
           memory_type(x.dtype()) + "\n#define LOAD_Y " + load_macro(x.dtype()) +
           "\n#define SOFTMAX 1\n#define LOG " + (log ? "1\n" : "0\n") + sources::lines;
  });
  launch.tensor(out).tensor(x).value(lines.g).value(lines.n);
  launch.value(lines.step[0]).value(lines.step[1]).run(lines.g.n * 64, 64);
}

void softmax_grad(const Tensor& out, const Tensor& g, const Tensor& y, int dim, bool log) {
  if (y.numel() == 0) return;
  check_computes("softmax_backward", y.dtype());
  Lines lines(y, dim, {&out, &g, &y});
  Launch launch("softmax_grad" + ids({g.dtype(), y.dtype(), out.dtype()}) + (log ? "l" : ""),
                "softmax_grad", [&] {
                  return types(compute_of(out.dtype()), g.dtype(), out.dtype()) + "#define M_Y " +
                         memory_type(y.dtype()) + "\n#define LOAD_Y " + load_macro(y.dtype()) +
                         "\n#define SOFTMAX 1\n#define LOG " + (log ? "1\n" : "0\n") +
                         sources::lines;
                });
  launch.tensor(out).tensor(g).tensor(y).value(lines.g).value(lines.n);
  launch.value(lines.step[0]).value(lines.step[1]).value(lines.step[2]);
  launch.run(lines.g.n * 64, 64);
}

}  // namespace ember::opencl
