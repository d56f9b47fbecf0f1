// TCP connections on which messages go: a length and as many bytes. Every wait has a deadline.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ember::distributed {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;
inline Deadline after(double seconds) {
  return Clock::now() + std::chrono::microseconds(int64_t(seconds < 1e9 ? seconds * 1e6 : 1e15));
}
inline double seconds_until(Deadline deadline) {
  return std::chrono::duration<double>(deadline - Clock::now()).count();
}

struct NetworkError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct TimeoutError : NetworkError {
  using NetworkError::NetworkError;
};

// An owned descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& o) noexcept : fd_(o.fd_) { o.fd_ = -1; }
  Socket& operator=(Socket&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~Socket() { close(); }
  void close();
  void shut();  // wakes whoever waits on it, here and at the other end
  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

  void write(std::string_view bytes, Deadline deadline);
  std::string read(size_t count, Deadline deadline);  // NetworkError when the peer has gone
  void send(std::string_view message, Deadline deadline);
  std::string receive(Deadline deadline);

 private:
  int fd_ = -1;
};

// Port 0 takes a free one. The address is that of one interface, never of all.
Socket listen_on(const std::string& host, int port);
Socket take_over(int fd);  // a socket that listens already
int port_of(const Socket& listening);
std::string address_of(const Socket& connected);  // this end's
Socket connect_to(const std::string& host, int port, Deadline deadline);

// Both sides prove that they know the secret; NetworkError if the other does not.
void prove(Socket& socket, std::string_view secret, bool server, Deadline deadline);

}  // namespace ember::distributed
