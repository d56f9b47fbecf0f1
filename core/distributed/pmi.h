// PMI-1 by which MPICH asks its launcher who is there, answered from the table of a world's server:
// so that processes which anybody started make one MPI world, without mpiexec.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "distributed/service.h"

namespace ember::distributed {

struct World {
  int rank, size;
  std::string name;  // new for every world: a segment left by a dead one of the same name hangs MPI
  std::string mapping;  // which ranks share memory, as PMI writes it
};

// A thread that answers on one end of a socket pair; `fd` is the other, for PMI_FD. Both outlive
// MPI.
int serve_pmi(World world, std::shared_ptr<Client> table);

}  // namespace ember::distributed
