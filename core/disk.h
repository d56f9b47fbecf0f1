// What programs compiled, on disk: a directory that the processes of one user share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ember {

// SipHash-2-4 with 128 bits: a digest that only those who know the key can make.
struct Digest {
  uint64_t words[2] = {};
  bool operator==(const Digest&) const = default;
};
class Hasher {
 public:
  explicit Hasher(const Digest& key);
  Hasher& add(const void* data, size_t size);
  Digest digest() const;

 private:
  void compress(uint64_t word);
  void rounds(int count);

  uint64_t v_[4], pending_ = 0, size_ = 0;
};

// For one thread at a time. Whatever goes wrong with a file costs a build, nothing else.
class DiskCache {
 public:
  DiskCache() = default;
  // Of about `most` bytes, in a directory that only the user can open (ember/_cache.py chooses it);
  // "" keeps nothing, and so does a directory that cannot be written.
  DiskCache(const std::string& directory, int64_t most);

  // What was kept under `key`, or nothing.
  std::vector<char> find(const std::string& key) const;
  void keep(const std::string& key, const std::vector<char>& bytes);
  void forget(const std::string& key);

 private:
  void trim() const;

  std::string directory_;
  Digest secret_;                       // of the user: nobody else can make a file that is taken
  int64_t most_ = 0, before_trim_ = 0;  // so much may be written before it is looked at again
};

}  // namespace ember
