// The program cache. A file on disk is named by a hash of source, device, driver and options, and
// appears by renaming, so that processes may share the directory; what is damaged is not used.
#include "opencl/program.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <vector>

#include "check.h"
#include "opencl/sources.h"
#include "runtime.h"

namespace ember::opencl {

namespace {

struct Programs {
  std::mutex mutex;
  std::unordered_map<std::string, Handle> programs[kMostDevices];                  // by source
  std::unordered_map<std::string, std::unique_ptr<Kernel>> kernels[kMostDevices];  // and name
  std::string directory;
  BuildCounts counts;
};
Programs& programs() {
  static Programs& instance = *new Programs;
  return instance;
}

std::string options(const Context& c) {
  return c.properties.has_double ? "-w -cl-std=CL1.2 -DEMBER_DOUBLE=1" : "-w -cl-std=CL1.2";
}

uint64_t hash(const char* data, size_t size, uint64_t seed) {  // FNV-1a
  uint64_t h = 14695981039346656037ull ^ seed;
  for (size_t i = 0; i < size; i++) h = (h ^ (unsigned char)data[i]) * 1099511628211ull;
  return h;
}

// A file is this, then the binary. What does not fit together is not used: drivers may crash on a
// binary that is cut short.
struct Header {
  char magic[8] = {'e', 'm', 'b', 'e', 'r', 'c', 'l', '1'};
  uint64_t key[2] = {}, size = 0, sum = 0;
};

Header header_of(const Context& c, const std::string& source) {
  const Properties& p = c.properties;
  const std::string key = p.platform + '\n' + p.vendor + '\n' + p.name + '\n' + p.version + '\n' +
                          p.driver + '\n' + options(c) + '\n' + source;
  Header h;
  h.key[0] = hash(key.data(), key.size(), 0);
  h.key[1] = hash(key.data(), key.size(), 0x9e3779b97f4a7c15ull);
  return h;
}

std::string file_of(const std::string& directory, const Header& h) {
  char name[48];
  std::snprintf(name, sizeof name, "%016llx%016llx.bin", (unsigned long long)h.key[0],
                (unsigned long long)h.key[1]);
  return directory + "/" + name;
}

bool build(const Context& c, Handle program) {
  return api().BuildProgram(program, 1, &c.device, options(c).c_str(), nullptr, nullptr) ==
         kSuccess;
}

Handle load(const Context& c, const std::string& path, const Header& want) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return nullptr;
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  Header h;
  if (bytes.size() <= sizeof h) return nullptr;
  std::memcpy(&h, bytes.data(), sizeof h);
  size_t size = bytes.size() - sizeof h;
  const char* start = bytes.data() + sizeof h;
  if (std::memcmp(h.magic, want.magic, sizeof h.magic) || h.key[0] != want.key[0] ||
      h.key[1] != want.key[1] || h.size != size || h.sum != hash(start, size, 0))
    return nullptr;
  auto* data = reinterpret_cast<const unsigned char*>(start);
  int32_t status = 0, code = 0;
  Handle program =
      api().CreateProgramWithBinary(c.context, 1, &c.device, &size, &data, &status, &code);
  if (code != kSuccess || !program) return nullptr;
  if (status == kSuccess && build(c, program)) return program;
  api().ReleaseProgram(program);
  return nullptr;
}

void save(Handle program, const std::string& path, Header h) {
  size_t size = 0;
  if (api().GetProgramInfo(program, kProgramBinarySizes, sizeof size, &size, nullptr) || !size)
    return;
  std::vector<char> bytes(size);
  char* data = bytes.data();
  if (api().GetProgramInfo(program, kProgramBinaries, sizeof data, &data, nullptr)) return;
  h.size = size;
  h.sum = hash(data, size, 0);
  std::string temporary = path + "." + std::to_string(getpid());
  {
    std::ofstream file(temporary, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&h), sizeof h);
    file.write(data, std::streamsize(size));
    if (!file.flush()) {
      std::remove(temporary.c_str());
      return;  // a full or read-only disk costs a build next time, nothing else
    }
  }
  if (std::rename(temporary.c_str(), path.c_str())) std::remove(temporary.c_str());
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

Handle program_of(Programs& p, const Context& c, const std::string& source) {
  Handle& program = p.programs[c.index][source];
  if (program) return program;
  const std::string whole = std::string(sources::common) + source;
  const Header header = header_of(c, whole);
  const std::string path = p.directory.empty() ? "" : file_of(p.directory, header);
  if (!path.empty()) program = load(c, path, header);
  if (program) {
    p.counts.loaded++;
    return program;
  }
  program = compile(c, whole);
  p.counts.built++;
  if (!path.empty()) save(program, path, header);
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
  made->handle = api().CreateKernel(program_of(p, device, source), name, &code);
  checked(code, "clCreateKernel");
  made->name = name;
  known = std::move(made);
  return known.get();
}

void set_cache_directory(const std::string& path) {
  Programs& p = programs();
  Unlocked free(true);
  std::lock_guard lock(p.mutex);
  p.directory = path;
}

BuildCounts build_counts() {
  Programs& p = programs();
  Unlocked free(true);
  std::lock_guard lock(p.mutex);
  return p.counts;
}

}  // namespace ember::opencl
