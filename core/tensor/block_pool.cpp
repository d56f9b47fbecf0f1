// How blocks are cut, kept and given back to the system; Note [Allocator] in allocator.cpp.
#include "tensor/block_pool.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace ember::memory {

namespace {

constexpr int64_t kAlwaysKept = 256 << 20;  // cached bytes that trim() does not grudge
constexpr int64_t kIdleSeconds = 60;
constexpr int kFreeChunks = 16;               // likewise
constexpr size_t kSeldom = size_t(64) << 20;  // from here on, blocks may never be used again

Chunk* chunk_of(const void* p) { return reinterpret_cast<Chunk*>(uintptr_t(p) & ~(kChunk - 1)); }
Slab* slab_of(const void* p) { return &chunk_of(p)->slabs[(uintptr_t(p) & (kChunk - 1)) / kSlab]; }

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

bool cache_is_off() {
#if defined(__SANITIZE_ADDRESS__)
  bool off = true;
#else
  bool off = false;
#endif
  if (const char* text = std::getenv("EMBER_NO_CACHE")) off = *text && *text != '0';
  return off;
}

// Note [Huge pages]: they save most page faults and address translations, but cost far more than
// small ones where the system has to make room for them first, or a virtual machine's host has to
// find the memory behind them. Both show in the time that the first touch takes, so some pages of a
// mapping are touched at once. After a slow one, mappings do without for a while.
constexpr int64_t kSlowPage = 2'000'000;        // ns; 512 small pages take 1 ms
constexpr size_t kWithout = size_t(256) << 20;  // bytes mapped before the next try
constexpr size_t kProbeStep = 8 * kChunk;
constexpr size_t kMostProbed = size_t(512) << 20;  // of larger mappings only the first page
std::atomic<size_t> without{0};

int64_t cpu_nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

void advise_huge(char* memory, size_t bytes) {
  const size_t left = without.load(std::memory_order_relaxed);
  if (left > 0) return without.store(left > bytes ? left - bytes : 0, std::memory_order_relaxed);
  if (madvise(memory, bytes, MADV_HUGEPAGE) != 0) return;
  for (size_t at = 0; at < (bytes <= kMostProbed ? bytes : 1); at += kProbeStep) {
    const int64_t before = cpu_nanoseconds();
    *static_cast<volatile char*>(memory + at) = 0;
    if (cpu_nanoseconds() - before < kSlowPage) continue;
    without.store(kWithout, std::memory_order_relaxed);
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    return;
  }
}

}  // namespace

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
  advise_huge(aligned, bytes);
  return aligned;
}

BlockPool::BlockPool() : bypass(cache_is_off()), physical(physical_memory()), now(seconds()) {}

void BlockPool::count_reserved(int64_t bytes) {
  stats.reserved += bytes;
  stats.reserved_peak = std::max(stats.reserved_peak, stats.reserved);
  (bytes > 0 ? stats.system_allocations : stats.system_frees)++;
}

void BlockPool::count_used() {
  int64_t used = large_used + small_handed;
  stats.allocated_peak = std::max(stats.allocated_peak, used);
  high_water = std::max(high_water, used);
}

// --- small blocks

bool BlockPool::add_chunk() {
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

void BlockPool::drop_chunk(Chunk* chunk) {
  for (Slab& slab : chunk->slabs) slab.unlink();
  munmap(chunk, kChunk);
  count_reserved(-int64_t(kChunk));
  free_chunks--;
}

Slab* BlockPool::add_slab(int c) {
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

SmallBlock* BlockPool::take_small(int c) {
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

void BlockPool::give_small(SmallBlock* block) {
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

void BlockPool::give_all(ThreadCache& threads_own) {
  for (Bin& bin : threads_own.bins) {
    while (SmallBlock* block = bin.head) {
      bin.head = block->next;
      give_small(block);
    }
    bin.set_count(0);
  }
}

// --- large blocks

void* BlockPool::take_large(int c) {
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

void BlockPool::missed_large(int c) {
  for (int k = c; k < std::min(c + 3, kClasses); k++)
    if (comes[k] == Comes::Left) comes[k] = Comes::Again;
}

void BlockPool::give_large(void* p, int c) {
  if (!oversize.empty()) {
    if (auto found = oversize.find(p); found != oversize.end()) {
      c = found->second;
      oversize.erase(found);
    }
  }
  if (class_size(c) >= kSeldom && comes[c] != Comes::Again) {
    comes[c] = Comes::Left;
    munmap(p, class_size(c));
    large_used -= int64_t(class_size(c));
    count_reserved(-int64_t(class_size(c)));
    return;
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

LargeBlock* BlockPool::oldest() {
  return static_cast<LargeBlock*>(static_cast<AgeLink*>(ages.before));
}

void BlockPool::release(LargeBlock* block) {
  block->SizeLink::unlink();
  block->AgeLink::unlink();
  size_t size = class_size(block->size_class);
  munmap(block, size);
  cached -= int64_t(size);
  count_reserved(-int64_t(size));
}

void BlockPool::trim(int64_t more) {
  int64_t bound = std::min(high_water + high_water / 4 + kAlwaysKept, physical / 10 * 9 - more);
  while (cached > 0 && stats.reserved > bound) release(oldest());
}

void BlockPool::release_all() {
  while (cached > 0) release(oldest());
  for (Link* at = free_slabs.after; free_chunks > 0;) {
    Chunk* chunk = chunk_of(at);
    at = at->after;
    if (chunk->used > 0) continue;
    drop_chunk(chunk);
    at = free_slabs.after;
  }
}

}  // namespace ember::memory
