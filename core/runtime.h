// What the core asks of its host language: to let other threads run during long work.
// The Python layer fills these in; a program without Python leaves them empty.
#pragma once

#include <atomic>
#include <cstdint>

// Thread-local variables that every op reads; as if in the executable, an access needs no call.
// Their space is scarce: pointers and flags, not objects.
#define EMBER_FAST_TLS [[gnu::tls_model("initial-exec")]]

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

// A call from the host into the core; calls nest. An op may run several kernels on pointers that it
// read before the first, so memory that another thread makes a tensor leave meanwhile (resize_,
// set_, data =) is freed when no call that has run one unlocked is under way any more; see
// set_aside in tensor/tensor.cpp.
class HostCall {
 public:
  HostCall() { depth++; }
  ~HostCall() {
    if (--depth == 0 && counted) end_flight();
  }
  HostCall(const HostCall&) = delete;
  HostCall& operator=(const HostCall&) = delete;

  static bool any_in_flight() { return in_flight.load() > 0; }
  static inline std::atomic<void (*)()> drained{nullptr};  // called with the host's lock
  // In the child of a fork, whose only thread is this one.
  static void forget_other_threads() { in_flight = counted; }

 private:
  friend class UnlockedKernel;
  static void begin_flight() {
    counted = true;
    in_flight++;
  }
  static void end_flight() {
    counted = false;
    if (--in_flight > 0) return;
    if (auto* free = drained.load()) free();
  }
  EMBER_FAST_TLS static inline thread_local int depth = 0;
  EMBER_FAST_TLS static inline thread_local bool counted = false;  // whether it has run unlocked
  static inline std::atomic<int> in_flight{0};
};

// Unlocked while a kernel uses the memory of tensors.
class UnlockedKernel {
 public:
  explicit UnlockedKernel(bool worth_it) : flight_(worth_it), unlocked_(worth_it) {}

 private:
  struct Flight {
    explicit Flight(bool begins) {
      if (begins && !HostCall::counted) HostCall::begin_flight();
    }
    ~Flight() {
      if (HostCall::counted && HostCall::depth == 0) HostCall::end_flight();
    }
  };
  Flight flight_;  // the first to come and the last to go: the lock is held at both ends
  Unlocked unlocked_;
};

}  // namespace ember
