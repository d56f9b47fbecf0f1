// Reading and raising what kernels report.
#include "opencl/fault.h"

#include <cstdlib>
#include <cstring>
#include <mutex>

namespace ember::opencl {

namespace {

struct Place {
  const char* op;
  Kind kind;
  const char* what;
};
struct Places {
  std::mutex mutex;
  std::vector<Place> all;
};
Places& places() {
  static Places& instance = *new Places;
  return instance;
}

void clear(Stream& s) {
  static const int64_t zeros[4] = {};
  checked(api().EnqueueWriteBuffer(s.queue, s.cell, 1, 0, sizeof zeros, zeros, 0, nullptr, nullptr),
          "clEnqueueWriteBuffer");
}

}  // namespace

bool waits_always() {
  static const bool asked = [] {
    const char* text = std::getenv("EMBER_OPENCL_BLOCKING");
    return text && std::strcmp(text, "1") == 0;
  }();
  return asked;
}

uint32_t fault_place(const char* op, Kind kind, const char* what) {
  Places& p = places();
  std::lock_guard lock(p.mutex);
  for (size_t i = 0; i < p.all.size(); i++)
    if (p.all[i].kind == kind && std::strcmp(p.all[i].op, op) == 0 &&
        std::strcmp(p.all[i].what, what) == 0)
      return uint32_t(i + 1);
  p.all.push_back({op, kind, what});
  return uint32_t(p.all.size());
}

Handle fault_cell(Stream& s) {
  if (!s.cell) {
    int32_t code = kSuccess;
    s.cell = api().CreateBuffer(s.device->context, kMemReadWrite, sizeof s.fault, nullptr, &code);
    checked(code, "clCreateBuffer");
    clear(s);
  }
  s.unread = true;
  return s.cell;
}

bool read_fault(Stream& s) {
  if (!s.unread) return false;
  checked(
      api().EnqueueReadBuffer(s.queue, s.cell, 0, 0, sizeof s.fault, s.fault, 0, nullptr, nullptr),
      "clEnqueueReadBuffer");
  s.unread = false;
  return true;
}

void raise_fault(Stream& s) {
  uint32_t number = 0;
  std::memcpy(&number, &s.fault[0], sizeof number);
  if (!number) return;
  const int64_t found = s.fault[1], dim = s.fault[2], size = s.fault[3];
  s.fault[0] = 0;
  clear(s);
  Place place{"op", Kind::Runtime, "index"};
  {
    std::lock_guard lock(places().mutex);
    if (number <= places().all.size()) place = places().all[number - 1];
  }
  fail(place.kind, place.what, " ", found, " is out of bounds for dimension ", dim, " with size ",
       size, " (an earlier ", place.op, "() on device 'opencl:", s.device->index,
       "'; kernels run later than Python, EMBER_OPENCL_BLOCKING=1 makes it wait for each)");
}

}  // namespace ember::opencl
