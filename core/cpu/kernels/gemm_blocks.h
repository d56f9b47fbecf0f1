// How deep and wide a block of B is, and the memory it is copied to. Included by kernels alone.
#pragma once

#include <cstdlib>

#include "cpu/kernels/gemm_tile.h"

namespace ember::cpu::EMBER_ISA {
namespace {

constexpr int64_t kDepth = 512;             // rows of B in a block: kRows rows of A as deep fit L1
constexpr int64_t kBlockBytes = 640 << 10;  // of B, in L2

// Grows, never shrinks: one block of B, one panel of A per thread.
struct Workspace {
  void* data = nullptr;
  size_t size = 0;
  void* get(size_t bytes) {
    if (bytes > size) {
      free(data);
      size = (bytes + 4095) / 4096 * 4096;
      data = aligned_alloc(4096, size);
      if (!data) abort();
    }
    return data;
  }
  ~Workspace() { free(data); }
};

// Rows of a block of B; all blocks are about as deep.
constexpr int64_t even_depth(int64_t k, int64_t deepest = kDepth) {
  const int64_t blocks = (k + deepest - 1) / deepest;
  return blocks ? (k + blocks - 1) / blocks : 0;
}

// Columns of a block of B that is copied.
template <class T>
int64_t block_width(int64_t k) {
  constexpr int64_t kWidth = int64_t(kVectors) * kLanes<T>;
  const int64_t width =
      kBlockBytes / int64_t(sizeof(T)) / (k ? even_depth(k) : 1) / kWidth * kWidth;
  return width < kWidth ? kWidth : width;
}

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
