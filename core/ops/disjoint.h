// Do the tensors of lists share memory? Then they cannot be changed in one pass.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "ops/devices.h"

namespace ember {

// The memory a tensor lies in, which has addresses on the host only, and the bytes there. Nobody
// looks at them, so what was put off stays so, and memory that nobody has asked for yet is known by
// its storage.
struct Range {
  const void* memory;
  int64_t begin, end;

  explicit Range(const Tensor& t) {
    const Storage& s = *t.storage();
    const bool host = on_host(t) && s.data;
    memory = host ? nullptr : s.data ? s.data : &s;
    begin = host ? int64_t(reinterpret_cast<intptr_t>(t.address())) : t.offset() * t.item_size();
    end = begin + t.numel() * t.item_size();
  }
  auto key() const { return std::tie(memory, begin, end); }
  bool operator<(const Range& o) const { return key() < o.key(); }
  bool meets(const Range& o) const { return memory == o.memory && begin < o.end && o.begin < end; }
};

// Whether the parameters share no memory with each other (one that is listed twice changes twice,
// in order), nor with other parameters' gradients.
inline bool disjoint(const TensorList& params, const TensorList& grads) {
  std::vector<Range> ranges;
  ranges.reserve(params.size());
  for (const Tensor& t : params)
    if (t.numel()) ranges.emplace_back(t);
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); i++)
    if (ranges[i].meets(ranges[i - 1])) return false;
  for (size_t i = 0; i < grads.size(); i++) {
    if (!grads[i].numel()) continue;
    const Range grad(grads[i]);
    auto next = std::lower_bound(ranges.begin(), ranges.end(), grad);
    const bool meets = (next != ranges.end() && next->meets(grad)) ||
                       (next != ranges.begin() && std::prev(next)->meets(grad));
    if (meets && Range(params[i]).key() != grad.key()) return false;
  }
  return true;
}

}  // namespace ember
