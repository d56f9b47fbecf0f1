// What the core asks of its host language: to let other threads run during long work.
// The Python layer fills these in; a program without Python leaves them empty.
#pragma once

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

}  // namespace ember
