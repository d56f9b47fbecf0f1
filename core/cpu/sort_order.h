// Elements as unsigned integers in the same order, packed with their position: what sorts these,
// sorts stably.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tensor/dtype.h"

namespace ember::cpu {

// key(): NaN lies above everything, and -0 equals 0. value() undoes it where is_exact().
template <class T>
struct Order {
  using Key = std::make_unsigned_t<T>;
  static constexpr Key kSign = std::is_signed_v<T> ? Key(Key(1) << (8 * sizeof(T) - 1)) : Key(0);
  static Key key(T x) { return Key(Key(x) ^ kSign); }
  static bool is_exact(Key) { return true; }
  static bool is_nan(Key) { return false; }
  static T value(Key k) { return T(Key(k ^ kSign)); }
};
struct Truth {  // a bool in memory: any byte but 0 is true
  uint8_t byte;
};
template <>
struct Order<Truth> {
  using Key = uint8_t;
  static Key key(Truth x) { return Key(x.byte != 0); }
  static bool is_exact(Key) { return true; }
  static bool is_nan(Key) { return false; }
  static Truth value(Key k) { return {k}; }
};
template <class T, class K, K infinity>
struct FloatOrder {
  using Key = K;
  static constexpr Key kSign = Key(Key(1) << (8 * sizeof(K) - 1)), kNan = Key(~Key(0));
  static Key key(T x) {
    Key b = std::bit_cast<Key>(x), size = Key(b & Key(~kSign));
    b = size == 0 ? Key(0) : b;
    Key k = b & kSign ? Key(~b) : Key(b | kSign);
    return size > infinity ? kNan : k;
  }
  static bool is_exact(Key k) { return k != kNan && k != kSign; }
  static bool is_nan(Key k) { return k == kNan; }
  static T value(Key k) { return std::bit_cast<T>(k & kSign ? Key(k ^ kSign) : Key(~k)); }
};
template <>
struct Order<float> : FloatOrder<float, uint32_t, 0x7f800000> {};
template <>
struct Order<double> : FloatOrder<double, uint64_t, 0x7ff0000000000000> {};
template <>
struct Order<Half> : FloatOrder<Half, uint16_t, 0x7c00> {};
template <>
struct Order<BFloat16> : FloatOrder<BFloat16, uint16_t, 0x7f80> {};

// A key above its position in the line.
template <class P>
struct Packing;
template <>
struct Packing<uint64_t> {
  static constexpr int shift = 32;
};
__extension__ typedef unsigned __int128 Wide128;
template <>
struct Packing<Wide128> {
  static constexpr int shift = 64;
};
template <class P, class Key>
inline P pack(Key key, int64_t at) {
  return (P(key) << Packing<P>::shift) | P(uint64_t(at));
}
template <class P>
inline int64_t position_of(P p) {
  if constexpr (sizeof(P) == 8)
    return int64_t(uint32_t(p));
  else
    return int64_t(uint64_t(p));
}
template <class Key, class P>
inline Key key_of(P p) {
  return Key(p >> Packing<P>::shift);
}

// Calls f(Tag<T>, Tag<P>) for elements of dtype `d` in lines of length n.
template <class F>
void with_order(Dtype d, int64_t n, F&& f) {
  with_dtype(d, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_complex_type<T>) {
      fail(Kind::NotImplemented, "sort: complex numbers have no order");
    } else if constexpr (sizeof(T) <= 4) {
      Tag<std::conditional_t<std::is_same_v<T, bool>, Truth, T>> element;
      if (n < (int64_t(1) << 32))
        f(element, Tag<uint64_t>{});
      else
        f(element, Tag<Wide128>{});
    } else {
      f(tag, Tag<Wide128>{});
    }
  });
}

}  // namespace ember::cpu
