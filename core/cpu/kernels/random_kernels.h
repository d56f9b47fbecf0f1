// The loops behind random numbers that profit from vectors, compiled once per ISA level with the
// same results to the bit on each. What is drawn, and in which order, is decided in
// random/distributions.cpp.
#pragma once

#include <cstdint>

#include "cpu/kernels/levels.h"

namespace ember::cpu {

struct RandomKernels {
  // mt19937: the next 624 words of state, and of output.
  void (*twist)(uint32_t* state, uint32_t* output);
  void (*temper)(const uint32_t* state, uint32_t* output);

  // Uniform numbers in [low, high) from one draw each, or from pairs of which the first is the high
  // half.
  void (*uniform_float)(const uint32_t* draws, float* out, int64_t n, float low, float high);
  void (*uniform_double)(const uint32_t* draws, double* out, int64_t n, double low, double high);

  // Turns each sixteen uniforms into normals, in place.
  void (*normal_float)(float* data, int64_t blocks, float mean, float std);

  // `value` where the 53-bit uniform number made of a pair of draws is below p, and 0 elsewhere.
  void (*bernoulli_float)(const uint32_t* draws, float* out, int64_t n, double p, float value);
  void (*bernoulli_byte)(const uint32_t* draws, uint8_t* out, int64_t n, double p, uint8_t value);

  // draw % width + low.
  void (*modulo)(const uint32_t* draws, int64_t* out, int64_t n, uint32_t width, int64_t low);
};

EMBER_DECLARE_LEVELS(const RandomKernels& random_kernels();)

}  // namespace ember::cpu
