// Note [Sinking]
// A step is in the first group that can take it, where its inputs are at hand. If its value is read
// in one later group only, it may be cheaper to compute it there: its value is then neither written
// nor read, while some of its inputs may have to be. Steps that nobody else needs move with it.
//
// It may move if nothing that it reads is written after it, and its own memory by nobody else, for
// then no order among accesses to memory changes but that it reads later.
#include "lazy/sinking.h"

#include <algorithm>
#include <tuple>

namespace ember::lazy {

namespace {

constexpr size_t kMostSinking = 1024;  // steps of a trace: to look at all of them takes time
constexpr size_t kMostMoved = 8;       // at once

class Sinker {
 public:
  Sinker(const std::vector<Step>& steps, const std::vector<bool>& unwanted,
         const std::vector<bool>& superseded, Grouping& grouping,
         std::vector<std::vector<int>>& needs)
      : steps_(steps),
        unwanted_(unwanted),
        superseded_(superseded),
        result_(grouping),
        needs_(needs),
        readers_(steps.size()),
        writes_(unwanted.size()) {
    for (int i = 0; i < int(steps.size()); i++) {
      writes_[size_t(steps[size_t(i)].out.place)].push_back(i);
      for (int from : result_.from[size_t(i)])
        if (from >= 0) readers_[size_t(from)].push_back(i);
      for (int w : needs_[size_t(i)]) readers_[size_t(w)].push_back(i);
    }
  }

  void run() {
    for (int i = int(steps_.size()) - 1; i >= 0; i--) {
      if (readers_[size_t(i)].empty()) continue;
      const int to = group_of(readers_[size_t(i)][0]);
      moving_.clear(), copies_.clear();
      if (to == group_of(i) || !may_move(i, to)) continue;
      moving_.push_back(i);
      const int64_t gain = 2 * bytes(i, steps_[size_t(i)].out) - cost_of(i, to);
      const Group& target = result_.groups[size_t(to)];
      const size_t more = 2 * (moving_.size() + copies_.size());
      if (gain >= target.reduces && size_t(target.inputs + target.outputs) + more <= kMostMemory)
        move(to);
    }
  }

 private:
  static bool has(const std::vector<int>& all, int one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  }
  bool is_moving(int i) const { return has(moving_, i); }

  bool may_move(int i, int to) const {
    const Step& step = steps_[size_t(i)];
    const size_t slot = size_t(step.out.place);
    if (step.kind == StepKind::Reduce || step.rows || !unwanted_[slot] ||
        !step.is_shape(result_.groups[size_t(to)].shape) || !may_be_read(i))
      return false;
    for (int r : readers_[size_t(i)]) {
      if (group_of(r) != to && !is_moving(r)) return false;
      const Step& reader = steps_[size_t(r)];
      for (int k = 0; k < reader.inputs; k++) {
        const StepOperand& in = reader.in[size_t(k)];
        if (in.tag == Tag::Tensor && in.place == step.out.place &&
            !same_place(step, step.out, reader, in))
          return false;
      }
    }
    return true;
  }

  // Would its inputs, read later, still be what they are? And does nobody else write its value?
  bool may_be_read(int i) const {
    const Step& step = steps_[size_t(i)];
    if (superseded_[size_t(i)] || writes_[size_t(step.out.place)].size() != 1) return false;
    for (int k = 0; k < step.inputs; k++) {
      if (step.in[size_t(k)].tag != Tag::Tensor) continue;
      const std::vector<int>& before = writes_[size_t(step.in[size_t(k)].place)];
      if (!before.empty() && before.back() >= i) return false;
    }
    return true;
  }

  // Of an operand, as far as it moves.
  int64_t bytes(int i, const StepOperand& o) const {
    const Step& step = steps_[size_t(i)];
    int64_t n = item_size(o.dtype);
    for (int d = 0; d < step.axes; d++) n *= o.strides[d] ? step.shape[d] : 1;
    return n;
  }

  // Bytes that more are read and written, if step i moves; chooses what moves along.
  int64_t cost_of(int i, int to) {
    int64_t cost = 0;
    const int g = group_of(i);
    for (int k = 0; k < steps_[size_t(i)].inputs; k++) {
      const StepOperand& in = steps_[size_t(i)].in[size_t(k)];
      if (in.tag != Tag::Tensor) continue;
      const int p = result_.from[size_t(i)][size_t(k)];
      const int known = reads(to, i, in, false);
      if (p < 0) {
        cost += bytes(i, in) * (!known - !reads(g, i, in, true));
        continue;
      }
      if (has(moving_, p) || has(copies_, p)) continue;
      const int64_t there = bytes(i, in) * (!known + !is_written(p));
      if (moving_.size() < kMostMoved && may_move(p, to)) {
        const auto before = std::pair(moving_, copies_);
        moving_.push_back(p);
        if (const int64_t with = cost_of(p, to); with <= there) {
          cost += with;
          continue;
        }
        std::tie(moving_, copies_) = before;
      }
      const std::vector<int> before = copies_;
      if (const int64_t with = cost_of_copy(p, to); with >= 0 && with < there) {
        cost += with;
        continue;
      }
      copies_ = before;
      cost += there;
    }
    return cost;
  }

  // Bytes that are read to compute step p in both groups; -1 if it had better not be.
  int64_t cost_of_copy(int p, int to) {
    const Step& step = steps_[size_t(p)];
    const Binary f = Binary(step.row);
    const bool cheap =
        step.kind == StepKind::Binary && (f == Binary::add || f == Binary::sub || f == Binary::mul);
    if (!cheap || step.rows || copies_.size() >= kMostMoved || !may_be_read(p) ||
        !step.is_shape(result_.groups[size_t(to)].shape))
      return -1;
    copies_.push_back(p);
    int64_t cost = 0;
    for (int k = 0; k < step.inputs; k++) {
      const StepOperand& in = step.in[size_t(k)];
      if (in.tag != Tag::Tensor) continue;
      const int q = result_.from[size_t(p)][size_t(k)];
      if (q >= 0 && !has(copies_, q)) {
        const int64_t with = cost_of_copy(q, to);
        if (with < 0) return -1;
        cost += with;
      } else if (q < 0 && !reads(to, p, in, false)) {
        cost += bytes(p, in);
      }
    }
    return cost;
  }

  // Does a group read a place from memory, apart from what moves?
  bool reads(int g, int i, const StepOperand& place, bool but_moving) const {
    for (int s : result_.groups[size_t(g)].steps) {
      if (but_moving && is_moving(s)) continue;
      for (int k = 0; k < steps_[size_t(s)].inputs; k++) {
        const StepOperand& in = steps_[size_t(s)].in[size_t(k)];
        if (in.tag == Tag::Tensor && result_.from[size_t(s)][size_t(k)] < 0 &&
            same_place(steps_[size_t(i)], place, steps_[size_t(s)], in))
          return true;
      }
    }
    return false;
  }

  // In any case: for the program, or for another group.
  bool is_written(int p) const {
    if (!unwanted_[size_t(steps_[size_t(p)].out.place)]) return !superseded_[size_t(p)];
    for (int r : readers_[size_t(p)])
      if (group_of(r) != group_of(p)) return true;
    return false;
  }

  void move(int to) {
    std::sort(moving_.begin(), moving_.end());
    const int g = group_of(moving_[0]);
    std::erase_if(result_.groups[size_t(g)].steps, [&](int i) { return is_moving(i); });
    std::vector<int>& there = result_.groups[size_t(to)].steps;
    there.insert(there.end(), moving_.begin(), moving_.end());
    for (int i : copies_)
      if (!has(there, i)) there.push_back(i);
    std::sort(there.begin(), there.end());
    for (int i : moving_) result_.group_of[size_t(i)] = to;
    for (int i : moving_) {
      for (int& from : result_.from[size_t(i)]) {
        if (from < 0 || group_of(from) == to || has(copies_, from)) continue;
        needs_[size_t(i)].push_back(from);
        from = -1;
        result_.groups[size_t(to)].inputs++;
      }
      for (int r : readers_[size_t(i)]) {
        std::erase(needs_[size_t(r)], i);
        for (int k = 0; k < steps_[size_t(r)].inputs; k++) {
          const StepOperand& in = steps_[size_t(r)].in[size_t(k)];
          if (in.tag == Tag::Tensor && in.place == steps_[size_t(i)].out.place)
            result_.from[size_t(r)][size_t(k)] = i;
        }
      }
    }
  }

  int group_of(int step) const { return result_.group_of[size_t(step)]; }

  const std::vector<Step>& steps_;
  const std::vector<bool>&unwanted_, &superseded_;
  Grouping& result_;
  std::vector<std::vector<int>>& needs_;
  std::vector<std::vector<int>> readers_;  // of the value of each step, from memory or passed on
  std::vector<std::vector<int>> writes_;   // of each slot
  std::vector<int> moving_, copies_;
};

}  // namespace

void sink_steps(const std::vector<Step>& steps, const std::vector<bool>& unwanted_slots,
                const std::vector<bool>& superseded, Grouping& grouping,
                std::vector<std::vector<int>>& needs) {
  if (steps.size() <= kMostSinking && grouping.groups.size() > 1)
    Sinker(steps, unwanted_slots, superseded, grouping, needs).run();
}

}  // namespace ember::lazy
