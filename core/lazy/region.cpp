// Note [Flush]
// What is pending runs when Tensor::data() of an awaited storage is asked for, by whatever thread.
// Kernels may let other threads go on meanwhile. Until the flush is over, one that would write
// something down, or look at an awaited storage, waits. The thread that runs it has no region open
// for that long, and passes through the gate.
#include "lazy/region.h"

#include <pthread.h>

#include <chrono>
#include <thread>
#include <unordered_map>

#include "lazy/rehearsal.h"
#include "lazy/stand_in.h"
#include "profile.h"
#include "tensor/deferred.h"

namespace ember::lazy {

namespace {

constexpr size_t kMostPlans = 512;
constexpr int kMostStays = 4;
// A function that had nothing to put off in so many calls opens a region in one of a few only, to
// see whether it has now: tiny programs cost no more than they do op by op.
constexpr int kIdle = 32, kProbe = 16;

struct Known {
  std::unique_ptr<Plan> plan;  // made when the trace comes a second time
};

struct State {
  Trace trace;
  const void* runner = nullptr;  // the thread that runs what was pending
  int stays = 0;                 // flushes in a row that have left something pending
  int open = 0;                  // regions, of all threads
  bool enabled = true;
  int64_t taken = 0;                          // calls that were written down
  std::unordered_map<uint64_t, Known> plans;  // by a hash of their words
  std::unordered_map<int64_t, Report> reports;
};
State& state() {
  static auto* s = new State;  // never destroyed: tensors may outlive statics
  return *s;
}

struct Mine {
  int depth = 0;   // of regions
  int passes = 0;  // of these, those round backward passes
  Options options;
  Report* report = nullptr;  // of the key of the region
};
thread_local Mine mine;

const void* me() { return &mine; }

void wait_for_runner() {
  while (__builtin_expect(state().runner && state().runner != me(), 0)) {
    Unlocked others(true);
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

uint64_t hash_of(const std::vector<int64_t>& words) {
  uint64_t a = 0x9E3779B97F4A7C15u, b = 0xD6E8FEB86659FD93u;  // two chains, for their latencies
  size_t i = 0;
  for (; i + 1 < words.size(); i += 2) {
    a = (a ^ uint64_t(words[i])) * 0xA24BAED4963EE407u;
    b = (b ^ uint64_t(words[i + 1])) * 0x9FB21C651E98DF25u;
    a ^= a >> 29, b ^= b >> 32;
  }
  if (i < words.size()) a = (a ^ uint64_t(words[i])) * 0xA24BAED4963EE407u;
  return (a ^ (b >> 31) ^ (b << 33)) * 0x9E3779B97F4A7C15u;
}

void describe(const Plan& plan, Report& report) {
  for (const Plan::Part& part : plan.parts()) {
    const Group& group = plan.grouping().groups[size_t(part.group)];
    int64_t units = 1;
    for (int64_t n : group.shape) units *= n;
    const auto& code = part.bound.code;
    const int64_t outputs = code ? int64_t(code->program.outputs.size()) : 1;
    const int64_t all = code ? int64_t(part.bound.operands.size()) : 1 + group.inputs;
    report.groups.push_back({int64_t(part.steps.size()), all - outputs, outputs, units,
                             code ? code->state : Code::State::Unseen});
  }
}

// Values that a backward pass alone needs may stay pending if the program is in a region, a few
// times: each time, what is needed of them is computed again. A pass runs them as soon as it has to
// run anything.
bool may_stay() {
  return mine.depth > 0 && mine.passes == 0 && state().stays < kMostStays && !rehearsal::here();
}

// Operands that are awaited need somebody who settles them (StandIn).
void leave() {
  if (state().open == 0 && !pending()) StandIn::get().remove();
}

void run_pending(Report& report, const Storage* asked, bool stay) {
  State& s = state();
  struct Turn {
    std::vector<int> staying;
    ~Turn() {
      const std::vector<Ref<Storage>> unused = state().trace.clear(staying);
      state().stays = staying.empty() ? 0 : state().stays + 1;
      state().runner = nullptr;
      leave();
    }
  } turn;
  s.runner = me();
  const Undeferred undeferred;
  profile::Span span;
  if (profile::on()) span.begin("deferred", profile::Kind::Region);
  const auto& words = s.trace.finish(stay, asked);
  const uint64_t hash = hash_of(words);
  if (s.plans.size() > kMostPlans) s.plans.clear();
  auto [at, fresh] = s.plans.try_emplace(hash);
  std::unique_ptr<Plan>& plan = at->second.plan;
  report.graphs++;
  report.primitives += s.trace.steps();
  const bool wait = mine.depth && mine.options.wait;
  if (fresh && !wait) {  // it may never come again
    for (const Step& step : read_steps(words, s.trace.steps()))
      run_step(step, s.trace.slots(), s.trace.numbers(), StandIn::get().device());
    return;
  }
  if (!plan || !plan->is_for(words)) {
    plan = std::make_unique<Plan>(words, s.trace.steps(), s.trace.slots().size());
    plan->want_code();
  }
  plan->run(s.trace.slots(), s.trace.numbers(), StandIn::get().device(), report);
  if (report.groups.size() < 64) describe(*plan, report);
  turn.staying = plan->staying();
}

Report& my_report() { return mine.report ? *mine.report : state().reports[0]; }

void settle(Storage& storage) {
  if (state().runner == me()) return;
  wait_for_runner();
  if (!(storage.watch & kAwaited)) return;
  if (deferring) {  // else a primitive asks, which is no business of the program
    const Break at = host.where ? host.where() : Break{"", 0};
    my_report().breaks[at]++;
    if (rehearsal::here()) rehearsal::refuse("the program looks at elements");
    check(!mine.options.fullgraph, Kind::Runtime,
          "compile(fullgraph=True): the value of a tensor is looked at in ", at.file, ":", at.line,
          ", which ends the graph; compile without fullgraph, or look at it outside");
  }
  run_pending(my_report(), &storage, may_stay());
}

bool keep(Storage* storage) {
  state().trace.keep(storage);
  return true;
}

// The host's compiler is asked for what is wanted, and for what it has.
void compile(bool wait) {
  if (!host.ask || unfinished().empty()) return;
  std::vector<std::shared_ptr<Code>> waiting;
  waiting.swap(unfinished());
  for (const auto& code : waiting) {
    if (code->state == Code::State::Wanted) host.ask(code);
    if (code->state == Code::State::Asked && !host.answered(code, wait))
      unfinished().push_back(code);
  }
}

void after_fork_in_child() {
  State& s = state();
  if (s.runner && s.runner != me()) {  // that thread is not here
    const std::vector<Ref<Storage>> unused = s.trace.clear();
    s.runner = nullptr;
  }
}

}  // namespace

bool pending() { return !state().trace.empty(); }

bool take(const Request& call) {
  if (!Trace::takes(call)) return false;
  State& s = state();
  wait_for_runner();
  if (s.trace.full()) run_pending(my_report(), nullptr, false);
  s.trace.append(call);
  s.taken++;
  return true;
}

void open(const Options& options) {
  if (mine.depth++ || !state().enabled) return;
  if (!mine.passes) flush();  // what was left for backward passes that did not come
  Report& report = state().reports[options.key];
  if (report.idle >= kIdle && options.key && !options.fullgraph && ++report.skipped % kProbe)
    return;
  mine.options = options;
  if (!deferred.settle) {
    deferred.settle = settle;
    deferred.keep = keep;
    deferred.saved = [](const Tensor& t) { state().trace.save(t); };
    deferred.forget = [](TensorImpl* t) { state().trace.forget(t); };
    deferred.open = [] { mine.passes++, open({}); };
    deferred.close = [] {
      struct End {
        ~End() { mine.passes--; }
      } end;
      close();
    };
    pthread_atfork(nullptr, nullptr, after_fork_in_child);
  }
  if (state().open++ == 0) StandIn::get().install();
  mine.report = &report;
  mine.report->calls++;
  mine.report->groups.clear();
  deferring = true;
}

void close() {
  check(mine.depth > 0, Kind::Runtime, "no region is open on this thread");
  if (mine.depth > 1 || !deferring) {
    mine.depth--;
    return;
  }
  struct End {
    ~End() {
      deferring = false;
      mine.depth = 0;
      mine.report = nullptr;
      state().open--;
      leave();
    }
  };
  const bool wait = mine.options.wait;
  Report& report = *mine.report;
  const int64_t taken = state().taken;  // also by backward passes since the call before
  report.idle = taken == report.taken ? report.idle + 1 : 0;
  report.taken = taken;
  {
    End end;
    wait_for_runner();
    if (pending()) run_pending(my_report(), nullptr, may_stay());
  }
  compile(wait);
}

bool is_open() { return deferring; }

void flush() {
  wait_for_runner();
  if (!state().trace.empty()) run_pending(my_report(), nullptr, false);
}

bool set_enabled(bool on) { return std::exchange(state().enabled, on); }

void reset() {
  check(!state().open, Kind::Runtime, "a region is open");
  flush();
  state().plans.clear();
  state().reports.clear();
  forget_code();
}

const Report* report_of(int64_t key) {
  auto at = state().reports.find(key);
  return at == state().reports.end() ? nullptr : &at->second;
}

}  // namespace ember::lazy
