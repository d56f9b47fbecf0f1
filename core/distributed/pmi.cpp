#include "distributed/pmi.h"

#include <sys/socket.h>
#include <unistd.h>

#include <sstream>

#include "check.h"

namespace ember::distributed {

namespace {

constexpr double kLongest = 600;  // seconds that a barrier of MPI_Init may take

class Shim {
 public:
  Shim(World world, std::shared_ptr<Client> table, int fd)
      : world_(std::move(world)), table_(std::move(table)), fd_(fd) {}

  void run() {
    std::string text;
    char buffer[4096];
    ssize_t got;
    while ((got = read(fd_, buffer, sizeof buffer)) > 0) {
      text.append(buffer, size_t(got));
      for (size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
        std::string reply = answer(words_of(text.substr(0, end))) + "\n";
        if (write(fd_, reply.data(), reply.size()) < 0) return;
      }
    }
  }

 private:
  using Words = std::map<std::string, std::string>;
  static Words words_of(const std::string& line) {
    Words words;
    std::istringstream in(line);
    for (std::string word; in >> word;) {
      size_t at = word.find('=');
      if (at != std::string::npos) words[word.substr(0, at)] = word.substr(at + 1);
    }
    return words;
  }

  std::string answer(Words words) {
    std::string command = words["cmd"], size = std::to_string(world_.size);
    if (command == "init") return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0";
    if (command == "get_maxes")
      return "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0";
    if (command == "get_appnum") return "cmd=appnum appnum=0 rc=0";
    if (command == "get_my_kvsname") return "cmd=my_kvsname kvsname=" + world_.name + " rc=0";
    if (command == "get_universe_size") return "cmd=universe_size size=" + size + " rc=0";
    if (command == "finalize") return "cmd=finalize_ack rc=0";
    try {
      if (command == "put") {
        table_->set("pmi/" + words["key"], words["value"]);
        return "cmd=put_result rc=0 msg=success";
      }
      if (command == "get") {
        std::optional<std::string> value = world_.mapping;
        if (words["key"] != "PMI_process_mapping") value = table_->get("pmi/" + words["key"], 0);
        if (value) return "cmd=get_result rc=0 msg=success value=" + *value;
        return "cmd=get_result rc=-1 msg=key_not_found value=unknown";
      }
      if (command == "barrier_in") {
        std::string key = "barrier/" + std::to_string(++barriers_);
        if (table_->add(key, 1) == world_.size) table_->set(key + "/open", "");
        bool open = table_->wait({key + "/open"}, kLongest);
        return std::string("cmd=barrier_out rc=") + (open ? "0" : "-1");
      }
    } catch (const NetworkError&) {
    }
    return "cmd=" + command + "_result rc=-1 msg=failed";
  }

  World world_;
  std::shared_ptr<Client> table_;
  int fd_;
  int barriers_ = 0;
};

}  // namespace

int serve_pmi(World world, std::shared_ptr<Client> table) {
  int ends[2];
  check(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), Kind::Runtime,
        "no socket pair for MPI");
  std::thread([shim = std::make_shared<Shim>(std::move(world), std::move(table), ends[1])] {
    shim->run();
  }).detach();
  return ends[0];
}

}  // namespace ember::distributed
