// The gates of recurrent cells, once per ISA level: rows of contiguous memory, one thread's work.
#pragma once

#include <cstdint>

#include "cpu/kernels/levels.h"

namespace ember::cpu {

// `rows` rows of n units. Gates are n apart within a row; other arrays have n elements a row.
template <class T>
struct RecurrentLoops {
  // gates: sums in, values out; bias (4 n) is added. c: in and out. before (may be null): c as it
  // was.
  void (*lstm)(int64_t rows, int64_t n, const T* bias, T* gates, T* c, T* before, T* h);
  // dc: in and out. Gives the gradients of the sums; here and below dgates may be gates.
  void (*lstm_grad)(int64_t rows, int64_t n, const T* gates, const T* before, const T* dh, T* dc,
                    T* dgates);
  // gates: what the input gives in, values out; sums: what the recurrence gives, which the biases
  // (3 n) change. h: in and out. hidden (may be null): the sums of the new gate.
  void (*gru)(int64_t rows, int64_t n, const T* bias, const T* bias_h, T* gates, const T* sums,
              T* h, T* hidden);
  // dh: in; out: the part that does not go through the gates.
  void (*gru_grad)(int64_t rows, int64_t n, const T* gates, const T* before, const T* hidden, T* dh,
                   T* dgates, T* dsums);
  void (*tanh)(int64_t rows, int64_t n, const T* bias, const T* x, T* y);
  void (*tanh_grad)(int64_t n, const T* y, const T* g, T* dx);
  void (*relu)(int64_t rows, int64_t n, const T* bias, const T* x, T* y);
  void (*relu_grad)(int64_t n, const T* y, const T* g, T* dx);
  void (*add)(int64_t n, const T* x, T* y);                     // y += x
  void (*sum_rows)(int64_t rows, int64_t n, const T* x, T* y);  // y += each row of x
};

struct RecurrentTable {
  RecurrentLoops<float> f32;
  RecurrentLoops<double> f64;
};

EMBER_DECLARE_LEVELS(const RecurrentTable& recurrent_table();)

}  // namespace ember::cpu
