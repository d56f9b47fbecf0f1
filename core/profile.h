// What the profiler records: a span of time for each op, node of the backward pass or region that a
// program names. While it is off, all it costs is a load and a branch per op.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace ember::profile {

enum class Kind : uint8_t { Op, Backward, Region };

struct Event {
  std::string name;
  Kind kind;
  int64_t start, end;     // nanoseconds of a clock that only goes forward
  int64_t before, after;  // bytes in use by tensors of the CPU
  uint64_t thread;        // small numbers, in the order in which threads appear
  std::string shapes;     // "[[2, 3], [3]]", if asked for
  std::string stack;      // "file:line function" lines, innermost first, if asked for
};

struct Options {
  bool shapes = false, memory = false, stack = false;
};

inline std::atomic<bool> recording{false};
inline bool on() { return __builtin_expect(recording.load(std::memory_order_relaxed), 0); }

void start(Options options);
Options options();
std::vector<Event> stop();
int64_t now();

// A span that ends with the scope it lives in, or with end(). Does nothing until begin().
class Span {
 public:
  Span() = default;
  Span(const Span&) = delete;
  ~Span() {
    if (event_) end();
  }
  Event& begin(std::string name, Kind kind);
  void end();

 private:
  Event* event_ = nullptr;
};

}  // namespace ember::profile
