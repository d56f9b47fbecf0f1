// The caching allocator: free lists by stream and size class, four classes to each power of two.
#include "opencl/memory.h"

#include <algorithm>
#include <bit>
#include <mutex>

#include "check.h"

namespace ember::opencl {

namespace {

constexpr int64_t kSmallest = 512;

struct Waiting {  // a free block that other streams still use
  Block* block;
  std::vector<Handle> events;
};

struct Cache {
  std::mutex mutex;
  std::vector<Waiting> waiting;
  MemoryStats stats;
  int64_t limit = 0;  // of `reserved`; 0: the device's own
};
Cache& cache(int device) {  // never destroyed: tensors may be freed by destructors of statics
  static Cache* all = new Cache[kMostDevices];
  return all[device];
}

int64_t class_of(int64_t bytes) {
  if (bytes <= kSmallest) return kSmallest;
  int64_t step = int64_t(std::bit_floor(uint64_t(bytes - 1))) / 4;
  return (bytes + step - 1) / step * step;
}
// 512 -> 0, 640 -> 1, 768 -> 2, 896 -> 3, 1024 -> 4 ...
int place_of(int64_t size_class) {
  const int power = std::bit_width(uint64_t(size_class)) - 1;
  return (power - 9) * 4 + int((size_class >> (power - 2)) & 3);
}

void push(Block* block) {
  Block*& list = block->stream->free[place_of(block->bytes)];
  block->next = list;
  list = block;
}

// Blocks whose other users are done become free.
void settle(Cache& c) {
  auto done = [&](Waiting& w) {
    while (!w.events.empty()) {
      int32_t status = 1;
      api().GetEventInfo(w.events.back(), kEventStatus, sizeof status, &status, nullptr);
      if (status > 0) return false;
      api().ReleaseEvent(w.events.back());
      w.events.pop_back();
    }
    c.stats.waiting -= w.block->bytes;
    push(w.block);
    return true;
  };
  c.waiting.erase(std::remove_if(c.waiting.begin(), c.waiting.end(), done), c.waiting.end());
}

// Gives back what is cached. Commands that use a buffer keep it until they are done.
void release_all(Cache& c, Context& device) {
  settle(c);
  for (Stream& s : device.streams)
    for (Block*& list : s.free)
      while (Block* block = list) {
        list = block->next;
        api().ReleaseMemObject(block->buffer);
        c.stats.reserved -= block->bytes;
        c.stats.device_frees++;
        delete block;
      }
}

Handle new_buffer(Cache& c, Context& device, int64_t bytes) {
  // Some devices promise any amount, and fail when it is used.
  const int64_t limit = c.limit ? c.limit : int64_t(device.properties.memory);
  if (c.stats.reserved + bytes > limit) return nullptr;
  int32_t code = kSuccess;
  Handle buffer = api().CreateBuffer(device.context, kMemReadWrite, size_t(bytes), nullptr, &code);
  if (code == kSuccess) return buffer;
  if (!is_out_of_memory(code) && code != kInvalidBufferSize) checked(code, "clCreateBuffer");
  return nullptr;
}

Block* new_block(Cache& c, Context& device, int64_t bytes, int64_t wanted) {
  Handle buffer = new_buffer(c, device, bytes);
  if (!buffer && c.stats.reserved > c.stats.allocated) {
    for (Stream& s : device.streams) checked(api().Finish(s.queue), "clFinish");
    release_all(c, device);
    c.stats.retries++;
    buffer = new_buffer(c, device, bytes);
  }
  if (!buffer) {
    c.stats.out_of_memory++;
    fail(Kind::OutOfMemory, "OpenCL out of memory: tried to allocate ", wanted,
         " bytes on opencl:", device.index, " (", device.properties.name, "); of its ",
         device.properties.memory, " bytes (at most ", device.properties.largest_buffer,
         " in one piece) ", c.stats.allocated, " are in use by tensors and ",
         c.stats.reserved - c.stats.allocated, " cached",
         c.limit ? ", and a limit is set by set_per_process_memory_fraction: " : "",
         c.limit ? std::to_string(c.limit) + " bytes" : "");
  }
  c.stats.device_allocations++;
  c.stats.reserved += bytes;
  c.stats.reserved_peak = std::max(c.stats.reserved_peak, c.stats.reserved);
  return new Block{buffer, bytes, nullptr, nullptr, {}};
}

}  // namespace

Block* take_block(int64_t wanted) {
  const int64_t bytes = class_of(std::min(wanted, int64_t(1) << 60));
  Stream& s = stream();
  Cache& c = cache(s.device->index);
  std::lock_guard lock(c.mutex);
  c.stats.requests++;
  Block*& list = s.free[place_of(bytes)];
  if (!list && !c.waiting.empty()) settle(c);
  Block* block = list;
  if (block)
    list = block->next;
  else
    block = new_block(c, *s.device, bytes, wanted);
  block->stream = &s;
  c.stats.blocks++;
  c.stats.allocated += bytes;
  c.stats.allocated_peak = std::max(c.stats.allocated_peak, c.stats.allocated);
  return block;
}

void give_block(Block* block) {
  if (forked()) return;  // it is the parent's
  Cache& c = cache(block->stream->device->index);
  std::lock_guard lock(c.mutex);
  c.stats.blocks--;
  c.stats.allocated -= block->bytes;
  if (block->others.empty()) return push(block);
  Waiting w{block, {}};
  for (Stream* s : block->others) {
    Handle event = nullptr;
    if (api().EnqueueMarker(s->queue, 0, nullptr, &event) != kSuccess) continue;
    api().Flush(s->queue);
    w.events.push_back(event);
  }
  block->others.clear();
  c.stats.waiting += block->bytes;
  c.waiting.push_back(std::move(w));
}

void record_stream(Block* block, Stream& s) {
  check(s.device == block->stream->device, Kind::Runtime,
        "record_stream(): the tensor is on opencl:", block->stream->device->index,
        ", the stream on opencl:", s.device->index);
  std::lock_guard lock(cache(s.device->index).mutex);
  auto& others = block->others;
  if (&s != block->stream && std::find(others.begin(), others.end(), &s) == others.end())
    others.push_back(&s);
}

void release_cached(Context& device) {
  Cache& c = cache(device.index);
  std::lock_guard lock(c.mutex);
  for (Stream& s : device.streams) checked(api().Finish(s.queue), "clFinish");
  release_all(c, device);
}

void limit_memory(Context& device, double fraction) {
  Cache& c = cache(device.index);
  std::lock_guard lock(c.mutex);
  c.limit = fraction >= 1
                ? 0
                : std::max<int64_t>(1, int64_t(fraction * double(device.properties.memory)));
}

MemoryStats memory_stats(Context& device) {
  Cache& c = cache(device.index);
  std::lock_guard lock(c.mutex);
  return c.stats;
}

void reset_peaks(Context& device) {
  Cache& c = cache(device.index);
  std::lock_guard lock(c.mutex);
  c.stats.allocated_peak = c.stats.allocated;
  c.stats.reserved_peak = c.stats.reserved;
}

}  // namespace ember::opencl
