// The list of builds, and the file that processes append theirs to.
#include "opencl/build_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>

namespace ember::opencl {

namespace {

struct Log {
  std::mutex mutex;
  std::vector<BuildRecord> records;
};
Log& log() {
  static Log& instance = *new Log;
  return instance;
}

double seconds_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

}  // namespace

double wall_seconds() { return seconds_of(CLOCK_MONOTONIC); }

double cpu_seconds(int process) {
  clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
  if (process && clock_getcpuclockid(process, &clock)) return 0;
  return seconds_of(clock);
}

void log_build(BuildRecord r) {
  if (const char* path = std::getenv("EMBER_OPENCL_BUILD_LOG"); path && *path) {
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, "\t%.3f\t%.3f\t", r.cpu, r.wall);
    const std::string line = r.how + numbers + r.kernel + '\t' + r.device + '\t' + r.driver + '\n';
    const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file >= 0) {
      // One write, so that lines of several processes do not mix; the log is a service only.
      if (write(file, line.data(), line.size()) < 0) perror(path);
      close(file);
    }
  }
  std::lock_guard lock(log().mutex);
  log().records.push_back(std::move(r));
}

std::vector<BuildRecord> build_log() {
  std::lock_guard lock(log().mutex);
  return log().records;
}

}  // namespace ember::opencl
