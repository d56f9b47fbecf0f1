// Programs and kernels, by their text: of this process, from disk (disk.h), or built.
#include "opencl/program.h"

#include <memory>
#include <unordered_map>
#include <vector>

#include "check.h"
#include "opencl/build_log.h"
#include "opencl/disk.h"
#include "opencl/sources.h"
#include "runtime.h"

namespace ember::opencl {

namespace {

struct Programs {
  std::mutex mutex;
  std::unordered_map<std::string, Handle> programs[kMostDevices];                  // by source
  std::unordered_map<std::string, std::unique_ptr<Kernel>> kernels[kMostDevices];  // and name
  DiskCache disk;
  BuildCounts counts;
};
Programs& programs() {
  static Programs& instance = *new Programs;
  return instance;
}

std::string options(const Context& c) {
  return c.properties.has_double ? "-w -cl-std=CL1.2 -DEMBER_DOUBLE=1" : "-w -cl-std=CL1.2";
}

// What a binary depends on.
std::string key_of(const Context& c, const std::string& source) {
  const Properties& p = c.properties;
  return p.platform + '\n' + p.vendor + '\n' + p.name + '\n' + p.version + '\n' + p.driver + '\n' +
         options(c) + '\n' + source;
}

bool build(const Context& c, Handle program) {
  return api().BuildProgram(program, 1, &c.device, options(c).c_str(), nullptr, nullptr) ==
         kSuccess;
}

Handle load(const Context& c, const std::vector<char>& binary) {
  if (binary.empty()) return nullptr;
  const size_t size = binary.size();
  auto* data = reinterpret_cast<const unsigned char*>(binary.data());
  int32_t status = 0, code = 0;
  Handle program =
      api().CreateProgramWithBinary(c.context, 1, &c.device, &size, &data, &status, &code);
  if (code != kSuccess || !program) return nullptr;
  if (status == kSuccess && build(c, program)) return program;
  api().ReleaseProgram(program);
  return nullptr;
}

std::vector<char> binary_of(Handle program) {
  size_t size = 0;
  if (api().GetProgramInfo(program, kProgramBinarySizes, sizeof size, &size, nullptr)) return {};
  std::vector<char> bytes(size);
  char* data = bytes.data();
  if (api().GetProgramInfo(program, kProgramBinaries, sizeof data, &data, nullptr)) return {};
  return bytes;
}

Handle compile(const Context& c, const std::string& source) {
  const char* text = source.c_str();
  size_t size = source.size();
  int32_t code = 0;
  Handle program = api().CreateProgramWithSource(c.context, 1, &text, &size, &code);
  checked(code, "clCreateProgramWithSource");
  if (build(c, program)) return program;
  size_t n = 0;
  api().GetProgramBuildInfo(program, c.device, kProgramBuildLog, 0, nullptr, &n);
  std::string log(n, '\0');
  api().GetProgramBuildInfo(program, c.device, kProgramBuildLog, n, log.data(), nullptr);
  api().ReleaseProgram(program);
  fail(Kind::Runtime, "OpenCL: a kernel does not compile on ", c.properties.name, ":\n", log);
}

Handle program_of(Programs& p, const Context& c, const std::string& source, const char* name) {
  Handle& program = p.programs[c.index][source];
  if (program) return program;
  const std::string whole = std::string(sources::common) + source;
  const std::string key = key_of(c, whole);
  const double cpu = cpu_seconds(), wall = wall_seconds();
  auto log = [&](const char* how) {
    log_build({name, c.properties.name, c.properties.platform + ' ' + c.properties.driver, how,
               cpu_seconds() - cpu, wall_seconds() - wall});
  };
  program = load(c, p.disk.find(key));
  if (program) {
    p.counts.loaded++;
    log("cached");
    return program;
  }
  program = compile(c, whole);
  p.counts.built++;
  if (std::vector<char> binary = binary_of(program); !binary.empty()) p.disk.keep(key, binary);
  log("built");
  return program;
}

}  // namespace

Kernel* kernel(Context& device, const std::string& source, const char* name) {
  Programs& p = programs();
  Unlocked free(true);  // before the lock, and until after it: nobody waits for it with the host's
  std::lock_guard lock(p.mutex);
  auto& known = p.kernels[device.index][std::string(name) + '\n' + source];
  if (known) return known.get();
  auto made = std::make_unique<Kernel>();
  int32_t code = 0;
  made->handle = api().CreateKernel(program_of(p, device, source, name), name, &code);
  checked(code, "clCreateKernel");
  made->name = name;
  known = std::move(made);
  return known.get();
}

void set_cache(const std::string& directory, int64_t most) {
  Programs& p = programs();
  Unlocked free(true);
  std::lock_guard lock(p.mutex);
  p.disk = DiskCache(directory, most);
}

BuildCounts build_counts() {
  Programs& p = programs();
  Unlocked free(true);
  std::lock_guard lock(p.mutex);
  return p.counts;
}

}  // namespace ember::opencl
