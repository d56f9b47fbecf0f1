// Kernels that move elements without looking at them: strided and transposing copies, fills.
#include <cstdint>

#include "cpu/kernels/arithmetic.h"
#include "cpu/kernels/loops.h"
#include "cpu/kernels/table.h"

namespace ember::cpu::EMBER_ISA {

namespace {

template <class T>
void move_kernel(const char* src, int64_t src0, int64_t src1, char* dst, int64_t dst0, int64_t dst1, int64_t n0,
                 int64_t n1) {
  constexpr int64_t size = sizeof(T);
  for (int64_t j = 0; j < n1; j++, src += src1, dst += dst1) {
    if (src0 == size && dst0 == size) {
      __builtin_memcpy(dst, src, uint64_t(n0 * size));
    } else if (src0 == 0 && dst0 == size) {
      const T v = *reinterpret_cast<const T*>(src);
      T* to = reinterpret_cast<T*>(dst);
      for (int64_t i = 0; i < n0; i++) to[i] = v;
    } else {
      for (int64_t i = 0; i < n0; i++)
        *reinterpret_cast<T*>(dst + i * dst0) = *reinterpret_cast<const T*>(src + i * src0);
    }
  }
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
