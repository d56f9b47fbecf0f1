// Kernels that work along lines: scans (kernels/scan.cpp) and softmax (kernels/softmax.cpp), once
// per ISA level. Lines are contiguous, or lie side by side: row i of a block holds element i of
// each of its lines.
#pragma once

#include <cstdint>

#include "cpu/kernels/levels.h"
#include "reductions.h"

namespace ember::cpu {

enum LineType { kLineF32, kLineF64, kLineI64, kLineC64, kLineC128, kLineTypes };

// What a scan has seen so far, in the type it accumulates in (float sums in double).
struct Carry {
  alignas(16) char value[16];
  int64_t index;
  bool started;
};

constexpr int64_t kScanColumns = 256;  // the most lines of a block

struct ScanKernels {
  // One line, as the continuation of `carry`; positions count from `first`. indices: of Fold::max
  // and Fold::min.
  void (*run[kFolds][kLineTypes])(int64_t n, const void* x, void* out, int64_t* indices,
                                  int64_t first, Carry& carry);
  // `columns` lines side by side, `stride` elements from row to row.
  void (*across[kFolds][kLineTypes])(int64_t rows, int64_t columns, const void* x, void* out,
                                     int64_t* indices, int64_t stride);
  // The end of a scan without its steps: sums and products.
  void (*total[kFolds][kLineTypes])(int64_t n, const void* x, Carry& carry);
};

enum SoftmaxKind { kSoftmax, kLogSoftmax, kSoftmaxKinds };
constexpr int kSoftmaxTypes = 2;  // kLineF32, kLineF64
constexpr int64_t kSoftmaxColumns = 256;

struct SoftmaxKernels {
  // `rows` contiguous lines of n elements, one after another.
  void (*run[kSoftmaxKinds][kSoftmaxTypes])(int64_t rows, int64_t n, const void* x, void* out);
  void (*run_grad[kSoftmaxKinds][kSoftmaxTypes])(int64_t rows, int64_t n, const void* g,
                                                 const void* y, void* out);
  void (*logsumexp[kSoftmaxTypes])(int64_t rows, int64_t n, const void* x, void* out);
  // `columns` lines side by side (at most kSoftmaxColumns), `stride` elements from row to row.
  void (*across[kSoftmaxKinds][kSoftmaxTypes])(int64_t n, int64_t columns, const void* x, void* out,
                                               int64_t stride);
  void (*across_grad[kSoftmaxKinds][kSoftmaxTypes])(int64_t n, int64_t columns, const void* g,
                                                    const void* y, void* out, int64_t stride);
  void (*logsumexp_across[kSoftmaxTypes])(int64_t n, int64_t columns, const void* x, void* out,
                                          int64_t stride);
};

EMBER_DECLARE_LEVELS(const ScanKernels& scan_kernels(); const SoftmaxKernels& softmax_kernels();)

}  // namespace ember::cpu
