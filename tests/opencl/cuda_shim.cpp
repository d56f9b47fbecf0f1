// An OpenCL loader with one device that compiles kernels as CUDA C (with cuda_shim.h) by the host's
// compiler and runs them on the CPU, at once. So everything that runs on OpenCL runs the CUDA
// branch of the same kernels. Buffers have guards at both ends, which must not change.
// SHIM_DIRECTORY: a directory for what is compiled, with cuda_fp16.h. SHIM_COMPILER: the compiler.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <functional>
#include <regex>
#include <string>
#include <vector>

using Handle = void*;

namespace {

constexpr size_t kGuard = 256;
constexpr char kMark = 0x5a;

struct Buffer {
  void* data;
  size_t size;
};
struct Program {
  std::string text;
};
struct Kernel {
  void (*run)(void**, size_t, unsigned);
  std::vector<std::vector<char>> args;
};
int device, context;

int32_t answer(const void* value, size_t size, size_t room, void* to, size_t* needed) {
  if (needed) *needed = size;
  if (to && room < size) return -30;
  if (to) memcpy(to, value, size);
  return 0;
}
int32_t number(uint64_t value, size_t room, void* to, size_t* needed) {
  return answer(&value, room < 8 ? room : 8, room, to, needed);
}
int32_t text(const std::string& value, size_t room, void* to, size_t* needed) {
  return answer(value.c_str(), value.size() + 1, room, to, needed);
}
Handle event() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return new uint64_t(uint64_t(t.tv_sec) * 1000000000 + uint64_t(t.tv_nsec));
}
int32_t done(Handle* out) {
  if (out) *out = event();
  return 0;
}

}  // namespace

extern "C" {

int32_t clGetPlatformIDs(uint32_t n, Handle* out, uint32_t* count) {
  if (count) *count = 1;
  if (out && n) *out = &context;
  return 0;
}
int32_t clGetPlatformInfo(Handle, uint32_t, size_t room, void* to, size_t* needed) {
  return text("shim", room, to, needed);
}
int32_t clGetDeviceIDs(Handle, uint64_t, uint32_t n, Handle* out, uint32_t* count) {
  if (count) *count = 1;
  if (out && n) *out = &device;
  return 0;
}
int32_t clGetDeviceInfo(Handle, uint32_t what, size_t room, void* to, size_t* needed) {
  switch (what) {
    case 0x1000: return number(4, room, to, needed);          // a GPU
    case 0x1002: return number(4, room, to, needed);          // compute units
    case 0x1004: return number(256, room, to, needed);        // work-group size
    case 0x1010: return number(1 << 30, room, to, needed);    // largest buffer
    case 0x101F: return number(4ll << 30, room, to, needed);  // memory
    case 0x1022: return number(1, room, to, needed);          // local memory is its own
    case 0x1023: return number(48 << 10, room, to, needed);   // local memory
    case 0x1032: return number(63, room, to, needed);         // double
    case 0x103A: return number(1, room, to, needed);          // vector width
    case 0x102B:
    case 0x102C:
    case 0x102D:
    case 0x102F: return text("CUDA on the CPU", room, to, needed);
    case 0x1030: return text("cl_khr_fp64 cl_khr_int64_base_atomics", room, to, needed);
    default: return number(0, room, to, needed);
  }
}
Handle clCreateContext(const intptr_t*, uint32_t, const Handle*, void*, void*, int32_t* code) {
  return *code = 0, &context;
}
Handle clCreateCommandQueue(Handle, Handle, uint64_t, int32_t* code) { return *code = 0, new int; }
int32_t clReleaseCommandQueue(Handle) { return 0; }

Handle clCreateBuffer(Handle, uint64_t, size_t size, void*, int32_t* code) {
  char* memory = static_cast<char*>(malloc(size + 2 * kGuard));
  memset(memory, kMark, size + 2 * kGuard);
  return *code = 0, new Buffer{memory + kGuard, size};
}
int32_t clReleaseMemObject(Handle handle) {
  auto* b = static_cast<Buffer*>(handle);
  char* memory = static_cast<char*>(b->data) - kGuard;
  for (size_t i = 0; i < kGuard; i++)
    if (memory[i] != kMark || memory[kGuard + b->size + i] != kMark) {
      fprintf(stderr, "shim: a kernel wrote outside of a buffer of %zu bytes\n", b->size);
      abort();
    }
  free(memory);
  delete b;
  return 0;
}

Handle clCreateProgramWithSource(Handle, uint32_t, const char** texts, const size_t* sizes,
                                 int32_t* code) {
  return *code = 0, new Program{std::string(texts[0], sizes[0])};
}
Handle clCreateProgramWithBinary(Handle, uint32_t, const Handle*, const size_t*,
                                 const unsigned char**, int32_t* status, int32_t* code) {
  return *status = *code = -42, nullptr;
}
int32_t clBuildProgram(Handle, uint32_t, const Handle*, const char*, void*, void*) { return 0; }
int32_t clGetProgramInfo(Handle, uint32_t, size_t room, void* to, size_t* needed) {
  return number(0, room, to, needed);
}
int32_t clGetProgramBuildInfo(Handle, Handle, uint32_t, size_t room, void* to, size_t* needed) {
  return text("", room, to, needed);
}
int32_t clReleaseProgram(Handle) { return 0; }

// Compiled here, where the name is known.
Handle clCreateKernel(Handle program, const char* name, int32_t* code) {
  // A pointer to shared memory is a pointer; only variables say where they are.
  std::string source = std::regex_replace(static_cast<Program*>(program)->text,
                                          std::regex("\\bLOCAL (const )?(\\w+)\\*"), "$1$2*");
  const size_t at = source.find("#define BARRIER()"), rest = source.find("typedef", at);
  const bool barriers = source.find("BARRIER", rest) != std::string::npos;
  source +=
      "\nextern \"C\" void shim_run(void** args, size_t blocks, unsigned threads) {\n"
      "  shim::call(&" +
      std::string(name) + ", args, blocks, threads, " + (barriers ? "true" : "false") + ");\n}\n";
  const char* directory = getenv("SHIM_DIRECTORY");
  const char* compiler = getenv("SHIM_COMPILER");
  const std::string base = std::string(directory ? directory : "/tmp") + "/" + name + "_" +
                           std::to_string(std::hash<std::string>()(source));
  FILE* file = fopen((base + ".cpp").c_str(), "w");
  fwrite(source.data(), 1, source.size(), file);
  fclose(file);
  const std::string command = std::string(compiler ? compiler : "c++") +
                              " -std=c++17 -O1 -w -fpermissive -shared -fPIC -I" + directory +
                              " -o " + base + ".so " + base + ".cpp";
  void* library = system(command.c_str()) ? nullptr : dlopen((base + ".so").c_str(), RTLD_NOW);
  void* run = library ? dlsym(library, "shim_run") : nullptr;
  if (!run) return *code = -46, nullptr;
  return *code = 0, new Kernel{reinterpret_cast<void (*)(void**, size_t, unsigned)>(run), {}};
}
int32_t clReleaseKernel(Handle) { return 0; }
int32_t clSetKernelArg(Handle kernel, uint32_t i, size_t size, const void* data) {
  auto& args = static_cast<Kernel*>(kernel)->args;
  if (args.size() <= i) args.resize(i + 1);
  const char* bytes = static_cast<const char*>(data);
  args[i].assign(size, 0);
  if (bytes) memcpy(args[i].data(), bytes, size);
  return 0;
}
int32_t clEnqueueNDRangeKernel(Handle, Handle kernel, uint32_t, const size_t*, const size_t* global,
                               const size_t* local, uint32_t, const Handle*, Handle* out) {
  if (*local > 256 || *global % *local) return -54;
  auto* k = static_cast<Kernel*>(kernel);
  std::vector<void*> args;
  for (auto& a : k->args) args.push_back(a.data());
  k->run(args.data(), *global / *local, unsigned(*local));
  return done(out);
}

int32_t clEnqueueReadBuffer(Handle, Handle buffer, uint32_t, size_t at, size_t size, void* to,
                            uint32_t, const Handle*, Handle* out) {
  memcpy(to, static_cast<char*>(static_cast<Buffer*>(buffer)->data) + at, size);
  return done(out);
}
int32_t clEnqueueWriteBuffer(Handle, Handle buffer, uint32_t, size_t at, size_t size,
                             const void* from, uint32_t, const Handle*, Handle* out) {
  memcpy(static_cast<char*>(static_cast<Buffer*>(buffer)->data) + at, from, size);
  return done(out);
}
int32_t clEnqueueCopyBuffer(Handle, Handle from, Handle to, size_t from_at, size_t to_at,
                            size_t size, uint32_t, const Handle*, Handle* out) {
  memmove(static_cast<char*>(static_cast<Buffer*>(to)->data) + to_at,
          static_cast<char*>(static_cast<Buffer*>(from)->data) + from_at, size);
  return done(out);
}
int32_t clEnqueueMarkerWithWaitList(Handle, uint32_t, const Handle*, Handle* out) {
  return done(out);
}
int32_t clWaitForEvents(uint32_t, const Handle*) { return 0; }
int32_t clGetEventInfo(Handle, uint32_t, size_t room, void* to, size_t* needed) {
  return number(0, room, to, needed);  // complete
}
int32_t clGetEventProfilingInfo(Handle event, uint32_t, size_t room, void* to, size_t* needed) {
  return number(*static_cast<uint64_t*>(event), room, to, needed);
}
int32_t clReleaseEvent(Handle event) {
  delete static_cast<uint64_t*>(event);
  return 0;
}
int32_t clFlush(Handle) { return 0; }
int32_t clFinish(Handle) { return 0; }

}  // extern "C"
