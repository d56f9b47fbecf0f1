// Note [Grouping]
// Steps are taken in their order. Each has an earliest group that it may be in, which follows from
// what was there before at the storages that it touches:
//   reads what a step wrote, at the same place     in the group of that step, where the value is
//                                                  passed on; or later, from memory
//   reads where a step wrote, otherwise            in a later group
//   writes where a step read or wrote              in the same group or later if at the same place,
//                                                  for a loop reads before it writes; else later
// Two places are the same if offset, shape and strides are; those that have no element in common
// (apart()) do not count. Within a group steps keep their order.
//
// What fills fresh memory waits for somebody who touches it, and comes into that group, or one just
// before it: the memory is warm then. In the end, what was placed as early as it could be is moved
// to the group of those who read it, where less goes through memory that way (sinking.cpp).
//
// A reduction has the space of what it reduces, and an output that does not move along the axes
// that are gone. What is computed from such values alone belongs to the same group, but was written
// down in the space of the results; it is lifted: those axes are added, along which nothing moves.
// A loop that reduces goes over its rows in several sweeps, each of which computes again what it
// needs; so it may not write where a later sweep reads. Few results are made of those of pieces,
// after the loop, so that nothing in the same group can use them.
#include "lazy/grouping.h"

#include <algorithm>

#include "lazy/sinking.h"

namespace ember::lazy {

namespace {

constexpr size_t kMostSteps = 2048;  // of a group: code takes time to generate
constexpr int kMostUnrelated = 12;  // beyond this, steps that share nothing get a loop of their own

class Grouper {
 public:
  Grouper(std::vector<Step>& steps, const std::vector<bool>& unwanted)
      : steps_(steps),
        unwanted_(unwanted),
        slots_(unwanted.size()),
        fills_(unwanted.size(), -1),
        needs_(steps.size()),
        loads_(steps.size()),
        sweep_(steps.size()) {
    result_.group_of.resize(steps.size());
    result_.from.resize(steps.size());
    result_.stored.resize(steps.size());
    superseded_.resize(steps.size());
  }

  Grouping run() {
    for (size_t i = 0; i < steps_.size(); i++) {
      if (waits(int(i))) continue;
      const Step before = steps_[i];
      const int rows_of = lift(int(i));
      if (place(int(i), rows_of)) continue;
      steps_[i] = before;
      place(int(i), -1);
    }
    for (size_t i = 0; i < steps_.size(); i++)
      if (fills_[size_t(steps_[i].out.place)] == int(i)) {
        fills_[size_t(steps_[i].out.place)] = -1;
        place(int(i), -1);
      }
    sink_steps(steps_, unwanted_, superseded_, result_, needs_);
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
  bool meet(const Access& a, const Access& b) const {
    return !apart(steps_[size_t(a.step)], operand(a), steps_[size_t(b.step)], operand(b));
  }

  // Whether a step fills what nobody has touched.
  bool waits(int i) {
    const Step& step = steps_[size_t(i)];
    const size_t slot = size_t(step.out.place);
    if (step.kind != StepKind::Fill || fills_[slot] >= 0 || !slots_[slot].writes.empty() ||
        !slots_[slot].reads.empty())
      return false;
    fills_[slot] = i;
    return true;
  }

  // The group whose results a step belongs to, where it is computed from some of them and from
  // memory; -1 if there is none.
  int lift(int i) {
    Step& step = steps_[size_t(i)];
    if (step.kind == StepKind::Reduce) return -1;
    const Step* rows = nullptr;
    int group = -1;
    for (int k = 0; k < step.inputs; k++) {
      const StepOperand& in = step.in[size_t(k)];
      if (in.tag != Tag::Tensor || slots_[size_t(in.place)].writes.empty()) continue;
      const int last = slots_[size_t(in.place)].writes.back();
      if (group_of(last) <= group || !is_result(steps_[size_t(last)], step, in)) continue;
      rows = &steps_[size_t(last)];
      group = group_of(last);
    }
    if (!rows) return -1;
    auto extended = [&](const int64_t* of, auto along) {
      std::vector<int64_t>& all = result_.lifted.emplace_back();
      for (int d = 0; d < rows->axes; d++) all.push_back(rows->gone >> d & 1 ? along(d) : *of++);
      return all.data();
    };
    auto still = [](int) -> int64_t { return 0; };
    for (int k = 0; k < step.inputs; k++)
      if (step.in[size_t(k)].tag == Tag::Tensor)
        step.in[size_t(k)].strides = extended(step.in[size_t(k)].strides, still);
    step.out.strides = extended(step.out.strides, still);
    step.shape = extended(step.shape, [&](int d) { return rows->shape[d]; });
    step.axes = rows->axes;
    step.gone = rows->gone;
    step.rows = step.lifted = true;
    return group;
  }

  // Does an operand of a step have the elements that `w` has one of for each row?
  static bool is_result(const Step& w, const Step& step, const StepOperand& in) {
    if (!w.rows || is_in_pieces(w) || w.out.dtype != in.dtype || w.out.offset != in.offset)
      return false;
    int k = 0;
    for (int d = 0; d < w.axes; d++) {
      if (w.gone >> d & 1) continue;
      if (k == step.axes || step.shape[k] != w.shape[d] || in.strides[k] != w.out.strides[d])
        return false;
      k++;
    }
    return k == step.axes;
  }

  // False if it would not come into the group that it was lifted for.
  bool place(int i, int rows_of) {
    const Step& step = steps_[size_t(i)];
    int first = 0;               // the earliest group
    Sources source{-1, -1, -1};  // whose value an input is
    bool related = false;
    for (int k = 0; k < step.inputs; k++) {
      const StepOperand& in = step.in[size_t(k)];
      if (in.tag != Tag::Tensor) continue;
      if (const int s = source[size_t(k)] = writer(i, k); s >= 0) {
        first = std::max(first, group_of(s) + is_in_pieces(steps_[size_t(s)]));
        continue;
      }
      for (int w : slots_[size_t(in.place)].writes)
        if (meet({w, -1}, {i, k})) first = std::max(first, group_of(w) + 1);
    }
    const History& mine = slots_[size_t(step.out.place)];
    auto after = [&](const Access& a) {
      if (same(a, {i, -1}))
        first = std::max(first, group_of(a.step));
      else if (meet(a, {i, -1}))
        first = std::max(first, group_of(a.step) + 1);
    };
    for (const Access& r : mine.reads) after(r);
    for (int w : mine.writes) after({w, -1});
    for (int s : source) related = related || (s >= 0 && group_of(s) == first);
    int g = choose(i, first, related, source);
    if (rows_of >= 0 && g != rows_of) return false;
    if (g == int(result_.groups.size())) {
      result_.groups.emplace_back();
      result_.groups.back().shape.assign(step.shape, step.shape + step.axes);
    }
    for (int k = -1; k < step.inputs; k++) {
      const StepOperand& o = operand({i, k});
      if (o.tag != Tag::Tensor) continue;
      const int fill = fills_[size_t(o.place)];
      if (fill >= 0) g = place_fill(fill, i, g);
      if (k >= 0) source[size_t(k)] = writer(i, k);
    }
    join(i, g, source);
    return true;
  }

  // The step that has written what an input is, all of it and nothing else; or -1.
  int writer(int i, int k) const {
    const std::vector<int>& writes = slots_[size_t(operand({i, k}).place)].writes;
    for (auto w = writes.rbegin(); w != writes.rend(); w++) {
      if (same({*w, -1}, {i, k})) return *w;
      if (meet({*w, -1}, {i, k})) return -1;
    }
    return -1;
  }

  // Of memory that step i of group g touches: into the same group, or one before it. Gives the
  // place of step i's group, which may have moved.
  int place_fill(int fill, int i, int g) {
    const Step &step = steps_[size_t(i)], &f = steps_[size_t(fill)];
    fills_[size_t(f.out.place)] = -1;
    bool fits = !step.rows && f.is_shape(result_.groups[size_t(g)].shape);
    for (int k = -1; k < step.inputs; k++) {
      const StepOperand& o = operand({i, k});
      if (o.tag == Tag::Tensor && o.place == f.out.place) fits = fits && same({fill, -1}, {i, k});
    }
    if (!fits) {
      Group& fresh = *result_.groups.emplace(result_.groups.begin() + g);
      fresh.shape.assign(f.shape, f.shape + f.axes);
      for (int& of : result_.group_of) of += of >= g;
    }
    join(fill, g, {-1, -1, -1});
    return g + !fits;
  }

  // The number of groups stands for a new one.
  int choose(int i, int first, bool related, const Sources& source) const {
    const Step& step = steps_[size_t(i)];
    const std::vector<Group>& groups = result_.groups;
    auto takes = [&](int g) {
      const Group& group = groups[size_t(g)];
      if (!step.is_shape(group.shape) || group.steps.size() >= kMostSteps ||
          group.inputs + group.outputs >= (related ? kMostMemory : kMostUnrelated))
        return false;
      if (step.kind == StepKind::Reduce)
        return (!group.reduces || group.gone == step.gone) && !overwritten(i, g, source);
      return !group.reduces || !overwritten(i, g, source);
    };
    if (related && takes(first)) return first;
    for (int g = int(groups.size()) - 1; g >= first; g--)
      if (takes(g)) return g;
    return int(groups.size());
  }

  // In a group that reduces: would a sweep read what one before it has written over?
  bool overwritten(int i, int g, const Sources& source) const {
    const Step& step = steps_[size_t(i)];
    const int sweep = sweep_in(i, g, source);
    const std::vector<int> loads = loads_in(i, g, source);
    for (const auto& [written, slot] : result_.groups[size_t(g)].overwrites)
      if (written < sweep && std::find(loads.begin(), loads.end(), slot) != loads.end())
        return true;
    if (step.rows) return false;  // is written at the end
    const int slot = int(step.out.place);
    for (int s : result_.groups[size_t(g)].steps)
      if (sweep_[size_t(s)] > sweep && has(loads_[size_t(s)], slot)) return true;
    return false;
  }
  static bool has(const std::vector<int>& all, int one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  }

  // The sweep over a row in which a step of group g can be computed: results are there after one.
  int sweep_in(int i, int g, const Sources& source) const {
    int sweep = 0;
    for (int k = 0; k < steps_[size_t(i)].inputs; k++)
      if (const int s = source[size_t(k)]; s >= 0 && group_of(s) == g)
        sweep = std::max(sweep, sweep_[size_t(s)] + (steps_[size_t(s)].kind == StepKind::Reduce));
    return sweep;
  }
  // Slots that must be read to compute it, results being known.
  std::vector<int> loads_in(int i, int g, const Sources& source) const {
    const Step& step = steps_[size_t(i)];
    std::vector<int> loads;
    auto add = [&](int slot) {
      if (!has(loads, slot)) loads.push_back(slot);
    };
    for (int k = 0; k < step.inputs; k++) {
      if (step.in[size_t(k)].tag != Tag::Tensor) continue;
      const int s = source[size_t(k)];
      if (s < 0 || group_of(s) != g)
        add(int(step.in[size_t(k)].place));
      else if (steps_[size_t(s)].kind != StepKind::Reduce)
        for (int slot : loads_[size_t(s)]) add(slot);
    }
    return loads;
  }

  void join(int i, int g, const Sources& source) {
    const Step& step = steps_[size_t(i)];
    Group& group = result_.groups[size_t(g)];
    result_.group_of[size_t(i)] = g;
    sweep_[size_t(i)] = sweep_in(i, g, source);
    loads_[size_t(i)] = loads_in(i, g, source);
    if (step.kind == StepKind::Reduce) {
      group.reduces = true;
      group.gone = step.gone;
    }
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
        for (int w : h.writes)
          if (meet({w, -1}, {i, k})) needs_[size_t(i)].push_back(w);
      const bool known = std::any_of(h.reads.begin(), h.reads.end(), [&](const Access& r) {
        return group_of(r.step) == g && same(r, {i, k});
      });
      if (known) continue;
      h.reads.push_back({i, k});
      group.inputs++;
    }
    const int slot = int(step.out.place);
    History& mine = slots_[size_t(slot)];
    bool again = false;
    for (int w : mine.writes)
      if (same({w, -1}, {i, -1})) superseded_[size_t(w)] = again = true;
    group.outputs += !again && !unwanted_[size_t(slot)];
    mine.writes.push_back(i);
    if (step.rows) return;
    std::erase_if(group.overwrites, [&](const auto& o) { return o.second == slot; });
    group.overwrites.emplace_back(sweep_[size_t(i)], slot);
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
  std::vector<int> fills_;               // of each slot: the step that waits, or -1
  std::vector<std::vector<int>> needs_;  // for each step: those whose values it reads from memory
  std::vector<std::vector<int>> loads_;  // and the slots that are read to compute it
  std::vector<int> sweep_;               // of its group, in which it is computed
  std::vector<bool> superseded_;         // written over at the same place by a later step
  Grouping result_;
};

}  // namespace

bool is_in_pieces(const Step& s) {
  constexpr int64_t kFew = 1024;
  if (s.kind != StepKind::Reduce) return false;
  int64_t results = 1;
  for (int d = 0; d < s.axes; d++) results *= s.gone >> d & 1 ? 1 : s.shape[d];
  return results == 1 || (results < kFew && !(s.gone >> (s.axes - 1) & 1));
}

bool same_place(const Step& a, const StepOperand& x, const Step& b, const StepOperand& y) {
  return x.place == y.place && x.dtype == y.dtype && x.offset == y.offset && a.same_shape(b) &&
         std::equal(x.strides, x.strides + a.axes, y.strides);
}

// As places of one grid, whose axes have the strides of both: those that do not wrap round are told
// apart by one axis on which they do not meet.
bool apart(const Step& a, const StepOperand& x, const Step& b, const StepOperand& y) {
  if (x.place != y.place || x.dtype != y.dtype) return x.place != y.place;
  std::array<int64_t, 2 * kMostAxes + 1> strides;
  int count = 0;
  strides[size_t(count++)] = 1;
  for (const auto& [step, o] : {std::pair(&a, &x), std::pair(&b, &y)})
    for (int d = 0; d < step->axes; d++) {
      if (o->strides[d] < 0) return false;
      if (o->strides[d] > 1) strides[size_t(count++)] = o->strides[d];
    }
  std::sort(strides.begin(), strides.begin() + count, std::greater<>());
  count = int(std::unique(strides.begin(), strides.begin() + count) - strides.begin());
  std::array<std::array<std::pair<int64_t, int64_t>, 2 * kMostAxes + 1>, 2> ranges;
  for (const auto& [which, step, o] : {std::tuple(0, &a, &x), std::tuple(1, &b, &y)}) {
    int64_t rest = o->offset;
    for (int e = 0; e < count; e++) {
      const int64_t stride = strides[size_t(e)], first = rest / stride;
      int64_t size = 0;
      rest %= stride;
      for (int d = 0; d < step->axes; d++) {
        if (o->strides[d] != stride) continue;
        if (size) return false;
        size = step->shape[d];
      }
      const int64_t end = first + std::max<int64_t>(size, 1);
      if (e && end * stride > strides[size_t(e - 1)]) return false;
      ranges[size_t(which)][size_t(e)] = {first, end};
    }
  }
  for (int e = 0; e < count; e++) {
    const auto &p = ranges[0][size_t(e)], &q = ranges[1][size_t(e)];
    if (p.second <= q.first || q.second <= p.first) return true;
  }
  return false;
}

Grouping group_steps(std::vector<Step>& steps, const std::vector<bool>& unwanted_slots) {
  return Grouper(steps, unwanted_slots).run();
}

}  // namespace ember::lazy
