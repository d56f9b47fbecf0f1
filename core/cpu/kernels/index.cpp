// See index_kernels.h.
#include "cpu/kernels/index_kernels.h"

#include <type_traits>

#include "cpu/kernels/complex.h"
#include "cpu/kernels/half.h"
#include "cpu/kernels/once.h"

namespace ember::cpu::EMBER_ISA {

namespace {

struct Bool {
  uint8_t byte;
};

// The type in which elements of type T meet, and the ways there and back.
template <class T>
auto widen(T v) {
  if constexpr (std::is_same_v<T, Bool>)
    return uint8_t(v.byte != 0);
  else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return to_float(v);
  else
    return v;
}
template <class T, class W>
T narrow(W v) {
  if constexpr (std::is_same_v<T, Bool>)
    return Bool{uint8_t(v != 0)};
  else if constexpr (std::is_same_v<T, Half>)
    return to_half(v);
  else if constexpr (std::is_same_v<T, BFloat16>)
    return to_bfloat(v);
  else
    return T(v);
}

template <Combine f, class T>
inline T meet(T there, T value) {
  auto a = widen(there), b = widen(value);
  using W = decltype(a);
  if constexpr (f == kSet) {
    return value;
  } else if constexpr (f == kMax || f == kMin) {  // a NaN wins
    bool take = f == kMax ? b > a : b < a;
    return take || b != b ? value : there;
  } else if constexpr (std::is_integral_v<W>) {  // wraps around
    if constexpr (std::is_same_v<T, Bool>) return narrow<T>(f == kAdd ? a | b : a & b);
    using U = std::conditional_t<sizeof(W) <= 4, uint32_t, uint64_t>;
    return T(f == kAdd ? U(a) + U(b) : U(a) * U(b));
  } else {
    return narrow<T>(f == kAdd ? a + b : a * b);
  }
}

template <class T>
T& at(char* p) {
  return *reinterpret_cast<T*>(p);
}
template <class T>
const T& at(const char* p) {
  return *reinterpret_cast<const T*>(p);
}

template <class T>
void take(const char* x, const int64_t* offsets, char* out, int64_t out_step, int64_t n) {
  if (out_step == int64_t(sizeof(T))) {
    T* to = reinterpret_cast<T*>(out);
    for (int64_t i = 0; i < n; i++) to[i] = at<T>(x + offsets[i]);
  } else {
    for (int64_t i = 0; i < n; i++) at<T>(out + i * out_step) = at<T>(x + offsets[i]);
  }
}

template <Combine f, class T>
void put(char* x, const int64_t* offsets, const char* values, int64_t step, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    T& to = at<T>(x + offsets[i]);
    to = meet<f, T>(to, at<T>(values + i * step));
  }
}

template <Combine f, class T>
void combine(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t n) {
  constexpr int64_t size = sizeof(T);
  if (to_step == size && from_step == size) {
    T* a = reinterpret_cast<T*>(to);
    const T* b = reinterpret_cast<const T*>(from);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) a[i] = meet<f, T>(a[i], b[i]);
  } else {
    for (int64_t i = 0; i < n; i++)
      at<T>(to + i * to_step) = meet<f, T>(at<T>(to + i * to_step), at<T>(from + i * from_step));
  }
}

// Takes a line of indices in blocks, so that the loop that checks them has no branch. body(indices,
// first, count) sees a copy, in which all are within bounds.
template <class Body>
inline int64_t checked_blocks(const Picks& p, int64_t n, Body&& body) {
  constexpr int64_t kBlock = 64;
  int64_t line[kBlock];
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t count = n - first < kBlock ? n - first : kBlock;
    const char* index = p.index + first * p.index_step;
    if (p.index_step == 8) {
      copy_once(line, reinterpret_cast<const int64_t*>(index), count);
    } else {
      for (int64_t i = 0; i < count; i++)
        line[i] = read_once(reinterpret_cast<const int64_t*>(index + i * p.index_step));
    }
    uint64_t bad = 0;
    for (int64_t i = 0; i < count; i++) bad |= uint64_t(uint64_t(line[i]) >= uint64_t(p.size));
    if (__builtin_expect(bad != 0, 0))
      for (int64_t i = 0; i < count; i++)
        if (uint64_t(line[i]) >= uint64_t(p.size)) return first + i;
    body(static_cast<const int64_t*>(line), first, count);
  }
  return -1;
}

template <class T>
int64_t gather(const Picks& x, char* out, int64_t out_step, int64_t n) {
  constexpr int64_t size = sizeof(T);
  return checked_blocks(x, n, [&](const int64_t* line, int64_t first, int64_t count) {
    const char* from = x.data + first * x.step;
    char* to = out + first * out_step;
    T* dense = reinterpret_cast<T*>(to);
    if (out_step == size && x.step == 0 && x.pick_step == size) {
      const T* row = reinterpret_cast<const T*>(from);
      for (int64_t i = 0; i < count; i++) dense[i] = row[line[i]];
    } else if (out_step == size && x.step == size) {
      for (int64_t i = 0; i < count; i++) dense[i] = at<T>(from + i * size + line[i] * x.pick_step);
    } else {
      for (int64_t i = 0; i < count; i++)
        at<T>(to + i * out_step) = at<T>(from + i * x.step + line[i] * x.pick_step);
    }
  });
}

template <Combine f, class T>
int64_t scatter(const Picks& self, const char* src, int64_t src_step, int64_t n) {
  return checked_blocks(self, n, [&](const int64_t* line, int64_t first, int64_t count) {
    char* to = self.data + first * self.step;
    const char* from = src + first * src_step;
    if (src_step == int64_t(sizeof(T)) && self.step == 0 && self.pick_step == int64_t(sizeof(T))) {
      T* row = reinterpret_cast<T*>(to);
      const T* values = reinterpret_cast<const T*>(from);
      for (int64_t i = 0; i < count; i++) row[line[i]] = meet<f, T>(row[line[i]], values[i]);
      return;
    }
    for (int64_t i = 0; i < count; i++) {
      T& there = at<T>(to + i * self.step + line[i] * self.pick_step);
      there = meet<f, T>(there, at<T>(from + i * src_step));
    }
  });
}

template <class T>
void add_size(IndexKernels& k) {
  const int s = size_index(sizeof(T));
  k.take[s] = take<T>;
  k.put[s] = put<kSet, T>;
  k.gather[s] = gather<T>;
  k.scatter[s] = scatter<kSet, T>;
}
template <Combine f, class T>
void add_mode(IndexKernels& k, int column) {
  k.put_with[f][column] = put<f, T>;
  k.combine[f][column] = combine<f, T>;
  k.scatter_with[f][column] = scatter<f, T>;
}
template <class T>
void add_type(IndexKernels& k, int column) {
  add_mode<kAdd, T>(k, column);
  add_mode<kMul, T>(k, column);
  if constexpr (!is_complex_type<T>) {
    add_mode<kMax, T>(k, column);
    add_mode<kMin, T>(k, column);
  }
}

IndexKernels make() {
  IndexKernels k{};
  add_size<uint8_t>(k);
  add_size<uint16_t>(k);
  add_size<uint32_t>(k);
  add_size<uint64_t>(k);
  add_size<complex128>(k);
  add_type<Bool>(k, kColumnBool);
  add_type<uint8_t>(k, kColumnUInt8);
  add_type<int8_t>(k, kColumnInt8);
  add_type<int16_t>(k, kColumnInt16);
  add_type<int32_t>(k, kColumnInt32);
  add_type<int64_t>(k, kColumnInt64);
  add_type<Half>(k, kColumnFloat16);
  add_type<BFloat16>(k, kColumnBFloat16);
  add_type<float>(k, kColumnFloat32);
  add_type<double>(k, kColumnFloat64);
  add_type<complex64>(k, kColumnComplex64);
  add_type<complex128>(k, kColumnComplex128);
  add_type<uint16_t>(k, kColumnUInt16);
  add_type<uint32_t>(k, kColumnUInt32);
  add_type<uint64_t>(k, kColumnUInt64);
  return k;
}

}  // namespace

const IndexKernels& index_kernels() {
  static const IndexKernels k = make();
  return k;
}

}  // namespace ember::cpu::EMBER_ISA
