// The OpenCL API as ember uses it: opened at run time, so that nothing is linked and no header is
// needed. Types are opaque pointers; constants carry the numbers of the specification.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ember::opencl {

using Handle = void*;  // platform, device, context, queue, program, kernel, memory or event

constexpr int32_t kSuccess = 0, kDeviceNotFound = -1, kMemObjectAllocationFailure = -4,
                  kOutOfResources = -5, kOutOfHostMemory = -6, kInvalidBufferSize = -61;
constexpr uint64_t kDeviceTypeCpu = 2, kDeviceTypeAll = 0xFFFFFFFF, kMemReadWrite = 1,
                   kQueueProfiling = 2;
constexpr uint32_t kPlatformName = 0x0902, kDeviceType = 0x1000, kDeviceMaxComputeUnits = 0x1002,
                   kDeviceMaxWorkGroupSize = 0x1004, kDeviceMaxMemAllocSize = 0x1010,
                   kDeviceGlobalMemSize = 0x101F, kDeviceLocalMemSize = 0x1023,
                   kDeviceName = 0x102B, kDeviceVendor = 0x102C, kDriverVersion = 0x102D,
                   kDeviceVersion = 0x102F, kDeviceExtensions = 0x1030, kDevicePlatform = 0x1031,
                   kDeviceDoubleConfig = 0x1032, kProgramBinarySizes = 0x1165,
                   kProgramBinaries = 0x1166, kProgramBuildLog = 0x1183, kProfilingStart = 0x1282,
                   kProfilingEnd = 0x1283, kDeviceLocalMemType = 0x1022,
                   kDeviceNativeVectorWidthFloat = 0x103A, kLocalMemory = 1, kEventStatus = 0x11D3;

struct Api {
  int32_t (*GetPlatformIDs)(uint32_t, Handle*, uint32_t*);
  int32_t (*GetPlatformInfo)(Handle, uint32_t, size_t, void*, size_t*);
  int32_t (*GetDeviceIDs)(Handle, uint64_t, uint32_t, Handle*, uint32_t*);
  int32_t (*GetDeviceInfo)(Handle, uint32_t, size_t, void*, size_t*);
  Handle (*CreateContext)(const intptr_t*, uint32_t, const Handle*, void*, void*, int32_t*);
  Handle (*CreateCommandQueue)(Handle, Handle, uint64_t, int32_t*);
  Handle (*CreateBuffer)(Handle, uint64_t, size_t, void*, int32_t*);
  int32_t (*ReleaseMemObject)(Handle);
  Handle (*CreateProgramWithSource)(Handle, uint32_t, const char**, const size_t*, int32_t*);
  Handle (*CreateProgramWithBinary)(Handle, uint32_t, const Handle*, const size_t*,
                                    const unsigned char**, int32_t*, int32_t*);
  int32_t (*BuildProgram)(Handle, uint32_t, const Handle*, const char*, void*, void*);
  int32_t (*GetProgramInfo)(Handle, uint32_t, size_t, void*, size_t*);
  int32_t (*GetProgramBuildInfo)(Handle, Handle, uint32_t, size_t, void*, size_t*);
  int32_t (*ReleaseProgram)(Handle);
  Handle (*CreateKernel)(Handle, const char*, int32_t*);
  int32_t (*SetKernelArg)(Handle, uint32_t, size_t, const void*);
  int32_t (*EnqueueNDRangeKernel)(Handle, Handle, uint32_t, const size_t*, const size_t*,
                                  const size_t*, uint32_t, const Handle*, Handle*);
  int32_t (*EnqueueReadBuffer)(Handle, Handle, uint32_t, size_t, size_t, void*, uint32_t,
                               const Handle*, Handle*);
  int32_t (*EnqueueWriteBuffer)(Handle, Handle, uint32_t, size_t, size_t, const void*, uint32_t,
                                const Handle*, Handle*);
  int32_t (*EnqueueCopyBuffer)(Handle, Handle, Handle, size_t, size_t, size_t, uint32_t,
                               const Handle*, Handle*);
  int32_t (*EnqueueMarker)(Handle, uint32_t, const Handle*, Handle*);
  int32_t (*WaitForEvents)(uint32_t, const Handle*);
  int32_t (*GetEventInfo)(Handle, uint32_t, size_t, void*, size_t*);
  int32_t (*GetEventProfilingInfo)(Handle, uint32_t, size_t, void*, size_t*);
  int32_t (*ReleaseEvent)(Handle);
  int32_t (*Flush)(Handle);
  int32_t (*Finish)(Handle);
};

// Opens the library at `path`; false, with the reason, if that cannot be done.
bool open_api(const std::string& path, std::string& why);
const Api& api();  // after open_api
bool forked();     // from a process in which it was open

inline bool is_out_of_memory(int32_t code) {
  return code == kMemObjectAllocationFailure || code == kOutOfResources || code == kOutOfHostMemory;
}
// "CL_OUT_OF_RESOURCES"
const char* error_name(int32_t code);
// Raises a RuntimeError that says which call failed, and how.
void checked(int32_t code, const char* what);

}  // namespace ember::opencl
