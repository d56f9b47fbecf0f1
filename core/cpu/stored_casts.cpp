// Conversions from and to dtypes that are only stored: by way of the dtype that computes for them,
// a chunk at a time. PyTorch rounds twice in the same way.
#include <algorithm>
#include <utility>

#include "cpu/dispatch.h"

namespace ember::cpu {

namespace {

constexpr int64_t kChunk = 512;

constexpr Dtype midway(Dtype from, Dtype to) {
  return compute_of(is_stored_only(from) ? from : to);
}

template <Dtype from, Dtype to>
void in_two_steps(const void* x, void* out, int64_t n) {
  constexpr Dtype mid = midway(from, to);
  alignas(64) char chunk[kChunk * item_size(mid)];
  const Cast first = kernels().cast[int(from)][int(mid)],
             second = kernels().cast[int(mid)][int(to)];
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t m = std::min(kChunk, n - i);
    first(static_cast<const char*>(x) + i * item_size(from), chunk, m);
    second(chunk, static_cast<char*>(out) + i * item_size(to), m);
  }
}

// A complex number is two numbers.
template <Dtype from, Dtype to>
void as_pairs(const void* x, void* out, int64_t n) {
  kernels().cast[int(real_of(from))][int(real_of(to))](x, out, 2 * n);
}

template <Dtype from, Dtype to>
void add_pair(Kernels& k) {
  if constexpr (is_stored_only(from) || is_stored_only(to)) {
    Cast& cast = k.cast[int(from)][int(to)];
    if constexpr (is_complex(from) && is_complex(to))
      cast = as_pairs<from, to>;
    else if (!cast)
      cast = in_two_steps<from, to>;
  }
}

template <int... pair>
void add_pairs(Kernels& k, std::integer_sequence<int, pair...>) {
  (add_pair<Dtype(pair / kDtypes), Dtype(pair % kDtypes)>(k), ...);
}

}  // namespace

void add_stored_casts(Kernels& k) {
  add_pairs(k, std::make_integer_sequence<int, kDtypes * kDtypes>());
}

}  // namespace ember::cpu
