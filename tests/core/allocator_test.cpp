// The caching allocator: alignment, reuse, bounds, threads, fork.  `allocator_test --bench`
// measures it. Under a sanitizer run it with EMBER_NO_CACHE=0 too, so that the cache itself is what
// is tested.
#include "tensor/allocator.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "testing.h"

using namespace ember;

namespace {

struct Held {
  unsigned char* p;
  size_t bytes;
  unsigned char mark;
};

Held hold(size_t bytes, unsigned char mark) {
  Held h{static_cast<unsigned char*>(allocate(bytes)), bytes, mark};
  if (bytes) h.p[0] = h.p[bytes - 1] = h.p[bytes / 2] = mark;
  return h;
}

bool intact(const Held& h) {
  return !h.bytes || (h.p[0] == h.mark && h.p[h.bytes - 1] == h.mark && h.p[h.bytes / 2] == h.mark);
}

void drop(const Held& h) { deallocate(h.p, h.bytes); }

bool caching() {
  void* p = allocate(1 << 20);
  deallocate(p, 1 << 20);
  return memory_stats().reserved > 0;
}

void sizes() {
  EXPECT(allocate(0) == nullptr);
  deallocate(nullptr, 0);
  for (size_t bytes = 1; bytes < (size_t(1) << 27); bytes += bytes / 7 + 1) {
    Held a = hold(bytes, 1), b = hold(bytes, 2);
    EXPECT(uintptr_t(a.p) % 64 == 0 && uintptr_t(b.p) % 64 == 0);
    EXPECT(intact(a) && intact(b));
    drop(a);
    drop(b);
  }
  int64_t before = memory_stats().allocated;
  void* p = allocate(1000000);
  int64_t taken = memory_stats().allocated - before;
  EXPECT(taken >= 1000000 && taken <= 1125000);
  deallocate(p, 1000000);
  EXPECT(memory_stats().allocated == before);
}

void reuse() {
  if (!caching()) return;
  for (size_t bytes : {size_t(1), size_t(700), size_t(64 << 10), size_t(65537), size_t(5 << 20)}) {
    void* p = allocate(bytes);
    deallocate(p, bytes);
    EXPECT(allocate(bytes) == p);  // the warmest first
    deallocate(p, bytes);
  }
  void* p = allocate(9 << 20);
  EXPECT(uintptr_t(p) % (2 << 20) == 0);
  deallocate(p, 9 << 20);
  AllocatorStats before = memory_stats();
  size_t less = (9 << 20) - (9 << 20) / 10;
  EXPECT(allocate(less) == p);  // lent to the class below
  AllocatorStats after = memory_stats();
  EXPECT(after.system_allocations == before.system_allocations &&
         after.large_hits == before.large_hits + 1);
  deallocate(p, less);
  EXPECT(memory_stats().allocated == before.allocated);
  EXPECT(allocate(9 << 20) == p);  // and back in its own
  deallocate(p, 9 << 20);
}

// Random sizes and orders of freeing: nothing overlaps, everything comes back.
void churn(unsigned seed, int rounds, std::atomic<int>& bad) {
  std::mt19937 draw(seed);
  std::vector<Held> held;
  for (int i = 0; i < rounds; i++) {
    if (held.size() < 200 || draw() % 2) {
      int width = int(draw() % (draw() % 16 == 0 ? 22 : 13));
      held.push_back(hold(draw() % (size_t(2) << width), static_cast<unsigned char>(draw())));
    } else {
      size_t k = draw() % held.size();
      if (!intact(held[k])) bad++;
      drop(held[k]);
      held[k] = held.back();
      held.pop_back();
    }
    if (held.size() > 1000) {
      for (const Held& h : held) {
        if (!intact(h)) bad++;
        drop(h);
      }
      held.clear();
    }
  }
  for (const Held& h : held) {
    if (!intact(h)) bad++;
    drop(h);
  }
}

void threads() {
  std::atomic<int> bad{0};
  int64_t before = memory_stats().allocated;
  std::vector<std::thread> all;
  for (unsigned i = 0; i < 4; i++) all.emplace_back(churn, i, 20000, std::ref(bad));
  for (int i = 0; i < 20; i++) memory_stats();
  for (std::thread& t : all) t.join();
  EXPECT(bad == 0);
  EXPECT(memory_stats().allocated == before);
}

// One thread allocates, another frees: memory goes round.
void handed_over() {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Held> queue;
  bool done = false;
  int64_t begin = memory_stats().reserved;
  std::thread consumer([&] {
    std::vector<Held> mine;
    for (bool last = false; !last;) {
      {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [&] { return done || !queue.empty(); });
        mine.swap(queue);
        last = done;
      }
      changed.notify_all();
      void* own = allocate(300);  // so that this thread has lists too
      for (const Held& h : mine) drop(h);
      deallocate(own, 300);
      mine.clear();
    }
  });
  for (int i = 0; i < 100000; i++) {
    Held h = hold(300, 1);
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return queue.size() < 1000; });
    queue.push_back(h);
    lock.unlock();
    changed.notify_all();
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    done = true;
  }
  changed.notify_all();
  consumer.join();
  EXPECT(memory_stats().reserved - begin <= 4 << 20);  // 30 MB went through
}

// Slabs of one size serve another, and free ones go back to the system.
void slabs() {
  if (!caching()) return;
  empty_cache();
  AllocatorStats before = memory_stats();
  for (size_t bytes : {size_t(64), size_t(448), size_t(5000), size_t(64 << 10)}) {
    std::vector<Held> held;
    for (size_t total = 0; total < (80 << 20); total += bytes) held.push_back(hold(bytes, 7));
    EXPECT(memory_stats().reserved - before.reserved < (90 << 20));
    EXPECT(std::all_of(held.begin(), held.end(), intact));
    for (const Held& h : held) drop(h);
    EXPECT(memory_stats().reserved - before.reserved < (50 << 20));
  }
  empty_cache();
  EXPECT(memory_stats().reserved <= before.reserved);
  EXPECT(memory_stats().allocated == before.allocated);
}

void bounds() {
  if (!caching()) return;
  empty_cache();
  // Ever new sizes: the cache stays within a bound, as only one block at a time is in use.
  for (int i = 0; i < 100; i++) drop(hold((size_t(20) << 20) + size_t(i) * (3 << 20), 1));
  EXPECT(memory_stats().reserved < int64_t(900) << 20);
  empty_cache();
  EXPECT(memory_stats().reserved <= 2 << 20);

  reset_peak_memory_stats();
  Held a = hold(100 << 20, 1), b = hold(50 << 20, 1);
  drop(a);
  AllocatorStats s = memory_stats();
  EXPECT(s.allocated_peak >= 150 << 20 && s.allocated < 60 << 20 && s.reserved >= 150 << 20);
  drop(b);
  reset_peak_memory_stats();
  EXPECT(memory_stats().allocated_peak < 10 << 20);
}

void out_of_memory() {
#ifndef __SANITIZE_THREAD__
  for (size_t bytes : {size_t(1) << 45, ~size_t(0)}) {
    std::string message;
    try {
      allocate(bytes);
    } catch (const Error& error) {
      if (error.kind() == Kind::OutOfMemory) message = error.what();
    }
    EXPECT(message.find(std::to_string(bytes) + " bytes") != std::string::npos);
  }
#endif
  Held h = hold(100, 1);  // and life goes on
  EXPECT(intact(h));
  drop(h);
}

// Forks while other threads are inside the allocator; the child must not hang.
void forks() {
  std::atomic<bool> stop{false};
  std::atomic<int> bad{0};
  std::vector<std::thread> busy;
  for (unsigned i = 0; i < 2; i++)
    busy.emplace_back([&, i] {
      for (unsigned k = 0; !stop; k++) churn(i * 1000 + k, 200, bad);
    });
  for (int i = 0; i < 20; i++) {
    pid_t child = fork();
    if (child == 0) {
      alarm(20);
      std::atomic<int> wrong{0};
      churn(unsigned(i), 2000, wrong);
      _exit(wrong != 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  stop = true;
  for (std::thread& t : busy) t.join();
  EXPECT(bad == 0);
}

double nanoseconds(int n, void (*work)(int)) {
  double best = 1e300;
  for (int i = 0; i < 5; i++) {
    auto began = std::chrono::steady_clock::now();
    work(n);
    std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
    best = std::min(best, took.count() / n);
  }
  return best;
}

template <size_t bytes>
void pairs(int n) {
  for (int i = 0; i < n; i++) {
    void* p = allocate(bytes);
    asm volatile("" : : "r"(p) : "memory");
    deallocate(p, bytes);
  }
}

template <size_t bytes>
void stacks(int n) {
  void* held[100];
  for (int i = 0; i < n; i += 100) {
    for (void*& p : held) p = allocate(bytes);
    for (void*& p : held) deallocate(p, bytes);
  }
}

template <size_t bytes>
void mallocs(int n) {
  for (int i = 0; i < n; i++) {
    void* p = malloc(bytes);
    asm volatile("" : : "r"(p) : "memory");
    free(p);
  }
}

template <size_t bytes>
void first_touch(int n) {
  for (int i = 0; i < n; i++) {
    empty_cache();
    void* p = allocate(bytes);
    memset(p, 1, bytes);
    deallocate(p, bytes);
  }
}

template <size_t bytes>
void warm_touch(int n) {
  for (int i = 0; i < n; i++) {
    void* p = allocate(bytes);
    memset(p, 1, bytes);
    deallocate(p, bytes);
  }
}

void bench() {
  std::printf("allocate + deallocate, ns\n");
  std::printf("  64 B      %6.1f   (malloc %.1f)\n", nanoseconds(1000000, pairs<64>),
              nanoseconds(1000000, mallocs<64>));
  std::printf("  4 KB      %6.1f   (malloc %.1f)\n", nanoseconds(1000000, pairs<4096>),
              nanoseconds(1000000, mallocs<4096>));
  std::printf("  100 KB    %6.1f   (malloc %.1f)\n", nanoseconds(1000000, pairs<100000>),
              nanoseconds(1000000, mallocs<100000>));
  std::printf("  10 MB     %6.1f   (malloc %.1f)\n", nanoseconds(100000, pairs<10000000>),
              nanoseconds(10000, mallocs<10000000>));
  std::printf("  100 at a time: 64 B %.1f, 4 KB %.1f, 64 KB %.1f\n",
              nanoseconds(1000000, stacks<64>), nanoseconds(1000000, stacks<4096>),
              nanoseconds(100000, stacks<65536>));
  std::printf("with memset, GB/s, fresh and warm\n");
  std::printf("  1 MB  %5.1f %5.1f\n", 1e6 / nanoseconds(200, first_touch<1000000>),
              1e6 / nanoseconds(2000, warm_touch<1000000>));
  std::printf("  64 MB %5.1f %5.1f\n", 67108864 / nanoseconds(5, first_touch<67108864>),
              67108864 / nanoseconds(20, warm_touch<67108864>));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--bench") {
    bench();
    return 0;
  }
  sizes();
  reuse();
  threads();
  handed_over();
  slabs();
  bounds();
  out_of_memory();
  forks();
  return testing::finish();
}
