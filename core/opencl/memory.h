// Device memory, kept for reuse. A tensor's memory is a Block; kernels get the block's buffer and
// an offset in elements. Reuse needs no waiting, as all work runs in one in-order queue.
#pragma once

#include "opencl/loader.h"

namespace ember::opencl {

struct Block {
  Handle buffer = nullptr;
  int64_t bytes = 0;  // its size class
  Block* next = nullptr;
};

struct MemoryStats {
  int64_t allocated = 0, allocated_peak = 0;  // in blocks held by tensors
  int64_t reserved = 0, reserved_peak = 0;    // taken from the device
  int64_t requests = 0, device_allocations = 0, device_frees = 0, retries = 0, out_of_memory = 0;
};

Block* take_block(int64_t bytes);  // never null; of at least one byte
void give_block(Block* block);
void release_cached();
void limit_memory(double fraction);  // of the device's
MemoryStats memory_stats();
void reset_peaks();

}  // namespace ember::opencl
