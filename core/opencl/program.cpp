// Kernels, by their text: of this process, from disk (disk.h), or built, in a process of its own
// where there is one (helper.h), else in this.
#include "opencl/program.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <unordered_map>

#include "check.h"
#include "disk.h"
#include "opencl/build_log.h"
#include "opencl/helper.h"
#include "opencl/sources.h"
#include "runtime.h"

namespace ember::opencl {

namespace {

struct Programs {
  std::mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<Kernel>> kernels[kMostDevices];
  DiskCache disk;
  BuildCounts counts;
  void (*notice)(const std::string&) = nullptr;
};
Programs& programs() {
  static Programs& instance = *new Programs;
  return instance;
}

enum class Variant { Usual, Plain };

std::string options(const Context& c, Variant variant) {
  std::string text = "-w -cl-std=CL1.2";
  if (c.properties.has_double) text += " -DEMBER_DOUBLE=1";
  if (variant == Variant::Plain) text += " -DEMBER_PLAIN=1";
  return text;
}

// The source with one kernel only, for work-groups of one size: drivers compile all that is there,
// some of them when it is first started with a size. A kernel is what stands between a line that
// begins with KERNEL and one that is a closing brace.
std::string only(const std::string& source, const std::string& name, size_t group) {
  const std::string head = "KERNEL " + name + "(";
  if (source.compare(0, head.size(), head) && source.find('\n' + head) == source.npos)
    return source;
  std::string text;
  bool skips = false;
  for (size_t at = 0; at < source.size();) {
    size_t end = source.find('\n', at);
    end = end == source.npos ? source.size() : end + 1;
    const std::string line = source.substr(at, end - at);
    at = end;
    if (line.compare(0, 7, "KERNEL ") == 0) {
      skips = line.compare(0, head.size(), head) != 0;
      if (!skips) text += "KERNEL_OF(" + std::to_string(group) + ") " + line.substr(7);
    } else if (!skips) {
      text += line;
    }
    if (skips && line == "}\n") skips = false;
  }
  return text;
}

std::string build_log_of(Handle program, Handle device) {
  size_t n = 0;
  api().GetProgramBuildInfo(program, device, kProgramBuildLog, 0, nullptr, &n);
  std::string log(n, '\0');
  api().GetProgramBuildInfo(program, device, kProgramBuildLog, n, log.data(), nullptr);
  if (const size_t end = log.find('\0'); end != log.npos) log.resize(end);
  return log;
}

Handle load(const Context& c, const std::vector<char>& binary, const std::string& options) {
  if (binary.empty()) return nullptr;
  const size_t size = binary.size();
  auto* data = reinterpret_cast<const unsigned char*>(binary.data());
  int32_t status = 0, code = 0;
  Handle program =
      api().CreateProgramWithBinary(c.context, 1, &c.device, &size, &data, &status, &code);
  if (code != kSuccess || !program) return nullptr;
  if (status == kSuccess &&
      !api().BuildProgram(program, 1, &c.device, options.c_str(), nullptr, nullptr))
    return program;
  api().ReleaseProgram(program);
  return nullptr;
}

// On a terminal, says what is being waited for while it is.
class Status {
 public:
  Status(const Properties& device, int64_t count) : shows_(isatty(STDERR_FILENO)) {
    say("\rcompiling " + std::to_string(count) + (count == 1 ? " kernel" : " kernels") + " for " +
        device.name + " (first use)\x1b[K");
  }
  ~Status() { say("\r\x1b[K"); }
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;

 private:
  void say(const std::string& text) {
    if (shows_ && write(STDERR_FILENO, text.data(), text.size()) < 0) shows_ = false;
  }
  bool shows_;
};

// Makes one kernel. What it could not do is in `why`, what the user should know in `notice`.
class Build {
 public:
  Build(Programs& p, Context& c, const std::string& source, const char* name, size_t group)
      : p_(p),
        c_(c),
        name_(name),
        group_(group),
        driver_(c.properties.platform + ' ' + c.properties.driver),
        source_(sources::common + only(source, name, group)) {}

  std::string why, notice;

  Handle make(Variant variant) {
    options_ = options(c_, variant);
    const std::string unroll = "#pragma unroll";
    for (size_t at = 0;
         variant == Variant::Plain && (at = source_.find(unroll, at)) != source_.npos;)
      source_.replace(at, unroll.size(), "#pragma nounroll");
    const std::string key = identity_of(c_.properties) + '\n' + options_ + '\n' + source_;
    cpu_ = cpu_seconds();
    wall_ = wall_seconds();
    if (const auto binary = p_.disk.find(key); !binary.empty()) {
      if (Handle kernel = kernel_of(load(c_, binary, options_))) {
        p_.counts.loaded++;
        log("cached", cpu_seconds() - cpu_);
        return kernel;
      }
      p_.disk.forget(key);  // what the driver does not take (any more) is built anew
    }
    const std::string refused = key + "\nrefused";
    if (const auto text = p_.disk.find(refused); !text.empty()) {
      // By the first line, so long was waited for it.
      const std::string known(text.begin(), text.end());
      if (helper_limits().seconds <= std::atof(known.c_str())) {
        refuse(known.substr(known.find('\n') + 1), variant, 0);
        return nullptr;
      }
    }
    Status status(c_.properties, p_.counts.built + 1);
    BuildReply reply = build_in_helper({c_.place, identity_of(c_.properties), options_, source_,
                                        name_, group_, variant == Variant::Plain});
    if (reply.outcome == BuildReply::Died && reply.lasting) {
      std::string text = std::to_string(helper_limits().seconds) + '\n' + reply.text;
      p_.disk.keep(refused, {text.begin(), text.end()});
    }
    if (reply.outcome == BuildReply::Died || reply.outcome == BuildReply::Failed) {
      refuse(reply.text, variant, reply.cpu);
      return nullptr;
    }
    Handle kernel = nullptr;
    if (reply.outcome == BuildReply::Built) kernel = kernel_of(load(c_, reply.binary, options_));
    if (!kernel) kernel = build_here(reply.binary, variant);
    if (!kernel) return nullptr;
    if (!reply.binary.empty()) p_.disk.keep(key, reply.binary);
    p_.counts.built++;
    log("built", reply.cpu + cpu_seconds() - cpu_);
    return kernel;
  }

 private:
  Handle kernel_of(Handle program) {
    int32_t code = 0;
    Handle kernel = program ? api().CreateKernel(program, name_.c_str(), &code) : nullptr;
    if (program && (code || !kernel)) api().ReleaseProgram(program);
    return code ? nullptr : kernel;
  }

  Handle build_here(std::vector<char>& binary, Variant variant) {
    Handle program = nullptr;
    try {
      program = build_program(c_.context, c_.device, source_, options_);
    } catch (const Error& error) {
      refuse(error.what(), variant, cpu_seconds() - cpu_);
      return nullptr;
    }
    binary = binary_of(program);
    Handle kernel = kernel_of(program);
    if (!kernel) refuse("the program has no such kernel after it was built", variant, 0);
    return kernel;
  }

  void refuse(const std::string& reason, Variant variant, double cpu) {
    log("refused", cpu);
    if (why.empty()) why = reason;
    if (variant == Variant::Usual)
      notice = "OpenCL: " + driver_ + " could not build kernel '" + name_ + "' for " +
               c_.properties.name + " (" + reason + "); its plain variant is used";
  }

  void log(const char* how, double cpu) {
    log_build({name_, c_.properties.name, driver_, how, cpu, wall_seconds() - wall_});
  }

  Programs& p_;
  Context& c_;
  const std::string name_;
  const size_t group_;
  const std::string driver_;
  std::string source_, options_;
  double cpu_ = 0, wall_ = 0;
};

}  // namespace

std::string identity_of(const Properties& p) {
  return p.platform + '\n' + p.vendor + '\n' + p.name + '\n' + p.version + '\n' + p.driver;
}

Handle build_program(Handle context, Handle device, const std::string& source,
                     const std::string& options) {
  const char* text = source.c_str();
  size_t size = source.size();
  int32_t code = 0;
  Handle program = api().CreateProgramWithSource(context, 1, &text, &size, &code);
  checked(code, "clCreateProgramWithSource");
  code = api().BuildProgram(program, 1, &device, options.c_str(), nullptr, nullptr);
  if (code == kSuccess) return program;
  const std::string log = build_log_of(program, device);
  api().ReleaseProgram(program);
  fail(Kind::Runtime, "clBuildProgram failed with ", error_name(code), ":\n", log);
}

std::vector<char> binary_of(Handle program) {
  size_t size = 0;
  if (api().GetProgramInfo(program, kProgramBinarySizes, sizeof size, &size, nullptr)) return {};
  std::vector<char> bytes(size);
  char* data = bytes.data();
  if (api().GetProgramInfo(program, kProgramBinaries, sizeof data, &data, nullptr)) return {};
  return bytes;
}

Kernel* kernel(Context& device, const std::string& source, const char* name, size_t group) {
  Programs& p = programs();
  std::string notice;
  Kernel* made = nullptr;
  {
    Unlocked free(true);  // before the lock, and until after it: nobody waits for it with the
    std::lock_guard lock(p.mutex);  // host's
    auto& known =
        p.kernels[device.index][std::string(name) + ' ' + std::to_string(group) + '\n' + source];
    if (!known) {
      Build build(p, device, source, name, group);
      Handle handle = build.make(Variant::Usual);
      if (!handle) handle = build.make(Variant::Plain);
      check(
          handle != nullptr, Kind::Runtime, "OpenCL: kernel '", name, "' cannot be built on ",
          device.properties.name, " by ", device.properties.platform, ' ', device.properties.driver,
          ": ", build.why,
          "\n(EMBER_OPENCL_BUILD_SECONDS and EMBER_OPENCL_BUILD_MEMORY set what a build may take)");
      notice = build.notice;
      auto k = std::make_unique<Kernel>();
      k->handle = handle;
      k->name = name;
      k->group = group;
      known = std::move(k);
    }
    made = known.get();
  }
  if (!notice.empty() && p.notice) p.notice(notice);
  return made;
}

void set_cache(const std::string& directory, int64_t most) {
  Programs& p = programs();
  Unlocked free(true);
  std::lock_guard lock(p.mutex);
  p.disk = DiskCache(directory, most);
}

void set_notice(void (*notice)(const std::string&)) { programs().notice = notice; }

BuildCounts build_counts() {
  Programs& p = programs();
  Unlocked free(true);
  std::lock_guard lock(p.mutex);
  return p.counts;
}

}  // namespace ember::opencl
