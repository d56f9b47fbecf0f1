// Finds devices and opens the one to use.
#include "opencl/device.h"

#include <pthread.h>

#include <cstdlib>
#include <string_view>

#include "check.h"

namespace ember::opencl {

namespace {

Context* current = nullptr;  // never freed: tensors may outlive everything
bool forked = false;

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

}  // namespace

std::vector<Handle> devices(std::string& why) {
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
    all.insert(all.end(), some.begin(), some.end());
  }
  if (all.empty()) why = "the OpenCL platforms have no device";
  return all;
}

Properties properties_of(Handle device) {
  Properties p;
  p.name = text_of(device, kDeviceName);
  p.vendor = text_of(device, kDeviceVendor);
  p.version = text_of(device, kDeviceVersion);
  p.driver = text_of(device, kDriverVersion);
  p.extensions = text_of(device, kDeviceExtensions);
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
  p.has_long_atomics = p.extensions.find("cl_khr_int64_base_atomics") != std::string::npos;
  return p;
}

void use_device(Handle device) {
  if (current) return;
  auto* c = new Context;
  c->device = device;
  c->properties = properties_of(device);
  int32_t code = kSuccess;
  c->context = api().CreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
  checked(code, "clCreateContext");
  c->queue = api().CreateCommandQueue(c->context, device, kQueueProfiling, &code);
  checked(code, "clCreateCommandQueue");
  current = c;
  pthread_atfork(nullptr, nullptr, [] { forked = true; });
}

bool in_use() { return current != nullptr; }

const Context& context() {
  internal_check(current != nullptr, "no OpenCL device was opened");
  check(!forked, Kind::Runtime,
        "Cannot use an OpenCL device in a forked process; start it with the 'spawn' method, or "
        "keep tensors of worker processes on the CPU");
  return *current;
}

void finish() { checked(api().Finish(context().queue), "clFinish"); }

}  // namespace ember::opencl
