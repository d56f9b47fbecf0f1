// What became of each kernel that this process needed: where it came from, and what that took.
#pragma once

#include <string>
#include <vector>

namespace ember::opencl {

struct BuildRecord {
  std::string kernel, device, driver;
  std::string how;  // "built", "cached", or "refused": see program.cpp
  double cpu = 0, wall = 0;
};

// Also appends a line to the file that EMBER_OPENCL_BUILD_LOG names, for all processes of a run:
// how, CPU seconds, seconds, kernel, device and driver, with tabs between them.
void log_build(BuildRecord record);
std::vector<BuildRecord> build_log();

// Seconds by the clock, and of CPU that this process (or another) has used.
double wall_seconds();
double cpu_seconds(int process = 0);

}  // namespace ember::opencl
