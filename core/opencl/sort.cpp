// Sorting, the first k, and elements by rank: blocks sorted in local memory, then merged.
#include <utility>

#include "opencl/device.h"
#include "opencl/lines.h"
#include "opencl/opencl_backend.h"
#include "opencl/sources.h"

namespace ember::opencl {

namespace {

// The largest block whose keys and places fit into half of the local memory.
int64_t block_for(int64_t n) {
  const Properties& p = context().properties;
  int64_t block = 2;
  while (block < n && block < 512 && block <= int64_t(p.group_size) &&
         2 * block * 16 <= int64_t(p.local_memory) / 2)
    block *= 2;
  return block;
}

// The first `kept` of each sorted line.
void order(const Tensor& values, const Tensor& indices, const Tensor& x, int dim, bool descending,
           int64_t kept) {
  check_computes("sort", x.dtype());
  const Dtype d = x.dtype(), out = values ? values.dtype() : d;
  const Dtype key = is_floating(d) ? compute_of(d) : d == Dtype::UInt64 ? d : Dtype::Int64;
  Lines lines(x, dim, {&values, &x, &indices});
  const int64_t block = block_for(lines.n), count = lines.g.n;
  const std::string id = dtype_ids({d, out}) + (descending ? "d" : "a") + std::to_string(block);
  auto source = [&] {
    return line_types(key, d, out) + "#define DESCENDING " + (descending ? "1" : "0") +
           "\n#define BLOCK " + std::to_string(block) + "\n" + sources::sort;
  };
  Tensor keys, places;
  int64_t n = lines.n;
  while (true) {
    const int64_t blocks = (n + block - 1) / block;
    const bool cuts = 4 * kept <= block && blocks > 1, again = bool(keys);
    const int64_t part = cuts ? kept : block;
    const int64_t room = cuts ? (blocks - 1) * part + std::min(part, n - (blocks - 1) * block) : n;
    Tensor new_keys = empty({count * room}, key, x.device());
    Tensor new_places = empty({count * room}, Dtype::Int64, x.device());
    Launch launch("sort_blocks" + id, "sort_blocks", source);
    launch.tensor(new_keys).tensor(new_places).tensor(x).tensor(keys).tensor(places).value(lines.g);
    launch.value(n).value(blocks).value(part).value(room).value(lines.step[1]);
    launch.value(int32_t(again)).run(count * blocks * (block / 2), block / 2);
    keys = new_keys, places = new_places;
    n = room;
    if (!cuts) break;
  }
  if (n > block) {
    Tensor other_keys = empty({count * n}, key, x.device());
    Tensor other_places = empty({count * n}, Dtype::Int64, x.device());
    for (int64_t width = block; width < n; width *= 2) {
      Launch launch("sort_merge" + id, "sort_merge", source);
      launch.tensor(other_keys).tensor(other_places).tensor(keys).tensor(places);
      launch.value(count * n).value(n).value(width).run(count * n, 64);
      std::swap(keys, other_keys);
      std::swap(places, other_places);
    }
  }
  Launch launch("sort_store" + id, "sort_store", source);
  launch.tensor(values).tensor(indices).tensor(keys).tensor(places).value(lines.g).value(n);
  launch.value(kept).value(lines.step[0]).value(lines.step[2]);
  launch.value(int32_t((values ? 1 : 0) | (indices ? 2 : 0))).run(count * kept, 64);
}

}  // namespace

void OpenClBackend::sort(const Tensor& values, const Tensor& indices, const Tensor& x, int dim,
                         bool descending) {
  if (x.numel()) order(values, indices, x, dim, descending, x.dim() ? x.shape()[dim] : 1);
}

void OpenClBackend::topk(const Tensor& values, const Tensor& indices, const Tensor& x, int dim,
                         bool largest, bool) {
  const Tensor& some = values ? values : indices;
  if (some.numel()) order(values, indices, x, dim, largest, some.dim() ? some.shape()[dim] : 1);
}

void OpenClBackend::pick(const Tensor& values, const Tensor& indices, const Tensor& x, int dim,
                         Rank rank, int64_t k) {
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
  own().sort(moved(sorted), moved(at), x, dim, false);
  Lines lines(some, dim, {&values, &some, &indices});
  Launch launch("pick" + dtype_ids({x.dtype()}), "pick", [&] {
    return line_types(compute_of(x.dtype()), x.dtype(), x.dtype()) + "#define PICK 1\n" +
           sources::lines;
  });
  int32_t wants = (values ? 1 : 0) | (indices ? 2 : 0), which = int32_t(rank);
  launch.tensor(values).tensor(indices).tensor(sorted).tensor(at).value(lines.g).value(n).value(k);
  launch.value(which).value(wants).run(lines.g.n, 16);
}

}  // namespace ember::opencl
