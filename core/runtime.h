// What the core asks of its host language: to let other threads run during long work.
// The Python layer fills these in; a program without Python leaves them empty.
#pragma once

#include <atomic>
#include <cstdint>

namespace ember {

struct Host {
  void* (*release)() = nullptr;  // lets other threads run; returns what acquire() needs
  void (*acquire)(void*) = nullptr;
};
inline Host host;

// Other threads of the host run while one of these lives. Only raw memory may be touched meanwhile:
// no Tensor is made, copied or dropped (see docs/architecture.md, "Threads").
class Unlocked {
 public:
  explicit Unlocked(bool worth_it) : state_(worth_it && host.release ? host.release() : nullptr) {}
  ~Unlocked() {
    if (state_) host.acquire(state_);
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  void* state_;
};

// Unlocked while a kernel uses the memory of tensors. What another thread makes a tensor leave
// meanwhile (resize_, set_, data =) is freed when no such kernel runs any more; see set_aside in
// tensor/tensor.cpp.
class UnlockedKernel {
 public:
  explicit UnlockedKernel(bool worth_it) : running_(worth_it), unlocked_(worth_it) {}
  static bool any() { return count.load() > 0; }

 private:
  struct Running {
    explicit Running(bool counts) : counts(counts) { count += counts; }
    ~Running() {
      if (counts && --count == 0 && drained) drained();
    }
    bool counts;
  };

 public:
  static inline std::atomic<void (*)()> drained{nullptr};  // called with the host's lock

 private:
  static inline std::atomic<int> count{0};
  Running running_;  // the first to come and the last to go: the lock is held at both ends
  Unlocked unlocked_;
};

}  // namespace ember
