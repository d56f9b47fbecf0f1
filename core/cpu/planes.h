// A window that slides over three axes, and the plan by which kernels of plane_kernels.h follow it.
#pragma once

#include <cstring>
#include <vector>

#include "cpu/kernels/plane_kernels.h"
#include "tensor/allocator.h"

namespace ember::cpu {

// There are always three axes; those that a tensor lacks come first and have size 1.
struct Slide {
  int64_t in[3], kernel[3], out[3], stride[3], pad[3], dilation[3];
  int64_t places() const { return out[0] * out[1] * out[2]; }
  int64_t inputs() const { return in[0] * in[1] * in[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
};

// Owns the lists that the plan points to.
class Planes : public PlanePlan {
 public:
  // `turned`: from results back to inputs, as the gradient of the input goes. The paddings are then
  // no larger than the window's reach.
  Planes(const Slide& s, int64_t lanes, bool turned);
  Planes(const Planes&) = delete;

 private:
  std::vector<int64_t> in_places_, starts_, offsets_;
};

// Memory for as long as a function runs.
struct Scratch {
  size_t bytes;
  char* data;
  explicit Scratch(int64_t n) : bytes(size_t(n)), data(static_cast<char*>(allocate(bytes))) {}
  ~Scratch() { deallocate(data, bytes); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
};

}  // namespace ember::cpu
