#include "distributed/service.h"

#include <poll.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>

namespace ember::distributed {

namespace {

// A silent peer is lost after this long, though its connection still stands. First asked before
// there is a thread: who reads the environment while another thread adds to it, as `begin` does,
// may crash.
double silence() {
  static const double seconds = [] {
    const char* text = std::getenv("EMBER_DISTRIBUTED_HEARTBEAT");
    double value = text ? std::atof(text) : 0;
    return value > 0 ? value : 10.0;
  }();
  return seconds;
}
constexpr double kProof = 10, kWrite = 5;  // seconds

void put(std::string& out, std::string_view part) {
  uint32_t size = uint32_t(part.size());
  out.append(reinterpret_cast<char*>(&size), 4).append(part);
}

// The parts of a message, as many as it holds.
std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  while (text.size() >= 4) {
    uint32_t size;
    std::memcpy(&size, text.data(), 4);
    text.remove_prefix(4);
    if (size > text.size()) throw NetworkError("a message is cut off");
    parts.emplace_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return parts;
}

}  // namespace

// --- the server ----------------------------------------------------------------------------------

struct Server::Connection {
  Socket socket;
  std::mutex writing;
  int rank = -1;  // of one that stays to be told of others
  std::atomic<bool> done{false};
  std::thread thread;
};

Server::Server(Socket listening, std::string secret)
    : listening_(std::move(listening)), secret_(std::move(secret)), port_(port_of(listening_)) {
  silence();
  acceptor_ = std::thread([this] { accept(); });
}

Server::~Server() {
  stopping_ = true;
  listening_.shut();
  acceptor_.join();
  // Waits of clients end when their connection does, at the latest after a tick of `answer`.
  for (auto& connection : connections_) connection->socket.shut();
  for (auto& connection : connections_) connection->thread.join();
}

void Server::accept() {
  while (!stopping_) {
    pollfd p{listening_.fd(), POLLIN, 0};
    if (poll(&p, 1, 200) <= 0) continue;
    int fd = accept4(listening_.fd(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    std::lock_guard lock(mutex_);
    connections_.remove_if([](auto& c) {
      if (c->done) c->thread.join();
      return c->done.load();
    });
    auto& connection = connections_.emplace_back(new Connection{Socket(fd), {}, -1, false, {}});
    connection->thread = std::thread([this, c = connection.get()] {
      try {
        prove(c->socket, secret_, true, after(kProof));
        serve(*c);
      } catch (const std::exception&) {
      }
      c->socket.shut();
      c->done = true;
    });
  }
}

void Server::serve(Connection& connection) {
  while (!stopping_) {
    std::string request = connection.socket.receive(after(1e8));
    if (request.size() > 1 && request[0] == 'P') {
      stay_with(connection, std::atoi(request.c_str() + 1));
      return;
    }
    connection.socket.send(answer(request), after(1e8));
  }
}

std::string Server::answer(const std::string& request) {
  if (request.empty()) throw NetworkError("an empty request");
  double timeout = 0;
  if (request.size() < 9) throw NetworkError("a request is cut off");
  std::memcpy(&timeout, request.data() + 1, 8);
  std::vector<std::string> a = parts_of(std::string_view(request).substr(9));
  auto argument = [&](size_t i) -> const std::string& {
    if (i >= a.size()) throw NetworkError("a request lacks an argument");
    return a[i];
  };
  // In ticks, so that a server that stops does not wait for what never comes.
  auto patiently = [&](auto&& step) {
    Deadline end = after(timeout);
    do {
      if (step(std::min(end, after(0.2)))) return true;
    } while (Clock::now() < end && !stopping_);
    return false;
  };
  switch (request[0]) {
    case 's': table.set(argument(0), argument(1)); return "1";
    case 'p': table.append(argument(0), argument(1)); return "1";
    case 'g': {
      std::optional<std::string> value;
      patiently([&](Deadline tick) { return (value = table.get(argument(0), tick)).has_value(); });
      return value ? "1" + *value : "0";
    }
    case 'a': return "1" + std::to_string(table.add(argument(0), std::atoll(argument(1).c_str())));
    case 'c': return "1" + table.compare_set(argument(0), argument(1), argument(2));
    case 'w': return patiently([&](Deadline tick) { return table.wait(a, tick); }) ? "1" : "0";
    case 'h': return table.has(a) ? "1" : "0";
    case 'u': table.push(argument(0), argument(1)); return "1";
    case 'o': {
      std::optional<std::string> value;
      patiently([&](Deadline tick) { return (value = table.pop(argument(0), tick)).has_value(); });
      return value ? "1" + *value : "0";
    }
    case 'l': return "1" + std::to_string(table.length(argument(0)));
    case 'd': return table.remove(argument(0)) ? "1" : "0";
    case 'n': return "1" + std::to_string(table.size());
    case 'k': {
      std::string out = "1";
      for (auto& key : table.keys()) put(out, key);
      return out;
    }
  }
  throw NetworkError("an unknown request");
}

void Server::tell_others(const Connection& from, char what, int rank) {
  std::lock_guard lock(mutex_);
  gone_[rank] = what;
  for (auto& c : connections_) {
    if (c.get() == &from || c->rank < 0 || c->done) continue;
    try {
      std::lock_guard writing(c->writing);
      c->socket.send(what + std::to_string(rank), after(kWrite));
    } catch (const NetworkError&) {  // its own thread will notice
    }
  }
}

void Server::stay_with(Connection& connection, int rank) {
  {
    std::lock_guard lock(mutex_);
    connection.rank = rank;
    for (auto [other, how] : gone_)
      connection.socket.send(how + std::to_string(other), after(kWrite));
  }
  char how = 'L';
  try {
    while (!stopping_) {
      std::string message = connection.socket.receive(after(silence()));
      if (message == "B") how = 'B';
      std::lock_guard writing(connection.writing);
      connection.socket.send("H", after(kWrite));
    }
  } catch (const NetworkError&) {  // closed, or silent for too long
  }
  if (!stopping_) tell_others(connection, how, rank);
}

// --- the client ----------------------------------------------------------------------------------

Client::Client(const std::string& host, int port, std::string_view secret, Deadline deadline)
    : socket_(connect_to(host, port, deadline)) {
  prove(socket_, secret, false, deadline);
}

std::string Client::ask(char command, const std::vector<std::string>& arguments, double timeout) {
  std::string request(1, command);
  request.append(reinterpret_cast<char*>(&timeout), 8);
  for (auto& argument : arguments) put(request, argument);
  std::lock_guard lock(mutex_);
  socket_.send(request, after(timeout + 60));
  std::string reply = socket_.receive(after(timeout + 60));
  if (reply.empty()) throw NetworkError("an empty reply");
  return reply;
}

void Client::set(const std::string& key, const std::string& value) { ask('s', {key, value}); }
void Client::append(const std::string& key, const std::string& value) { ask('p', {key, value}); }
std::optional<std::string> Client::get(const std::string& key, double timeout) {
  std::string reply = ask('g', {key}, timeout);
  if (reply[0] == '0') return {};
  return reply.substr(1);
}
int64_t Client::add(const std::string& key, int64_t amount) {
  return std::atoll(ask('a', {key, std::to_string(amount)}).c_str() + 1);
}
std::string Client::compare_set(const std::string& key, const std::string& expected,
                                const std::string& desired) {
  return ask('c', {key, expected, desired}).substr(1);
}
bool Client::wait(const std::vector<std::string>& keys, double timeout) {
  return ask('w', keys, timeout)[0] == '1';
}
bool Client::has(const std::vector<std::string>& keys) { return ask('h', keys)[0] == '1'; }
bool Client::remove(const std::string& key) { return ask('d', {key})[0] == '1'; }
void Client::push(const std::string& queue, const std::string& value) { ask('u', {queue, value}); }
std::optional<std::string> Client::pop(const std::string& queue, double timeout) {
  std::string reply = ask('o', {queue}, timeout);
  if (reply[0] == '0') return {};
  return reply.substr(1);
}
int64_t Client::length(const std::string& queue) {
  return std::atoll(ask('l', {queue}).c_str() + 1);
}
int64_t Client::size() { return std::atoll(ask('n', {}).c_str() + 1); }
std::vector<std::string> Client::keys() {
  return parts_of(std::string_view(ask('k', {})).substr(1));
}

// --- presence ------------------------------------------------------------------------------------

Presence::Presence(const std::string& host, int port, std::string_view secret, int rank,
                   Deadline deadline, Gone gone)
    : socket_(connect_to(host, port, deadline)), gone_(std::move(gone)) {
  silence();
  prove(socket_, secret, false, deadline);
  socket_.send("P" + std::to_string(rank), deadline);
  thread_ = std::thread([this] { listen(); });
}

Presence::~Presence() {
  leaving_ = true;
  socket_.shut();
  thread_.join();
}

void Presence::leave() {
  leaving_ = true;
  try {
    std::lock_guard lock(writing_);
    socket_.send("B", after(1));
  } catch (const NetworkError&) {
  }
}

void Presence::listen() {
  Deadline heard = after(silence());
  while (true) {
    try {
      {
        std::lock_guard lock(writing_);
        socket_.send("H", after(kWrite));
      }
      Deadline next = after(silence() / 5);
      while (Clock::now() < next) {
        pollfd p{socket_.fd(), POLLIN, 0};
        if (poll(&p, 1, int(std::max(1.0, seconds_until(next) * 1000))) <= 0) continue;
        std::string message = socket_.receive(after(kWrite));
        heard = after(silence());
        if (message.size() > 1) gone_(std::atoi(message.c_str() + 1), message[0]);
      }
      if (Clock::now() < heard) continue;
    } catch (const NetworkError&) {
    }
    if (!leaving_) gone_(0, 'S');
    return;
  }
}

}  // namespace ember::distributed
