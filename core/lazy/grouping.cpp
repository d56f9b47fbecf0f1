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
//
// A reduction has the space of its rows' elements, and an output that does not move along the last
// axis. What is computed from the values of rows alone belongs to the same group, but was written
// down in the space of rows; it is lifted: an axis is added along which nothing moves. A loop that
// reduces goes over its rows more than once, so it may not write where it reads; and it has no
// values that are one for a row but are to be written for all of its elements.
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
  Grouper(std::vector<Step>& steps, const std::vector<bool>& unwanted)
      : steps_(steps), unwanted_(unwanted), slots_(unwanted.size()), needs_(steps.size()) {
    result_.group_of.resize(steps.size());
    result_.from.resize(steps.size());
    result_.stored.resize(steps.size());
    superseded_.resize(steps.size());
    per_row_.resize(steps.size());
  }

  Grouping run() {
    for (size_t i = 0; i < steps_.size(); i++) {
      const Step before = steps_[i];
      const int rows_of = lift(int(i));
      if (place(int(i), rows_of)) continue;
      steps_[i] = before;
      place(int(i), -1);
    }
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

  // The group whose rows a step belongs to, where it is computed from values of its rows alone; -1
  // if there is none.
  int lift(int i) {
    Step& step = steps_[size_t(i)];
    int group = -1;
    const Step* rows = nullptr;
    for (int k = 0; k < step.inputs; k++) {
      const StepOperand& in = step.in[size_t(k)];
      if (in.tag != Tag::Tensor) continue;
      const History& h = slots_[size_t(in.place)];
      if (step.kind == StepKind::Reduce || h.writes.empty()) return -1;
      const int last = h.writes.back();
      const Step& w = steps_[size_t(last)];
      if (!w.rows || w.axes != step.axes + 1 || w.out.dtype != in.dtype ||
          w.out.offset != in.offset || !std::equal(step.shape, step.shape + step.axes, w.shape) ||
          !std::equal(in.strides, in.strides + step.axes, w.out.strides) ||
          (rows && (group != group_of(last) || rows->shape[step.axes] != w.shape[step.axes])))
        return -1;
      group = group_of(last);
      rows = &w;
    }
    if (!rows) return -1;
    const int64_t length = rows->shape[step.axes];
    auto extended = [&](const int64_t* of, int64_t last) {
      result_.lifted.emplace_back(of, of + step.axes).push_back(last);
      return result_.lifted.back().data();
    };
    for (int k = 0; k < step.inputs; k++)
      if (step.in[size_t(k)].tag == Tag::Tensor)
        step.in[size_t(k)].strides = extended(step.in[size_t(k)].strides, 0);
    step.out.strides = extended(step.out.strides, 0);
    step.shape = extended(step.shape, length);
    step.axes++;
    step.rows = step.lifted = true;
    return group;
  }

  // False if it would not come into the group that it was lifted for.
  bool place(int i, int rows_of) {
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
    const int g = choose(i, first, related, source);
    if (rows_of >= 0 && g != rows_of) return false;
    if (g == int(result_.groups.size())) {
      result_.groups.emplace_back();
      result_.groups.back().shape.assign(step.shape, step.shape + step.axes);
    }
    join(i, g, source);
    return true;
  }

  // The number of groups stands for a new one.
  int choose(int i, int first, bool related, const std::array<int, kMostInputs>& source) const {
    const Step& step = steps_[size_t(i)];
    const std::vector<Group>& groups = result_.groups;
    auto takes = [&](int g) {
      const Group& group = groups[size_t(g)];
      if (!step.is_shape(group.shape) || group.steps.size() >= kMostSteps ||
          group.inputs + group.outputs >= (related ? kMostMemory : kMostUnrelated))
        return false;
      if (step.kind == StepKind::Reduce)
        return !group.overwrites && !group.flat && !is_per_row(i, g, source);
      if (!group.reduces) return true;
      return !overwrites(i, g, source) && (step.rows || !is_per_row(i, g, source));
    };
    if (related && takes(first)) return first;
    for (int g = int(groups.size()) - 1; g >= first; g--)
      if (takes(g)) return g;
    return int(groups.size());
  }

  // Would a step write where group g reads?
  bool overwrites(int i, int g, const std::array<int, kMostInputs>& source) const {
    const Step& step = steps_[size_t(i)];
    for (const Access& r : slots_[size_t(step.out.place)].reads)
      if (group_of(r.step) == g) return true;
    for (int k = 0; k < step.inputs; k++) {
      const int s = source[size_t(k)];
      const bool passed_on = s >= 0 && group_of(s) == g;
      if (step.in[size_t(k)].tag == Tag::Tensor && !passed_on &&
          step.in[size_t(k)].place == step.out.place)
        return true;
    }
    return false;
  }

  // Would its inputs in group g be values of rows, or numbers, all of them?
  bool is_per_row(int i, int g, const std::array<int, kMostInputs>& source) const {
    const Step& step = steps_[size_t(i)];
    for (int k = 0; k < step.inputs; k++) {
      if (step.in[size_t(k)].tag != Tag::Tensor) continue;
      const int s = source[size_t(k)];
      if (s < 0 || group_of(s) != g || !per_row_[size_t(s)]) return false;
    }
    return true;
  }

  void join(int i, int g, const std::array<int, kMostInputs>& source) {
    const Step& step = steps_[size_t(i)];
    Group& group = result_.groups[size_t(g)];
    result_.group_of[size_t(i)] = g;
    group.overwrites = group.overwrites || overwrites(i, g, source);
    group.reduces = group.reduces || step.kind == StepKind::Reduce;
    per_row_[size_t(i)] = step.rows || is_per_row(i, g, source);
    group.flat = group.flat || (per_row_[size_t(i)] && !step.rows);
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
    group.outputs += !again && !unwanted_[size_t(step.out.place)];
    mine.writes.push_back(i);
  }

  // From the last step to the first, since what is needed is known only by what comes after.
  void keep_needed() {
    const size_t n = steps_.size();
    std::vector<bool> live(n);
    for (size_t i = n; i-- > 0;) {
      const size_t slot = size_t(steps_[i].out.place);
      if (!superseded_[i] && !unwanted_[slot]) result_.stored[i] = true;
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

  std::vector<Step>& steps_;
  const std::vector<bool>& unwanted_;  // slots whose values nobody needs in memory
  std::vector<History> slots_;
  std::vector<std::vector<int>> needs_;  // for each step: those whose values it reads from memory
  std::vector<bool> per_row_;            // has one value for each row of its group
  std::vector<bool> superseded_;         // written over at the same place by a later step
  Grouping result_;
};

}  // namespace

bool same_place(const Step& a, const StepOperand& x, const Step& b, const StepOperand& y) {
  return x.place == y.place && x.dtype == y.dtype && x.offset == y.offset && a.same_shape(b) &&
         std::equal(x.strides, x.strides + a.axes, y.strides);
}

Grouping group_steps(std::vector<Step>& steps, const std::vector<bool>& unwanted_slots) {
  return Grouper(steps, unwanted_slots).run();
}

}  // namespace ember::lazy
