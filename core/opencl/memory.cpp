// The caching allocator: free lists by size class, four classes to each power of two.
#include "opencl/memory.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>

#include "check.h"
#include "opencl/device.h"

namespace ember::opencl {

namespace {

constexpr int64_t kSmallest = 512;

struct Cache {
  std::mutex mutex;
  std::map<int64_t, Block*> free;  // by size class
  MemoryStats stats;
  int64_t limit = 0;  // of `reserved`; 0: the device's own
};
Cache& cache() {  // never destroyed: tensors may be freed by destructors of statics
  static Cache& instance = *new Cache;
  return instance;
}

int64_t class_of(int64_t bytes) {
  if (bytes <= kSmallest) return kSmallest;
  int64_t step = int64_t(std::bit_floor(uint64_t(bytes - 1))) / 4;
  return (bytes + step - 1) / step * step;
}

void release_all(Cache& c) {
  for (auto& [bytes, list] : c.free)
    while (Block* block = list) {
      list = block->next;
      api().ReleaseMemObject(block->buffer);
      c.stats.reserved -= bytes;
      c.stats.device_frees++;
      delete block;
    }
  c.free.clear();
}

Handle new_buffer(Cache& c, int64_t bytes) {
  if (c.limit && c.stats.reserved + bytes > c.limit) return nullptr;
  int32_t code = kSuccess;
  Handle buffer =
      api().CreateBuffer(context().context, kMemReadWrite, size_t(bytes), nullptr, &code);
  if (code == kSuccess) return buffer;
  if (code != kMemObjectAllocationFailure && code != kOutOfResources && code != kOutOfHostMemory &&
      code != kInvalidBufferSize)
    checked(code, "clCreateBuffer");
  return nullptr;
}

}  // namespace

Block* take_block(int64_t wanted) {
  const int64_t bytes = class_of(wanted);
  Cache& c = cache();
  std::lock_guard lock(c.mutex);
  c.stats.requests++;
  Block* block = nullptr;
  auto list = c.free.find(bytes);
  if (list != c.free.end() && list->second) {
    block = list->second;
    list->second = block->next;
  } else {
    const Context& device = context();
    const int64_t memory = int64_t(device.properties.memory);
    // Some devices promise any amount, and fail when it is used.
    Handle buffer = c.stats.allocated + bytes > memory ? nullptr : new_buffer(c, bytes);
    if (!buffer && c.stats.reserved > c.stats.allocated) {
      api().Finish(device.queue);
      release_all(c);
      c.stats.retries++;
      buffer = new_buffer(c, bytes);
    }
    if (!buffer) {
      c.stats.out_of_memory++;
      fail(Kind::OutOfMemory, "OpenCL out of memory: tried to allocate ", wanted, " bytes on ",
           device.properties.name, "; of its ", memory, " bytes (at most ",
           device.properties.largest_buffer, " in one piece) ", c.stats.allocated,
           " are in use by tensors and ", c.stats.reserved - c.stats.allocated, " cached",
           c.limit ? ", and a limit is set by set_per_process_memory_fraction" : "");
    }
    block = new Block{buffer, bytes, nullptr};
    c.stats.device_allocations++;
    c.stats.reserved += bytes;
    c.stats.reserved_peak = std::max(c.stats.reserved_peak, c.stats.reserved);
  }
  c.stats.allocated += bytes;
  c.stats.allocated_peak = std::max(c.stats.allocated_peak, c.stats.allocated);
  return block;
}

void give_block(Block* block) {
  Cache& c = cache();
  std::lock_guard lock(c.mutex);
  Block*& list = c.free[block->bytes];
  block->next = list;
  list = block;
  c.stats.allocated -= block->bytes;
}

void release_cached() {
  finish();
  Cache& c = cache();
  std::lock_guard lock(c.mutex);
  release_all(c);
}

void limit_memory(double fraction) {
  Cache& c = cache();
  std::lock_guard lock(c.mutex);
  c.limit = fraction >= 1
                ? 0
                : std::max<int64_t>(1, int64_t(fraction * double(context().properties.memory)));
}

MemoryStats memory_stats() {
  Cache& c = cache();
  std::lock_guard lock(c.mutex);
  return c.stats;
}

void reset_peaks() {
  Cache& c = cache();
  std::lock_guard lock(c.mutex);
  c.stats.allocated_peak = c.stats.allocated;
  c.stats.reserved_peak = c.stats.reserved;
}

}  // namespace ember::opencl
