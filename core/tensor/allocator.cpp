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
// larger. All free ones are in one list by age too, from whose end they are unmapped when there are
// too many of them (trim), or when one has not been used for a minute.
//
// One mutex guards all that is shared. Around a fork it is held, so that the child finds it free.
// Under the address sanitizer, or with EMBER_NO_CACHE=1, everything goes to malloc and free.
#include "tensor/allocator.h"

#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <unordered_map>

#include "check.h"

#if defined(__SANITIZE_ADDRESS__)
#define EMBER_CACHE_BY_DEFAULT false
#else
#define EMBER_CACHE_BY_DEFAULT true
#endif

namespace ember {

namespace {

constexpr size_t kAlign = 64, kPage = 4096, kSlab = 256 << 10, kChunk = 2 << 20;
constexpr size_t kSmallLimit = 64 << 10, kLargest = size_t(1) << 46;
constexpr int kSlabs = kChunk / kSlab;
constexpr int64_t kAlwaysKept = 256 << 20;  // cached bytes that trim() does not grudge
constexpr int64_t kIdleSeconds = 60;
constexpr int kFreeChunks = 16;  // likewise

constexpr int class_of(size_t bytes) {  // bytes > 0
  size_t n = bytes - 1;
  int width = int(std::bit_width(n | 512));
  return int(n >> (width - 4)) + (width - 10) * 8;
}
constexpr size_t class_size(int c) {
  if (c < 16) return size_t(c + 1) * kAlign;
  return size_t(c % 8 + 9) << (c / 8 + 5);
}
constexpr int kSmallClasses = class_of(kSmallLimit) + 1, kClasses = class_of(kLargest) + 1;
static_assert(class_size(class_of(kSmallLimit)) == kSmallLimit && class_of(1025) == 16);

struct Link {  // of a circular list with a sentinel
  Link *before = this, *after = this;
  bool alone() const { return after == this; }
  void unlink() {
    before->after = after;
    after->before = before;
    before = after = this;
  }
  void insert_after(Link& other) {
    before = &other;
    after = other.after;
    before->after = after->before = this;
  }
};
struct SizeLink : Link {};
struct AgeLink : Link {};

struct SmallBlock {  // what a free small block holds
  SmallBlock* next;
};

struct LargeBlock : SizeLink, AgeLink {  // what a free large block holds
  int size_class;
  int64_t since;
};

struct Slab : Link {  // linked among the class's slabs with room, or among the free slabs
  SmallBlock* free;
  uint32_t fresh, end;  // offsets in the chunk: blocks from `fresh` on were never handed out
  uint32_t used;        // blocks handed out
  int size_class;
  bool full() const { return !free && fresh + class_size(size_class) > end; }
};

struct Chunk {  // at the start of a chunk; its page is taken from the first slab
  Slab slabs[kSlabs];
  int used = 0;
};
static_assert(sizeof(Chunk) <= kPage);

Chunk* chunk_of(const void* p) { return reinterpret_cast<Chunk*>(uintptr_t(p) & ~(kChunk - 1)); }
Slab* slab_of(const void* p) { return &chunk_of(p)->slabs[(uintptr_t(p) & (kChunk - 1)) / kSlab]; }

struct Bin {
  SmallBlock* head = nullptr;
  std::atomic<uint32_t> count{0};  // written by its thread only; atomic for memory_stats() alone
  uint32_t limit = 0;
  void set_count(uint32_t n) { count.store(n, std::memory_order_relaxed); }
  uint32_t get_count() const { return count.load(std::memory_order_relaxed); }
};

struct ThreadCache : Link {
  Bin bins[kSmallClasses];
};

// Pointers, not objects: the initial-exec model saves a call per access, but its space is scarce.
#define EMBER_FAST_TLS thread_local __attribute__((tls_model("initial-exec")))
EMBER_FAST_TLS ThreadCache* cache = nullptr;
EMBER_FAST_TLS bool exiting = false;

constexpr uint32_t batch_of(int c) {
  return uint32_t(std::clamp<size_t>((64 << 10) / class_size(c), 2, 32));
}

void* map(size_t bytes) {
  bool huge = bytes >= kChunk;
  size_t extra = huge ? kChunk : 0;  // to cut an aligned piece from
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | (huge ? 0 : MAP_POPULATE);
  void* p = mmap(nullptr, bytes + extra, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  if (!huge) return p;
  char* start = static_cast<char*>(p);
  char* aligned = reinterpret_cast<char*>((uintptr_t(p) + kChunk - 1) & ~(kChunk - 1));
  if (aligned > start) munmap(start, size_t(aligned - start));
  if (aligned < start + extra) munmap(aligned + bytes, size_t(start + extra - aligned));
  madvise(aligned, bytes, MADV_HUGEPAGE);
  return aligned;
}

int64_t seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec;
}

// What this process may have: the machine's memory, or less in a container.
int64_t physical_memory() {
  int64_t bytes = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    if (FILE* file = std::fopen(path, "r")) {
      long long limit = 0;
      if (std::fscanf(file, "%lld", &limit) == 1 && limit > 0)
        bytes = std::min<int64_t>(bytes, limit);
      std::fclose(file);
    }
  }
  return bytes;
}

void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

struct Shared {
  std::mutex mutex;
  bool bypass = !EMBER_CACHE_BY_DEFAULT;
  int64_t physical = physical_memory();
  Link threads;  // of ThreadCache

  Link partial[kSmallClasses], free_slabs;
  int free_chunks = 0;

  SizeLink large[kClasses];
  AgeLink ages;                             // newest first
  std::unordered_map<void*, int> oversize;  // class of blocks lent to a smaller class

  int64_t small_handed = 0, large_used = 0;  // bytes in use; small ones include the threads' lists
  int64_t cached = 0;                        // bytes of free large blocks
  int64_t high_water = 0;
  int64_t frees = 0, now = seconds();  // a clock read now and then
  AllocatorStats stats{};

  Shared() {
    if (const char* text = std::getenv("EMBER_NO_CACHE")) bypass = *text && *text != '0';
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  }

  void count_reserved(int64_t bytes) {
    stats.reserved += bytes;
    stats.reserved_peak = std::max(stats.reserved_peak, stats.reserved);
    (bytes > 0 ? stats.system_allocations : stats.system_frees)++;
  }
  void count_used() {
    int64_t used = large_used + small_handed;
    stats.allocated_peak = std::max(stats.allocated_peak, used);
    high_water = std::max(high_water, used);
  }

  // -- small blocks -----------------------------------------------------------------------------

  bool add_chunk() {
    void* p = map(kChunk);
    if (!p) return false;
    count_reserved(kChunk);
    Chunk* chunk = new (p) Chunk;
    for (int i = kSlabs - 1; i >= 0; i--) {
      chunk->slabs[i].end = uint32_t((i + 1) * kSlab);
      chunk->slabs[i].insert_after(free_slabs);
    }
    free_chunks++;
    return true;
  }

  void drop_chunk(Chunk* chunk) {
    for (Slab& slab : chunk->slabs) slab.unlink();
    munmap(chunk, kChunk);
    count_reserved(-int64_t(kChunk));
    free_chunks--;
  }

  Slab* add_slab(int c) {
    if (free_slabs.alone() && !add_chunk()) return nullptr;
    Slab* slab = static_cast<Slab*>(free_slabs.after);
    slab->unlink();
    slab->insert_after(partial[c]);
    slab->free = nullptr;
    slab->used = 0;
    slab->size_class = c;
    slab->fresh = slab->end - uint32_t(kSlab);
    if (slab->fresh == 0) slab->fresh = kPage;
    if (chunk_of(slab)->used++ == 0) free_chunks--;
    return slab;
  }

  SmallBlock* take_small(int c) {
    Slab* slab = partial[c].alone() ? add_slab(c) : static_cast<Slab*>(partial[c].after);
    if (!slab) return nullptr;
    SmallBlock* block = slab->free;
    if (block) {
      slab->free = block->next;
    } else {
      block = reinterpret_cast<SmallBlock*>(reinterpret_cast<char*>(chunk_of(slab)) + slab->fresh);
      slab->fresh += uint32_t(class_size(c));
    }
    slab->used++;
    if (slab->full()) slab->unlink();
    small_handed += int64_t(class_size(c));
    return block;
  }

  void give_small(SmallBlock* block) {
    Slab* slab = slab_of(block);
    if (slab->full()) slab->insert_after(partial[slab->size_class]);
    block->next = slab->free;
    slab->free = block;
    small_handed -= int64_t(class_size(slab->size_class));
    if (--slab->used > 0) return;
    slab->unlink();
    slab->insert_after(free_slabs);
    Chunk* chunk = chunk_of(slab);
    if (--chunk->used > 0) return;
    free_chunks++;
    if (free_chunks > kFreeChunks) drop_chunk(chunk);
  }

  void give_all(ThreadCache& threads_own) {
    for (Bin& bin : threads_own.bins) {
      while (SmallBlock* block = bin.head) {
        bin.head = block->next;
        give_small(block);
      }
      bin.set_count(0);
    }
  }

  // -- large blocks -----------------------------------------------------------------------------

  void* take_large(int c) {
    for (int k = c; k < std::min(c + 3, kClasses); k++) {
      if (large[k].alone()) continue;
      LargeBlock* block = static_cast<LargeBlock*>(static_cast<SizeLink*>(large[k].after));
      block->SizeLink::unlink();
      block->AgeLink::unlink();
      if (k != c) oversize.emplace(block, k);
      cached -= int64_t(class_size(k));
      large_used += int64_t(class_size(k));
      count_used();
      return block;
    }
    return nullptr;
  }

  void give_large(void* p, int c) {
    if (!oversize.empty()) {
      if (auto found = oversize.find(p); found != oversize.end()) {
        c = found->second;
        oversize.erase(found);
      }
    }
    LargeBlock* block = new (p) LargeBlock;
    block->size_class = c;
    if (++frees % 64 == 0) now = seconds();
    block->since = now;
    block->SizeLink::insert_after(large[c]);
    block->AgeLink::insert_after(ages);
    large_used -= int64_t(class_size(c));
    cached += int64_t(class_size(c));
    trim(0);
    if (oldest()->since + kIdleSeconds < block->since) release(oldest());
  }

  LargeBlock* oldest() { return static_cast<LargeBlock*>(static_cast<AgeLink*>(ages.before)); }

  void release(LargeBlock* block) {
    block->SizeLink::unlink();
    block->AgeLink::unlink();
    size_t size = class_size(block->size_class);
    munmap(block, size);
    cached -= int64_t(size);
    count_reserved(-int64_t(size));
  }

  // Bounds what is cached, before `more` bytes are mapped: by what was ever in use at once, so that
  // a training step finds all its memory again, and by the memory of the machine.
  void trim(int64_t more) {
    int64_t bound = std::min(high_water + high_water / 4 + kAlwaysKept, physical / 10 * 9 - more);
    while (cached > 0 && stats.reserved > bound) release(oldest());
  }

  void release_all() {
    while (cached > 0) release(oldest());
    for (Link* at = free_slabs.after; free_chunks > 0;) {
      Chunk* chunk = chunk_of(at);
      at = at->after;
      if (chunk->used > 0) continue;
      drop_chunk(chunk);
      at = free_slabs.after;
    }
  }
};

Shared& shared() {  // never destroyed: tensors may be freed by destructors of statics
  static Shared& instance = *new Shared;
  return instance;
}

using Lock = std::lock_guard<std::mutex>;

void before_fork() { shared().mutex.lock(); }
void after_fork_in_parent() { shared().mutex.unlock(); }
void after_fork_in_child() {
  // The other threads' lists are lost, perhaps half changed; count their blocks as free.
  Shared& s = shared();
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
      Shared& s = shared();
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

SmallBlock* refill(int c) {
  Shared& s = shared();
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
  Shared& s = shared();
  int64_t size = int64_t(class_size(c));
  {
    Lock lock(s.mutex);
    if (void* p = s.take_large(c)) {
      s.stats.large_hits++;
      return p;
    }
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
  Shared& s = shared();
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
  Shared& s = shared();
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
  Shared& s = shared();
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
  Shared& s = shared();
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
  Shared& s = shared();
  Lock lock(s.mutex);
  s.stats.allocated_peak = s.large_used + s.small_handed;
  s.stats.reserved_peak = s.stats.reserved;
}

void empty_cache() {
  Shared& s = shared();
  Lock lock(s.mutex);
  if (cache) s.give_all(*cache);
  s.release_all();
  s.high_water = s.large_used + s.small_handed;
}

}  // namespace ember
