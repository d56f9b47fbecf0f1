// The thread pool is libgomp's. After a fork its threads are gone, and the child would wait for
// them for ever; so a child runs single-threaded until it asks for threads itself (Note [Fork]).
#include "cpu/parallel.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "check.h"

// The thread sanitizer does not see libgomp's barriers, as libgomp is not compiled with it. So it
// is told here what they mean: the pieces begin after the fork, and what follows the join comes
// after every piece.
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define EMBER_HAPPENED(mark) __tsan_release(mark)
#define EMBER_AFTER(mark) __tsan_acquire(mark)
#define EMBER_UNSEEN __attribute__((no_sanitize("thread")))  // reads its frame before it can say so
#else
#define EMBER_HAPPENED(mark) void()
#define EMBER_AFTER(mark) void()
#define EMBER_UNSEEN
#endif

namespace ember::cpu {

namespace {

std::atomic<int> threads{0};
std::atomic<bool> forked{false};

void after_fork_in_child() {
  forked = true;
  threads = 1;
  omp_set_num_threads(1);
  HostCall::forget_other_threads();
}

int initial_threads() {
  static const int counted = [] {
    pthread_atfork(nullptr, nullptr, after_fork_in_child);
    return std::max(1, omp_get_max_threads());
  }();
  return counted;
}

}  // namespace

int num_threads() {
  int n = threads.load(std::memory_order_relaxed);
  if (n != 0) return n;
  int first = initial_threads();
  return threads.compare_exchange_strong(n, first) ? first : n;  // another thread may have set it
}

void set_num_threads(int n) {
  check(n > 0, Kind::Runtime, "set_num_threads(): expected a positive number of threads, got ", n);
  num_threads();
  // Note [Fork]: libgomp's pool belongs to the parent; using it in the child hangs.
  if (forked) n = 1;
  threads = n;
  omp_set_num_threads(n);
}

bool in_parallel_region() { return omp_in_parallel(); }

EMBER_UNSEEN void detail::run_parallel(int64_t n, int64_t grain,
                                       void (*call)(void*, int64_t, int64_t), void* body) {
  int64_t pieces = std::min<int64_t>(num_threads(), (n + grain - 1) / grain);
  if (pieces <= 1 || omp_in_parallel()) {
    UnlockedKernel unlocked(!omp_in_parallel());
    call(body, 0, n);
    return;
  }
  UnlockedKernel unlocked(true);
  std::exception_ptr error;
  int64_t piece = (n + pieces - 1) / pieces;
  [[maybe_unused]] char fork, join;  // their addresses are the marks
  EMBER_HAPPENED(&fork);
#pragma omp parallel for num_threads(int(pieces)) schedule(static, 1)
  for (int64_t i = 0; i < pieces; i++) {
    EMBER_AFTER(&fork);
    try {
      int64_t begin = i * piece, end = std::min(n, begin + piece);
      if (begin < end) call(body, begin, end);
    } catch (...) {
#pragma omp critical(ember_parallel_error)
      if (!error) error = std::current_exception();
    }
    EMBER_HAPPENED(&join);
  }
  EMBER_AFTER(&join);
  if (error) std::rethrow_exception(error);
}

}  // namespace ember::cpu
