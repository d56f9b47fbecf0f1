// Radix sort of packed keys (sort_order.h), least significant digit first.
#pragma once

#include <utility>

#include "cpu/sort_order.h"

namespace ember::cpu {

constexpr int kDigits = 256;

template <class P>
inline int digit_of(P p, int which) {
  return int(uint8_t(p >> (Packing<P>::shift + 8 * which)));
}

// Sorts a[0 .. n) by the `digits` low bytes of the keys; the result is in a or in b, whichever is
// returned.
template <class P>
P* radix_sort(P* a, P* b, int64_t n, int digits) {
  uint32_t counts[8][kDigits] = {};
  for (int64_t i = 0; i < n; i++)
    for (int d = 0; d < digits; d++) counts[d][digit_of(a[i], d)]++;
  for (int d = 0; d < digits; d++) {
    uint32_t* count = counts[d];
    if (count[digit_of(a[0], d)] == uint32_t(n)) continue;  // all alike
    uint32_t sum = 0;
    for (int k = 0; k < kDigits; k++) {
      uint32_t c = count[k];
      count[k] = sum;
      sum += c;
    }
    for (int64_t i = 0; i < n; i++) b[count[digit_of(a[i], d)]++] = a[i];
    std::swap(a, b);
  }
  return a;
}

}  // namespace ember::cpu
