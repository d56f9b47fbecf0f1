#include <dlfcn.h>

#include <sstream>

#include "check.h"
#include "distributed/mpi_abi.h"

namespace ember::distributed::mpi {

namespace {
Library opened;
bool is_open = false;
}  // namespace

const Library& library() { return opened; }

const Library& open_library(const std::string& paths) {
  if (is_open) return opened;
  std::istringstream list(paths);
  std::string path, tried;
  void* found = nullptr;
  while (!found && std::getline(list, path, ':')) {
    found = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!found) tried += std::string("\n  ") + dlerror();
  }
  check(found, Kind::Runtime,
        "ember.distributed needs an MPI library with the standard's binary interface "
        "(libmpi_abi.so.1): pip install \"" EMBER_DISTRIBUTION
        "[dist]\", or set EMBER_MPI_LIBRARY. Tried:",
        tried);
#define EMBER_MPI_LOOK_UP(name, ...)                                                \
  opened.name = reinterpret_cast<int (*)(__VA_ARGS__)>(dlsym(found, "MPI_" #name)); \
  check(opened.name, Kind::Runtime, path, " has no MPI_" #name "; a library of MPI 5.0 has it");
  EMBER_MPI_FUNCTIONS(EMBER_MPI_LOOK_UP)
#undef EMBER_MPI_LOOK_UP
  is_open = true;
  return opened;
}

void must(int status, const char* call) {
  if (!status) return;
  char text[1024] = "";
  int size = 0;
  opened.Error_string(status, text, &size);
  fail(Kind::Runtime, "MPI_", call, ": ", text);
}

}  // namespace ember::distributed::mpi
