// Regions: stretches of a program in which pointwise primitives are written down instead of run
// (stand_in.h), until somebody looks at what they write, or the region ends; what only a backward
// pass needs may stay pending longer (staying.h). There is one trace for all threads, in the order
// in which they had the host's lock.
#pragma once

#include <map>

#include "lazy/plan.h"

namespace ember::lazy {

struct Break {
  std::string file;
  int line;
  bool operator<(const Break& o) const { return std::tie(file, line) < std::tie(o.file, o.line); }
};
struct Report : Stats {
  std::map<Break, int64_t> breaks;  // where values were looked at inside of a region, how often
  // Of the plans that ran last: nodes, inputs, outputs, elements, and whether there is code.
  struct GroupInfo {
    int64_t nodes, inputs, outputs, units;
    Code::State state;
  };
  std::vector<GroupInfo> groups;
  int64_t taken = 0;  // calls that had been written down, by all, when one of the key's ended
  int idle = 0;       // calls of the key since then
  int skipped = 0;    // that had no region
};

struct Options {
  int64_t key = 0;
  bool fullgraph = false;  // a break is an error
  bool wait = false;       // for the compiler, at the end
};

// Opens a region on this thread, inside another one if there is one, whose options then count.
void open(const Options& options);
// Ends it. At the end of the outermost one what is pending runs, and the host compiles.
void close();
bool is_open();
bool pending();  // is anything?
void flush();
bool set_enabled(bool on);  // the value before
void reset();               // forgets plans, code and reports
const Report* report_of(int64_t key);

// Writes a call down, if a region of this thread takes it.
bool take(const Request& call);

// What the host does, always with its lock and at a moment when it may do anything.
struct Host {
  Break (*where)() = nullptr;                                           // in the program
  void (*ask)(const std::shared_ptr<Code>&) = nullptr;                  // begins to compile
  bool (*answered)(const std::shared_ptr<Code>&, bool wait) = nullptr;  // sets what it found
};
inline Host host;

}  // namespace ember::lazy
