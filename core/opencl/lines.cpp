// Primitives along one dimension: search; scan.cpp, sort.cpp and softmax.cpp hold
// the others.
#include "opencl/lines.h"
#include "opencl/opencl_backend.h"
#include "opencl/sources.h"

namespace ember::opencl {

Lines::Lines(const Tensor& like, int dim, std::initializer_list<const Tensor*> tensors) {
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

std::string line_types(Dtype acc, Dtype in, Dtype out) {
  return std::string("#define ACC ") + value_type(acc) + "\n#define KEY " + value_type(acc) +
         "\n#define M_IN " + memory_type(in) + "\n#define M_OUT " + memory_type(out) +
         "\n#define LOAD " + load_macro(in) + "\n#define READ(p, i) " +
         stored(compute_of(in), acc, std::string(load_macro(in)) + "(p, i)") +
         "\n#define STORE(p, i, v) " + store_macro(out) + "(p, i, " + stored(acc, out, "v") + ")\n";
}

std::string dtype_ids(std::initializer_list<Dtype> dtypes) {
  std::string text;
  for (Dtype d : dtypes) text += ',' + std::to_string(int(d));
  return text;
}

namespace {

Tensor contiguous(const Tensor& t, Dtype d) {
  if (t.is_contiguous() && t.dtype() == d) return t;
  Tensor out = empty(t.shape(), d, t.device());
  own().copy(out, t);
  return out;
}

}  // namespace

void OpenClBackend::search(const Tensor& out, const Tensor& sorted, const Tensor& values,
                           const Tensor& sorter, bool right) {
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
  Launch launch("search" + dtype_ids({d}), "search", [&] {
    return line_types(compute_of(d), d, d) + "#define SEARCH 1\n" + sources::lines;
  });
  launch.tensor(found).tensor(lines).tensor(wanted).tensor(order).value(total).value(per_line);
  launch.value(n).value(shared ? int64_t(0) : n).value(int32_t(right)).value(int32_t(bool(sorter)));
  launch.run(total, 64);
  if (!found.same(out)) own().copy(out, found);
}

}  // namespace ember::opencl
