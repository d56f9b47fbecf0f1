// Vectors of the width of this ISA level. Kernels load and store them at any address.
#pragma once

#include "cpu/kernels/loops.h"

namespace ember::cpu::EMBER_ISA {
namespace {

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes), aligned(alignof(T)), may_alias));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
constexpr int kLanes = kVectorBytes / int(sizeof(T));

}  // namespace
}  // namespace ember::cpu::EMBER_ISA
