#include "lazy/arena.h"

#include <mutex>

namespace ember::lazy {

namespace {

// Blocks whose storages live, with the arenas that they keep alive.
struct Living {
  std::mutex mutex;
  std::unordered_map<const void*, std::shared_ptr<Arena>> blocks;
  std::atomic<size_t> count{0};
};
Living& living() {
  static auto* all = new Living;  // never destroyed: storages may outlive statics
  return *all;
}

}  // namespace

Arena::~Arena() {
  for (const Block& b : blocks_) device_.deallocate(b.data, b.bytes);
}

void* Arena::allocate(const std::shared_ptr<Arena>& arena, int64_t bytes) {
  void* data = arena->device_.allocate(bytes);
  arena->indices_.emplace(data, int(arena->blocks_.size()));
  arena->blocks_.push_back({data, bytes});
  arena->bytes_ += bytes;
  Living& all = living();
  const std::lock_guard lock(all.mutex);
  all.blocks.emplace(data, arena);
  all.count++;
  return data;
}

bool Arena::give_back(void* data) {
  Living& all = living();
  if (all.count.load(std::memory_order_relaxed) == 0) return false;
  std::shared_ptr<Arena> last;  // let go of after the lock
  const std::lock_guard lock(all.mutex);
  auto at = all.blocks.find(data);
  if (at == all.blocks.end()) return false;
  last = std::move(at->second);
  all.blocks.erase(at);
  all.count--;
  return true;
}

int Arena::index_of(const void* data) const {
  auto at = indices_.find(data);
  return at == indices_.end() ? -1 : at->second;
}

}  // namespace ember::lazy
