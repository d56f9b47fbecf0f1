// The part of the MPI standard's binary interface (MPI 5.0, chapter 20) that ember calls, and the
// library that provides it, opened when a world of several processes begins.
#pragma once

#include <cstdint>
#include <string>

namespace ember::distributed::mpi {

using Handle = void*;
using Comm = Handle;
using Request = Handle;
using Type = Handle;
using Op = Handle;
using Group = Handle;
using Count = int64_t;
struct Status {
  int source, tag, error, reserved[5];
};
using Reduce = void(void* in, void* inout, Count* count, Type* type);

constexpr uintptr_t kWorld = 0x101, kNullComm = 0x100, kNullRequest = 0x180, kErrorsReturn = 0x143;
constexpr int kThreadMultiple = 4096, kAnySource = -1;
inline void* const kInPlace = reinterpret_cast<void*>(1);
inline Handle handle(uintptr_t value) { return reinterpret_cast<Handle>(value); }

// name, arguments
#define EMBER_MPI_FUNCTIONS(F)                                                                 \
  F(Init_thread, int*, char***, int, int*)                                                     \
  F(Comm_rank, Comm, int*)                                                                     \
  F(Comm_size, Comm, int*)                                                                     \
  F(Comm_group, Comm, Group*)                                                                  \
  F(Group_incl, Group, int, const int*, Group*)                                                \
  F(Comm_create_group, Comm, Group, int, Comm*)                                                \
  F(Comm_set_errhandler, Comm, Handle)                                                         \
  F(Error_string, int, char*, int*)                                                            \
  F(Op_create_c, Reduce*, int, Op*)                                                            \
  F(Test, Request*, int*, Status*)                                                             \
  F(Bcast, void*, int, Type, int, Comm)                                                        \
  F(Ibarrier, Comm, Request*)                                                                  \
  F(Ibcast_c, void*, Count, Type, int, Comm, Request*)                                         \
  F(Iallreduce_c, const void*, void*, Count, Type, Op, Comm, Request*)                         \
  F(Ireduce_c, const void*, void*, Count, Type, Op, int, Comm, Request*)                       \
  F(Ireduce_scatter_c, const void*, void*, const Count*, Type, Op, Comm, Request*)             \
  F(Iallgatherv_c, const void*, Count, Type, void*, const Count*, const Count*, Type, Comm,    \
    Request*)                                                                                  \
  F(Igatherv_c, const void*, Count, Type, void*, const Count*, const Count*, Type, int, Comm,  \
    Request*)                                                                                  \
  F(Iscatterv_c, const void*, const Count*, const Count*, Type, void*, Count, Type, int, Comm, \
    Request*)                                                                                  \
  F(Ialltoallv_c, const void*, const Count*, const Count*, Type, void*, const Count*,          \
    const Count*, Type, Comm, Request*)                                                        \
  F(Isend_c, const void*, Count, Type, int, int, Comm, Request*)                               \
  F(Irecv_c, void*, Count, Type, int, int, Comm, Request*)

struct Library {
#define EMBER_MPI_POINTER(name, ...) int (*name)(__VA_ARGS__) = nullptr;
  EMBER_MPI_FUNCTIONS(EMBER_MPI_POINTER)
#undef EMBER_MPI_POINTER
};

// Opens the library at the first of these paths that has one; throws Error naming what was tried.
const Library& open_library(const std::string& paths);  // separated by ':'
const Library& library();                               // after open_library
void must(int status, const char* call);                // throws with MPI's text

}  // namespace ember::distributed::mpi
