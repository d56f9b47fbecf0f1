// Compiled programs on disk, in a directory that processes share.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ember::opencl {

// For one thread at a time. Whatever goes wrong with a file costs a build, nothing else.
class DiskCache {
 public:
  DiskCache() = default;
  // Of about `most` bytes; "" for no directory keeps nothing.
  DiskCache(std::string directory, int64_t most) : directory_(std::move(directory)), most_(most) {}

  // What was kept under `key`, or nothing.
  std::vector<char> find(const std::string& key) const;
  void keep(const std::string& key, const std::vector<char>& bytes);

 private:
  void trim() const;

  std::string directory_;
  int64_t most_ = 0, before_trim_ = 0;  // so much may be written before it is looked at again
};

}  // namespace ember::opencl
