// Keys and values that threads share and wait for: what is inside a store.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "distributed/socket.h"

namespace ember::distributed {

class Table {
 public:
  void set(const std::string& key, const std::string& value);
  void append(const std::string& key, const std::string& value);
  // The value, as soon as it is there; none after the deadline.
  std::optional<std::string> get(const std::string& key, Deadline deadline);
  int64_t add(const std::string& key, int64_t amount);
  // What the key has afterwards. An expected value of "" stands for a key that is not there.
  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired);
  bool wait(const std::vector<std::string>& keys, Deadline deadline);
  bool has(const std::vector<std::string>& keys);
  bool remove(const std::string& key);
  // Queues have names of their own; one that holds something is there, as a key is.
  void push(const std::string& queue, const std::string& value);
  std::optional<std::string> pop(const std::string& queue, Deadline deadline);
  int64_t length(const std::string& queue);
  int64_t size();
  std::vector<std::string> keys();

 private:
  bool has_all(const std::vector<std::string>& keys) const;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
  std::map<std::string, std::deque<std::string>> queues_;  // none of them empty
};

}  // namespace ember::distributed
