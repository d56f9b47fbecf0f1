// What a reduction reads: elements in place when they have the type it computes in, else brought to
// it by chunks; and the kernels of that type, for this machine. Shared by the loops of reduce*.cpp.
#pragma once

#include <type_traits>

#include "cpu/dispatch.h"
#include "cpu/kernels/reduce_kernels.h"
#include "cpu/reduce.h"

namespace ember::cpu {

constexpr int64_t kLoadChunk = 1024;  // elements brought to the computing type at a time

struct ReduceTables {
  const ReduceKernels& reduce;
  const LoadKernels& load;
};
inline const ReduceTables& reduce_tables() {
  static const ReduceTables chosen = []() -> ReduceTables {
    EMBER_BY_LEVEL(
        return (ReduceTables{avx512::reduce_kernels(), avx512::load_kernels()}),
               return (ReduceTables{avx2::reduce_kernels(), avx2::load_kernels()}),
               return (ReduceTables{baseline::reduce_kernels(), baseline::load_kernels()}))
  }();
  return chosen;
}

// The member of `tables` that computes in T.
template <class T, class Tables>
const auto& for_type(const Tables& tables) {
  if constexpr (std::is_same_v<T, float>)
    return tables.f32;
  else if constexpr (std::is_same_v<T, double>)
    return tables.f64;
  else if constexpr (std::is_same_v<T, int32_t>)
    return tables.i32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return tables.i64;
  else
    return tables.c128;
}

template <class T>
const ReduceKernelsOf<T>& kernels_of() {
  return for_type<T>(reduce_tables().reduce);
}

template <class A>
Storer<A> storer_of(Dtype to, Finish finish) {
  const LoadKernels& tables = reduce_tables().load;
  Storer<A> found;
  if constexpr (std::is_same_v<A, double>)
    found = tables.store_f64[int(to)][int(finish)];
  else if constexpr (std::is_same_v<A, int64_t>)
    found = tables.store_i64[int(to)][int(finish)];
  else
    found = tables.store_c128[int(to)][int(finish)];
  check(found != nullptr, Kind::Type, "reduction: the result does not fit ", to);
  return found;
}

template <class T>
struct Source {
  const char* data;
  int64_t size;   // bytes of an element
  bool as_it_is;  // elements have the computing type, those that are adjacent are read in place
  Loader load;
  double p;

  Source(const ReduceInput& x, Map map, double p = 0)
      : data(static_cast<const char*>(x.data)),
        size(item_size(x.dtype)),
        as_it_is(x.dtype == dtype_of<T> && map == Map::value),
        load(for_type<T>(reduce_tables().load)[int(x.dtype)][int(map)]),
        p(p) {
    check(load != nullptr, Kind::NotImplemented, "reduction: not implemented for ", x.dtype);
  }
  bool in_place(int64_t step, int64_t n) const { return as_it_is && (step == 1 || n == 1); }
  const T* at(int64_t offset) const { return reinterpret_cast<const T*>(data + offset * size); }
  void fetch(int64_t offset, int64_t step, int64_t n, T* to) const {
    load(n, data + offset * size, step, p, to);
  }
  void fetch_rows(int64_t offset, int64_t rows, int64_t row_stride, int64_t step, int64_t n,
                  T* to) const {
    if (row_stride == n * step) return fetch(offset, step, rows * n, to);
    for (int64_t r = 0; r < rows; r++) fetch(offset + r * row_stride, step, n, to + r * n);
  }
};

}  // namespace ember::cpu
