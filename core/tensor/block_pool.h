// What the threads share of the caching allocator, Note [Allocator] in allocator.cpp: size classes,
// slabs of small blocks, lists of large ones. Whoever calls a method holds `mutex`.
#pragma once

#include <atomic>
#include <bit>
#include <mutex>
#include <unordered_map>

#include "tensor/allocator.h"

namespace ember::memory {

constexpr size_t kAlign = 64, kPage = 4096, kSlab = 256 << 10, kChunk = 2 << 20;
constexpr size_t kSmallLimit = 64 << 10, kLargest = size_t(1) << 46;
constexpr int kSlabs = kChunk / kSlab;

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

struct Bin {  // the free small blocks of one class that a thread keeps
  SmallBlock* head = nullptr;
  std::atomic<uint32_t> count{0};  // written by its thread only; atomic for memory_stats() alone
  uint32_t limit = 0;
  void set_count(uint32_t n) { count.store(n, std::memory_order_relaxed); }
  uint32_t get_count() const { return count.load(std::memory_order_relaxed); }
};

struct ThreadCache : Link {
  Bin bins[kSmallClasses];
};

// Fresh pages, or nullptr.
void* map(size_t bytes);

struct BlockPool {
  std::mutex mutex;
  const bool bypass;       // everything goes to malloc and free
  const int64_t physical;  // memory that this process may have
  Link threads;            // of ThreadCache

  Link partial[kSmallClasses], free_slabs;
  int free_chunks = 0;

  SizeLink large[kClasses];
  AgeLink ages;                             // newest first
  std::unordered_map<void*, int> oversize;  // class of blocks lent to a smaller class

  // Of classes from kSeldom on: whether blocks were given back, and asked for again after that.
  enum class Comes : uint8_t { Unknown, Left, Again };
  Comes comes[kClasses] = {};

  int64_t small_handed = 0, large_used = 0;  // bytes in use; small ones include the threads' lists
  int64_t cached = 0;                        // bytes of free large blocks
  int64_t high_water = 0;
  int64_t frees = 0, now;  // a clock read now and then
  AllocatorStats stats{};

  BlockPool();
  void count_reserved(int64_t bytes);
  void count_used();

  // Of a small class; nullptr when the system has no more.
  bool add_chunk();
  void drop_chunk(Chunk* chunk);
  Slab* add_slab(int c);
  SmallBlock* take_small(int c);
  void give_small(SmallBlock* block);
  void give_all(ThreadCache& threads_own);

  // Of a large class; nullptr when none is cached.
  void* take_large(int c);
  void missed_large(int c);  // one is mapped instead
  void give_large(void* p, int c);
  LargeBlock* oldest();
  void release(LargeBlock* block);
  // Bounds what is cached, before `more` bytes are mapped: by what was ever in use at once, so that
  // a training step finds all its memory again, and by the memory of the machine.
  void trim(int64_t more);
  void release_all();
};

}  // namespace ember::memory
