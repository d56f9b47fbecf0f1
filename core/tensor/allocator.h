// The caching allocator of host memory. Fresh pages cost ten times what warm ones do, so what is
// freed is kept for the next request of its size class. How it is built: Note [Allocator] in
// allocator.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ember {

// Memory for `bytes` bytes, aligned to 64; nullptr for 0. Raises OutOfMemory. Any thread may call.
// Large blocks come in huge pages where the system has them.
void* allocate(size_t bytes);

// Gives back what allocate(bytes) returned, from any thread, with the same byte count.
void deallocate(void* p, size_t bytes) noexcept;

// Whether a block of this size lies on pages of its own, which may be mapped to something else
// meanwhile.
bool on_own_pages(size_t bytes);

// Sizes are those of size classes: up to 12.5 % above what was asked for (64 bytes below 512).
// Blocks above 64 KB are counted exactly; free small blocks that a thread keeps for itself count
// as allocated in the peak, but not in `allocated`.
struct AllocatorStats {
  int64_t allocated;  // bytes in use
  int64_t allocated_peak;
  int64_t reserved;  // bytes taken from the system: in use, or cached
  int64_t reserved_peak;
  int64_t system_allocations;  // mappings made, and undone
  int64_t system_frees;
  int64_t large_hits;  // requests above 64 KB served from the cache
  int64_t large_misses;
  int64_t small_refills;  // how often a thread ran out of a small size ...
  int64_t small_flushes;  // ... or had too much of it; in between nothing is counted
};
AllocatorStats memory_stats();
void reset_peak_memory_stats();

// Returns all that is cached to the system. Small blocks cached by other threads stay with them.
void empty_cache();

}  // namespace ember
