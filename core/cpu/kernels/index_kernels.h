// The inner loops of indexing: one dimension at a time, compiled once per ISA level.
// What merely moves elements exists once per element size; what combines them, once per dtype.
// Steps and offsets are in bytes.
#pragma once

#include <cstdint>

#include "cpu/kernels/levels.h"
#include "cpu/kernels/table.h"

namespace ember::cpu {

// How a value meets what is there already; in the order of ScatterMode.
enum Combine { kSet, kAdd, kMul, kMax, kMin, kCombines };

// A line of elements of `data`, each picked by an index along one dimension:
// element i is data + i * step + index[i] * pick_step.
struct Picks {
  char* data;
  int64_t step, pick_step, size;  // size of the picked dimension
  const char* index;              // of int64
  int64_t index_step;
};

struct IndexKernels {
  // out[i] = x[offsets[i]]; x[offsets[i]] = values[i].
  void (*take[kSizes])(const char* x, const int64_t* offsets, char* out, int64_t out_step,
                       int64_t n);
  void (*put[kSizes])(char* x, const int64_t* offsets, const char* values, int64_t values_step,
                      int64_t n);
  // x[offsets[i]] = f(x[offsets[i]], values[i])
  void (*put_with[kCombines][kColumns])(char* x, const int64_t* offsets, const char* values,
                                        int64_t values_step, int64_t n);
  // to[i] = f(to[i], from[i])
  void (*combine[kCombines][kColumns])(char* to, int64_t to_step, const char* from,
                                       int64_t from_step, int64_t n);
  // One line of gather and scatter. They stop at an index out of bounds and return its place, else
  // -1.
  int64_t (*gather[kSizes])(const Picks& x, char* out, int64_t out_step, int64_t n);
  int64_t (*scatter[kSizes])(const Picks& self, const char* src, int64_t src_step, int64_t n);
  int64_t (*scatter_with[kCombines][kColumns])(const Picks& self, const char* src, int64_t src_step,
                                               int64_t n);
};

EMBER_DECLARE_LEVELS(const IndexKernels& index_kernels();)

}  // namespace ember::cpu
