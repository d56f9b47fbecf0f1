// The OpenCL devices that ember computes on: their contexts, their streams (in-order queues) and
// what they can do. A thread has a current device, as users choose it, and a selected one: that of
// the tensors at hand, which backend_of() names before each primitive.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "opencl/loader.h"
#include "tensor/tensor.h"

namespace ember::opencl {

struct Block;

struct Properties {
  std::string name, vendor, platform, version, driver, extensions;
  uint64_t type = 0, memory = 0, largest_buffer = 0, local_memory = 0;
  uint32_t compute_units = 0;
  size_t group_size = 0;
  bool has_double = false, has_long_atomics = false;
  uint32_t vector_bytes = 16;  // of a register, as the device likes vectors
  bool staged = true;          // kernels stage what they share in local memory (see properties_of)
};

struct Context;
constexpr int kMostDevices = 64, kSizeClasses = 256;  // classes: see memory.cpp

// An in-order queue. Streams live for ever: there are few, and handed out again.
struct Stream {
  struct Sent {  // a copy under way, and the host memory it needs
    Handle event;
    std::unique_ptr<Pin> memory;  // not the tensor, which may be resized or get another storage
    int64_t bytes;
  };
  Context* device = nullptr;
  int id = 0;  // 0 is the device's default stream
  Handle queue = nullptr;
  Block* free[kSizeClasses] = {};  // memory that this stream may use again
  std::deque<Sent> sent;
  int64_t sent_bytes = 0;
  int unflushed = 0;      // commands since the last flush
  bool busy = false;      // commands since the last wait
  Handle cell = nullptr;  // what kernels found wrong, see fault.h ...
  bool unread = false;    // ... perhaps, since it was last read ...
  int64_t fault[4] = {};  // ... to here
};

struct Context {
  int index = 0, place = 0;  // among ember's devices, and in the list of all
  Handle device = nullptr, context = nullptr;
  Properties properties;
  std::deque<Stream> streams;
  int64_t waits = 0;  // how often the host waited for it
};

// The devices of all platforms, GPUs first; empty (and `why` says more) if there are none.
std::vector<Handle> devices(std::string& why);
Properties properties_of(Handle device);
// Makes these ember's devices 0, 1 ...; once per process. They are opened when they are needed.
void use_devices(const std::vector<Handle>& devices);
bool in_use();
int device_count();
void check_not_forked();

int current_device();
void set_current_device(int index);
void select(int index);
// The selected device, or another. Raises in a forked process.
Context& context();
Context& context(int index);
std::vector<Context*> opened();  // so far

// The stream that work of this thread joins, on the selected device or another.
Stream& stream();
Stream& current_stream(Context& device);
void set_current_stream(Stream& stream);
// One of the streams beside the default one, in turn.
Stream& next_stream(Context& device);

// Call after each command. Wants the driver to start, now and then.
void enqueued(Stream& stream);
// Keeps host memory until a copy is done.
void keep(Stream& stream, Handle event, const Tensor& host);
// What follows in the stream waits for an event of that device.
void wait_for(Stream& stream, Handle event, Context& device);
bool is_idle(Stream& stream);
// Waits for everything in a stream, or on a device; raises what kernels reported.
void finish(Stream& stream);
void finish(Context& device);

}  // namespace ember::opencl
