// A process that compiles kernels: a compiler that hangs, takes all memory or ends its process
// takes down that one only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ember::opencl {

struct BuildRequest {
  int place = 0;         // of the device in the list of all
  std::string identity;  // of it and its driver: both processes must mean the same
  std::string options, source, name;
  size_t group = 0;
  bool plain = false;  // as little as possible is asked of the compiler
};

struct BuildReply {
  enum Outcome {
    Built,
    Failed,    // the compiler says what is wrong with the source
    Died,      // the compiler ended its process, or went over a limit
    NoHelper,  // there is none
  };
  Outcome outcome = NoHelper;
  std::vector<char> binary;
  std::string text;     // what is wrong
  bool lasting = true;  // it would happen again
  double cpu = 0, wall = 0;
};

// The command that starts one ([] for none) and what a build may take: seconds of CPU (and ten
// times as many by the clock), and bytes of memory.
struct HelperLimits {
  double seconds = 60;
  int64_t bytes = int64_t(4) << 30;
};
void set_helper(std::vector<std::string> command, HelperLimits limits);
HelperLimits helper_limits();
// For one thread at a time. Processes start with the first build for a size of work-groups (PoCL
// can be told of one only, and of what to ask of its compiler) and end if they have nothing to do
// for a while.
BuildReply build_in_helper(const BuildRequest& request);
void stop_helper();

}  // namespace ember::opencl
