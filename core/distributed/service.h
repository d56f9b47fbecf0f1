// A table that other processes reach by TCP, and which knows who of them is alive: the server of a
// TCPStore and the meeting point of a world. `Client` is one connection to it, `Presence` another
// on which a rank says that it lives and hears who does not.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <thread>

#include "distributed/table.h"

namespace ember::distributed {

class Server {
 public:
  Server(Socket listening, std::string secret);
  ~Server();
  int port() const { return port_; }
  Table table;

 private:
  struct Connection;
  void accept();
  void serve(Connection& connection);
  std::string answer(const std::string& request);
  void stay_with(Connection& connection, int rank);
  void tell_others(const Connection& from, char what, int rank);

  Socket listening_;
  std::string secret_;
  int port_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::list<std::unique_ptr<Connection>> connections_;
  std::map<int, char> gone_;  // rank -> how: told to who comes later
  std::thread acceptor_;
};

class Client {
 public:
  Client(const std::string& host, int port, std::string_view secret, Deadline deadline);
  // All of them may throw NetworkError. Times in seconds.
  void set(const std::string& key, const std::string& value);
  void append(const std::string& key, const std::string& value);
  std::optional<std::string> get(const std::string& key, double timeout);
  int64_t add(const std::string& key, int64_t amount);
  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired);
  bool wait(const std::vector<std::string>& keys, double timeout);
  bool has(const std::vector<std::string>& keys);
  bool remove(const std::string& key);
  void push(const std::string& queue, const std::string& value);
  std::optional<std::string> pop(const std::string& queue, double timeout);
  int64_t length(const std::string& queue);
  int64_t size();
  std::vector<std::string> keys();
  std::string address() const { return address_of(socket_); }  // of this end
  int descriptor() const { return socket_.fd(); }
  void shut() { socket_.shut(); }

 private:
  std::string ask(char command, const std::vector<std::string>& arguments, double timeout = 0);
  std::mutex mutex_;
  Socket socket_;
};

// Calls `gone(rank, how)`, from a thread of its own: 'L' lost, 'B' it said goodbye, and
// 'S' the server is lost.
class Presence {
 public:
  using Gone = std::function<void(int rank, char how)>;
  Presence(const std::string& host, int port, std::string_view secret, int rank, Deadline deadline,
           Gone gone);
  ~Presence();
  void leave();  // says goodbye

 private:
  void listen();
  Socket socket_;
  Gone gone_;
  std::mutex writing_;
  std::atomic<bool> leaving_{false};
  std::thread thread_;
};

}  // namespace ember::distributed
