// Opens an OpenCL loader and fills the table of its functions.
#include "opencl/loader.h"

#include <dlfcn.h>
#include <pthread.h>

#include "check.h"

namespace ember::opencl {

namespace {
Api table;
bool is_forked = false;
}  // namespace

const Api& api() { return table; }
bool forked() { return is_forked; }

bool open_api(const std::string& path, std::string& why) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    why = dlerror();
    return false;
  }
  auto find = [&](auto& slot, const char* name) {
    slot = reinterpret_cast<std::remove_reference_t<decltype(slot)>>(dlsym(library, name));
    if (!slot && why.empty()) why = path + " has no function " + name;
  };
  why.clear();
  Api opened;  // the table stays as it is unless all is found
#define EMBER_CL(name) find(opened.name, "cl" #name)
  EMBER_CL(GetPlatformIDs);
  EMBER_CL(GetPlatformInfo);
  EMBER_CL(GetDeviceIDs);
  EMBER_CL(GetDeviceInfo);
  EMBER_CL(CreateContext);
  EMBER_CL(CreateCommandQueue);
  EMBER_CL(CreateBuffer);
  EMBER_CL(ReleaseMemObject);
  EMBER_CL(CreateProgramWithSource);
  EMBER_CL(CreateProgramWithBinary);
  EMBER_CL(BuildProgram);
  EMBER_CL(GetProgramInfo);
  EMBER_CL(GetProgramBuildInfo);
  EMBER_CL(ReleaseProgram);
  EMBER_CL(CreateKernel);
  EMBER_CL(SetKernelArg);
  EMBER_CL(EnqueueNDRangeKernel);
  EMBER_CL(EnqueueReadBuffer);
  EMBER_CL(EnqueueWriteBuffer);
  EMBER_CL(EnqueueCopyBuffer);
  find(opened.EnqueueMarker, "clEnqueueMarkerWithWaitList");
  EMBER_CL(WaitForEvents);
  EMBER_CL(GetEventInfo);
  EMBER_CL(GetEventProfilingInfo);
  EMBER_CL(ReleaseEvent);
  EMBER_CL(Flush);
  EMBER_CL(Finish);
#undef EMBER_CL
  // A driver starts threads as soon as it is asked for devices, and a child has none of them.
  static const int once = pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
  (void)once;
  if (why.empty()) table = opened;
  return why.empty();
}

const char* error_name(int32_t code) {
  switch (code) {
    case 0: return "CL_SUCCESS";
    case -1: return "CL_DEVICE_NOT_FOUND";
    case -2: return "CL_DEVICE_NOT_AVAILABLE";
    case -3: return "CL_COMPILER_NOT_AVAILABLE";
    case -4: return "CL_MEM_OBJECT_ALLOCATION_FAILURE";
    case -5: return "CL_OUT_OF_RESOURCES";
    case -6: return "CL_OUT_OF_HOST_MEMORY";
    case -7: return "CL_PROFILING_INFO_NOT_AVAILABLE";
    case -11: return "CL_BUILD_PROGRAM_FAILURE";
    case -14: return "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST";
    case -30: return "CL_INVALID_VALUE";
    case -36: return "CL_INVALID_COMMAND_QUEUE";
    case -38: return "CL_INVALID_MEM_OBJECT";
    case -42: return "CL_INVALID_BINARY";
    case -46: return "CL_INVALID_KERNEL_NAME";
    case -49: return "CL_INVALID_ARG_INDEX";
    case -50: return "CL_INVALID_ARG_VALUE";
    case -51: return "CL_INVALID_ARG_SIZE";
    case -52: return "CL_INVALID_KERNEL_ARGS";
    case -54: return "CL_INVALID_WORK_GROUP_SIZE";
    case -61: return "CL_INVALID_BUFFER_SIZE";
    case -1001: return "CL_PLATFORM_NOT_FOUND_KHR";
    default: return "an unknown error";
  }
}

void checked(int32_t code, const char* what) {
  if (__builtin_expect(code != kSuccess, 0))
    fail(Kind::Runtime, "OpenCL: ", what, " failed with ", error_name(code), " (", code, ")");
}

}  // namespace ember::opencl
