// Reading what other threads may change meanwhile: indices, masks, pivots. Another Python thread
// can write to them while a kernel runs, so the value that is checked must be the one that is used.
#pragma once

#include <cstdint>
#include <cstring>

namespace ember::cpu {

// Internal and always inlined, as each level compiles its own.
template <class T>
[[gnu::always_inline]] static inline T read_once(const T* p) {
  return *static_cast<const volatile T*>(p);
}

// Copies values for good: compilers do not go back to the originals.
template <class T>
[[gnu::always_inline]] static inline void copy_once(T* to, const T* from, int64_t n) {
  std::memcpy(to, from, size_t(n) * sizeof(T));
  asm volatile("" : : "r"(to) : "memory");
}

}  // namespace ember::cpu
