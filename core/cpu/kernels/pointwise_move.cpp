// Kernels that move elements without looking at them: strided and transposing copies, fills.
#include <cstdint>

#include "cpu/kernels/arithmetic.h"
#include "cpu/kernels/loops.h"
#include "cpu/kernels/table.h"

namespace ember::cpu::EMBER_ISA {

namespace {

// One row: n elements, src0 and dst0 bytes apart.
template <class T> void move_row(const char* src, int64_t src0, char* dst, int64_t dst0, int64_t n) {
  constexpr int64_t size = sizeof(T);
  T* to = reinterpret_cast<T*>(dst);
  const T* from = reinterpret_cast<const T*>(src);
  if (dst0 != size) {
    for (int64_t i = 0; i < n; i++) *reinterpret_cast<T*>(dst + i * dst0) = *reinterpret_cast<const T*>(src + i * src0);
  } else if (src0 == size) {
    __builtin_memcpy(dst, src, uint64_t(n * size));
  } else if (src0 == 0) {
    const T v = *from;
    for (int64_t i = 0; i < n; i++) to[i] = v;
  } else if (src0 == 2 * size) {  // a stride that the compiler knows can be vectorised
    for (int64_t i = 0; i < n; i++) to[i] = from[2 * i];
  } else {
    for (int64_t i = 0; i < n; i++) to[i] = *reinterpret_cast<const T*>(src + i * src0);
  }
}

typedef uint32_t Eight __attribute__((vector_size(32), aligned(4), may_alias));

// Turns 8 by 8 elements of 4 bytes: rows of `src` become columns of `dst`.
inline void turn_8x8(const char* src, int64_t src_row, char* dst, int64_t dst_row) {
  Eight r[8], t[8];
  for (int k = 0; k < 8; k++) r[k] = *reinterpret_cast<const Eight*>(src + k * src_row);
  for (int k = 0; k < 8; k += 2) {
    t[k] = __builtin_shuffle(r[k], r[k + 1], Eight{0, 8, 2, 10, 4, 12, 6, 14});
    t[k + 1] = __builtin_shuffle(r[k], r[k + 1], Eight{1, 9, 3, 11, 5, 13, 7, 15});
  }
  for (int k = 0; k < 8; k += 4)
    for (int h = 0; h < 2; h++) {
      r[k + h] = __builtin_shuffle(t[k + h], t[k + h + 2], Eight{0, 1, 8, 9, 4, 5, 12, 13});
      r[k + h + 2] = __builtin_shuffle(t[k + h], t[k + h + 2], Eight{2, 3, 10, 11, 6, 7, 14, 15});
    }
  for (int h = 0; h < 4; h++) {
    *reinterpret_cast<Eight*>(dst + h * dst_row) = __builtin_shuffle(r[h], r[h + 4], Eight{0, 1, 2, 3, 8, 9, 10, 11});
    *reinterpret_cast<Eight*>(dst + (h + 4) * dst_row) =
        __builtin_shuffle(r[h], r[h + 4], Eight{4, 5, 6, 7, 12, 13, 14, 15});
  }
}

template <class T>
void move_kernel(const char* src, int64_t src0, int64_t src1, char* dst, int64_t dst0, int64_t dst1, int64_t n0,
                 int64_t n1) {
  constexpr int64_t size = sizeof(T);
  int64_t turned = 0;  // rows done in blocks
  if constexpr (size == 4) {
    if (src1 == size && dst0 == size && src0 != size && n0 >= 8) {
      turned = n1 & ~int64_t(7);
      const int64_t blocks = n0 & ~int64_t(7);
      for (int64_t j = 0; j < turned; j += 8) {
        for (int64_t i = 0; i < blocks; i += 8)
          turn_8x8(src + i * src0 + j * size, src0, dst + i * size + j * dst1, dst1);
        for (int64_t r = j; r < j + 8; r++)
          move_row<T>(src + blocks * src0 + r * size, src0, dst + blocks * size + r * dst1, dst0, n0 - blocks);
      }
    }
  }
  for (int64_t j = turned; j < n1; j++) move_row<T>(src + j * src1, src0, dst + j * dst1, dst0, n0);
}

template <class T> void fill_kernel(const void* value, void* out, int64_t n) {
  const T v = *static_cast<const T*>(value);
  T* to = static_cast<T*>(out);
  for (int64_t i = 0; i < n; i++) to[i] = v;
}

template <class T> void add_size(Kernels& k) {
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
