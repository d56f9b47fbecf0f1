// Note [Allocator]
// Every request is rounded up to a size class: 64 bytes apart up to 1 KB, then eight to each
// doubling.
//
// Small (up to 64 KB): each thread keeps a free list per class, and takes from it and adds to it
// without a lock, an atomic or a counter of any kind but the list's length. Lists too long or empty
// exchange a batch of blocks with the shared level. There, blocks belong to slabs of 256 KB, each
// cut into blocks of one class; a slab that is wholly free may serve another class, and chunks of
// eight free slabs, beyond a few, go back to the system. So it does not matter which thread frees a
// block.
//
// Large: each block is a mapping of its own. When freed it is put on its class's list, which is a
// stack, so that the warmest is reused first; a request may also take a block up to two classes
// larger. One of 64 MB or more is kept only if its size has come back before: a large weight that
// is made once and replaced goes back to the system at once, what every training step frees does
// not. All free ones are in one list by age too, from whose end they are unmapped when there are
// too many of them (trim), or when one has not been used for a minute.
//
// One mutex guards all that is shared. Around a fork it is held, so that the child finds it free.
// Under the address sanitizer, or with EMBER_NO_CACHE=1, everything goes to malloc and free.
//
// Here are the threads' lists and the interface; what is shared is in block_pool.cpp.
#include "tensor/allocator.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>

#include "check.h"
#include "runtime.h"
#include "tensor/block_pool.h"

namespace ember {

using namespace memory;

namespace {

EMBER_FAST_TLS thread_local ThreadCache* cache = nullptr;
EMBER_FAST_TLS thread_local bool exiting = false;

void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

BlockPool& shared() {  // never destroyed: tensors may be freed by destructors of statics
  static BlockPool& instance = []() -> BlockPool& {
    auto* made = new BlockPool;
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    return *made;
  }();
  return instance;
}

using Lock = std::lock_guard<std::mutex>;

void before_fork() { shared().mutex.lock(); }
void after_fork_in_parent() { shared().mutex.unlock(); }
void after_fork_in_child() {
  // The other threads' lists are lost, perhaps half changed; count their blocks as free.
  BlockPool& s = shared();
  for (Link* at = s.threads.after; at != &s.threads;) {
    ThreadCache* other = static_cast<ThreadCache*>(at);
    at = at->after;
    if (other == cache) continue;
    for (int c = 0; c < kSmallClasses; c++)
      s.small_handed -= int64_t(class_size(c)) * other->bins[c].get_count();
    other->unlink();
  }
  s.mutex.unlock();
}

struct AtThreadExit {
  bool armed = false;
  ~AtThreadExit() {
    exiting = true;
    if (!cache) return;
    {
      BlockPool& s = shared();
      Lock lock(s.mutex);
      s.give_all(*cache);
      cache->unlink();
    }
    delete cache;
    cache = nullptr;
  }
};
thread_local AtThreadExit at_thread_exit;

[[noreturn]] void out_of_memory(size_t bytes) {
  AllocatorStats s = memory_stats();
  fail(Kind::OutOfMemory, "can't allocate memory: you tried to allocate ", bytes, " bytes (",
       double(bytes) / (1 << 30), " GiB); ", s.allocated, " bytes are in use by tensors, ",
       s.reserved - s.allocated, " are cached, and the machine has ", shared().physical);
}

constexpr uint32_t batch_of(int c) {
  return uint32_t(std::clamp<size_t>((64 << 10) / class_size(c), 2, 32));
}

SmallBlock* refill(int c) {
  BlockPool& s = shared();
  Lock lock(s.mutex);
  SmallBlock* first = s.take_small(c);
  if (!first) {
    s.release_all();
    first = s.take_small(c);
    if (!first) return nullptr;
  }
  if (cache) {
    Bin& bin = cache->bins[c];
    for (uint32_t i = batch_of(c); i > 1; i--) {
      SmallBlock* block = s.take_small(c);
      if (!block) break;
      block->next = bin.head;
      bin.head = block;
      bin.set_count(bin.get_count() + 1);
    }
  }
  s.stats.small_refills++;
  s.count_used();
  return first;
}

void make_cache() {
  if (cache || exiting) return;
  at_thread_exit.armed = true;  // the first access registers its destructor
  ThreadCache* made = new ThreadCache;
  for (int c = 0; c < kSmallClasses; c++)
    made->bins[c].limit = uint32_t(std::max<size_t>((512 << 10) / class_size(c), 2 * batch_of(c)));
  Lock lock(shared().mutex);
  made->insert_after(shared().threads);
  cache = made;
}

void* allocate_large(int c) {
  BlockPool& s = shared();
  int64_t size = int64_t(class_size(c));
  {
    Lock lock(s.mutex);
    if (void* p = s.take_large(c)) {
      s.stats.large_hits++;
      return p;
    }
    s.missed_large(c);
    s.trim(size);
  }
  void* p = map(size_t(size));
  if (!p) {
    empty_cache();
    p = map(size_t(size));
    if (!p) return nullptr;
  }
  Lock lock(s.mutex);
  s.stats.large_misses++;
  s.count_reserved(size);
  s.large_used += size;
  s.count_used();
  return p;
}

void* allocate_uncached(size_t bytes) {
  BlockPool& s = shared();
  void* p = std::aligned_alloc(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
  if (!p) return nullptr;
  Lock lock(s.mutex);
  s.count_reserved(int64_t(bytes));
  s.large_used += int64_t(bytes);
  s.count_used();
  return p;
}

[[gnu::noinline]] void* allocate_slow(size_t bytes) {
  if (bytes == 0) return nullptr;
  if (bytes > kLargest) out_of_memory(bytes);
  void* p;
  if (shared().bypass) {
    p = allocate_uncached(bytes);
  } else if (bytes > kSmallLimit) {
    p = allocate_large(class_of(bytes));
  } else {
    make_cache();
    p = refill(class_of(bytes));
  }
  if (!p) out_of_memory(bytes);
  return p;
}

[[gnu::noinline]] void deallocate_slow(void* p, size_t bytes) {
  if (!p) return;
  BlockPool& s = shared();
  Lock lock(s.mutex);
  if (s.bypass) {
    std::free(p);
    s.count_reserved(-int64_t(bytes));
    s.large_used -= int64_t(bytes);
  } else if (bytes > kSmallLimit) {
    s.give_large(p, class_of(bytes));
  } else {
    s.give_small(static_cast<SmallBlock*>(p));
  }
}

[[gnu::noinline]] void flush(Bin& bin) {
  BlockPool& s = shared();
  Lock lock(s.mutex);
  uint32_t keep = bin.limit / 2;
  for (uint32_t n = bin.get_count(); n > keep; n--) {
    SmallBlock* block = bin.head;
    bin.head = block->next;
    s.give_small(block);
  }
  bin.set_count(keep);
  s.stats.small_flushes++;
}

}  // namespace

void* allocate(size_t bytes) {
  if (bytes - 1 < kSmallLimit && cache) [[likely]] {
    Bin& bin = cache->bins[class_of(bytes)];
    if (SmallBlock* block = bin.head) [[likely]] {
      bin.head = block->next;
      bin.set_count(bin.get_count() - 1);
      return block;
    }
  }
  return allocate_slow(bytes);
}

void deallocate(void* p, size_t bytes) noexcept {
  if (bytes - 1 < kSmallLimit && cache && p) [[likely]] {
    Bin& bin = cache->bins[class_of(bytes)];
    SmallBlock* block = static_cast<SmallBlock*>(p);
    block->next = bin.head;
    bin.head = block;
    uint32_t count = bin.get_count() + 1;
    bin.set_count(count);
    if (count > bin.limit) [[unlikely]]
      flush(bin);
    return;
  }
  deallocate_slow(p, bytes);
}

bool on_own_pages(size_t bytes) { return bytes > kSmallLimit && !shared().bypass; }

AllocatorStats memory_stats() {
  BlockPool& s = shared();
  Lock lock(s.mutex);
  AllocatorStats stats = s.stats;
  stats.allocated = s.large_used + s.small_handed;
  for (Link* at = s.threads.after; at != &s.threads; at = at->after)
    for (int c = 0; c < kSmallClasses; c++)
      stats.allocated -=
          int64_t(class_size(c)) * static_cast<ThreadCache*>(at)->bins[c].get_count();
  return stats;
}

void reset_peak_memory_stats() {
  BlockPool& s = shared();
  Lock lock(s.mutex);
  s.stats.allocated_peak = s.large_used + s.small_handed;
  s.stats.reserved_peak = s.stats.reserved;
}

void empty_cache() {
  BlockPool& s = shared();
  Lock lock(s.mutex);
  if (cache) s.give_all(*cache);
  s.release_all();
  s.high_water = s.large_used + s.small_handed;
}

}  // namespace ember
