// Shared storages; shared_memory.h says what they are. Note [Descriptors] is the difficult part.
#include "tensor/shared_memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "check.h"
#include "tensor/allocator.h"

namespace ember {

namespace {

// Note [Descriptors]
// A storage keeps the descriptor of its file, so that it can be sent (again). Processes may have
// only so many of them: at first the soft limit, which we raise to the hard one when half of it is
// used. Once half of that is used too, a storage received from elsewhere gives its descriptor back.
// If it is to be sent nevertheless, its file is opened anew from the mapping, and where the system
// does not allow that (it asks for privileges), the receiver gets a copy.
struct Mapping {
  int descriptor;
  size_t length;
  Backend* block_owner;  // of the block that the mapping replaced; see share_storage
  bool passed_on;
  uint64_t forks;  // how many there had been when it was mapped
};

std::atomic<int64_t> descriptors_kept{0};
std::atomic<uint64_t> forks{0};

size_t pages(int64_t bytes) {
  static const auto page = size_t(sysconf(_SC_PAGESIZE));
  return (size_t(bytes) + page - 1) / page * page;
}

rlimit limits() {
  rlimit r{1024, 1024};
  getrlimit(RLIMIT_NOFILE, &r);
  return r;
}

bool many_descriptors() {
  auto kept = rlim_t(descriptors_kept.load(std::memory_order_relaxed));
  if (kept < 16) return false;  // no system call in ordinary life
  rlimit r = limits();
  if (kept >= r.rlim_cur / 2 && r.rlim_cur < r.rlim_max) {
    r.rlim_cur = r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
  }
  return kept >= r.rlim_cur / 2;
}

[[noreturn]] void fail_system(const char* what, int64_t bytes, int error) {
  if (error == EMFILE || error == ENFILE)
    fail(Kind::Runtime, "shared memory: out of file descriptors (the limit is ", limits().rlim_cur,
         ", and ", descriptors_kept.load(),
         " are those of shared tensors); drop some of these, or raise the limit with `ulimit -n`");
  fail(Kind::Runtime, "shared memory: ", what, " of ", bytes, " bytes failed: ", strerror(error));
}

int new_file(int64_t bytes) {
  many_descriptors();
  int fd = memfd_create("ember", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0 && errno == EMFILE) {  // others use descriptors, too
    rlimit r = limits();
    r.rlim_cur = r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
    fd = memfd_create("ember", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  }
  if (fd < 0) fail_system("making a file", bytes, errno);
  if (ftruncate(fd, off_t(pages(bytes))) < 0) {
    int error = errno;
    close(fd);
    fail_system("making a file", bytes, error);
  }
  // A process that made it smaller would end all others that touch what was in it.
  fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
  return fd;
}

void* map_file(int fd, int64_t bytes, bool warm, void* at = nullptr) {
  int flags = MAP_SHARED | (at ? MAP_FIXED : 0) | (warm ? MAP_POPULATE : 0);
  void* p = mmap(at, pages(bytes), PROT_READ | PROT_WRITE, flags, fd, 0);
  if (p != MAP_FAILED) return p;
  int error = errno;
  close(fd);
  fail_system("mapping", bytes, error);
}

void release_mapping(Storage* s) {
  auto* m = static_cast<Mapping*>(s->context);
  if (m->block_owner) {
    void* p = mmap(s->data, m->length, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (p != MAP_FAILED) deallocate(s->data, size_t(s->bytes));
  } else {
    munmap(s->data, m->length);
  }
  if (m->descriptor >= 0) {
    close(m->descriptor);
    descriptors_kept--;
  }
  delete m;
}

void count_forks() {
  static bool once = [] {
    pthread_atfork(nullptr, [] { forks++; }, [] { forks++; });
    return true;
  }();
  (void)once;
}

Mapping* new_mapping(int fd, int64_t bytes, Backend* block_owner) {
  count_forks();
  descriptors_kept++;
  return new Mapping{fd, pages(bytes), block_owner, false, forks.load()};
}

Ref<Storage> storage_over(int fd, int64_t bytes, bool warm) {
  void* data = map_file(fd, bytes, warm);
  Ref<Storage> s =
      wrap_memory(data, bytes, Device(), release_mapping, new_mapping(fd, bytes, nullptr));
  s->shared = true;
  return s;
}

// An empty storage is shared by its flag alone: there are no mappings of no bytes.
Ref<Storage> nothing() {
  Ref<Storage> s = wrap_memory(nullptr, 0, Device(), [](Storage*) {}, nullptr);
  s->shared = true;
  return s;
}

}  // namespace

Ref<Storage> new_shared_storage(int64_t bytes, bool warm) {
  check(bytes >= 0, Kind::Runtime, "shared memory: the size must not be negative, got ", bytes);
  return bytes ? storage_over(new_file(bytes), bytes, warm) : nothing();
}

Ref<Storage> map_shared_storage(int fd, int64_t bytes, bool warm) {
  struct stat about;
  if (bytes == 0) {
    close(fd);
    return nothing();
  }
  if (bytes < 0 || fstat(fd, &about) < 0 || !S_ISREG(about.st_mode) || about.st_size < bytes) {
    close(fd);  // touching what is not in the file would end the process
    fail(Kind::Runtime, "shared memory: the file received has fewer than ", bytes, " bytes");
  }
  Ref<Storage> s = storage_over(fd, bytes, warm);
  if (many_descriptors()) {
    close(std::exchange(static_cast<Mapping*>(s->context)->descriptor, -1));
    descriptors_kept--;
  }
  return s;
}

void share_storage(Storage& s) {
  if (s.shared) return;
  check(s.device.is_cpu(), Kind::Runtime, "share_memory_(): only memory of the CPU can be shared, ",
        "this is on ", s.device);
  check(!s.root, Kind::Runtime, "share_memory_(): the storage is that of another tensor's data");
  s.settle();
  if (s.bytes) {
    int fd = new_file(s.bytes);
    void* made = map_file(fd, s.bytes, true);
    std::memcpy(made, s.data, size_t(s.bytes));
    if (s.owner && !s.release && on_own_pages(size_t(s.bytes))) {
      munmap(made, pages(s.bytes));
      map_file(fd, s.bytes, true, s.data);
      s.context = new_mapping(fd, s.bytes, s.owner);
    } else {
      Ref<Storage> old(new Storage);
      old->data = std::exchange(s.data, made);
      old->bytes = s.bytes;
      old->owner = s.owner;
      old->release = s.release;
      old->context = s.context;
      if (s.pins) {
        old->retired = std::move(s.retired);
        s.retired = std::move(old);
      }
      s.context = new_mapping(fd, s.bytes, nullptr);
    }
    s.release = release_mapping;
  }
  s.owner = nullptr;
  s.resizable = false;
  s.shared = true;
  update_aliases(s);
}

int shared_descriptor(Storage& s, bool* temporary) {
  internal_check(s.shared && s.bytes, "no descriptor");
  auto* m = static_cast<Mapping*>(s.context);
  m->passed_on = true;
  *temporary = m->descriptor < 0;
  if (m->descriptor >= 0) return m->descriptor;
  char path[64];
  auto at = uintptr_t(s.data);
  std::snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx", at, at + m->length);
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd >= 0) return fd;
  fd = new_file(s.bytes);
  void* copy = map_file(fd, s.bytes, true);
  std::memcpy(copy, s.data, size_t(s.bytes));
  munmap(copy, pages(s.bytes));
  return fd;
}

bool was_passed_on(const Storage& s) {
  auto* m = static_cast<const Mapping*>(s.context);
  return !s.shared || !m || m->passed_on || m->forks != forks.load();
}

}  // namespace ember
