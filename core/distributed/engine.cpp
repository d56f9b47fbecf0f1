#include "distributed/engine.h"

#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "check.h"

namespace ember::distributed {

void pack(Work& work, int rank, int size);                   // launch.cpp
int launch(Work& work, mpi::Comm comm, int rank, int size);  // launch.cpp
void unpack(Work& work, int rank, int size);                 // launch.cpp

namespace {

constexpr int kMostInFlight = 64;  // collectives of a communicator; the rest waits for its turn
constexpr std::chrono::microseconds kSlowYield{50}, kCrowded{100'000};
constexpr double kGrace = 2;  // seconds for what a rank that left may have sent before

struct Comm {
  mpi::Comm handle;
  std::vector<int> ranks;  // of the world
  int rank = 0;
  std::deque<WorkRef> waiting, running;  // messages never wait: others may wait for them
  int collectives = 0;                   // of those running
  std::string broken;
};

struct Engine {
  std::mutex mutex;  // held while MPI is called, and over all below
  std::condition_variable more;
  std::deque<std::function<void()>> commands;
  std::vector<std::unique_ptr<Comm>> comms;
  std::vector<WorkRef> abandoned;
  World world{0, 1, "", ""};
  std::unique_ptr<Presence> presence;
  std::atomic<bool> begun{false};
  std::atomic<int> helpers{0};
  std::atomic<Deadline> crowded_until{Deadline{}};  // more threads than cores, as far as seen

  std::mutex news;  // over what the presence's thread tells
  std::map<int, char> gone;
  std::map<int, Deadline> left;
  std::atomic<bool> heard{false};
};
// Never destroyed: threads use it until the process ends.
Engine& engine() {
  static Engine* one = new Engine;
  return *one;
}

std::string told(int rank, char how) {
  std::string who = "rank " + std::to_string(rank);
  if (how == 'B') return who + " has left the group (its process ended)";
  if (how == 'S')
    return who + " is lost: the connection to it, which keeps the meeting point, closed";
  return who + " is lost: its process died or its host cannot be reached";
}

void finish(const WorkRef& work, std::string error) {
  if (!error.empty()) work->error = work->name + ": " + error;
  work->done = true;
}

// Under the lock.
void break_comm(Engine& e, Comm& comm, const std::string& why) {
  comm.broken = why;
  for (auto* queue : {&comm.running, &comm.waiting}) {
    for (auto& work : *queue) {
      if (work->started) e.abandoned.push_back(work);
      finish(work, why);
    }
    queue->clear();
  }
  comm.collectives = 0;
}

bool is_message(const Work& work) { return work.what == What::Send || work.what == What::Receive; }

void run(Engine& e, Comm& comm, const WorkRef& work) {
  int size = int(comm.ranks.size());
  pack(*work, comm.rank, size);
  int status = launch(*work, comm.handle, comm.rank, size);
  work->started = true;
  comm.running.push_back(work);
  comm.collectives += !is_message(*work);
  if (status) {
    try {
      mpi::must(status, "start");
    } catch (const Error& error) {
      break_comm(e, comm, error.what());
    }
  }
}

bool first_collective(const Comm& comm, size_t i) {
  return std::all_of(comm.running.begin(), comm.running.begin() + long(i),
                     [](auto& work) { return is_message(*work); });
}

void start_more(Engine& e, Comm& comm) {
  while (!comm.waiting.empty() && comm.collectives < kMostInFlight) {
    WorkRef work = comm.waiting.front();
    comm.waiting.pop_front();
    run(e, comm, work);
  }
}

void look_for_the_lost(Engine& e) {
  std::lock_guard lock(e.news);
  for (auto& comm : e.comms) {
    if (!comm->broken.empty()) continue;
    for (auto [rank, how] : e.gone) {
      if (std::find(comm->ranks.begin(), comm->ranks.end(), rank) == comm->ranks.end()) continue;
      if (how == 'B' && Clock::now() < e.left[rank]) continue;
      if (how == 'B' && comm->running.empty() && comm->waiting.empty()) continue;
      break_comm(e, *comm, told(rank, how));
      break;
    }
  }
}

// Under the lock: one round over all that runs. Whether anything is left.
bool poll(Engine& e) {
  if (e.heard) look_for_the_lost(e);
  bool busy = false;
  for (auto& comm : e.comms) {
    if (comm->running.empty()) continue;
    Deadline now = Clock::now();
    for (size_t i = 0; i < comm->running.size();) {
      WorkRef work = comm->running[i];
      if (work->what == What::Barrier && !first_collective(*comm, i) && now <= work->deadline) {
        ++i;  // it stands for all that was begun before
        continue;
      }
      int flag = 0;
      int status = mpi::library().Test(&work->request, &flag, &work->status);
      if (status) {
        try {
          mpi::must(status, "Test");
        } catch (const Error& error) {
          break_comm(e, *comm, error.what());
        }
        break;
      }
      if (flag) {
        unpack(*work, comm->rank, int(comm->ranks.size()));
        comm->collectives -= !is_message(*work);
        comm->running.erase(comm->running.begin() + long(i));
        finish(work, "");
        continue;
      }
      if (now > work->deadline) {
        std::ostringstream text;
        text << "Timed out waiting " << int64_t(work->timeout * 1000)
             << "ms for the operation to complete; another rank did not take part in it";
        break_comm(e, *comm, text.str());
        break;
      }
      ++i;
    }
    start_more(e, *comm);
    busy |= !comm->running.empty();
  }
  return busy;
}

void progress() {
  Engine& e = engine();
  int idle = 0;
  while (true) {
    bool busy;
    {
      std::unique_lock lock(e.mutex);
      if (!e.commands.empty()) {
        auto command = std::move(e.commands.front());
        e.commands.pop_front();
        lock.unlock();
        command();
        continue;
      }
      busy = e.helpers ? true : poll(e);
      if (!busy) {
        idle = 0;
        e.more.wait_for(lock, std::chrono::milliseconds(200));
        continue;
      }
    }
    // Who computes needs the core more than this thread; who waits polls for itself.
    usleep(e.helpers ? 200 : std::min(50, 5 * ++idle));
  }
}

// Runs `body` on the engine's thread; the caller waits until it is done, a rank is lost or time is
// up.
void on_thread(double timeout, const char* what, std::function<void()> body) {
  struct State {
    std::atomic<bool> done{false};
    std::string error;
  };
  auto state = std::make_shared<State>();
  Engine& e = engine();
  {
    std::lock_guard lock(e.mutex);
    e.commands.push_back([state, body = std::move(body)] {
      try {
        body();
      } catch (const std::exception& error) {
        state->error = error.what();
      }
      state->done = true;
    });
    e.more.notify_all();
  }
  Deadline deadline = after(timeout);
  while (!state->done) {
    usleep(500);
    if (e.heard) {
      std::string who = lost();
      check(who.empty() || state->done, Kind::Runtime, what, ": ", who);
    }
    check(Clock::now() < deadline, Kind::Runtime, what, ": timed out after ", timeout, " s");
  }
  check(state->error.empty(), Kind::Runtime, what, ": ", state->error);
}

}  // namespace

bool begun() { return engine().begun; }

std::string lost() {
  Engine& e = engine();
  std::lock_guard lock(e.news);
  for (auto [rank, how] : e.gone)
    if (how != 'B') return told(rank, how);
  return "";
}

void begin(const std::string& library, const World& world, const std::string& host, int port,
           const std::string& secret, double timeout) {
  Engine& e = engine();
  check(!e.begun, Kind::Runtime, "MPI can begin once in a process");
  mpi::open_library(library);
  e.world = world;
  Deadline deadline = after(timeout);
  e.presence = std::make_unique<Presence>(host, port, secret, world.rank, deadline,
                                          [&e](int rank, char how) {
                                            std::lock_guard lock(e.news);
                                            e.gone.emplace(rank, how);
                                            e.left.emplace(rank, after(kGrace));
                                            e.heard = true;
                                            e.more.notify_all();
                                          });
  auto table = std::make_shared<Client>(host, port, secret, deadline);
  setenv("PMI_FD", std::to_string(serve_pmi(world, table)).c_str(), 1);
  setenv("PMI_RANK", std::to_string(world.rank).c_str(), 1);
  setenv("PMI_SIZE", std::to_string(world.size).c_str(), 1);
  std::thread(progress).detach();
  auto forget = [] {  // a child of this process is not a rank
    for (const char* name : {"PMI_FD", "PMI_RANK", "PMI_SIZE"}) unsetenv(name);
  };
  try {
    on_thread(timeout, "init_process_group", [] {
      int level = 0;
      mpi::must(mpi::library().Init_thread(nullptr, nullptr, mpi::kThreadMultiple, &level), "Init");
      mpi::library().Comm_set_errhandler(mpi::handle(mpi::kWorld), mpi::handle(mpi::kErrorsReturn));
    });
  } catch (...) {
    forget();
    throw;
  }
  forget();
  e.begun = true;
}

int make_comm(const std::vector<int>& ranks, double timeout) {
  Engine& e = engine();
  check(e.begun, Kind::Runtime, "a group of ranks needs a world: MPI has not begun");
  for (int rank : ranks) check(rank >= 0, Kind::Value, "a group of ranks: ", rank, " is no rank");
  auto made = std::make_shared<std::unique_ptr<Comm>>(new Comm{nullptr, ranks, 0, {}, {}, 0, ""});
  on_thread(timeout, "a new group", [made] {
    const mpi::Library& m = mpi::library();
    Comm& comm = **made;
    mpi::Group all, part;
    mpi::must(m.Comm_group(mpi::handle(mpi::kWorld), &all), "Comm_group");
    mpi::must(m.Group_incl(all, int(comm.ranks.size()), comm.ranks.data(), &part), "Group_incl");
    mpi::must(m.Comm_create_group(mpi::handle(mpi::kWorld), part, 0, &comm.handle),
              "Comm_create_group");
    m.Comm_set_errhandler(comm.handle, mpi::handle(mpi::kErrorsReturn));
    mpi::must(m.Comm_rank(comm.handle, &comm.rank), "Comm_rank");
  });
  std::lock_guard lock(e.mutex);
  e.comms.push_back(std::move(*made));
  return int(e.comms.size()) - 1;
}

void start(const WorkRef& work) {
  Engine& e = engine();
  std::lock_guard lock(e.mutex);
  Comm& comm = *e.comms.at(size_t(work->comm));
  work->deadline = after(work->timeout);
  if (e.heard) look_for_the_lost(e);
  if (!comm.broken.empty()) return finish(work, comm.broken);
  if (is_message(*work)) {
    run(e, comm, work);
  } else {
    comm.waiting.push_back(work);
    start_more(e, comm);
  }
  e.more.notify_all();
}

bool wait(const WorkRef& work, double timeout) {
  if (work->done) return true;
  Engine& e = engine();
  Deadline deadline = after(timeout);
  ++e.helpers;
  // Spinning helps while there is a core for it, and hurts when others wait for ours: a yield that
  // takes long says so, and for a while nobody here yields. Who sleeps instead is woken before
  // those who have used up their time.
  int slack = 0;
  while (!work->done) {
    {
      std::unique_lock lock(e.mutex, std::try_to_lock);
      if (lock) poll(e);
    }
    Deadline now = Clock::now();
    if (work->done || now > deadline) break;
    if (now > e.crowded_until.load()) {
      sched_yield();
      Deadline then = Clock::now();
      if (then - now > kSlowYield) e.crowded_until = then + kCrowded;
    } else {
      if (!slack) {
        slack = prctl(PR_GET_TIMERSLACK);
        prctl(PR_SET_TIMERSLACK, 1000);  // ns; else a sleep takes 50 us more than it says
      }
      usleep(20);
    }
  }
  if (slack) prctl(PR_SET_TIMERSLACK, slack);
  --e.helpers;
  return work->done;
}

void leave() {
  Engine& e = engine();
  if (!e.presence) return;
  if (e.begun && lost().empty()) {
    // What others still take from this process's memory: they meet here, or a second passes.
    mpi::Request request = nullptr;
    Deadline deadline = after(1);
    std::unique_lock lock(e.mutex);
    int flag = mpi::library().Ibarrier(mpi::handle(mpi::kWorld), &request) != 0;
    while (!flag && Clock::now() < deadline) {
      if (mpi::library().Test(&request, &flag, nullptr)) break;
      lock.unlock();
      usleep(100);
      lock.lock();
    }
  }
  e.presence->leave();
}

}  // namespace ember::distributed
