// The inner loops of products with sparse matrices, compiled once per ISA level.
#pragma once

#include <cstdint>

#include "cpu/kernels/levels.h"

namespace ember::cpu {

// Elements start[r] .. start[r + 1] - 1 belong to row r.
struct Csr {
  const int64_t* start;
  const int64_t* columns;
  int64_t rows, nnz, width;
};

template <class T>
struct SegmentLoops {
  // out (rows, n) = a @ x, for rows begin .. end - 1.
  void (*multiply)(const Csr& a, const T* values, const T* x, T* out, int64_t n, int64_t begin,
                   int64_t end);
  // out (.., n) += a^T @ x, for columns begin .. end - 1 of x and out.
  void (*scatter)(const Csr& a, const T* values, const T* x, T* out, int64_t n, int64_t begin,
                  int64_t end);
  // out[k] = x[row of k] . y[column of k], for rows begin .. end - 1.
  void (*sample)(const Csr& a, const T* x, const T* y, T* out, int64_t n, int64_t begin,
                 int64_t end);
};
struct SegmentTable {
  // Whether the rows follow each other from 0 to nnz; and all columns lie within the width.
  bool (*ordered)(const Csr& a);
  bool (*inside)(const Csr& a);
  SegmentLoops<float> floats;
  SegmentLoops<double> doubles;
};

EMBER_DECLARE_LEVELS(const SegmentTable& segment_loops();)

}  // namespace ember::cpu
