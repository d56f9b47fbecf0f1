// Distinct values: unique, unique_consecutive, isin. All follow from a sort and the places where
// neighbours differ.
#include "ops/ops.h"

namespace ember {

namespace {

// The groups of equal neighbours: which elements start one, the group of each element, how many
// each group has.
struct Groups {
  Tensor starts, group, counts;
};

// `starts`: bool, one for each element in order.
Groups groups_of(const Tensor& starts, bool want_group, bool want_counts) {
  Groups g;
  g.starts = reshape(nonzero(starts), {-1});
  if (want_group) g.group = cumsum(starts, 0) - Scalar(1);
  if (want_counts) {
    Tensor end = full({1}, starts.numel(), Dtype::Int64, starts.device());
    g.counts =
        starts.numel() ? diff(g.starts, 1, 0, {}, end) : zeros({0}, Dtype::Int64, starts.device());
  }
  return g;
}

// Which rows (or elements) differ from the one before.
Tensor first_of_runs(const Tensor& x) {
  int64_t n = x.size(0);
  if (n == 0) return zeros({0}, Dtype::Bool, x.device());
  Tensor differs = ne(slice(x, 0, 1, n, 1), slice(x, 0, 0, n - 1, 1));
  if (x.dim() > 1) differs = any(reshape(differs, {n - 1, x.numel() / n}), Dims(1));
  return cat({ones({1}, Dtype::Bool, x.device()), differs});
}

struct Unique {
  Tensor values, inverse, counts;
};

// Rows along `dim` in lexicographic order: a stable sort by each column, the last first.
Tensor row_order(const Tensor& rows) {
  int64_t n = rows.size(0);
  Tensor order = arange(0, n, 1, Dtype::Int64, rows.device());
  Tensor flat = reshape(rows, {n, n ? rows.numel() / n : 0});
  for (int64_t c = flat.size(1) - 1; c >= 0; c--)
    order = index_select(order, 0, argsort(index_select(select(flat, 1, c), 0, order), 0));
  return order;
}

Unique unique_of(const char* op, const Tensor& self, std::optional<int64_t> dim, bool consecutive,
                 bool want_inverse, bool want_counts) {
  NoGrad guard;
  check(!is_complex(self.dtype()) || consecutive, Kind::NotImplemented, op,
        "(): not implemented for ", self.dtype());
  Tensor x = self, order;
  int d = 0;
  if (dim) {
    d = wrap_dim(op, *dim, self.dim());
    if (self.dim() == 0) x = reshape(self, {1});
    check(
        x.numel() || x.size(d) == 0, Kind::Runtime, op,
        "(): There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
    x = transpose(x, 0, d);
    if (!consecutive) order = row_order(x), x = index_select(x, 0, order);
  } else {
    x = reshape(self, {-1});
    if (!consecutive && want_inverse)
      std::tie(x, order) = sort(x, 0);
    else if (!consecutive) {
      Tensor sorted = empty(x.shape(), x.dtype(), x.device());
      backend_of(x).sort(sorted, Tensor(), x, 0, false);
      x = sorted;
    }
  }
  Groups g = groups_of(first_of_runs(x), want_inverse, want_counts);
  Unique u{index_select(x, 0, g.starts), g.group, g.counts};
  if (want_inverse && order)
    u.inverse = scatter(zeros({x.size(0)}, Dtype::Int64, x.device()), 0, order, g.group);
  if (dim)
    u.values = self.dim() ? contiguous(transpose(u.values, 0, d)) : u.values;
  else if (want_inverse)
    u.inverse = reshape(u.inverse, self.shape());
  return u;
}

void* to_caller(const Unique& u, bool inverse, bool counts) {
  if (!inverse && !counts) return to_host(u.values);
  TensorList parts{u.values};
  if (inverse) parts.push_back(u.inverse);
  if (counts) parts.push_back(u.counts);
  return to_host(std::move(parts));
}

}  // namespace

EMBER_OP(
    "unique(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False, "
    "int? dim=None) -> Tensor",
    ([](const Tensor& self, bool, bool inverse, bool counts, std::optional<int64_t> dim) {
      return to_caller(unique_of("unique", self, dim, false, inverse, counts), inverse, counts);
    }),
    kForms | DataDependent,
    "The distinct elements (or slices along `dim`), in order; where each element went; how often "
    "each occurs.");
EMBER_OP(
    "unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? "
    "dim=None) -> Tensor",
    ([](const Tensor& self, bool inverse, bool counts, std::optional<int64_t> dim) {
      return to_caller(unique_of("unique_consecutive", self, dim, true, inverse, counts), inverse,
                       counts);
    }),
    kForms | DataDependent,
    "One element of each run of equal ones; the run of each element; how long each is.");

// --- isin ----------------------------------------------------------------------------------------

namespace {

Tensor is_in(const Operand& elements, const Operand& among, bool invert) {
  NoGrad guard;
  Device device = elements.is_tensor() ? elements.tensor().device() : among.tensor().device();
  auto as_tensor = [&](const Operand& o) {
    return o.is_tensor() ? o.tensor()
                         : scalar_tensor(o.scalar(), dtype_of_scalar(o.scalar()), device);
  };
  Tensor x = as_tensor(elements), y = reshape(as_tensor(among), {-1});
  check(!is_complex(x.dtype()) && !is_complex(y.dtype()), Kind::Runtime,
        "isin(): Unsupported input type encountered, got ", x.dtype(), " and ", y.dtype());
  Dtype common = result_type(elements, among);
  x = contiguous(to(x, common));
  y = to(y, common);
  Tensor found;
  if (y.numel() == 0)
    found = zeros(x.shape(), Dtype::Bool, device);
  else if (y.numel() <= 4) {
    found = eq(x, select(y, 0, 0));
    for (int64_t i = 1; i < y.numel(); i++) found = found | eq(x, select(y, 0, i));
  } else {
    Tensor sorted = std::get<0>(sort(y, 0));
    Tensor at = searchsorted(sorted, x);
    at = where(at == Scalar(y.numel()), Scalar(0), at);
    found = eq(reshape(index_select(sorted, 0, reshape(at, {-1})), x.shape()), x);
  }
  return invert ? logical_not(found) : found;
}

}  // namespace

EMBER_OP(
    "isin(Number elements, Number test_elements, *, bool assume_unique=False, bool invert=False) "
    "-> Tensor",
    ([](const Operand& elements, const Operand& among, bool, bool invert) {
      check(elements.is_tensor() || among.is_tensor(), Kind::Type,
            "isin(): elements or test_elements must be a tensor");
      return is_in(elements, among, invert);
    }),
    Function | Out | Whole, "Whether each element is among `test_elements`.");

}  // namespace ember
