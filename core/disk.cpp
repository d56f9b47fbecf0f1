// The directory of what was compiled. A file is named by a digest of its key and appears by
// renaming; what is damaged, or was not made with the user's secret, is not used. A file that is
// used gets the time of that, and those that were not for longest go first. Other processes may do
// all of this meanwhile: who has opened a file can read it to the end, and who finds one gone
// builds it again. Nothing is synced: a file that a power failure cut short has a wrong digest.
#include "disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <tuple>

namespace ember {

Hasher::Hasher(const Digest& key)
    : v_{key.words[0] ^ 0x736f6d6570736575, key.words[1] ^ 0x646f72616e646f6d ^ 0xee,
         key.words[0] ^ 0x6c7967656e657261, key.words[1] ^ 0x7465646279746573} {}

void Hasher::rounds(int count) {
  auto& [a, b, c, d] = v_;
  for (int i = 0; i < count; i++) {
    a += b, b = std::rotl(b, 13) ^ a, a = std::rotl(a, 32);
    c += d, d = std::rotl(d, 16) ^ c;
    a += d, d = std::rotl(d, 21) ^ a;
    c += b, b = std::rotl(b, 17) ^ c, c = std::rotl(c, 32);
  }
}

void Hasher::compress(uint64_t word) {
  v_[3] ^= word;
  rounds(2);
  v_[0] ^= word;
}

Hasher& Hasher::add(const void* data, size_t size) {
  auto* bytes = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < size; i++) {
    pending_ |= uint64_t(bytes[i]) << (8 * (size_ % 8));
    if (++size_ % 8 == 0) {
      compress(pending_);
      pending_ = 0;
    }
  }
  return *this;
}

Digest Hasher::digest() const {
  Hasher h = *this;
  h.compress(pending_ | size_ << 56);
  h.v_[2] ^= 0xee;
  h.rounds(4);
  Digest d;
  d.words[0] = h.v_[0] ^ h.v_[1] ^ h.v_[2] ^ h.v_[3];
  h.v_[1] ^= 0xdd;
  h.rounds(4);
  d.words[1] = h.v_[0] ^ h.v_[1] ^ h.v_[2] ^ h.v_[3];
  return d;
}

namespace {

constexpr const char* kSecret = "key";
constexpr int64_t kTornSeconds = 3600;  // after which what is being written was given up

// A file is this, then the bytes. What does not fit together is not used: drivers may crash on a
// binary that is cut short.
struct Header {
  char magic[8] = {'e', 'm', 'b', 'e', 'r', 'k', 'c', '2'};
  uint64_t size = 0;
  Digest key, sum;

  Header(const Digest& secret, const std::string& text)
      : key(Hasher(secret).add(text.data(), text.size()).digest()) {}
  void describe(const Digest& secret, const char* bytes, size_t count) {
    size = count;
    Hasher h(secret);
    sum = h.add(magic, sizeof magic)
              .add(&size, sizeof size)
              .add(&key, sizeof key)
              .add(bytes, count)
              .digest();
  }
  std::string path(const std::string& directory) const {
    char name[48];
    std::snprintf(name, sizeof name, "%016llx%016llx.bin", (unsigned long long)key.words[0],
                  (unsigned long long)key.words[1]);
    return directory + "/" + name;
  }
};

// The name of a file, or of one that is being written (with more at its end). The directory may
// hold what is none of ours.
bool is_ours(const std::string& name) {
  return name.find_first_not_of("0123456789abcdef") == 32 && name.compare(32, 4, ".bin") == 0 &&
         (name.size() == 36 ||
          (name[36] == '.' && name.find_first_not_of("0123456789abcdef.", 37) == name.npos));
}

bool draw(void* to, size_t size) { return getrandom(to, size, 0) == ssize_t(size); }

// A name that nobody else has, made as a new file for the user alone; -1 if that cannot be done.
int make_new(const std::string& path, std::string& name) {
  static unsigned count = 0;
  uint64_t random = 0;
  draw(&random, sizeof random);
  char more[64];
  std::snprintf(more, sizeof more, ".%d.%u.%016llx", int(getpid()), count++,
                (unsigned long long)random);
  name = path + more;
  return open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

bool write_all(int file, const void* data, size_t size) {
  for (auto* at = static_cast<const char*>(data); size > 0;) {
    const ssize_t n = write(file, at, size);
    if (n <= 0) return false;
    at += n;
    size -= size_t(n);
  }
  return true;
}

// The whole of a file of the user's; nothing if it is somebody else's, or no file.
bool read_all(const std::string& path, std::vector<char>& bytes, bool alone = false) {
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  struct stat s;
  bool good = !fstat(file, &s) && S_ISREG(s.st_mode) && s.st_uid == geteuid() &&
              (!alone || (s.st_mode & 077) == 0);
  if (good) {
    bytes.resize(size_t(s.st_size));
    size_t done = 0;
    for (ssize_t n = 1; done < bytes.size() && n > 0; done += size_t(n)) {
      n = read(file, bytes.data() + done, bytes.size() - done);
      if (n < 0) break;
    }
    good = done == bytes.size();
  }
  close(file);
  return good;
}

// The user's secret, which is made with the directory. It appears whole or not at all, and the
// first one stays.
bool secret_of(const std::string& directory, Digest& secret) {
  const std::string path = directory + "/" + kSecret;
  for (int i = 0; i < 3; i++) {
    std::vector<char> bytes;
    if (read_all(path, bytes, true) && bytes.size() == sizeof secret) {
      std::memcpy(&secret, bytes.data(), sizeof secret);
      return true;
    }
    Digest fresh;
    if (!draw(&fresh, sizeof fresh)) return false;
    std::string name;
    const int file = make_new(path, name);
    if (file < 0) return false;
    const bool good = write_all(file, &fresh, sizeof fresh);
    close(file);
    // One that is there and was not good is replaced.
    if (good && link(name.c_str(), path.c_str()) && i > 0) rename(name.c_str(), path.c_str());
    unlink(name.c_str());
    if (!good) return false;
  }
  return false;
}

}  // namespace

DiskCache::DiskCache(const std::string& directory, int64_t most) : most_(most) {
  if (!directory.empty() && secret_of(directory, secret_)) directory_ = directory;
}

std::vector<char> DiskCache::find(const std::string& key) const {
  if (directory_.empty()) return {};
  Header want(secret_, key);
  const std::string path = want.path(directory_);
  std::vector<char> bytes;
  if (!read_all(path, bytes) || bytes.size() <= sizeof want) return {};
  want.describe(secret_, bytes.data() + sizeof want, bytes.size() - sizeof want);
  if (std::memcmp(bytes.data(), &want, sizeof want)) return {};
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  bytes.erase(bytes.begin(), bytes.begin() + sizeof want);
  return bytes;
}

void DiskCache::keep(const std::string& key, const std::vector<char>& bytes) {
  if (directory_.empty()) return;
  Header header(secret_, key);
  header.describe(secret_, bytes.data(), bytes.size());
  const std::string path = header.path(directory_);
  std::string temporary;
  const int file = make_new(path, temporary);
  if (file < 0) return;  // a read-only disk
  bool good = write_all(file, &header, sizeof header) &&
              write_all(file, bytes.data(), bytes.size());  // or a full one
  good = !close(file) && good;
  if (!good || std::rename(temporary.c_str(), path.c_str())) unlink(temporary.c_str());
  before_trim_ -= int64_t(sizeof header + bytes.size());
  if (before_trim_ >= 0) return;
  trim();
  before_trim_ = most_ / 16;
}

void DiskCache::forget(const std::string& key) {
  if (!directory_.empty()) unlink(Header(secret_, key).path(directory_).c_str());
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
  const int64_t now = std::time(nullptr);
  while (const dirent* entry = readdir(directory)) {
    struct stat s;
    const std::string name = entry->d_name;
    if (!is_ours(name) || fstatat(dirfd(directory), entry->d_name, &s, AT_SYMLINK_NOFOLLOW) ||
        !S_ISREG(s.st_mode))
      continue;
    if (name.size() > 36 && s.st_mtim.tv_sec < now - kTornSeconds) {  // its process was killed
      unlinkat(dirfd(directory), entry->d_name, 0);
      continue;
    }
    files.push_back({s.st_mtim.tv_sec, s.st_mtim.tv_nsec, s.st_size, name});
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

}  // namespace ember
