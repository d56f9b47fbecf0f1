// How a trace is run: in its own order, as written down, when it is new; in groups once it has come
// before, each by its machine code as soon as there is some.
#pragma once

#include "backend.h"
#include "lazy/program.h"

namespace ember::lazy {

// What happened in the regions of one key.
struct Stats {
  int64_t calls = 0, graphs = 0, primitives = 0;
  int64_t kernels = 0;       // runs of generated code
  int64_t eager_groups = 0;  // of groups that had none
  int64_t bytes_saved = 0;   // that were neither written nor read again
};

class Plan {
 public:
  explicit Plan(const std::vector<int64_t>& words, int64_t steps, size_t slots);
  Plan(const Plan&) = delete;
  bool is_for(const std::vector<int64_t>& words) const { return words == words_; }
  void run(const std::vector<Slot>& slots, const std::vector<Number>& numbers, Backend& device,
           Stats& stats);
  // All groups' code is wanted now.
  void want_code();

  struct Part {
    Bound bound;
    int group;
    std::vector<int> steps;      // of the group: all, or one, where it has no kernel
    int64_t saved = 0;           // bytes that its kernel does not write and read
    std::vector<size_t> done{};  // slots that only the trace needs, and nothing after this
  };
  const std::vector<Part>& parts() const { return parts_; }
  const std::vector<Step>& steps() const { return steps_; }
  const Grouping& grouping() const { return grouping_; }
  const std::vector<int>& staying() const { return staying_; }  // steps for the next trace

 private:
  void find_done(const std::vector<Use>& uses);
  void run_code(const Part& part, const std::vector<Slot>& slots,
                const std::vector<Number>& numbers, Backend& device);

  const std::vector<int64_t> words_;  // what the trace must be equal to; steps point into it
  std::vector<Step> steps_;
  Grouping grouping_;
  std::vector<int> staying_;
  std::vector<Part> parts_;
};

// One step by the device itself.
void run_step(const Step& step, const std::vector<Slot>& slots, const std::vector<Number>& numbers,
              Backend& device);

}  // namespace ember::lazy
