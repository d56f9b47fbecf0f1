// Kernels that move elements without looking at them: strided and transposing copies, fills.
#include <cstdint>
#include <utility>

#include "cpu/kernels/arithmetic.h"
#include "cpu/kernels/loops.h"
#include "cpu/kernels/table.h"

namespace ember::cpu::EMBER_ISA {

namespace {

// Square blocks turned in registers: rows that are contiguous in src become columns that are contiguous in dst.
template <class T> struct Turn {
  static constexpr int n = kVectorBytes / int(sizeof(T));
  typedef T Vector __attribute__((vector_size(kVectorBytes)));

  template <int half, int... i> static EMBER_INLINE Vector mix(Vector a, Vector b, std::integer_sequence<int, i...>) {
    constexpr Vector order = {T((i % 2 ? n : 0) + i / 2 + half * n / 2)...};
    return __builtin_shuffle(a, b, order);
  }
  // Interleaving the first with the second half of the rows, log2(n) times over, transposes.
  static EMBER_INLINE void block(const char* src, int64_t src0, char* dst, int64_t dst1) {
    Vector row[n], next[n];
    for (int i = 0; i < n; i++) __builtin_memcpy(&row[i], src + i * src0, sizeof(Vector));
    for (int step = 1; step < n; step *= 2) {
      for (int i = 0; i < n / 2; i++) {
        next[2 * i] = mix<0>(row[i], row[i + n / 2], std::make_integer_sequence<int, n>());
        next[2 * i + 1] = mix<1>(row[i], row[i + n / 2], std::make_integer_sequence<int, n>());
      }
      for (int i = 0; i < n; i++) row[i] = next[i];
    }
    for (int i = 0; i < n; i++) __builtin_memcpy(dst + i * dst1, &row[i], sizeof(Vector));
  }
};

template <class T>
void move_kernel(const char* src, int64_t src0, int64_t src1, char* dst, int64_t dst0, int64_t dst1, int64_t n0,
                 int64_t n1) {
  constexpr int64_t size = sizeof(T);
  if constexpr (size == 4 || size == 8) {
    constexpr int64_t n = Turn<T>::n;
    if (src1 == size && dst0 == size && n0 >= n && n1 >= n) {
      const int64_t whole0 = n0 / n * n, whole1 = n1 / n * n;
      for (int64_t j = 0; j < whole1; j += n)
        for (int64_t i = 0; i < whole0; i += n)
          Turn<T>::block(src + i * src0 + j * size, src0, dst + j * dst1 + i * size, dst1);
      for (int64_t j = 0; j < n1; j++)
        for (int64_t i = j < whole1 ? whole0 : 0; i < n0; i++)
          *reinterpret_cast<T*>(dst + j * dst1 + i * size) = *reinterpret_cast<const T*>(src + j * size + i * src0);
      return;
    }
  }
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
