// Copies between host and device.
#include "opencl/transfer.h"

#include <cstring>

#include "opencl/fault.h"
#include "opencl/launch.h"
#include "runtime.h"

namespace ember::opencl {

namespace {

// What is smaller is copied aside, so that the host need not wait for the queue.
constexpr int64_t kStaged = int64_t(4) << 20;

size_t bytes_of(const Tensor& t) { return size_t(t.numel() * t.item_size()); }
size_t start_of(const Tensor& t) { return size_t(t.offset() * t.item_size()); }
Stream& stream_for(const Tensor& t) { return current_stream(*block_of(t)->stream->device); }

}  // namespace

void copy_bytes(const Block& to, const Block& from, int64_t bytes) {
  Stream& s = current_stream(*to.stream->device);
  checked(api().EnqueueCopyBuffer(s.queue, from.buffer, to.buffer, 0, 0, size_t(bytes), 0, nullptr,
                                  nullptr),
          "clEnqueueCopyBuffer");
  enqueued(s);
}

void write(const Tensor& to, const void* from) {
  const size_t bytes = bytes_of(to);
  if (int64_t(bytes) <= kStaged) {
    Tensor aside = empty({int64_t(bytes)}, Dtype::UInt8);
    std::memcpy(aside.data(), from, bytes);
    return write_later(to, aside);
  }
  check_not_forked();
  Stream& s = stream_for(to);
  const Handle buffer = block_of(to)->buffer;
  s.device->waits++;
  Unlocked free(true);
  checked(
      api().EnqueueWriteBuffer(s.queue, buffer, 1, start_of(to), bytes, from, 0, nullptr, nullptr),
      "clEnqueueWriteBuffer");
}

void read(void* to, const Tensor& from) {
  check_not_forked();
  Stream& s = stream_for(from);
  const bool reports = read_fault(s);
  s.device->waits++;
  const Handle buffer = block_of(from)->buffer;
  const size_t bytes = bytes_of(from), start = start_of(from);
  {
    Unlocked free(true);
    checked(api().EnqueueReadBuffer(s.queue, buffer, 1, start, bytes, to, 0, nullptr, nullptr),
            "clEnqueueReadBuffer");
  }
  if (reports) raise_fault(s);
}

void write_later(const Tensor& to, const Tensor& host) {
  check_not_forked();
  Stream& s = stream_for(to);
  Handle event = nullptr;
  checked(api().EnqueueWriteBuffer(s.queue, block_of(to)->buffer, 0, start_of(to), bytes_of(to),
                                   host.data(), 0, nullptr, &event),
          "clEnqueueWriteBuffer");
  enqueued(s);
  keep(s, event, host);
}

void read_later(const Tensor& host, const Tensor& from) {
  check_not_forked();
  Stream& s = stream_for(from);
  Handle event = nullptr;
  checked(api().EnqueueReadBuffer(s.queue, block_of(from)->buffer, 0, start_of(from),
                                  bytes_of(from), host.data(), 0, nullptr, &event),
          "clEnqueueReadBuffer");
  enqueued(s);
  keep(s, event, host);
}

}  // namespace ember::opencl
