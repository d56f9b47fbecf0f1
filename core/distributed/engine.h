// Collectives in progress. A `Work` is one; the engine starts those of a communicator in order,
// polls them from a thread of its own or from whoever waits, and ends them with an error when their
// time is up or one of the ranks has died. Nothing here blocks in MPI but `begin` and `make_comm`,
// which that thread runs while the caller waits for it with a deadline.
#pragma once

#include <deque>
#include <set>

#include "distributed/mpi_abi.h"
#include "distributed/pmi.h"
#include "tensor/dtype.h"

namespace ember::distributed {

enum class What : uint8_t {
  AllReduce,
  Reduce,
  Broadcast,
  AllGather,
  Gather,
  Scatter,
  ReduceScatter,
  AllToAll,
  Barrier,
  Send,
  Receive
};
enum class Reduction : uint8_t { Sum, Average, Product, Min, Max, And, Or, Xor };

struct Buffer {
  char* data;
  int64_t bytes;
};

struct Work {
  What what;
  std::string name;  // in errors
  int comm, root = 0, tag = 0;
  Dtype dtype = Dtype::UInt8;
  Reduction reduction = Reduction::Sum;
  std::vector<Buffer> in, out;  // contiguous; the caller keeps them until done()
  double timeout;

  Deadline deadline;
  mpi::Request request = nullptr;
  mpi::Status status{};
  std::vector<char> packed_in, packed_out;
  std::vector<mpi::Count> counts, displacements, out_counts, out_displacements;
  std::string error;  // set before done
  std::atomic<bool> done{false};
  bool started = false;  // a failed one of these leaves its memory to MPI for ever
};
using WorkRef = std::shared_ptr<Work>;

// Times in seconds. All throw Error; `lost` names the ranks that died.
void begin(const std::string& library, const World& world, const std::string& host, int port,
           const std::string& secret, double timeout);
bool begun();
int make_comm(const std::vector<int>& world_ranks, double timeout);
void start(const WorkRef& work);
bool wait(const WorkRef& work, double timeout);  // whether it is done; a poll at 0
void leave();                                    // says goodbye to the world
std::string lost();

}  // namespace ember::distributed
