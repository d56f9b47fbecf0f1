// One OpenMP pool for everything: our loops, oneDNN, and tiles around single-threaded OpenBLAS.
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime.h"

namespace ember::cpu {

// Elements of cheap pointwise work worth a thread of their own.
constexpr int64_t kGrain = 32768;

int num_threads();
void set_num_threads(int n);  // raises ValueError below 1
bool in_parallel_region();

namespace detail {
void run_parallel(int64_t n, int64_t grain, void (*call)(void*, int64_t, int64_t), void* body);
}

// Calls body(begin, end) on pieces of [0, n) of at least `grain`, on several threads if that pays.
// Releases the host's lock (the GIL) while it runs in parallel. An exception in the body arrives at
// the caller.
template <class F>
void parallel_for(int64_t n, int64_t grain, F&& body) {
  if (n <= 0) return;
  if (n <= grain) {
    body(int64_t(0), n);
    return;
  }
  detail::run_parallel(
      n, grain,
      [](void* f, int64_t begin, int64_t end) {
        (*static_cast<std::remove_reference_t<F>*>(f))(begin, end);
      },
      const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace ember::cpu
