#include "cpu/create.h"

#include <algorithm>
#include <cstring>

#include "cpu/parallel.h"

namespace ember::cpu {

void arange(Dtype dtype, void* out, int64_t n, int64_t stride, const Scalar& start,
            const Scalar& step) {
  with_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Wide = std::conditional_t<is_complex_type<T>, complex128,
                                    std::conditional_t<std::is_integral_v<T>, int64_t, double>>;
    Wide first = start.to<Wide>(), each = step.to<Wide>();
    T* to = static_cast<T*>(out);
    parallel_for(n, kGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        if constexpr (is_complex_type<Wide>)
          to[i * stride] = convert<T>(first + double(i) * each);
        else
          to[i * stride] = convert<T>(first + Wide(i) * each);
      }
    });
  });
}

void triangle(void* out, const void* x, int64_t numel, int64_t m, int64_t n, int64_t item,
              int64_t diagonal, bool upper) {
  if (!numel) return;
  diagonal = std::clamp(diagonal, -m, n);  // what lies outside has no more effect
  int64_t bytes = n * item;
  auto* to = static_cast<char*>(out);
  auto* from = static_cast<const char*>(x);
  parallel_for(numel / n, std::max<int64_t>(1, kGrain / n), [=](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; row++) {
      int64_t i = row % m;
      // The columns [low, high) of this row are kept.
      int64_t split = std::clamp<int64_t>(i + diagonal + (upper ? 0 : 1), 0, n);
      int64_t low = (upper ? split : 0) * item, high = (upper ? n : split) * item;
      char* at = to + row * bytes;
      std::memset(at, 0, size_t(low));
      std::memcpy(at + low, from + row * bytes + low, size_t(high - low));
      std::memset(at + high, 0, size_t(bytes - high));
    }
  });
}

}  // namespace ember::cpu
