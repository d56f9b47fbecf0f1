// Kernels that move elements without looking at them: strided and transposing copies, fills.
#include <cstdint>

#include "cpu/kernels/arithmetic.h"
#include "cpu/kernels/loops.h"
#include "cpu/kernels/table.h"

namespace ember::cpu::EMBER_ISA {

namespace {

// One row: n elements, src0 and dst0 bytes apart.
template <class T>
void move_row(const char* src, int64_t src0, char* dst, int64_t dst0, int64_t n) {
  constexpr int64_t size = sizeof(T);
  T* to = reinterpret_cast<T*>(dst);
  const T* from = reinterpret_cast<const T*>(src);
  if (dst0 != size) {
    for (int64_t i = 0; i < n; i++)
      *reinterpret_cast<T*>(dst + i * dst0) = *reinterpret_cast<const T*>(src + i * src0);
  } else if (src0 == size) {
    __builtin_memcpy(dst, src, uint64_t(n * size));
  } else if (src0 == 0) {
    const T v = *from;
    for (int64_t i = 0; i < n; i++) to[i] = v;
  } else if (src0 == 2 * size) {  // a stride that the compiler knows can be vectorised
    for (int64_t i = 0; i < n; i++) to[i] = from[2 * i];
  } else if (src0 == -size) {
    for (int64_t i = 0; i < n; i++) to[i] = from[-i];
  } else {
    for (int64_t i = 0; i < n; i++) to[i] = *reinterpret_cast<const T*>(src + i * src0);
  }
}

// A square of elements turned about its diagonal: rows of `src` become columns of `dst`. In each
// step, blocks of `half` columns change places between rows that are `half` apart (Eklundh's
// method).
template <class T>
struct Square {
  static constexpr int size = sizeof(T) == 2 ? 8 : (kVectorBytes > 16 ? 32 : 16) / int(sizeof(T));
  typedef T Row __attribute__((vector_size(size * sizeof(T))));
  typedef T Unaligned __attribute__((vector_size(size * sizeof(T)), aligned(sizeof(T)), may_alias));
};
template <class T, int half>
EMBER_INLINE void turn_step(typename Square<T>::Row* row) {
  constexpr int N = Square<T>::size;
  typename Square<T>::Row low, high;
  for (int k = 0; k < N; k++) {
    low[k] = T(k & half ? N + k - half : k);
    high[k] = T(k & half ? N + k : k + half);
  }
#pragma GCC unroll 16
  for (int i = 0; i < N; i++) {
    if (i & half) continue;
    auto a = row[i], b = row[i + half];
    row[i] = __builtin_shuffle(a, b, low);
    row[i + half] = __builtin_shuffle(a, b, high);
  }
}
template <class T>
EMBER_INLINE void turn_square(const char* src, int64_t src_step, char* dst, int64_t dst_step) {
  using S = Square<T>;
  constexpr int N = S::size;
  typename S::Row row[N];
#pragma GCC unroll 16
  for (int i = 0; i < N; i++)
    row[i] = *reinterpret_cast<const typename S::Unaligned*>(src + i * src_step);
  turn_step<T, 1>(row);
  if constexpr (N >= 4) turn_step<T, 2>(row);
  if constexpr (N >= 8) turn_step<T, 4>(row);
#pragma GCC unroll 16
  for (int i = 0; i < N; i++)
    *reinterpret_cast<typename S::Unaligned*>(dst + i * dst_step) = row[i];
}

template <class T>
void move_kernel(const char* src, int64_t src0, int64_t src1, char* dst, int64_t dst0, int64_t dst1,
                 int64_t n0, int64_t n1) {
  constexpr int64_t size = sizeof(T);
  int64_t turned = 0;  // rows done in squares
  if constexpr (size == 2 || size == 4 || size == 8) {
    constexpr int64_t N = Square<T>::size;
    if (src1 == size && dst0 == size && src0 != size && n0 >= N) {
      turned = n1 / N * N;
      const int64_t squares = n0 / N * N;
      for (int64_t j = 0; j < turned; j += N) {
        for (int64_t i = 0; i < squares; i += N)
          turn_square<T>(src + i * src0 + j * size, src0, dst + i * size + j * dst1, dst1);
        for (int64_t r = j; r < j + N; r++)
          move_row<T>(src + squares * src0 + r * size, src0, dst + squares * size + r * dst1, dst0,
                      n0 - squares);
      }
    }
  }
  for (int64_t j = turned; j < n1; j++) move_row<T>(src + j * src1, src0, dst + j * dst1, dst0, n0);
}

template <class T>
void fill_kernel(const void* value, void* out, int64_t n) {
  const T v = *static_cast<const T*>(value);
  T* to = static_cast<T*>(out);
  for (int64_t i = 0; i < n; i++) to[i] = v;
}

template <class T>
void add_size(Kernels& k) {
  k.move[size_index(sizeof(T))] = move_kernel<T>;
  k.fill[size_index(sizeof(T))] = fill_kernel<T>;
}

}  // namespace

void add_move(Kernels& k) {
  add_size<uint8_t>(k);
  add_size<uint16_t>(k);
  add_size<uint32_t>(k);
  add_size<uint64_t>(k);
  add_size<complex128>(k);
}

}  // namespace ember::cpu::EMBER_ISA
