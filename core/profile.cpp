#include "profile.h"

#include <chrono>
#include <memory>
#include <mutex>

#include "tensor/allocator.h"

namespace ember::profile {

namespace {

std::mutex mutex;  // guards what follows
std::vector<Event> events;
Options current;

int64_t bytes_in_use() { return current.memory ? memory_stats().allocated : 0; }

uint64_t this_thread() {
  static std::atomic<uint64_t> count{0};
  thread_local uint64_t number = ++count;
  return number;
}

}  // namespace

int64_t now() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

void start(Options options) {
  std::lock_guard lock(mutex);
  events.clear();
  current = options;
  recording = true;
}

Options options() {
  std::lock_guard lock(mutex);
  return current;
}

std::vector<Event> stop() {
  recording = false;
  std::lock_guard lock(mutex);
  return std::move(events);
}

Event& Span::begin(std::string name, Kind kind) {
  event_ = new Event{std::move(name), kind, now(), 0, bytes_in_use(), 0, this_thread(), "", ""};
  return *event_;
}

void Span::end() {
  std::unique_ptr<Event> event(event_);
  event_ = nullptr;
  event->end = now();
  event->after = bytes_in_use();
  std::lock_guard lock(mutex);
  if (recording) events.push_back(std::move(*event));
}

}  // namespace ember::profile
