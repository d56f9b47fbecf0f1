// Note [Staying]
// A value may stay if it can be computed again from what is in memory after this flush, and nothing
// that the flush runs, or whoever asked for it, changes that:
//   - each slot on the way is written once in the trace, and has nothing in memory before that;
//   - other slots that are read are wanted ones, with all their writes before the read, or are only
//     read;
//   - none of them is the slot that was asked for;
//   - it takes few steps, and no reductions.
// What is read stays awaited. So a change of it, by whomever, has the value computed first.
#include "lazy/staying.h"

#include <algorithm>

namespace ember::lazy {

namespace {

constexpr size_t kMostAgain = 64;  // steps to compute a value again

class Stayer {
 public:
  Stayer(const std::vector<Step>& steps, std::vector<Use>& uses, int asked)
      : steps_(steps), uses_(uses), asked_(asked), writes_(uses.size()), read_first_(uses.size()) {
    for (int i = 0; i < int(steps.size()); i++) {
      for (int k = 0; k < steps[size_t(i)].inputs; k++) {
        const StepOperand& in = steps[size_t(i)].in[size_t(k)];
        if (in.tag == Tag::Tensor && writes_[size_t(in.place)].empty())
          read_first_[size_t(in.place)] = true;
      }
      writes_[size_t(steps[size_t(i)].out.place)].push_back(i);
    }
  }

  std::vector<int> run() {
    bool settled = false;
    while (!settled) {
      settled = true;
      result_.clear();
      for (size_t slot = 0; slot < uses_.size(); slot++) {
        if (uses_[slot] != Use::Saved || follow(int(slot))) continue;
        uses_[slot] = Use::Wanted;
        settled = false;
      }
    }
    std::sort(result_.begin(), result_.end());
    result_.erase(std::unique(result_.begin(), result_.end()), result_.end());
    return std::move(result_);
  }

 private:
  // Adds the steps that a slot takes; false if it can't stay.
  bool follow(int slot) {
    std::vector<int> found, stack{slot};
    while (!stack.empty()) {
      const size_t at = size_t(stack.back());
      stack.pop_back();
      if (int(at) == asked_ || writes_[at].size() != 1 || read_first_[at]) return false;
      const int i = writes_[at][0];
      if (std::find(found.begin(), found.end(), i) != found.end()) continue;
      found.push_back(i);
      const Step& step = steps_[size_t(i)];
      if (step.kind == StepKind::Reduce || found.size() > kMostAgain) return false;
      for (int k = 0; k < step.inputs; k++) {
        const StepOperand& in = step.in[size_t(k)];
        if (in.tag != Tag::Tensor) continue;
        const std::vector<int>& before = writes_[size_t(in.place)];
        if (in.place == asked_ || (!before.empty() && before.back() >= i)) return false;
        if (!before.empty() && uses_[size_t(in.place)] != Use::Wanted)
          stack.push_back(int(in.place));
      }
    }
    result_.insert(result_.end(), found.begin(), found.end());
    return true;
  }

  const std::vector<Step>& steps_;
  std::vector<Use>& uses_;
  const int64_t asked_;
  std::vector<std::vector<int>> writes_;  // of each slot
  std::vector<bool> read_first_;          // what was there before the trace
  std::vector<int> result_;
};

}  // namespace

std::vector<int> steps_that_stay(const std::vector<Step>& steps, std::vector<Use>& uses,
                                 int asked) {
  return Stayer(steps, uses, asked).run();
}

}  // namespace ember::lazy
