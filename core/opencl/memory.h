// Device memory, kept for reuse. A tensor's memory is a Block; kernels get the block's buffer and
// an offset in elements. A block belongs to the stream that it was taken for: there it is used
// again without waiting, as a stream works in order. Other streams that use it must be recorded.
#pragma once

#include "opencl/device.h"

namespace ember::opencl {

struct Block {
  Handle buffer = nullptr;
  int64_t bytes = 0;  // its size class
  Stream* stream = nullptr;
  Block* next = nullptr;
  std::vector<Stream*> others;  // streams that used it besides
};

struct MemoryStats {
  int64_t allocated = 0, allocated_peak = 0;  // in blocks held by tensors
  int64_t reserved = 0, reserved_peak = 0;    // taken from the device
  int64_t waiting = 0;                        // freed, but in use by another stream
  int64_t blocks = 0;                         // held by tensors
  int64_t requests = 0, device_allocations = 0, device_frees = 0, retries = 0, out_of_memory = 0;
};

// For the selected device and its current stream. Never null; of at least one byte.
Block* take_block(int64_t bytes);
void give_block(Block* block);
// `stream` uses the block, too: once free, it waits for what that stream has to do then.
void record_stream(Block* block, Stream& stream);
void release_cached(Context& device);
void limit_memory(Context& device, double fraction);  // of the device's
MemoryStats memory_stats(Context& device);
void reset_peaks(Context& device);

}  // namespace ember::opencl
