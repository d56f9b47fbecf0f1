// Memory for what a rehearsed call makes. Each storage has a block of its own, which is not used
// again when the storage dies, since replays write there.
#pragma once

#include <atomic>
#include <memory>
#include <unordered_map>
#include <vector>

#include "backend.h"

namespace ember::lazy {

class Arena {
 public:
  explicit Arena(Backend& device) : device_(device) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  static void* allocate(const std::shared_ptr<Arena>& arena, int64_t bytes);
  // If the memory is an arena's: its storage is gone. The arena stays while there are others, or
  // somebody to replay.
  static bool give_back(void* data);
  // Which block this is, in the order in which they were asked for; -1 if it is not here.
  int index_of(const void* data) const;
  int64_t bytes() const { return bytes_; }
  int blocks() const { return int(blocks_.size()); }

 private:
  struct Block {
    void* data;
    int64_t bytes;
  };
  Backend& device_;
  std::vector<Block> blocks_;
  std::unordered_map<const void*, int> indices_;
  int64_t bytes_ = 0;
};

}  // namespace ember::lazy
