// Finds devices, opens them, and waits for them.
#include "opencl/device.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "check.h"
#include "opencl/fault.h"
#include "opencl/pocl.h"
#include "runtime.h"

namespace ember::opencl {

namespace {

constexpr int kStreams = 32, kFlushEvery = 16;
constexpr int64_t kMostSent = int64_t(256) << 20;

struct Devices {  // never freed: tensors may outlive everything
  std::vector<Handle> handles;
  std::unique_ptr<Context> contexts[kMostDevices];
  int next_stream[kMostDevices] = {};
};
Devices* found = nullptr;
thread_local int current = 0, selected = -1;
// The chosen stream of each device, as far as some were: an array of all would take much of the
// thread-local memory that the libraries of a process share (see EMBER_FAST_TLS).
thread_local std::vector<Stream*> streams;

std::string text_of(Handle device, uint32_t what) {
  size_t n = 0;
  if (api().GetDeviceInfo(device, what, 0, nullptr, &n) != kSuccess || n == 0) return "";
  std::string text(n, '\0');
  api().GetDeviceInfo(device, what, n, text.data(), nullptr);
  text.resize(text.find('\0') == std::string::npos ? n : text.find('\0'));
  return text;
}

template <class T>
T number_of(Handle device, uint32_t what) {
  T value = 0;
  api().GetDeviceInfo(device, what, sizeof value, &value, nullptr);
  return value;
}

Stream& add_stream(Context& c) {
  int32_t code = kSuccess;
  Handle queue = api().CreateCommandQueue(c.context, c.device, kQueueProfiling, &code);
  checked(code, "clCreateCommandQueue");
  Stream& s = c.streams.emplace_back();
  s.device = &c;
  s.id = int(c.streams.size()) - 1;
  s.queue = queue;
  return s;
}

void open(int index) {
  auto c = std::make_unique<Context>();
  c->index = index;
  c->device = found->handles[size_t(index)];
  c->properties = properties_of(c->device);
  std::string why;
  const std::vector<Handle> all = devices(why);
  c->place = int(std::find(all.begin(), all.end(), c->device) - all.begin());
  int32_t code = kSuccess;
  c->context = api().CreateContext(nullptr, 1, &c->device, nullptr, nullptr, &code);
  checked(code, "clCreateContext");
  add_stream(*c);
  found->contexts[index] = std::move(c);
}

void check_index(int index) {
  check(index >= 0 && index < device_count(), Kind::Runtime, "there is no device 'opencl:", index,
        "'; ",
        device_count() == 1 ? "the only OpenCL device is 'opencl:0'" : "the last is 'opencl:",
        device_count() == 1 ? "" : std::to_string(device_count() - 1) + "'");
}

// Lets go of host memory whose copies are done.
void let_go(Stream& s) {
  while (!s.sent.empty()) {
    Stream::Sent& first = s.sent.front();
    int32_t status = 1;
    api().GetEventInfo(first.event, kEventStatus, sizeof status, &status, nullptr);
    if (status > 0) return;
    api().ReleaseEvent(first.event);
    s.sent_bytes -= first.bytes;
    s.sent.pop_front();
  }
}

}  // namespace

std::vector<Handle> devices(std::string& why) {
  if (forked()) {
    why = "this process was forked from one that had opened the OpenCL loader";
    return {};
  }
  if (!api().GetPlatformIDs) {
    why = "no OpenCL loader is open";
    return {};
  }
  uint32_t n = 0;
  int32_t code = api().GetPlatformIDs(0, nullptr, &n);
  if (code != kSuccess || n == 0) {
    why = std::string("the OpenCL loader knows no platform (") + error_name(code) + ")";
    return {};
  }
  std::vector<Handle> platforms(n), all;
  api().GetPlatformIDs(n, platforms.data(), nullptr);
  for (Handle platform : platforms) {
    uint32_t count = 0;
    if (api().GetDeviceIDs(platform, kDeviceTypeAll, 0, nullptr, &count) != kSuccess) continue;
    std::vector<Handle> some(count);
    if (count) api().GetDeviceIDs(platform, kDeviceTypeAll, count, some.data(), nullptr);
    for (Handle device : some) {
      if (text_of(device, kDeviceVersion).starts_with("OpenCL 3.0 PoCL") &&
          text_of(device, kDriverVersion).starts_with("3.0"))
        name_processor(device);
    }
    all.insert(all.end(), some.begin(), some.end());
  }
  if (all.empty()) why = "the OpenCL platforms have no device";
  std::stable_partition(all.begin(), all.end(), [](Handle device) {
    return (number_of<uint64_t>(device, kDeviceType) & kDeviceTypeCpu) == 0;
  });
  return all;
}

Properties properties_of(Handle device) {
  Properties p;
  p.name = text_of(device, kDeviceName);
  p.vendor = text_of(device, kDeviceVendor);
  p.version = text_of(device, kDeviceVersion);
  p.driver = text_of(device, kDriverVersion);
  p.extensions = text_of(device, kDeviceExtensions);
  Handle platform = number_of<Handle>(device, kDevicePlatform);
  size_t n = 0;
  if (platform && !api().GetPlatformInfo(platform, kPlatformName, 0, nullptr, &n) && n) {
    p.platform.resize(n);
    api().GetPlatformInfo(platform, kPlatformName, n, p.platform.data(), nullptr);
    p.platform.resize(n - 1);
  }
  p.type = number_of<uint64_t>(device, kDeviceType);
  p.memory = number_of<uint64_t>(device, kDeviceGlobalMemSize);
  p.largest_buffer = number_of<uint64_t>(device, kDeviceMaxMemAllocSize);
  p.local_memory = number_of<uint64_t>(device, kDeviceLocalMemSize);
  p.compute_units = number_of<uint32_t>(device, kDeviceMaxComputeUnits);
  p.group_size = number_of<size_t>(device, kDeviceMaxWorkGroupSize);
  // The variable lets tests see what happens on devices without double.
  const char* no_double = std::getenv("EMBER_OPENCL_NO_DOUBLE");
  p.has_double = number_of<uint64_t>(device, kDeviceDoubleConfig) != 0 &&
                 !(no_double && std::string_view(no_double) == "1");
  p.vector_bytes = 4 * std::max(1u, number_of<uint32_t>(device, kDeviceNativeVectorWidthFloat));
  // PoCL tells of the processor's registers, and compiles for the youngest that its LLVM knows,
  // whose name its version ends in: AMD's before the fourth Zen have none of 64 bytes.
  for (const char* name : {"-znver1", "-znver2", "-znver3"})
    if (p.version.ends_with(name)) p.vector_bytes = std::min(p.vector_bytes, 32u);
  // Where local memory is main memory, as on CPUs, groups of one item that use long vectors are
  // faster than many items that share. The variable lets one device run the kernels of both kinds.
  p.staged = number_of<uint32_t>(device, kDeviceLocalMemType) == kLocalMemory;
  if (const char* text = std::getenv("EMBER_OPENCL_STAGED")) p.staged = *text == '1';
  p.has_long_atomics = p.extensions.find("cl_khr_int64_base_atomics") != std::string::npos;
  return p;
}

void use_devices(const std::vector<Handle>& devices) {
  check_not_forked();
  if (found) return;
  auto* all = new Devices;
  all->handles = devices;
  if (all->handles.size() > kMostDevices) all->handles.resize(kMostDevices);
  found = all;
}

bool in_use() { return found != nullptr; }
int device_count() { return found ? int(found->handles.size()) : 0; }

void check_not_forked() {
  check(!forked(), Kind::Runtime,
        "Cannot use an OpenCL device in a process that was forked after the OpenCL loader was "
        "opened; start it with the 'spawn' method, or keep tensors of worker processes on the CPU");
}

int current_device() { return current; }
void set_current_device(int index) {
  check_index(index);
  current = index;
  selected = -1;
}
void select(int index) { selected = index; }

Context& context(int index) {
  internal_check(found != nullptr, "no OpenCL device was opened");
  check_not_forked();
  if (__builtin_expect(index < 0 || index >= device_count(), 0)) check_index(index);
  if (__builtin_expect(!found->contexts[index], 0)) open(index);
  return *found->contexts[index];
}
Context& context() { return context(selected >= 0 ? selected : current); }

std::vector<Context*> opened() {
  std::vector<Context*> all;
  for (int i = 0; i < device_count(); i++)
    if (found->contexts[i]) all.push_back(found->contexts[i].get());
  return all;
}

Stream& current_stream(Context& device) {
  const size_t place = size_t(device.index);
  Stream* s = place < streams.size() ? streams[place] : nullptr;
  return s ? *s : device.streams.front();
}
Stream& stream() { return current_stream(context()); }
void set_current_stream(Stream& s) {
  const size_t place = size_t(s.device->index);
  if (place >= streams.size()) streams.resize(place + 1);
  streams[place] = &s;
}

Stream& next_stream(Context& c) {
  int& next = found->next_stream[c.index];
  next = next % kStreams + 1;
  return size_t(next) < c.streams.size() ? c.streams[size_t(next)] : add_stream(c);
}

void enqueued(Stream& s) {
  s.busy = true;
  if (++s.unflushed < kFlushEvery) return;
  s.unflushed = 0;
  api().Flush(s.queue);
}

void keep(Stream& s, Handle event, const Tensor& host) {
  api().Flush(s.queue);
  const int64_t bytes = host.numel() * host.item_size();
  s.sent.push_back({event, std::make_unique<Pin>(host.storage()), bytes});
  s.sent_bytes += bytes;
  let_go(s);
  if (s.sent_bytes < kMostSent) return;
  {
    Unlocked free(true);
    checked(api().Finish(s.queue), "clFinish");
  }
  let_go(s);
}

void wait_for(Stream& s, Handle event, Context& device) {
  if (&device == s.device) {
    Handle marker = nullptr;
    checked(api().EnqueueMarker(s.queue, 1, &event, &marker), "clEnqueueMarkerWithWaitList");
    api().ReleaseEvent(marker);
    return enqueued(s);
  }
  Unlocked free(true);  // devices do not know of each other's events
  checked(api().WaitForEvents(1, &event), "clWaitForEvents");
}

bool is_idle(Stream& s) {
  if (!s.busy) return true;
  Handle marker = nullptr;
  checked(api().EnqueueMarker(s.queue, 0, nullptr, &marker), "clEnqueueMarkerWithWaitList");
  api().Flush(s.queue);
  int32_t status = 1;
  api().GetEventInfo(marker, kEventStatus, sizeof status, &status, nullptr);
  api().ReleaseEvent(marker);
  if (status <= 0) s.busy = false;
  return status <= 0;
}

void finish(Stream& s) {
  const bool reads = read_fault(s);
  s.device->waits++;
  s.busy = false;
  {
    Unlocked free(true);
    checked(api().Finish(s.queue), "clFinish");
  }
  let_go(s);
  if (reads) raise_fault(s);
}

void finish(Context& c) {
  std::exception_ptr failure;
  for (size_t i = 0; i < c.streams.size(); i++) try {
      finish(c.streams[i]);
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace ember::opencl
