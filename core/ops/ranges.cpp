// Sequences of numbers, and what is made of row and column numbers: arange, linspace, eye, indices
// of triangles.
#include <cmath>

#include "ops/create.h"

namespace ember {

using namespace create;

namespace {

bool integral(const Scalar& s) { return s.is_int() || s.is_bool(); }

// Number of steps from start to end, by torch's rules.
int64_t steps_between(const char* op, const Scalar& start, const Scalar& end, const Scalar& step,
                      bool whole) {
  check(!start.is_complex() && !end.is_complex() && !step.is_complex(), Kind::Runtime, op,
        "(): complex bounds are not supported");
  double from = start.real(), to = end.real(), by = step.real();
  check(by != 0, Kind::Runtime, op, "(): step must be nonzero");
  check(std::isfinite(from) && std::isfinite(to), Kind::Runtime, op,
        "(): unsupported range: ", start, " -> ", end);
  check(by > 0 ? to >= from : to <= from, Kind::Runtime, op,
        "(): upper bound and lower bound inconsistent with step sign, got ", start, " -> ", end,
        " by ", step);
  if (whole) {
    using Wide = __int128;
    Wide a = start.to<int64_t>(), b = end.to<int64_t>(), c = step.to<int64_t>();
    Wide n = c > 0 ? (b - a + c - 1) / c : (a - b - c - 1) / -c;
    check(n <= INT64_MAX, Kind::Runtime, op, "(): invalid size, possible overflow?");
    return int64_t(n);
  }
  double n = std::ceil((to - from) / by);
  check(n >= 0 && n < 9.2e18, Kind::Runtime, op, "(): invalid size, possible overflow?");
  return int64_t(n);
}

Dtype range_dtype(const Scalar& a, const Scalar& b, const Scalar& c) {
  return integral(a) && integral(b) && integral(c) ? Dtype::Int64 : default_dtype();
}

// The tensor for a line of n numbers. An out= that holds as many keeps its shape, as in torch: its
// elements are then filled in order.
Tensor line_target(const char* op, Dest dest, int64_t n, MaybeDtype dtype, Dtype otherwise,
                   MaybeDevice device) {
  const bool fits = dest.tensor && dest.tensor->numel() == n;
  if (dest.tensor && !fits && dest.tensor->numel() && host_warn) {
    std::ostringstream text;
    text << "The number of elements in the out tensor of shape " << dest.tensor->shape() << " is "
         << dest.tensor->numel() << ", which does not match the computed number of elements " << n
         << ". Note that this may occur as a result of rounding error. The out tensor will be "
            "resized to a tensor of shape ("
         << n << ",).";
    host_warn(text.str());
    resize(*dest.tensor, {n}, {1});
  }
  return target(op, dest, fits ? dest.tensor->shape() : Shape{n}, dtype, otherwise, device);
}

void put_line(const Tensor& out, const Tensor& line) {
  backend_of(out).copy(out, alias(line, out.shape(), contiguous_strides(out.shape()), 0));
}

void count(const Tensor& out, const Scalar& start, const Scalar& step) {
  if (out.dim() == 1) return backend_of(out).arange(out, start, step);
  Tensor line = empty({out.numel()}, out.dtype(), out.device());
  backend_of(line).arange(line, start, step);
  put_line(out, line);
}

Tensor arange_to(Dest dest, const Scalar& start, const Scalar& end, const Scalar& step,
                 MaybeDtype dtype, MaybeDevice device) {
  Dtype t = dest.tensor ? dest.tensor->dtype() : dtype.value_or(range_dtype(start, end, step));
  check(t != Dtype::Bool && !is_complex(t), Kind::NotImplemented, "arange(): not implemented for ",
        t);
  // In an integer dtype the bounds are cut to integers first.
  bool cut = is_integral(t) && !start.is_complex() && !end.is_complex() &&
             std::isfinite(start.real()) && std::isfinite(end.real());
  auto bound = [&](const Scalar& s) {
    if (cut && s.is_int()) check_fits(s, Dtype::Int64);
    return cut ? Scalar(s.to<int64_t>()) : s;
  };
  Scalar from = bound(start), to = bound(end), by = bound(step);
  // Of integers only those of 64 bits are also counted so, as in PyTorch: five numbers of int32,
  // from 0 on, lie between 0.5 and 4.6, four of int64.
  const bool whole = integral(start) && integral(end) && integral(step);
  int64_t n;
  if (cut && (whole || item_size(t) == 8)) {
    check(by.real() != 0 || step.real() == 0, Kind::Value, "arange(): step must be nonzero, ", step,
          " in ", t, " is 0");
    n = steps_between("arange", from, to, by, true);
  } else {
    n = steps_between("arange", start, end, step, whole);
  }
  Tensor out = line_target("arange", dest, n, dtype, t, device);
  count(out, from, by);
  return out;
}

}  // namespace

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, Dtype dtype,
              Device device) {
  return arange_to({}, start, end, step, dtype, device);
}
EMBER_OP("arange(Scalar end, " OPTIONS ") -> Tensor",
         ([](const Scalar& end, OPTION_PARAMS, Dest dest) {
           return finish(arange_to(dest, integral(end) ? Scalar(0) : Scalar(0.0), end, Scalar(1),
                                   dtype, device),
                         requires_grad);
         }),
         Function | Out | Factory, "The numbers 0, 1, 2 ... below `end`.");
EMBER_OP("arange(Scalar start, Scalar end, Scalar step=1, " OPTIONS ") -> Tensor",
         ([](const Scalar& start, const Scalar& end, const Scalar& step, OPTION_PARAMS, Dest dest) {
           return finish(arange_to(dest, start, end, step, dtype, device), requires_grad);
         }),
         Function | Out | Factory,
         "The numbers from `start` to `end`, which is left out, `step` apart.");

EMBER_OP("range(Scalar start, Scalar end, Scalar step=1, " OPTIONS ") -> Tensor",
         ([](const Scalar& start, const Scalar& end, const Scalar& step, OPTION_PARAMS, Dest dest) {
           if (host_warn)
             host_warn(
                 "torch.range is deprecated and will be removed in a future release because its "
                 "behavior is "
                 "inconsistent with Python's range builtin. Instead, use torch.arange, which "
                 "produces values in "
                 "[start, end).");
           const Dtype wanted =
               dest.tensor ? dest.tensor->dtype() : dtype.value_or(default_dtype());
           if (is_integral(wanted)) check_fits(start, Dtype::Int64), check_fits(end, Dtype::Int64);
           steps_between("range", start, end, step, false);
           int64_t n = int64_t(std::floor((end.real() - start.real()) / step.real())) + 1;
           Tensor out = line_target("range", dest, n, dtype, default_dtype(), device);
           count(out, start, step);
           return finish(out, requires_grad);
         }),
         Function | Out | Factory,
         "The numbers from `start` to `end`, both included, `step` apart; deprecated.");

// --- linspace ------------------------------------------------------------------------------------

namespace {

// The points in double precision (a device may have none: there it is float32 for float32 and
// less). Both halves are counted from their own end, so that the last is exact.
Tensor points(Scalar start, Scalar end, int64_t steps, bool complex, const Tensor& like) {
  check_fits(start, like.dtype());
  check_fits(end, like.dtype());
  if (is_integral(like.dtype()))
    start = Scalar(start.to<int64_t>()), end = Scalar(end.to<int64_t>());
  const Dtype real = real_of(like.dtype());
  const bool narrow = is_floating(real) && real != Dtype::Float64 &&
                      !backend_of(like).has(Primitive::binary, Dtype::Float64);
  Tensor i = empty({steps}, narrow ? Dtype::Float32 : Dtype::Float64, like.device());
  backend_of(i).arange(i, Scalar(0), Scalar(1));
  if (steps == 1) return i * Scalar(0) + start;
  int64_t last = steps - 1;
  auto walk = [&](const Scalar& step) {
    return where(i < Scalar(double(steps / 2)), i * step + start,
                 (i - Scalar(double(last))) * step + end, {}, {});
  };
  if (complex) return walk(Scalar((end.to<complex128>() - start.to<complex128>()) / double(last)));
  return walk(Scalar((end.to<double>() - start.to<double>()) / double(last)));
}

// A bound may be a 0-d tensor.
Scalar bound_of(const char* op, const Operand& o) {
  if (!o.is_tensor()) return o.scalar();
  check(o.tensor().dim() == 0, Kind::Runtime, op,
        " only supports 0-dimensional start and end tensors, but got a tensor with ",
        o.tensor().dim(), " dimension(s).");
  return item(o.tensor());
}

struct Line {
  MaybeDtype dtype;
  Dtype otherwise;
  bool complex;
};
Line line_dtype(const char* op, const Scalar& start, const Scalar& end, int64_t steps,
                MaybeDtype dtype, Dest dest) {
  check(steps >= 0, Kind::Runtime, op, "(): number of steps must be non-negative, got ", steps);
  bool complex = start.is_complex() || end.is_complex();
  check(!complex || !dtype || is_complex(*dtype), Kind::Runtime, "torch.", op,
        "(): inferred dtype ", complex_of(default_dtype()),
        " can't be safely cast to passed dtype ", dtype.value_or(Dtype::Bool));
  if (dtype) refuse_stored_only(op, *dtype);
  const Dtype made = dest.tensor ? dest.tensor->dtype() : dtype.value_or(default_dtype());
  check(made != Dtype::Bool, Kind::NotImplemented, op, "(): not implemented for ", made);
  return {dtype, complex ? complex_of(default_dtype()) : default_dtype(), complex};
}

}  // namespace

EMBER_OP("linspace(Number start, Number end, int steps, " OPTIONS ") -> Tensor",
         ([](const Operand& from, const Operand& to, int64_t steps, OPTION_PARAMS, Dest dest) {
           NoGrad guard;
           Scalar start = bound_of("linspace", from), end = bound_of("linspace", to);
           Line l = line_dtype("linspace", start, end, steps, dtype, dest);
           Tensor out = line_target("linspace", dest, steps, l.dtype, l.otherwise, device);
           put_line(out, points(start, end, steps, l.complex, out));
           return finish(out, requires_grad);
         }),
         Function | Out | Factory, "`steps` numbers from `start` to `end`, equally far apart.");
EMBER_OP("logspace(Number start, Number end, int steps, float base=10.0, " OPTIONS ") -> Tensor",
         ([](const Operand& from, const Operand& to, int64_t steps, double base, OPTION_PARAMS,
             Dest dest) {
           NoGrad guard;
           Scalar start = bound_of("logspace", from), end = bound_of("logspace", to);
           Line l = line_dtype("logspace", start, end, steps, dtype, dest);
           Tensor out = line_target("logspace", dest, steps, l.dtype, l.otherwise, device);
           Tensor exponents = points(start, end, steps, l.complex, out);
           put_line(out, pow(Operand(base), exponents));
           return finish(out, requires_grad);
         }),
         Function | Out | Factory,
         "`base` to the power of `steps` numbers from `start` to `end`, equally far apart.");

// --- rows and columns ----------------------------------------------------------------------------

namespace {

Tensor eye_to(Dest dest, int64_t n, int64_t m, MaybeDtype dtype, MaybeDevice device) {
  check(n >= 0, Kind::Runtime, "eye(): n must be greater or equal to 0, got ", n);
  check(m >= 0, Kind::Runtime, "eye(): m must be greater or equal to 0, got ", m);
  Tensor out = target("eye", dest, {n, m}, dtype, default_dtype(), device);
  backend_of(out).fill(out, Scalar(0));
  Tensor diagonal = alias(out, {std::min(n, m)}, {out.stride(0) + out.stride(1)}, out.offset());
  backend_of(out).fill(diagonal, Scalar(1));
  return out;
}

}  // namespace

EMBER_OP("eye(int n, " OPTIONS ") -> Tensor", ([](int64_t n, OPTION_PARAMS, Dest dest) {
           return finish(eye_to(dest, n, n, dtype, device), requires_grad);
         }),
         Function | Out | Factory, "A matrix with 1 on the diagonal and 0 elsewhere.");
EMBER_OP("eye(int n, int m, " OPTIONS ") -> Tensor",
         ([](int64_t n, int64_t m, OPTION_PARAMS, Dest dest) {
           return finish(eye_to(dest, n, m, dtype, device), requires_grad);
         }),
         Function | Out | Factory, "An n by m matrix with 1 on the diagonal and 0 elsewhere.");

namespace {

__extension__ typedef __int128 Wide;

// Elements on and below a diagonal.
Wide below(Wide rows, Wide columns, Wide offset) {
  const Wide first = std::clamp<Wide>(-offset, 0, rows);  // rows before it have none
  const Wide full =
      std::clamp<Wide>(columns - offset - 1, first, rows);  // rows from it on have all
  return (full - first) * (first + full + 2 * offset + 1) / 2 + (rows - full) * columns;
}

Tensor triangle_indices(const char* op, int64_t rows, int64_t columns, int64_t offset, bool upper,
                        MaybeDtype dtype, MaybeDevice device) {
  check(rows >= 0, Kind::Runtime, op, "(): row must be non-negative, got ", rows);
  check(columns >= 0, Kind::Runtime, op, "(): col must be non-negative, got ", columns);
  Dtype t = dtype.value_or(Dtype::Int64);
  check(t == Dtype::Int64 || t == Dtype::Int32, Kind::NotImplemented, op,
        "(): dtype must be int64 or int32, got ", t);
  offset = std::clamp(offset, -rows - 1, columns + 1);  // what is further out is the same
  const Wide all = Wide(rows) * columns;
  const Wide count = upper ? all - below(rows, columns, offset - 1) : below(rows, columns, offset);
  check(count <= INT64_MAX / 16, Kind::Runtime, op, "(): a triangle of ", rows, " rows and ",
        columns, " columns has too many elements");
  auto low = [&](int64_t i) {
    return upper ? std::clamp<int64_t>(i + offset, 0, columns) : int64_t(0);
  };
  auto high = [&](int64_t i) {
    return upper ? columns : std::clamp<int64_t>(i + offset + 1, 0, columns);
  };
  const int64_t n = int64_t(count);
  Tensor host = empty({2, n}, Dtype::Int64);
  int64_t* row = host.data<int64_t>();
  auto* column = row + n;
  // Rows that hold none are passed over: there may be very many.
  const int64_t first = upper || n == 0 ? 0 : std::clamp<int64_t>(-offset, 0, rows);
  const int64_t last = n == 0 ? 0 : upper ? std::clamp<int64_t>(columns - offset, 0, rows) : rows;
  for (int64_t i = first; i < last; i++)
    for (int64_t j = low(i); j < high(i); j++) {
      *row++ = i;
      *column++ = j;
    }
  return to(host, device_or_default(device), t);
}

}  // namespace

EMBER_OP(
    "tril_indices(int row, int col, int offset=0, *, Dtype? dtype=None, Device? device=None, Any "
    "layout=None, bool? "
    "pin_memory=None) -> Tensor",
    ([](int64_t row, int64_t col, int64_t offset, MaybeDtype dtype, MaybeDevice device, void*,
        std::optional<bool>) {
      return triangle_indices("tril_indices", row, col, offset, false, dtype, device);
    }),
    Function | Factory,
    "Row and column numbers of the lower triangle of a matrix, as a 2 by n tensor.");
EMBER_OP(
    "triu_indices(int row, int col, int offset=0, *, Dtype? dtype=None, Device? device=None, Any "
    "layout=None, bool? "
    "pin_memory=None) -> Tensor",
    ([](int64_t row, int64_t col, int64_t offset, MaybeDtype dtype, MaybeDevice device, void*,
        std::optional<bool>) {
      return triangle_indices("triu_indices", row, col, offset, true, dtype, device);
    }),
    Function | Factory,
    "Row and column numbers of the upper triangle of a matrix, as a 2 by n tensor.");

// --- triangles of matrices -----------------------------------------------------------------------

namespace {

Tensor triangle(const char* op, const Tensor& self, int64_t diagonal, bool upper) {
  check(self.dim() >= 2, Kind::Runtime, op,
        "(): input tensor must have at least 2 dimensions, got ", self.dim());
  Tensor out = empty(self.shape(), self.dtype(), self.device());
  // Diagonals outside the matrix are all alike; kernels add row numbers to them.
  diagonal = std::clamp(diagonal, -self.size(-2) - 1, self.size(-1) + 1);
  backend_of(self).triangle(out, self, diagonal, upper);
  if (!grad_needed(self)) return out;
  return tape(out, op, wrt(self, [op, diagonal, upper](const Tensor& g) {
                return triangle(op, g, diagonal, upper);
              }));
}

}  // namespace

Tensor tril(const Tensor& self, int64_t diagonal) {
  return triangle("tril", self, diagonal, false);
}
Tensor triu(const Tensor& self, int64_t diagonal) { return triangle("triu", self, diagonal, true); }
EMBER_OP("tril(Tensor self, int diagonal=0) -> Tensor", &tril, kAllForms | Leading,
         "The lower triangle of matrices, up to a diagonal; 0 above it.");
EMBER_OP("triu(Tensor self, int diagonal=0) -> Tensor", &triu, kAllForms | Leading,
         "The upper triangle of matrices, from a diagonal on; 0 below it.");

EMBER_OP("vander(Tensor x, int? N=None, bool increasing=False) -> Tensor",
         ([](const Tensor& x, std::optional<int64_t> columns, bool increasing) {
           check(x.dim() == 1, Kind::Runtime, "vander(): x must be a one-dimensional tensor, got ",
                 x.dim(), "-D");
           int64_t n = columns.value_or(x.size(0));
           check(n >= 0, Kind::Runtime, "vander(): N must be non-negative, got ", n);
           Dtype t = is_integral(x.dtype(), true) ? Dtype::Int64 : real_of(x.dtype());
           Tensor exponents = empty({n}, t, x.device());
           backend_of(x).arange(exponents, increasing ? Scalar(0) : Scalar(double(n - 1)),
                                increasing ? Scalar(1) : Scalar(-1));
           return pow(unsqueeze(to(x, is_integral(x.dtype(), true) ? Dtype::Int64 : x.dtype()), 1),
                      exponents);
         }),
         Function | Whole, "The Vandermonde matrix of a vector: its powers as columns.");

}  // namespace ember
