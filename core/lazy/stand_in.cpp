#include "lazy/stand_in.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "cpu/fused.h"

namespace ember::lazy {

namespace {

// How many of p0, p1, p2 each row reads: its formula says so.
template <class Row, int rows>
struct ParamCounts {
  std::array<int, size_t(rows)> counts{};
  ParamCounts() {
    for (int i = 0; i < rows; i++) {
      int& most = counts[size_t(i)] = read_by(formula_of(Row(i)));
      if constexpr (std::is_same_v<Row, Unary>)
        most = std::max(most, read_by(derivative_of(Unary(i))));
    }
  }
  static int read_by(const char* text) {
    int most = 0;
    for (const char* at = text; (at = std::strchr(at, 'p')); at++)
      if ((at == text || !std::isalnum(at[-1])) && at[1] >= '0' && at[1] <= '2')
        most = std::max(most, at[1] - '0' + 1);
    return most;
  }
};

template <class Row, int rows>
int param_count(Row f) {
  static const ParamCounts<Row, rows> table;
  return table.counts[size_t(f)];
}

constexpr int64_t kShortRow = 16;  // elements, of which vectors can be made

Input whole(const Tensor& t) { return {&t, nullptr, {}}; }

// Nothing is pending that a small result could wait for: the quick answer to most calls.
bool small(const Tensor& out) { return out.numel() < deferred_least && !pending(); }

// A division by zero is an error at the line that divides.
bool may_fail(Binary f, Dtype compute) {
  return (types_of(f) & kDivides) && is_integral(compute, true);
}

// Is there an axis to lay vectors along, and anything to reduce?
bool has_rows(const Tensor& x, const Shape& dims) {
  bool reduces = false, any_long = false;
  for (int d = 0; d < x.dim(); d++) {
    reduces = reduces || (x.shape()[d] != 1 && dims.contains(d));
    any_long = any_long || x.shape()[d] >= kShortRow;
  }
  return reduces && any_long;
}

}  // namespace

StandIn& StandIn::get() {
  static auto* one = new StandIn;
  return *one;
}

void StandIn::install() {
  if (backends[Device::kCpu] == this) return;
  device_ = backends[Device::kCpu];
  pass_for(*device_);
  backends[Device::kCpu] = this;
}

void StandIn::remove() {
  if (backends[Device::kCpu] == this) backends[Device::kCpu] = device_;
}

bool StandIn::defers(Is<Primitive::copy>, const Tensor& out, const Tensor& x) {
  if (small(out)) return false;
  return take({StepKind::Copy, 0, out.dtype(), out, {whole(x)}, 1});
}

bool StandIn::defers(Is<Primitive::fill>, const Tensor& out, const Scalar& value) {
  if (small(out) || is_complex(out.dtype()) || is_stored_only(out.dtype())) return false;
  alignas(16) char element[16];  // the number that the elements can hold
  value.store(out.dtype(), element);
  const Input in{nullptr, nullptr, Scalar::load(out.dtype(), element)};
  return take({StepKind::Fill, 0, out.dtype(), out, {in}, 1});
}

bool StandIn::defers(Is<Primitive::unary>, Unary f, Dtype compute, const Tensor& out,
                     const Input& x, const Params& params) {
  if (small(out) || !cpu::row_kernel(f, compute).address) return false;
  return take({StepKind::Unary,
               int(f),
               compute,
               out,
               {x},
               1,
               &params,
               param_count<Unary, kUnaryRows>(f),
               bool(types_of(f) & kOfNumbers)});
}

bool StandIn::defers(Is<Primitive::unary_grad>, Unary f, Dtype compute, const Tensor& out,
                     const Input& g, const Input& keep, const Params& params) {
  if (small(out) || !cpu::row_grad_kernel(f, compute).address) return false;
  return take({StepKind::UnaryGrad,
               int(f),
               compute,
               out,
               {g, keep},
               2,
               &params,
               param_count<Unary, kUnaryRows>(f),
               bool(types_of(f) & kOfNumbers)});
}

bool StandIn::defers(Is<Primitive::predicate>, Predicate f, Dtype compute, const Tensor& out,
                     const Input& x) {
  if (small(out) || !cpu::row_kernel(f, compute).address) return false;
  return take({StepKind::Predicate, int(f), compute, out, {x}, 1});
}

bool StandIn::defers(Is<Primitive::binary>, Binary f, Dtype compute, const Tensor& out,
                     const Input& a, const Input& b) {
  // A quotient of narrow floats rounds by whether the divisor is one element.
  if (small(out) || may_fail(f, compute) || ((types_of(f) & kRounds16) && is_narrow(compute)) ||
      !cpu::row_kernel(f, compute).address)
    return false;
  return take({StepKind::Binary, int(f), compute, out, {a, b}, 2});
}

bool StandIn::defers(Is<Primitive::compare>, Compare f, Dtype compute, const Tensor& out,
                     const Input& a, const Input& b, const Params& params) {
  if (small(out) || !cpu::row_kernel(f, compute).address) return false;
  return take({StepKind::Compare,
               int(f),
               compute,
               out,
               {a, b},
               2,
               &params,
               param_count<Compare, kCompareRows>(f)});
}

bool StandIn::defers(Is<Primitive::ternary>, Ternary f, Dtype compute, const Tensor& out,
                     const Input& a, const Input& b, const Input& c, const Params& params) {
  if (small(out) || !cpu::row_kernel(f, compute).address) return false;
  return take({StepKind::Ternary,
               int(f),
               compute,
               out,
               {a, b, c},
               3,
               &params,
               param_count<Ternary, kTernaryRows>(f)});
}

bool StandIn::defers(Is<Primitive::reduce>, Reduction f, const Tensor& out, const Tensor& x,
                     const Shape& dims, double p) {
  if (f == Reduction::norm) return norm(out, x, dims, p);
  const bool known = row_of(f).facts & kInRegions;
  const bool same = out.dtype() == x.dtype();
  const bool floats = x.dtype() == Dtype::Float32 || x.dtype() == Dtype::Float64;
  if (small(x) || !known || !same || !floats || !has_rows(x, dims)) return false;
  Request call{StepKind::Reduce, int(f), x.dtype(), out, {whole(x)}, 1};
  for (int64_t d : dims) call.gone |= 1 << d;
  return take(call);
}

// The common ones, of what is reduced and what is pointwise.
bool StandIn::norm(const Tensor& out, const Tensor& x, const Shape& dims, double p) {
  const Dtype dtype = x.dtype();
  const bool floats = dtype == Dtype::Float32 || dtype == Dtype::Float64;
  if ((p != 1 && p != 2) || !floats || out.dtype() != dtype || x.numel() < deferred_least ||
      !has_rows(x, dims))
    return false;
  const Tensor each = empty(x.shape(), dtype, x.device());
  Backend& to = *this;
  to.unary(p == 2 ? Unary::square : Unary::abs, dtype, each, whole(x), {});
  to.reduce(Reduction::sum, out, each, dims, 0);
  if (p == 2) to.unary(Unary::sqrt, dtype, out, whole(out), {});
  return true;
}

namespace {

bool waits(const Tensor& t) { return t.storage()->watch & kAwaited; }

// What the device has one kernel for is made of smaller parts where some of it waits anyway.
bool takes_line(const Tensor& x, int dim) {
  const bool floats = x.dtype() == Dtype::Float32 || x.dtype() == Dtype::Float64;
  return floats && x.numel() >= deferred_least && has_rows(x, Shape{dim});
}

}  // namespace

bool StandIn::defers(Is<Primitive::softmax>, const Tensor& out, const Tensor& x, int dim,
                     bool log) {
  if (!takes_line(x, dim) || !waits(x) || out.dtype() != x.dtype()) return false;
  Backend::softmax(out, x, dim, log);
  return true;
}

bool StandIn::defers(Is<Primitive::softmax_grad>, const Tensor& out, const Tensor& g,
                     const Tensor& y, int dim, bool log) {
  if (!takes_line(y, dim) || !(waits(g) || waits(y)) || out.dtype() != y.dtype() ||
      g.dtype() != y.dtype())
    return false;
  Backend::softmax_grad(out, g, y, dim, log);
  return true;
}

bool StandIn::defers(Is<Primitive::logsumexp>, const Tensor& out, const Tensor& x, int dim) {
  if (!takes_line(x, dim) || !waits(x) || out.dtype() != x.dtype()) return false;
  Backend::logsumexp(out, x, dim);
  return true;
}

// The large ones one by one; the others together, at once.
bool StandIn::defers(Is<Primitive::list_pointwise>, ListRow f, const TensorList& out,
                     const TensorList& a, const TensorList& b, const TensorList& c,
                     const std::vector<double>& numbers) {
  struct Lists {
    TensorList out, a, b, c;
    std::vector<double> numbers;
  } large, rest;
  const bool one = numbers.size() <= 1;
  for (size_t i = 0; i < out.size(); i++) {
    Lists& to = small(out[i]) || out[i].numel() < deferred_least ? rest : large;
    to.out.push_back(out[i]);
    if (!a.empty()) to.a.push_back(a[i]);
    if (!b.empty()) to.b.push_back(b[i]);
    if (!c.empty()) to.c.push_back(c[i]);
    if (!one) to.numbers.push_back(numbers[i]);
  }
  if (large.out.empty()) return false;
  Backend::list_pointwise(f, large.out, large.a, large.b, large.c, one ? numbers : large.numbers);
  if (rest.out.empty()) return true;
  const TensorList touched[] = {rest.out, rest.a, rest.b, rest.c};
  const Undeferred undeferred;
  bool again = false;
  for (const TensorList& list : touched) {
    StandIn::settle(list);
    again = again || awaited(list);
  }
  if (again) flush();
  device_->list_pointwise(f, rest.out, rest.a, rest.b, rest.c, one ? numbers : rest.numbers);
  return true;
}

// In two sweeps, so that nothing cancels.
bool StandIn::defers(Is<Primitive::variance>, const Tensor& out, const Tensor& mean,
                     const Tensor& x, const Shape& dims, double correction, bool root) {
  const Dtype dtype = x.dtype();
  double count = -correction;
  int64_t reduced = 1;
  for (int64_t d : dims) reduced *= x.shape()[d];
  count += double(reduced);
  if (small(x) || !out || !mean || out.dtype() != dtype || count <= 0 ||
      !cpu::row_kernel(Unary::square, dtype).address ||
      !defers(Is<Primitive::reduce>(), Reduction::mean, mean, x, dims, 0))
    return false;
  const Tensor centred = empty(x.shape(), dtype, x.device());
  const Shape shape = mean.shape();
  Shape along = mean.strides();
  for (int d = 0; d < x.dim(); d++)
    if (x.shape()[d] != shape[d]) along[d] = 0;
  Backend& to = *this;
  to.binary(Binary::sub, dtype, centred, whole(x), {&mean, &along, {}});
  to.unary(Unary::square, dtype, centred, whole(centred), {});
  to.reduce(Reduction::sum, out, centred, dims, 0);
  to.binary(Binary::div, dtype, out, whole(out), {nullptr, nullptr, count});
  if (root) to.unary(Unary::sqrt, dtype, out, whole(out), {});
  return true;
}

bool StandIn::defers(Is<Primitive::join>, const Tensor& out, const TensorList& parts, int dim) {
  bool waits = !small(out);
  for (const Tensor& part : parts)
    waits = waits && part.shape()[dim] > 0 && (part.storage()->watch & kAwaited);
  if (!waits || is_complex(out.dtype()) || is_stored_only(out.dtype())) return false;
  int64_t at = 0;
  for (const Tensor& part : parts) {
    Shape shape = out.shape();
    shape[dim] = part.shape()[dim];
    const Tensor piece = from_storage(out.storage(), out.dtype(), shape, out.strides(),
                                      out.offset() + at * out.strides()[dim]);
    static_cast<Backend&>(*this).copy(piece, part);
    at += shape[dim];
  }
  return true;
}

}  // namespace ember::lazy
