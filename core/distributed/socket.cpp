#include "distributed/socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "distributed/secret.h"

namespace ember::distributed {

namespace {

constexpr uint32_t kLongestMessage = 1u << 30;

std::string reason() { return std::strerror(errno); }

void wait_for(int fd, short events, Deadline deadline) {
  while (true) {
    double left = seconds_until(deadline);
    if (left <= 0) throw TimeoutError("the deadline passed");
    pollfd p{fd, events, 0};
    int ready = poll(&p, 1, int(std::min(left * 1000 + 1, 1e6)));
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) throw NetworkError("poll: " + reason());
  }
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;
Addresses resolve(const std::string& host, int port, int flags) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  int status = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (status) throw NetworkError("the address " + host + ": " + gai_strerror(status));
  return {found, freeaddrinfo};
}

void quick(int fd) {
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

void Socket::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}
void Socket::shut() {
  if (fd_ >= 0) shutdown(fd_, SHUT_RDWR);
}

void Socket::write(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0)
      bytes.remove_prefix(size_t(sent));
    else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      wait_for(fd_, POLLOUT, deadline);
    else if (errno != EINTR)
      throw NetworkError("the connection is closed (" + reason() + ")");
  }
}

std::string Socket::read(size_t count, Deadline deadline) {
  std::string out(count, 0);
  for (size_t at = 0; at < count;) {
    ssize_t got = recv(fd_, out.data() + at, count - at, MSG_DONTWAIT);
    if (got > 0)
      at += size_t(got);
    else if (got == 0)
      throw NetworkError("the connection is closed");
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      wait_for(fd_, POLLIN, deadline);
    else if (errno != EINTR)
      throw NetworkError("the connection is closed (" + reason() + ")");
  }
  return out;
}

void Socket::send(std::string_view message, Deadline deadline) {
  uint32_t size = uint32_t(message.size());
  std::string whole(reinterpret_cast<char*>(&size), 4);
  write(whole.append(message), deadline);
}

std::string Socket::receive(Deadline deadline) {
  uint32_t size;
  std::memcpy(&size, read(4, deadline).data(), 4);
  if (size > kLongestMessage) throw NetworkError("a message of " + std::to_string(size) + " bytes");
  return read(size, deadline);
}

Socket listen_on(const std::string& host, int port) {
  Addresses found = resolve(host, port, AI_PASSIVE);
  Socket socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  int on = 1;
  setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(socket.fd(), found->ai_addr, found->ai_addrlen) || listen(socket.fd(), 4096))
    throw NetworkError(
        "The server socket has failed to listen on any local network address of " + host +
        ". port: " + std::to_string(port) + ", code: " + std::to_string(-errno) +
        (errno == EADDRINUSE ? ", name: EADDRINUSE" : "") + ", message: " + reason());
  return socket;
}

Socket take_over(int fd) {
  Socket socket(fd);
  int listening = 0;
  socklen_t size = sizeof listening;
  getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size);
  if (!listening && listen(fd, 4096)) throw NetworkError("the descriptor: " + reason());
  return socket;
}

int port_of(const Socket& listening) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(listening.fd(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

std::string address_of(const Socket& connected) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(connected.fd(), reinterpret_cast<sockaddr*>(&address), &size);
  char text[NI_MAXHOST] = "";
  getnameinfo(reinterpret_cast<sockaddr*>(&address), size, text, sizeof text, nullptr, 0,
              NI_NUMERICHOST);
  return text;
}

Socket connect_to(const std::string& host, int port, Deadline deadline) {
  std::string why;
  do {  // the server may not be up yet
    Addresses found = resolve(host, port, 0);
    for (addrinfo* a = found.get(); a; a = a->ai_next) {
      Socket socket(::socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      int status = connect(socket.fd(), a->ai_addr, a->ai_addrlen);
      if (status && errno == EINPROGRESS) {
        try {
          wait_for(socket.fd(), POLLOUT, deadline);
        } catch (const TimeoutError&) {
          why = "no answer";
          break;
        }
        socklen_t size = sizeof status;
        getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &status, &size);
        errno = status;
      }
      if (!status) {
        quick(socket.fd());
        return socket;
      }
      why = reason();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (Clock::now() < deadline);
  throw TimeoutError("The client socket has timed out while trying to connect to (" + host + ", " +
                     std::to_string(port) + "): " + why);
}

void prove(Socket& socket, std::string_view secret, bool server, Deadline deadline) {
  quick(socket.fd());
  std::string mine = random_bytes(16);
  socket.write(mine, deadline);
  std::string theirs = socket.read(16, deadline);
  // A name for each side: else a proof could be sent back to where it came from.
  const char *me = server ? "server" : "client", *other = server ? "client" : "server";
  socket.write(hmac(secret, me + theirs), deadline);
  if (!same(socket.read(32, deadline), hmac(secret, other + mine)))
    throw NetworkError(
        "the peer does not know the secret of this run; set EMBER_DISTRIBUTED_SECRET to the same "
        "value on every host");
}

}  // namespace ember::distributed
