// Note [Grouping]
// Steps are taken in their order. Each has an earliest group that it may be in, which follows from
// what was there before at the storages that it touches:
//   reads what a step wrote, at the same place     in the group of that step, where the value is
//                                                  passed on; or later, from memory
//   reads where a step wrote, otherwise            in a later group
//   writes where a step read or wrote              in the same group or later if at the same place,
//                                                  for a loop reads before it writes; else later
// Two places are the same if offset, shape and strides are; nothing finer is asked, so parts of a
// storage that do not meet count as if they did. Within a group steps keep their order.
#include "lazy/grouping.h"

#include <algorithm>

namespace ember::lazy {

namespace {

constexpr size_t kMostSteps = 2048;  // of a group: code takes time to generate
constexpr int kMostMemory = 32;      // operands in memory that one loop walks
constexpr int kMostUnrelated = 12;  // beyond this, steps that share nothing get a loop of their own

struct Access {
  int step, operand;  // -1: the output
};
struct History {
  std::vector<int> writes;
  std::vector<Access> reads;  // from memory
};

class Grouper {
 public:
  Grouper(const std::vector<Step>& steps, const std::vector<bool>& dead)
      : steps_(steps), dead_(dead), slots_(dead.size()), needs_(steps.size()) {
    result_.group_of.resize(steps.size());
    result_.from.resize(steps.size());
    result_.stored.resize(steps.size());
    superseded_.resize(steps.size());
  }

  Grouping run() {
    for (size_t i = 0; i < steps_.size(); i++) place(int(i));
    keep_needed();
    return std::move(result_);
  }

 private:
  const StepOperand& operand(const Access& a) const {
    const Step& s = steps_[size_t(a.step)];
    return a.operand < 0 ? s.out : s.in[size_t(a.operand)];
  }
  bool same(const Access& a, const Access& b) const {
    return same_place(steps_[size_t(a.step)], operand(a), steps_[size_t(b.step)], operand(b));
  }

  void place(int i) {
    const Step& step = steps_[size_t(i)];
    int first = 0;                                    // the earliest group
    std::array<int, kMostInputs> source{-1, -1, -1};  // whose value an input is
    bool related = false;
    for (int k = 0; k < step.inputs; k++) {
      const StepOperand& in = step.in[size_t(k)];
      if (in.tag != Tag::Tensor) continue;
      const History& h = slots_[size_t(in.place)];
      if (h.writes.empty()) continue;
      const int last = h.writes.back();
      if (same({last, -1}, {i, k})) {
        source[size_t(k)] = last;
        first = std::max(first, group_of(last));
        continue;
      }
      for (int w : h.writes) first = std::max(first, group_of(w) + 1);
    }
    const History& mine = slots_[size_t(step.out.place)];
    for (const Access& r : mine.reads)
      first = std::max(first, group_of(r.step) + !same(r, {i, -1}));
    for (int w : mine.writes) first = std::max(first, group_of(w) + !same({w, -1}, {i, -1}));
    for (int s : source) related = related || (s >= 0 && group_of(s) == first);
    join(i, choose(step, first, related), source);
  }

  int choose(const Step& step, int first, bool related) {
    std::vector<Group>& groups = result_.groups;
    auto takes = [&](int g) {
      const Group& group = groups[size_t(g)];
      return step.is_shape(group.shape) && group.steps.size() < kMostSteps &&
             group.inputs + group.outputs < (related ? kMostMemory : kMostUnrelated);
    };
    if (related && takes(first)) return first;
    for (int g = int(groups.size()) - 1; g >= first; g--)
      if (takes(g)) return g;
    groups.push_back({{step.shape, step.shape + step.axes}, {}});
    return int(groups.size()) - 1;
  }

  void join(int i, int g, const std::array<int, kMostInputs>& source) {
    const Step& step = steps_[size_t(i)];
    Group& group = result_.groups[size_t(g)];
    result_.group_of[size_t(i)] = g;
    group.steps.push_back(i);
    result_.from[size_t(i)].fill(-1);
    for (int k = 0; k < step.inputs; k++) {
      const StepOperand& in = step.in[size_t(k)];
      int& from = result_.from[size_t(i)][size_t(k)];
      if (in.tag != Tag::Tensor) continue;
      History& h = slots_[size_t(in.place)];
      const int s = source[size_t(k)];
      if (s >= 0 && group_of(s) == g) {
        from = s;
        continue;
      }
      // What must be in memory by then.
      if (s >= 0)
        needs_[size_t(i)].push_back(s);
      else
        for (int w : h.writes) needs_[size_t(i)].push_back(w);
      const bool known = std::any_of(h.reads.begin(), h.reads.end(), [&](const Access& r) {
        return group_of(r.step) == g && same(r, {i, k});
      });
      if (known) continue;
      h.reads.push_back({i, k});
      group.inputs++;
    }
    History& mine = slots_[size_t(step.out.place)];
    bool again = false;
    for (int w : mine.writes)
      if (same({w, -1}, {i, -1})) superseded_[size_t(w)] = again = true;
    group.outputs += !again && !dead_[size_t(step.out.place)];
    mine.writes.push_back(i);
  }

  // From the last step to the first, since what is needed is known only by what comes after.
  void keep_needed() {
    const size_t n = steps_.size();
    std::vector<bool> live(n);
    for (size_t i = n; i-- > 0;) {
      const size_t slot = size_t(steps_[i].out.place);
      if (!superseded_[i] && !dead_[slot]) result_.stored[i] = true;
      if (!result_.stored[i] && !live[i]) continue;
      live[i] = true;
      for (int from : result_.from[i])
        if (from >= 0) live[size_t(from)] = true;
      for (int w : needs_[i]) result_.stored[size_t(w)] = true;
    }
    for (Group& group : result_.groups)
      std::erase_if(group.steps, [&](int i) { return !live[size_t(i)]; });
  }

  int group_of(int step) const { return result_.group_of[size_t(step)]; }

  const std::vector<Step>& steps_;
  const std::vector<bool>& dead_;
  std::vector<History> slots_;
  std::vector<std::vector<int>> needs_;  // for each step: those whose values it reads from memory
  std::vector<bool> superseded_;         // written over at the same place by a later step
  Grouping result_;
};

}  // namespace

bool same_place(const Step& a, const StepOperand& x, const Step& b, const StepOperand& y) {
  return x.place == y.place && x.dtype == y.dtype && x.offset == y.offset && a.same_shape(b) &&
         std::equal(x.strides, x.strides + a.axes, y.strides);
}

Grouping group_steps(const std::vector<Step>& steps, const std::vector<bool>& dead_slots) {
  return Grouper(steps, dead_slots).run();
}

}  // namespace ember::lazy
