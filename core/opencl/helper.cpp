// Starts the process that compiles (ember/opencl/_build.py), sends it sources, and watches it.
#include "opencl/helper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

#include "opencl/build_log.h"

extern char** environ;

namespace ember::opencl {

namespace {

constexpr double kStartSeconds = 120;  // for Python and the driver, on a machine with much to do
constexpr double kWallPerCpu = 10;
constexpr int kChannel = 3;  // the descriptor that the process finds its end of the channel at

constexpr size_t kMostProcesses = 4;

struct Helper {
  size_t group = 0;
  bool plain = false;
  double used = 0;  // when
  pid_t process = 0;
  int channel = -1, errors = -1;
};
struct Helpers {
  std::vector<std::string> command;
  HelperLimits limits;
  pid_t owner = 0;
  std::vector<Helper> all;
};
Helpers& helpers() {
  static Helpers& instance = *new Helpers;
  return instance;
}

void drop(int& file) {
  if (file >= 0) close(file);
  file = -1;
}

// Ends it and returns how it ended (as waitpid says; -1 if others have waited for it).
int end(Helper& h) {
  int status = -1;
  drop(h.channel);
  if (h.process) {
    // Not if somebody has waited for it already: its number may be another's by now.
    pid_t ended = waitpid(h.process, &status, WNOHANG);
    if (ended == 0) {
      kill(h.process, SIGKILL);
      ended = waitpid(h.process, &status, 0);
    }
    if (ended != h.process) status = -1;
  }
  h.process = 0;
  return status;
}

// The last lines that it wrote about errors.
std::string last_words(Helper& h) {
  std::string text(2000, '\0');
  const off_t size = h.errors < 0 ? 0 : lseek(h.errors, 0, SEEK_END);
  const ssize_t n =
      size <= 0 ? 0 : pread(h.errors, text.data(), text.size(), std::max<off_t>(0, size - 2000));
  text.resize(n > 0 ? size_t(n) : 0);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0')) text.pop_back();
  return text;
}

bool start(Helper& h) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return false;
  drop(h.errors);
  h.errors = memfd_create("ember-build", MFD_CLOEXEC);
  // Above those that it is to find them at.
  int theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, 16), errors = fcntl(h.errors, F_DUPFD_CLOEXEC, 16);
  close(ends[1]);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  if (errors >= 0) {
    posix_spawn_file_actions_adddup2(&files, errors, 1);
    posix_spawn_file_actions_adddup2(&files, errors, 2);
  }
  posix_spawn_file_actions_adddup2(&files, theirs, kChannel);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A group of its own: an interrupt from the terminal is the program's affair.
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  std::vector<std::string> command = helpers().command;
  command.push_back(std::to_string(h.group));
  command.push_back(h.plain ? "plain" : "usual");
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t process = 0;
  const int code = theirs < 0
                       ? EMFILE
                       : posix_spawn(&process, argv[0], &files, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  drop(theirs);
  drop(errors);
  h.channel = ends[0];
  if (code) {
    drop(h.channel);
    return false;
  }
  h.process = process;
  return true;
}

int64_t resident_bytes(pid_t process) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/statm", int(process));
  long long pages = 0;
  if (FILE* file = std::fopen(path, "re")) {
    if (std::fscanf(file, "%*d %lld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * sysconf(_SC_PAGESIZE);
}

bool send_all(int channel, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = send(channel, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += size_t(n);
  }
  return true;
}

// What the process may take until it has answered.
struct Watch {
  pid_t process;
  double seconds, wall_limit;
  int64_t bytes;
  double cpu = cpu_seconds(process), wall = wall_seconds();

  // What it went over, or nothing.
  std::string over() const {
    char text[96];
    if (seconds > 0 && cpu_seconds(process) - cpu > seconds)
      std::snprintf(text, sizeof text, "took more than %g seconds", seconds);
    else if (wall_seconds() - wall > wall_limit)
      std::snprintf(text, sizeof text, "did not end in %g seconds", wall_limit);
    else if (bytes > 0 && resident_bytes(process) > bytes)
      std::snprintf(text, sizeof text, "took more than %.1f GB of memory", double(bytes) / 1e9);
    else
      return "";
    return text;
  }
};

// Reads so many bytes; false at the end of the channel, or (with `over`) over a limit.
bool receive(int channel, char* to, size_t size, const Watch& watch, std::string& over) {
  for (size_t done = 0; done < size;) {
    pollfd p{channel, POLLIN, 0};
    const int ready = poll(&p, 1, 20);
    if (ready > 0) {
      const ssize_t n = read(channel, to + done, size - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      done += size_t(n);
      continue;
    }
    if (ready < 0 && errno != EINTR) return false;
    over = watch.over();
    if (!over.empty()) return false;
  }
  return true;
}

// The one for work-groups of a size. If there are many, the one that had nothing to do for longest
// makes room.
Helper& helper_for(Helpers& all, size_t group, bool plain) {
  if (all.owner != getpid()) {  // those of the process that this one was forked from
    for (Helper& h : all.all) drop(h.channel), drop(h.errors);
    all.all.clear();
    all.owner = getpid();
  }
  for (Helper& h : all.all)
    if (h.group == group && h.plain == plain) return h;
  if (all.all.size() < kMostProcesses) {
    Helper& added = all.all.emplace_back();
    added.group = group;
    added.plain = plain;
    return added;
  }
  Helper& oldest = *std::min_element(all.all.begin(), all.all.end(),
                                     [](auto& a, auto& b) { return a.used < b.used; });
  end(oldest);
  oldest.group = group;
  oldest.plain = plain;
  return oldest;
}

// Whether there is a process, and it is ready.
bool ready(Helpers& all, Helper& h) {
  int status;
  if (h.process && waitpid(h.process, &status, WNOHANG) != 0) {  // it had nothing to do
    h.process = 0;
    drop(h.channel);
  }
  if (h.process) return true;
  if (all.command.empty() || !start(h)) return false;
  char byte;
  std::string over;
  if (receive(h.channel, &byte, 1, {h.process, 0, kStartSeconds, 0}, over)) return true;
  end(h);
  all.command.clear();  // it would not start the next time
  return false;
}

void add(std::string& text, const std::string& field) {
  const uint64_t size = field.size();
  text.append(reinterpret_cast<const char*>(&size), sizeof size);
  text += field;
}

// Empty if the process was gone before it began.
std::optional<BuildReply> ask(Helper& h, const BuildRequest& r) {
  std::string text;
  add(text, std::to_string(r.place));
  add(text, r.identity);
  add(text, r.options);
  add(text, r.source);
  add(text, r.name);
  const HelperLimits& limits = helpers().limits;
  const Watch watch{h.process, limits.seconds, limits.seconds * kWallPerCpu, limits.bytes};
  std::string framed;
  add(framed, text);
  BuildReply reply;
  uint64_t size = 0;
  char begun = 0, outcome = 0;
  std::string over;
  if (!send_all(h.channel, framed) || !receive(h.channel, &begun, 1, watch, over)) {
    if (over.empty()) {
      end(h);
      return {};
    }
  } else if (receive(h.channel, &outcome, 1, watch, over) &&
             receive(h.channel, reinterpret_cast<char*>(&size), sizeof size, watch, over)) {
    reply.binary.resize(size);
    if (receive(h.channel, reply.binary.data(), size, watch, over)) {
      reply.outcome = outcome == 'b' ? BuildReply::Built : BuildReply::Failed;
      if (outcome != 'b') {
        reply.text.assign(reply.binary.data(), reply.binary.size());
        reply.binary.clear();
      }
    }
  }
  reply.wall = wall_seconds() - watch.wall;
  reply.cpu = std::max(0.0, cpu_seconds(h.process) - watch.cpu);
  if (reply.outcome != BuildReply::NoHelper) return reply;
  reply.outcome = BuildReply::Died;
  reply.binary.clear();
  const int status = end(h);
  if (!over.empty()) {
    reply.text = "the compiler " + over;
  } else {
    // Somebody else may have ended it: a user, or the system for want of memory.
    const int by = status != -1 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    reply.lasting = status != -1 && by != SIGKILL && by != SIGTERM && by != SIGHUP && by != SIGINT;
    reply.text = "the compiler ended its process";
    if (by) reply.text += " (" + std::string(strsignal(by)) + ")";
    if (std::string words = last_words(h); !words.empty()) reply.text += ": " + words;
  }
  return reply;
}

}  // namespace

void set_helper(std::vector<std::string> command, HelperLimits limits) {
  helpers().command = std::move(command);
  helpers().limits = limits;
}

HelperLimits helper_limits() { return helpers().limits; }

BuildReply build_in_helper(const BuildRequest& request) {
  Helpers& all = helpers();
  Helper& h = helper_for(all, request.group, request.plain);
  for (int i = 0; i < 3; i++) {
    if (!ready(all, h)) break;
    std::optional<BuildReply> reply = ask(h, request);
    h.used = wall_seconds();
    if (reply && (reply->lasting || i == 2)) return *reply;
  }
  return {};
}

void stop_helper() {
  Helpers& all = helpers();
  if (all.owner == getpid())
    for (Helper& h : all.all) end(h);
}

}  // namespace ember::opencl
