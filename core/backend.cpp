// The defaults of primitives that decompose into others (those along one dimension:
// backend_lines.cpp; of sparse products: ops/sparse.cpp), and the list of devices.
#include "backend.h"

namespace ember {

const char* name_of(Primitive p) {
  static constexpr const char* names[] = {
#define PRIMITIVE(need, result, name, ...) #name,
#include "primitives.h"
  };
  return names[int(p)];
}

void Backend::refuse(const char* primitive) const {
  fail(Kind::NotImplemented, "Could not run '", primitive, "' on device '", name_,
       "': it has no such primitive");
}

// The defaults of rows that have none, by their need.
#define EMBER_DEFINE_Default(result, name, ...)
#define EMBER_DEFINE_Required(result, name, ...)        \
  result Backend::name(EMBER_PARAMETERS(__VA_ARGS__)) { \
    ignore(EMBER_NAMES(__VA_ARGS__));                   \
    refuse(#name);                                      \
  }
#define EMBER_DEFINE_Fused EMBER_DEFINE_Required
namespace {
template <class... T>
void ignore(const T&...) {}
}  // namespace
#define PRIMITIVE(need, result, name, ...) EMBER_DEFINE_##need(result, name, __VA_ARGS__)
#include "primitives.h"

namespace {

// Where a mask is set, as one index per dimension.
Indexing positions_of(Backend& b, const Tensor& mask) {
  Tensor places = b.nonzero(mask);
  Indexing at;
  for (int d = 0; d < mask.dim(); d++)
    at.indices.push_back(alias(places, {places.size(0)}, {places.stride(0)},
                               places.offset() + d * places.stride(1)));
  return at;
}

}  // namespace

Tensor Backend::masked_select(const Tensor& x, const Tensor& mask) {
  Indexing at = positions_of(*this, mask);
  Tensor out = empty({at.indices[0].numel()}, x.dtype(), x.device());
  index_get(out, x, at);
  return out;
}

void Backend::masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& src) {
  Indexing at = positions_of(*this, mask);
  int64_t n = at.indices[0].numel();
  check(n <= src.numel(), Kind::Runtime, "masked_scatter: Number of elements of source (",
        src.numel(), ") < number of ones in mask (", n, ")");
  Tensor line = empty(src.shape(), self.dtype(), src.device());
  copy(line, src);
  index_put(self, at, alias(line, {n}, {1}, 0), ScatterMode::Set);
}

void Backend::flip(const Tensor& out, const Tensor& x, const Shape& dims) {
  Tensor from = x;
  for (int k = 0; k < dims.size(); k++) {
    int d = int(dims[k]);
    int64_t n = x.shape()[d];
    Tensor host = empty({n}, Dtype::Int64), index = empty({n}, Dtype::Int64, x.device());
    for (int64_t i = 0; i < n; i++) host.data<int64_t>()[i] = n - 1 - i;
    copy_from_host(index, host.data());
    Tensor to = empty(x.shape(), x.dtype(), x.device());
    index_get(to, from, {{index}, d, {d}, false});
    from = to;
  }
  copy(out, from);
}

void Backend::join(const Tensor& out, const TensorList& parts, int dim) {
  int64_t at = 0;
  for (const Tensor& t : parts) {
    Shape shape = out.shape();
    shape[dim] = t.shape()[dim];
    copy(alias(out, shape, out.strides(), out.offset() + at * out.strides()[dim]), t);
    at += t.shape()[dim];
  }
}

void register_backend(const std::string& name, Backend* backend, Primitives has) {
  uint8_t kind = register_device_kind(name);
  backend->has_ = has;
  backend->name_ = name;
  backend->kind_ = kind;
  backends[kind] = backend;
}

void refuse_device(Device device) {
  const std::string& kind = device_kind_name(device.kind);
  if (kind == "cuda")
    fail(Kind::Assertion, "ember is not compiled with CUDA enabled: it has no CUDA devices, so '",
         device, "' cannot be used. Use 'cpu', or 'opencl' for a GPU; EMBER_CUDA=opencl in the ",
         "environment lets 'cuda' mean the OpenCL device");
  if (kind == "xpu" || kind == "mtia")
    fail(Kind::Assertion, "ember is not compiled with ", kind == "xpu" ? "XPU" : "MTIA",
         " enabled: it has no such devices, so '", device,
         "' cannot be used. Use 'cpu', or 'opencl' for a GPU");
  fail(Kind::NotImplemented, "ember is not linked with support for ", kind,
       " devices: it has none, so '", device, "' cannot be used. Use 'cpu', or 'opencl' for a GPU");
}

void Backend::random(const Tensor& out, Generator& g, const Draw& draw) {
  Tensor ordered = random::in_memory_order(out, out);
  bool here = out.device().is_cpu(), whole = ordered.is_contiguous();
  Tensor drawn = here && whole ? ordered : empty(ordered.shape(), out.dtype());
  random::fill(drawn.data(), drawn.numel(), out.dtype(), out.is_contiguous(), g, draw);
  if (here) {
    if (!whole) copy(ordered, drawn);
    return;
  }
  Tensor moved = whole ? ordered : empty(ordered.shape(), out.dtype(), out.device());
  copy_from_host(moved, drawn.data());
  if (!whole) copy(ordered, moved);
}

void Backend::random_slopes(const Tensor& out, const Tensor& x, double lower, double upper,
                            Generator& g) {
  random(out, g, {Distribution::Uniform, lower, upper});
  Tensor slopes = empty(x.shape(), Dtype::Bool, x.device());
  compare(Compare::le, x.dtype(), slopes, {&x, nullptr, {}}, {nullptr, nullptr, Scalar(0)}, {});
  ternary(Ternary::where, x.dtype(), out, {&slopes, nullptr, {}}, {&out, nullptr, {}},
          {nullptr, nullptr, Scalar(1)}, {});
}

void Backend::arange(const Tensor& out, const Scalar& start, const Scalar& step) {
  Tensor host = empty(out.shape(), out.dtype());
  backend_of(host).arange(host, start, step);
  if (out.is_contiguous()) return copy_from_host(out, host.data());
  Tensor line = empty(out.shape(), out.dtype(), out.device());
  copy_from_host(line, host.data());
  copy(out, line);
}

void Backend::triangle(const Tensor& out, const Tensor& x, int64_t diagonal, bool upper) {
  int64_t m = x.size(-2), n = x.size(-1);
  diagonal = std::clamp(diagonal, -m, n);  // what lies outside has no more effect
  Tensor rows = empty({m, 1}, Dtype::Int64, x.device()),
         columns = empty({n}, Dtype::Int64, x.device());
  arange(alias(rows, {m}, {1}, 0), Scalar(diagonal), Scalar(1));
  arange(columns, Scalar(0), Scalar(1));
  Tensor inside = empty({m, n}, Dtype::Bool, x.device());
  Shape down{1, 0}, across{0, 1};
  Input row{&rows, &down, {}}, column{&columns, &across, {}};
  compare(upper ? Compare::ge : Compare::le, Dtype::Int64, inside, column, row, {});
  Shape strides = broadcast_strides(inside.shape(), inside.strides(), x.shape());
  ternary(Ternary::where, x.dtype(), out, {&inside, &strides, {}}, {&x, nullptr, {}},
          {nullptr, nullptr, Scalar(0)}, {});
}

void Backend::lu_inverse(const Tensor& lu, const Tensor& pivots, const Tensor& out) {
  fill(out, Scalar(0));
  const int n = out.dim();
  Shape shape = out.shape(), strides = out.strides();
  shape.resize(n - 1);
  strides[n - 2] += strides[n - 1];
  strides.resize(n - 1);
  fill(alias(out, shape, strides, out.offset()), Scalar(1));
  lu_solve(lu, pivots, out, Apply::Plain);
}

void Backend::list_pointwise(ListRow f, const TensorList& out, const TensorList& a,
                             const TensorList& b, const TensorList& c,
                             const std::vector<double>& numbers) {
  const TensorList* lists[] = {&a, &b, &c};
  for (size_t i = 0; i < out.size(); i++) {
    const double number = numbers.empty() ? 1 : numbers[numbers.size() == 1 ? 0 : i];
    Input in[3];
    bool repeats = false;
    for (int k = 0; k < f.inputs; k++) {
      if (lists[k]->empty())
        in[k].scalar = Scalar(number), repeats = true;
      else
        in[k].tensor = &(*lists[k])[i];
    }
    const Params params{repeats ? 1 : number};
    const Dtype d = out[i].dtype();
    if (f.inputs == 1) unary(Unary(f.row), d, out[i], in[0], params);
    if (f.inputs == 2) binary(Binary(f.row), d, out[i], in[0], in[1]);
    if (f.inputs == 3) ternary(Ternary(f.row), d, out[i], in[0], in[1], in[2], params);
  }
}

}  // namespace ember
