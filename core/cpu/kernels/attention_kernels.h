// What attention does between its matrix products, once per ISA level: to a block of scores, rows
// of queries by columns of keys.
#pragma once

#include <cstdint>

#include "cpu/kernels/levels.h"

namespace ember::cpu {

template <class T>
struct ScoreBlock {
  int64_t rows, columns;
  T* scores;
  int64_t stride;  // from row to row
  const T* mask;   // to be added, or null
  int64_t mask_stride;
  int64_t limit;  // columns that row 0 may see; each further row sees one more if `causal`
  bool causal;

  int64_t limit_of(int64_t row) const {
    if (!causal) return columns;
    const int64_t n = limit + row;
    return n < 0 ? 0 : n > columns ? columns : n;
  }
};

template <class T>
struct AttentionKernelsOf {
  // Turns scores into exponentials below the largest score so far. max and sum (one for each row)
  // and the result so far (rows x width) are brought to the new maximum.
  void (*accumulate)(const ScoreBlock<T>& block, T* max, T* sum, T* result, int64_t width);
  // out = result / sum; logsumexp of the scores.
  void (*finish)(int64_t rows, int64_t width, const T* max, const T* sum, const T* result, T* out,
                 int64_t out_stride, T* logsumexp);
  // Scores become probabilities.
  void (*normalize)(const ScoreBlock<T>& block, const T* logsumexp);
  // delta[i] = the dot product of rows i of g and out.
  void (*row_dots)(int64_t rows, int64_t width, const T* g, int64_t g_stride, const T* out,
                   int64_t out_stride, T* delta);
  // dp = p * (dp - delta) * scale
  void (*score_grads)(int64_t rows, int64_t columns, const T* p, T* dp, int64_t stride,
                      const T* delta, T scale);
};

struct AttentionTable {
  AttentionKernelsOf<float> f32;
  AttentionKernelsOf<double> f64;
};

EMBER_DECLARE_LEVELS(const AttentionTable& attention_kernels();)

}  // namespace ember::cpu
