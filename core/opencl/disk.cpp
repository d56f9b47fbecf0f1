// The directory of compiled programs. A file is named by a hash of its key and appears by renaming;
// what is damaged is not used. A file that is used gets the time of that, and those that were not
// for longest go first. Other processes may do all of this meanwhile: who has opened a file can
// read it to the end, and who finds one gone builds it again.
#include "opencl/disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <tuple>

namespace ember::opencl {

namespace {

uint64_t hash(const char* data, size_t size, uint64_t seed) {  // FNV-1a
  uint64_t h = 14695981039346656037ull ^ seed;
  for (size_t i = 0; i < size; i++) h = (h ^ (unsigned char)data[i]) * 1099511628211ull;
  return h;
}

// A file is this, then the bytes. What does not fit together is not used: drivers may crash on a
// binary that is cut short.
struct Header {
  char magic[8] = {'e', 'm', 'b', 'e', 'r', 'c', 'l', '1'};
  uint64_t key[2] = {}, size = 0, sum = 0;

  explicit Header(const std::string& text) {
    key[0] = hash(text.data(), text.size(), 0);
    key[1] = hash(text.data(), text.size(), 0x9e3779b97f4a7c15ull);
  }
  void describe(const char* bytes, size_t count) {
    size = count;
    sum = hash(bytes, count, 0);
  }
  std::string path(const std::string& directory) const {
    char name[48];
    std::snprintf(name, sizeof name, "%016llx%016llx.bin", (unsigned long long)key[0],
                  (unsigned long long)key[1]);
    return directory + "/" + name;
  }
};

// The name of a file, or of one that is being written (with a process at its end). The directory
// may hold what is none of ours.
bool is_ours(const std::string& name) {
  return name.find_first_not_of("0123456789abcdef") == 32 && name.compare(32, 4, ".bin") == 0 &&
         (name.size() == 36 ||
          (name[36] == '.' && name.find_first_not_of("0123456789", 37) == name.npos));
}

}  // namespace

std::vector<char> DiskCache::find(const std::string& key) const {
  if (directory_.empty()) return {};
  Header want(key);
  const std::string path = want.path(directory_);
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.size() <= sizeof want) return {};
  want.describe(bytes.data() + sizeof want, bytes.size() - sizeof want);
  if (std::memcmp(bytes.data(), &want, sizeof want)) return {};
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  bytes.erase(bytes.begin(), bytes.begin() + sizeof want);
  return bytes;
}

void DiskCache::keep(const std::string& key, const std::vector<char>& bytes) {
  if (directory_.empty()) return;
  Header header(key);
  header.describe(bytes.data(), bytes.size());
  const std::string path = header.path(directory_);
  const std::string temporary = path + "." + std::to_string(getpid());
  {
    std::ofstream file(temporary, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&header), sizeof header);
    file.write(bytes.data(), std::streamsize(bytes.size()));
    if (!file.flush()) {
      std::remove(temporary.c_str());
      return;  // a full or read-only disk
    }
  }
  if (std::rename(temporary.c_str(), path.c_str())) std::remove(temporary.c_str());
  before_trim_ -= int64_t(sizeof header + bytes.size());
  if (before_trim_ >= 0) return;
  trim();
  before_trim_ = most_ / 16;
}

// If there is too much, leaves three quarters, so that this is seldom done.
void DiskCache::trim() const {
  struct File {
    int64_t seconds, nanoseconds, size;
    std::string name;
  };
  DIR* directory = opendir(directory_.c_str());
  if (!directory) return;
  std::vector<File> files;
  int64_t total = 0;
  while (const dirent* entry = readdir(directory)) {
    struct stat s;
    if (!is_ours(entry->d_name) ||
        fstatat(dirfd(directory), entry->d_name, &s, AT_SYMLINK_NOFOLLOW) || !S_ISREG(s.st_mode))
      continue;
    files.push_back({s.st_mtim.tv_sec, s.st_mtim.tv_nsec, s.st_size, entry->d_name});
    total += s.st_size;
  }
  if (total > most_) {
    std::sort(files.begin(), files.end(), [](const File& a, const File& b) {
      return std::tie(a.seconds, a.nanoseconds) < std::tie(b.seconds, b.nanoseconds);
    });
    for (const File& file : files) {
      if (total <= most_ / 4 * 3) break;
      unlinkat(dirfd(directory), file.name.c_str(), 0);
      total -= file.size;
    }
  }
  closedir(directory);
}

}  // namespace ember::opencl
