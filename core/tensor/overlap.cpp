#include "tensor/overlap.h"

namespace ember {

namespace {

struct Range {
  int64_t begin, end;  // in bytes: addresses of host memory, else places in the storage
};

Range range_of(const Tensor& t) {
  int64_t last = 0;
  for (int i = 0; i < t.dim(); i++) last += (t.shape()[i] - 1) * t.strides()[i];
  const int64_t base =
      t.device().is_cpu() ? int64_t(reinterpret_cast<intptr_t>(t.storage()->data)) : 0;
  const int64_t begin = base + t.offset() * t.item_size();
  return {begin, begin + (last + 1) * t.item_size()};
}

// Whether equal positions are at equal distances from the first; the stride of a dimension of size
// 1 says nothing.
bool same_geometry(const Tensor& a, const Tensor& b) {
  if (!(a.shape() == b.shape())) return false;
  for (int i = 0; i < a.dim(); i++)
    if (a.shape()[i] != 1 && a.strides()[i] != b.strides()[i]) return false;
  return true;
}

}  // namespace

Overlap overlap_of(const Tensor& a, const Tensor& b) {
  if (!share_storage(a, b) || !a.numel() || !b.numel()) return Overlap::None;
  const Range x = range_of(a), y = range_of(b);
  if (x.begin >= y.end || y.begin >= x.end) return Overlap::None;
  if (x.begin == y.begin && a.item_size() == b.item_size() && same_geometry(a, b))
    return Overlap::Full;
  const bool dense = is_dense(a.shape(), a.strides()) && is_dense(b.shape(), b.strides());
  return dense ? Overlap::Partial : Overlap::Maybe;
}

}  // namespace ember
