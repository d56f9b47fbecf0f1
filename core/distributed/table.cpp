#include "distributed/table.h"

#include <algorithm>
#include <cstdlib>

namespace ember::distributed {

using Lock = std::unique_lock<std::mutex>;

void Table::set(const std::string& key, const std::string& value) {
  Lock lock(mutex_);
  values_[key] = value;
  changed_.notify_all();
}

void Table::append(const std::string& key, const std::string& value) {
  Lock lock(mutex_);
  values_[key] += value;
  changed_.notify_all();
}

std::optional<std::string> Table::get(const std::string& key, Deadline deadline) {
  Lock lock(mutex_);
  if (!changed_.wait_until(lock, deadline, [&] { return values_.contains(key); })) return {};
  return values_[key];
}

int64_t Table::add(const std::string& key, int64_t amount) {
  Lock lock(mutex_);
  std::string& value = values_[key];
  int64_t sum = std::strtoll(value.c_str(), nullptr, 10) + amount;
  value = std::to_string(sum);
  changed_.notify_all();
  return sum;
}

std::string Table::compare_set(const std::string& key, const std::string& expected,
                               const std::string& desired) {
  Lock lock(mutex_);
  auto found = values_.find(key);
  if (found == values_.end()) {
    if (!expected.empty()) return expected;
    values_[key] = desired;
  } else if (found->second == expected) {
    found->second = desired;
  } else {
    return found->second;
  }
  changed_.notify_all();
  return desired;
}

bool Table::has_all(const std::vector<std::string>& keys) const {
  return std::all_of(keys.begin(), keys.end(),
                     [&](auto& key) { return values_.contains(key) || queues_.contains(key); });
}
bool Table::wait(const std::vector<std::string>& keys, Deadline deadline) {
  Lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [&] { return has_all(keys); });
}
bool Table::has(const std::vector<std::string>& keys) {
  Lock lock(mutex_);
  return has_all(keys);
}
bool Table::remove(const std::string& key) {
  Lock lock(mutex_);
  return values_.erase(key) > 0;
}
void Table::push(const std::string& queue, const std::string& value) {
  Lock lock(mutex_);
  queues_[queue].push_back(value);
  changed_.notify_all();
}
std::optional<std::string> Table::pop(const std::string& queue, Deadline deadline) {
  Lock lock(mutex_);
  if (!changed_.wait_until(lock, deadline, [&] { return queues_.contains(queue); })) return {};
  auto found = queues_.find(queue);
  std::string value = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) queues_.erase(found);
  return value;
}
int64_t Table::length(const std::string& queue) {
  Lock lock(mutex_);
  auto found = queues_.find(queue);
  return found == queues_.end() ? 0 : int64_t(found->second.size());
}
int64_t Table::size() {
  Lock lock(mutex_);
  return int64_t(values_.size());
}
std::vector<std::string> Table::keys() {
  Lock lock(mutex_);
  std::vector<std::string> all;
  for (auto& [key, value] : values_) all.push_back(key);
  return all;
}

}  // namespace ember::distributed
