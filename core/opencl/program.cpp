// The program cache. A file on disk is named by a hash of source, device, driver and options, and
// appears by renaming, so that processes may share the directory.
#include "opencl/program.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "check.h"
#include "opencl/device.h"
#include "opencl/sources.h"

namespace ember::opencl {

namespace {

struct Programs {
  std::mutex mutex;
  std::unordered_map<std::string, Handle> kernels;  // by source and name
  std::string directory;
  BuildCounts counts;
};
Programs& programs() {
  static Programs& instance = *new Programs;
  return instance;
}

std::string options() {
  return context().properties.has_double ? "-w -cl-std=CL1.2 -DEMBER_DOUBLE=1" : "-w -cl-std=CL1.2";
}

uint64_t hash(const std::string& text, uint64_t seed) {  // FNV-1a
  uint64_t h = 14695981039346656037ull ^ seed;
  for (unsigned char c : text) h = (h ^ c) * 1099511628211ull;
  return h;
}

std::string file_of(const std::string& directory, const std::string& source) {
  const Properties& p = context().properties;
  std::string key = p.name + '\n' + p.version + '\n' + p.driver + '\n' + options() + '\n' + source;
  char name[48];
  std::snprintf(name, sizeof name, "%016llx%016llx.bin", (unsigned long long)hash(key, 0),
                (unsigned long long)hash(key, 0x9e3779b97f4a7c15ull));
  return directory + "/" + name;
}

bool build(Handle program) {
  const Context& c = context();
  return api().BuildProgram(program, 1, &c.device, options().c_str(), nullptr, nullptr) == kSuccess;
}

Handle load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return nullptr;
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.empty()) return nullptr;
  const Context& c = context();
  size_t size = bytes.size();
  auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  int32_t status = 0, code = 0;
  Handle program =
      api().CreateProgramWithBinary(c.context, 1, &c.device, &size, &data, &status, &code);
  if (code != kSuccess || !program) return nullptr;
  if (status == kSuccess && build(program)) return program;
  api().ReleaseProgram(program);
  return nullptr;
}

void save(Handle program, const std::string& path) {
  size_t size = 0;
  if (api().GetProgramInfo(program, kProgramBinarySizes, sizeof size, &size, nullptr) || !size)
    return;
  std::vector<char> bytes(size);
  char* data = bytes.data();
  if (api().GetProgramInfo(program, kProgramBinaries, sizeof data, &data, nullptr)) return;
  std::string temporary = path + "." + std::to_string(getpid());
  {
    std::ofstream file(temporary, std::ios::binary);
    file.write(bytes.data(), std::streamsize(size));
    if (!file.flush()) {
      std::remove(temporary.c_str());
      return;  // a full or read-only disk costs a build next time, nothing else
    }
  }
  if (std::rename(temporary.c_str(), path.c_str())) std::remove(temporary.c_str());
}

Handle compile(const std::string& source) {
  const Context& c = context();
  const char* text = source.c_str();
  size_t size = source.size();
  int32_t code = 0;
  Handle program = api().CreateProgramWithSource(c.context, 1, &text, &size, &code);
  checked(code, "clCreateProgramWithSource");
  if (build(program)) return program;
  size_t n = 0;
  api().GetProgramBuildInfo(program, c.device, kProgramBuildLog, 0, nullptr, &n);
  std::string log(n, '\0');
  api().GetProgramBuildInfo(program, c.device, kProgramBuildLog, n, log.data(), nullptr);
  api().ReleaseProgram(program);
  fail(Kind::Runtime, "OpenCL: a kernel does not compile on ", c.properties.name, ":\n", log);
}

}  // namespace

Handle kernel(const std::string& source, const char* name) {
  Programs& p = programs();
  std::lock_guard lock(p.mutex);
  std::string key = std::string(name) + '\n' + source;
  auto found = p.kernels.find(key);
  if (found != p.kernels.end()) return found->second;
  std::string whole = std::string(sources::common) + source;
  std::string path = p.directory.empty() ? "" : file_of(p.directory, whole);
  Handle program = path.empty() ? nullptr : load(path);
  if (program) {
    p.counts.loaded++;
  } else {
    program = compile(whole);
    p.counts.built++;
    if (!path.empty()) save(program, path);
  }
  int32_t code = 0;
  Handle made = api().CreateKernel(program, name, &code);
  checked(code, "clCreateKernel");
  return p.kernels[key] = made;
}

void set_cache_directory(const std::string& path) {
  Programs& p = programs();
  std::lock_guard lock(p.mutex);
  p.directory = path;
}

BuildCounts build_counts() {
  Programs& p = programs();
  std::lock_guard lock(p.mutex);
  return p.counts;
}

}  // namespace ember::opencl
