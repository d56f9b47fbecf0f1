// Work that is put off. While a region is open on a thread (ember.compile; lazy/), primitives are
// written down instead of run, and new memory is not asked for until somebody looks at it. The
// storages that such work reads or writes are awaited (kAwaited): Tensor::data() of one of them
// runs the work first, whoever asks. So nobody else need know of any of this.
#pragma once

#include "runtime.h"
#include "tensor/storage.h"

namespace ember {

class Tensor;
struct TensorImpl;

struct Deferred {
  void (*settle)(Storage&) = nullptr;  // runs what is awaited
  bool (*keep)(Storage*) = nullptr;    // of one that is no longer used: true if it is needed yet
  void (*saved)(const Tensor&) = nullptr;  // a backward pass will read it
  void (*forget)(TensorImpl*) = nullptr;   // it dies
  void (*open)() = nullptr;   // a region round a backward pass of this thread; regions nest
  void (*close)() = nullptr;  // may raise
};
inline Deferred deferred;  // filled in by lazy/

EMBER_FAST_TLS inline thread_local bool deferring = false;  // a region is open on this thread

// What the thread does while one of these lives is done at once, as outside of any region.
class Undeferred {
 public:
  Undeferred() : before_(deferring) { deferring = false; }
  ~Undeferred() { deferring = before_; }
  Undeferred(const Undeferred&) = delete;
  Undeferred& operator=(const Undeferred&) = delete;

 private:
  bool before_;
};

// A region round a stretch of work, which ends by close(). If the work fails, its error is the one
// to tell.
class DeferredRegion {
 public:
  DeferredRegion() { deferred.open(); }
  ~DeferredRegion() {
    if (!open_) return;
    try {
      deferred.close();
    } catch (...) {
    }
  }
  DeferredRegion(const DeferredRegion&) = delete;
  DeferredRegion& operator=(const DeferredRegion&) = delete;
  void close() {
    open_ = false;
    deferred.close();
  }

 private:
  bool open_ = true;
};

// Much memory is asked for at once: an error if there is not so much belongs where it is wanted.
constexpr int64_t kMostDeferredBytes = int64_t(1) << 30;

// Results of fewer elements are cheaper computed than written down, unless they wait for others;
// and memory for so many of float32 is had at once.
inline int64_t deferred_least = 4096;

}  // namespace ember
