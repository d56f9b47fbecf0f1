// Pointwise functions of lists of tensors, by the device's fused loop if it has one.
// ember/_functions/foreach.py holds the family of _foreach_* functions, and goes tensor by tensor
// where this says that it cannot.
#include "backend.h"
#include "ops/create.h"
#include "ops/disjoint.h"
#include "ops/ops.h"

namespace ember {

namespace {

template <class Row>
int find_row(const std::string& name, int rows) {
  for (int i = 0; i < rows; i++)
    if (name == name_of(Row(i))) return i;
  return -1;
}

// Which row, and how many inputs it has.
struct Found {
  int inputs, row;
};
Found row_called(const std::string& name) {
  int row = find_row<Unary>(name, kUnaryRows);
  if (row >= 0) return {1, row};
  row = find_row<Binary>(name, kBinaryRows);
  if (row >= 0) return {2, row};
  row = find_row<Ternary>(name, kTernaryRows);
  check(row >= 0, Kind::Value, "_foreach_fused(): ", name, " is no row of the pointwise table");
  return {3, row};
}

bool are_alike(const TensorList& list, const TensorList& self) {
  for (size_t i = 0; i < list.size(); i++) {
    const Tensor &t = list[i], &first = self[i];
    if (t.dtype() != self[0].dtype() || t.device() != self[0].device() || !t.is_contiguous() ||
        !(t.shape() == first.shape()) || grad_needed(t))
      return false;
  }
  return true;
}

TensorList foreach_fused(const std::string& name, const TensorList& self, const TensorList& second,
                         const TensorList& third, const std::vector<double>& numbers,
                         bool in_place) {
  check(!self.empty(), Kind::Runtime, "Tensor list must have at least one tensor.");
  const Found found = row_called(name);
  const TensorList* lists[3] = {&self, second.empty() ? nullptr : &second,
                                third.empty() ? nullptr : &third};
  int tensors = 0;
  for (const TensorList* list : lists) {
    if (!list) continue;
    tensors++;
    if (list->size() != self.size() || !are_alike(*list, self)) return {};
  }
  const bool repeats = tensors == found.inputs - 1 && !numbers.empty();
  if (tensors != found.inputs && !repeats) return {};
  if (numbers.size() > 1 && numbers.size() != self.size()) return {};
  if (!is_floating(self[0].dtype())) return {};
  if (name == "clamp_min" || name == "clamp_max")
    for (double bound : numbers) create::check_fits(Scalar(bound), self[0].dtype(), true);
  TensorList out;
  if (in_place) {
    if (!disjoint(self, second) || (lists[2] && !disjoint(self, third))) return {};
    for (const Tensor& t : self) check_in_place(name.c_str(), t);
    out = self;
  } else {
    out.reserve(self.size());
    for (const Tensor& t : self) out.push_back(empty(t.shape(), t.dtype(), t.device()));
  }
  backend_of(self[0]).list_pointwise({found.inputs, found.row}, out, self, second, third, numbers);
  if (in_place)
    for (const Tensor& t : self) bump_version(t);
  return out;
}
EMBER_OP(
    "_foreach_fused(str name, Tensor[] self, Tensor[] second, Tensor[] third, float[] numbers, "
    "bool in_place) -> Tensor[]",
    &foreach_fused, Function | Whole,
    "A row of the pointwise table for all tensors at once. Empty if they need it one by one.");

}  // namespace

}  // namespace ember
