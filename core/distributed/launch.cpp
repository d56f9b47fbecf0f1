// One collective as a call of MPI: how buffers are laid out, what is added up and how.
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "check.h"
#include "distributed/engine.h"

namespace ember::distributed {

namespace {

// Dtypes that MPI's own reductions know, by their handle in the standard.
uintptr_t mpi_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::Bool:
    case Dtype::UInt8: return 0x241;
    case Dtype::Int8: return 0x240;
    case Dtype::Int16: return 0x248;
    case Dtype::UInt16: return 0x249;
    case Dtype::Int32: return 0x250;
    case Dtype::UInt32: return 0x251;
    case Dtype::Int64: return 0x258;
    case Dtype::UInt64: return 0x259;
    case Dtype::Float32: return 0x210;
    case Dtype::Float64: return 0x214;
    default: return 0x249;  // halves: 16 bits, reduced by functions of ours
  }
}
constexpr uintptr_t kByte = 0x247;

template <class T, Reduction R>
void reduce_halves(void* in, void* inout, mpi::Count* count, mpi::Type*) {
  const T* a = static_cast<const T*>(in);
  T* b = static_cast<T*>(inout);
  for (mpi::Count i = 0; i < *count; ++i) {
    float x = a[i], y = b[i];
    if constexpr (R == Reduction::Sum) b[i] = T(x + y);
    if constexpr (R == Reduction::Product) b[i] = T(x * y);
    if constexpr (R == Reduction::Min) b[i] = T(x < y || x != x ? x : y);
    if constexpr (R == Reduction::Max) b[i] = T(x > y || x != x ? x : y);
  }
}

template <class T>
mpi::Op op_for_halves(Reduction reduction) {
  constexpr Reduction kinds[] = {Reduction::Sum, Reduction::Product, Reduction::Min,
                                 Reduction::Max};
  static const auto ops = [&] {
    std::array<mpi::Op, 4> made;
    mpi::Reduce* functions[] = {reduce_halves<T, Reduction::Sum>,
                                reduce_halves<T, Reduction::Product>,
                                reduce_halves<T, Reduction::Min>, reduce_halves<T, Reduction::Max>};
    for (size_t i = 0; i < 4; ++i)
      mpi::must(mpi::library().Op_create_c(functions[i], 1, &made[i]), "Op_create");
    return made;
  }();
  if (reduction == Reduction::Average) reduction = Reduction::Sum;
  for (size_t i = 0; i < 4; ++i)
    if (kinds[i] == reduction) return ops[i];
  return nullptr;
}

mpi::Op mpi_op(const Work& work) {
  if (work.dtype == Dtype::Float16) return op_for_halves<Half>(work.reduction);
  if (work.dtype == Dtype::BFloat16) return op_for_halves<BFloat16>(work.reduction);
  bool logical = work.dtype == Dtype::Bool;
  switch (work.reduction) {
    case Reduction::Sum:
    case Reduction::Average: return mpi::handle(logical ? 0x31 : 0x21);
    case Reduction::Product: return mpi::handle(logical ? 0x30 : 0x24);
    case Reduction::Min: return mpi::handle(0x22);
    case Reduction::Max: return mpi::handle(0x23);
    case Reduction::And: return mpi::handle(0x28);
    case Reduction::Or: return mpi::handle(0x29);
    case Reduction::Xor: return mpi::handle(0x2a);
  }
  return nullptr;
}

int64_t total(const std::vector<Buffer>& buffers) {
  int64_t sum = 0;
  for (auto& b : buffers) sum += b.bytes;
  return sum;
}

void lay_out(const std::vector<Buffer>& buffers, int64_t item, std::vector<mpi::Count>& counts,
             std::vector<mpi::Count>& displacements) {
  mpi::Count at = 0;
  for (auto& b : buffers) {
    counts.push_back(b.bytes / item);
    displacements.push_back(at);
    at += b.bytes / item;
  }
}

// Several buffers as one. Neighbours in memory already are.
bool in_a_row(const std::vector<Buffer>& buffers) {
  for (size_t i = 1; i < buffers.size(); ++i)
    if (buffers[i].data != buffers[i - 1].data + buffers[i - 1].bytes) return false;
  return true;
}
char* whole(std::vector<Buffer>& buffers, std::vector<char>& packed) {
  if (buffers.empty()) return nullptr;
  return packed.empty() ? buffers[0].data : packed.data();
}

bool averages(const Work& work) {
  return work.reduction == Reduction::Average &&
         (work.what == What::AllReduce || work.what == What::ReduceScatter ||
          work.what == What::Reduce);
}

template <class T>
void divide(char* data, int64_t bytes, int size) {
  T* values = reinterpret_cast<T*>(data);
  for (int64_t i = 0; i < bytes / int64_t(sizeof(T)); ++i) {
    if constexpr (std::is_integral_v<T>)
      values[i] = T(values[i] / T(size));
    else
      values[i] = T(float(1) * values[i] / decltype(float(1) * values[i])(size));
  }
}

void divide_by_size(Dtype dtype, Buffer b, int size) {
  switch (dtype) {
    case Dtype::Float32: return divide<float>(b.data, b.bytes, size);
    case Dtype::Float64: return divide<double>(b.data, b.bytes, size);
    case Dtype::Float16: return divide<Half>(b.data, b.bytes, size);
    case Dtype::BFloat16: return divide<BFloat16>(b.data, b.bytes, size);
    case Dtype::Int8: return divide<int8_t>(b.data, b.bytes, size);
    case Dtype::UInt8: return divide<uint8_t>(b.data, b.bytes, size);
    case Dtype::Int16: return divide<int16_t>(b.data, b.bytes, size);
    case Dtype::Int32: return divide<int32_t>(b.data, b.bytes, size);
    case Dtype::Int64: return divide<int64_t>(b.data, b.bytes, size);
    default: return;
  }
}

}  // namespace

void pack(Work& work, int rank, int) {
  bool split_in =
      work.what == What::Scatter || work.what == What::ReduceScatter || work.what == What::AllToAll;
  int64_t item = work.what == What::ReduceScatter ? item_size(work.dtype) : 1;
  if (split_in && !work.in.empty()) {
    lay_out(work.in, item, work.counts, work.displacements);
    if (!in_a_row(work.in)) {
      work.packed_in.reserve(size_t(total(work.in)));
      for (auto& b : work.in) work.packed_in.insert(work.packed_in.end(), b.data, b.data + b.bytes);
    }
  }
  bool split_out = work.what == What::AllGather || work.what == What::AllToAll ||
                   (work.what == What::Gather && work.root == rank);
  if (split_out) {
    lay_out(work.out, 1, work.out_counts, work.out_displacements);
    if (!in_a_row(work.out)) work.packed_out.resize(size_t(total(work.out)));
  }
}

int launch(Work& w, mpi::Comm comm, int rank, int) {
  const mpi::Library& m = mpi::library();
  mpi::Type byte = mpi::handle(kByte), type = mpi::handle(mpi_type(w.dtype));
  char *in = whole(w.in, w.packed_in), *out = whole(w.out, w.packed_out);
  int64_t in_bytes = w.in.empty() ? 0 : w.in[0].bytes,
          out_bytes = w.out.empty() ? 0 : w.out[0].bytes;
  int64_t item = item_size(w.dtype);
  mpi::Request* r = &w.request;
  switch (w.what) {
    case What::AllReduce:
      return m.Iallreduce_c(in == out ? mpi::kInPlace : in, out, out_bytes / item, type, mpi_op(w),
                            comm, r);
    case What::Reduce:
      if (rank == w.root)
        return m.Ireduce_c(mpi::kInPlace, in, in_bytes / item, type, mpi_op(w), w.root, comm, r);
      return m.Ireduce_c(in, nullptr, in_bytes / item, type, mpi_op(w), w.root, comm, r);
    case What::Broadcast: return m.Ibcast_c(in, in_bytes, byte, w.root, comm, r);
    case What::AllGather:
      return m.Iallgatherv_c(in == out + w.out_displacements[size_t(rank)] ? mpi::kInPlace : in,
                             in_bytes, byte, out, w.out_counts.data(), w.out_displacements.data(),
                             byte, comm, r);
    case What::Gather:
      return m.Igatherv_c(in, in_bytes, byte, out, w.out_counts.data(), w.out_displacements.data(),
                          byte, w.root, comm, r);
    case What::Scatter:
      return m.Iscatterv_c(in, w.counts.data(), w.displacements.data(), byte, out, out_bytes, byte,
                           w.root, comm, r);
    case What::ReduceScatter:
      return m.Ireduce_scatter_c(in, out, w.counts.data(), type, mpi_op(w), comm, r);
    case What::AllToAll:
      return m.Ialltoallv_c(in, w.counts.data(), w.displacements.data(), byte, out,
                            w.out_counts.data(), w.out_displacements.data(), byte, comm, r);
    case What::Barrier: return m.Ibarrier(comm, r);
    case What::Send: return m.Isend_c(in, in_bytes, byte, w.root, w.tag, comm, r);
    case What::Receive: return m.Irecv_c(out, out_bytes, byte, w.root, w.tag, comm, r);
  }
  return 0;
}

void unpack(Work& work, int rank, int size) {
  const char* at = work.packed_out.data();
  if (!work.packed_out.empty())
    for (auto& b : work.out) {
      if (b.bytes) std::memcpy(b.data, at, size_t(b.bytes));
      at += b.bytes;
    }
  if (averages(work)) {
    if (work.what == What::Reduce) {
      if (rank == work.root) divide_by_size(work.dtype, work.in[0], size);
    } else {
      for (auto& b : work.out) divide_by_size(work.dtype, b, size);
    }
  }
  work.packed_in = {};
  work.packed_out = {};
}

}  // namespace ember::distributed
