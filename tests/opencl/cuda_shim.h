// What a kernel, written for CUDA, finds of CUDA on the CPU: compiled in the place of
// <cuda_fp16.h>. The threads of a block are fibers; __syncthreads() lets the next one run.
#pragma once

#include <math.h>
#include <string.h>
#include <ucontext.h>

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __shared__ static

struct ShimDim {
  unsigned x = 1, y = 1, z = 1;
};
static ShimDim threadIdx, blockIdx, blockDim;

static inline float __uint_as_float(unsigned u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}
static inline unsigned __float_as_uint(float f) {
  unsigned u;
  memcpy(&u, &f, 4);
  return u;
}
static inline double __longlong_as_double(long long u) {
  double f;
  memcpy(&f, &u, 8);
  return f;
}
static inline long long __double_as_longlong(double f) {
  long long u;
  memcpy(&u, &f, 8);
  return u;
}
static inline unsigned __umulhi(unsigned a, unsigned b) {
  return (unsigned)((unsigned long long)a * b >> 32);
}
template <class T>
static T atomicCAS(T* place, T seen, T value) {
  T old = *place;
  if (old == seen) *place = value;
  return old;
}
struct __half {
  _Float16 value;
};
static inline float __half2float(__half h) { return float(h.value); }
static inline __half __float2half_rn(float f) { return {_Float16(f)}; }
static inline float rsqrt(float v) { return 1 / sqrtf(v); }
static inline double rsqrt(double v) { return 1 / sqrt(v); }

// --- blocks of fibers -----------------------------------------------------------------

namespace shim {

struct Buffer {
  void* data;
  size_t size;
};

constexpr size_t kStack = 256 << 10;

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;  // not filled
  bool done = false;
};
static ucontext_t scheduler;
static std::vector<Fiber> fibers;
static size_t current;
static void (*body)();

static void enter() {
  body();
  fibers[current].done = true;
}

// One block; without barriers its threads simply run one after another.
static void run_block(unsigned threads, bool has_barriers) {
  blockDim.x = threads;
  if (!has_barriers) {
    for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++) body();
    return;
  }
  if (fibers.size() < threads) fibers.resize(threads);
  for (size_t i = 0; i < threads; i++) {
    Fiber& f = fibers[i];
    f.done = false;
    if (!f.stack) f.stack.reset(new char[kStack]);
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack.get();
    f.context.uc_stack.ss_size = kStack;
    f.context.uc_link = &scheduler;
    makecontext(&f.context, enter, 0);
  }
  for (bool left = true; left;) {
    left = false;
    for (current = 0; current < threads; current++) {
      if (fibers[current].done) continue;
      threadIdx.x = unsigned(current);
      swapcontext(&scheduler, &fibers[current].context);
      left |= !fibers[current].done;
    }
  }
}

template <class T>
T argument(const void* bytes) {
  if constexpr (std::is_pointer_v<T>) {
    Buffer* buffer;
    memcpy(&buffer, bytes, sizeof buffer);
    return buffer ? static_cast<T>(buffer->data) : nullptr;
  } else {
    T value;
    memcpy(&value, bytes, sizeof value);
    return value;
  }
}

template <class... A, size_t... I>
void call(void (*kernel)(A...), void** args, size_t blocks, unsigned threads, bool has_barriers,
          std::index_sequence<I...>) {
  static void (*f)(A...);
  static std::tuple<A...>* given;
  std::tuple<A...> all{argument<A>(args[I])...};
  f = kernel;
  given = &all;
  body = [] { f(std::get<I>(*given)...); };
  for (size_t b = 0; b < blocks; b++) {
    blockIdx.x = unsigned(b);
    run_block(threads, has_barriers);
  }
  fibers.clear();  // every kernel has its own
}
template <class... A>
void call(void (*kernel)(A...), void** args, size_t blocks, unsigned threads, bool has_barriers) {
  call(kernel, args, blocks, threads, has_barriers, std::index_sequence_for<A...>());
}

}  // namespace shim

static inline void __syncthreads() {
  swapcontext(&shim::fibers[shim::current].context, &shim::scheduler);
}
