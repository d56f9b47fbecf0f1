// Names of the reductions and folds (one for each row of reduction_formulas.h) and what a row says.
#pragma once

#include <cstdint>
#include <limits>

namespace ember {

enum class Fold : uint8_t {
#define FOLD(name, ...) name,
#include "reduction_formulas.h"
};
enum class Map : uint8_t {
#define MAP(name, ...) name,
#include "reduction_formulas.h"
};
enum class Finish : uint8_t {
#define FINISH(name, ...) name,
#include "reduction_formulas.h"
};
enum class Reduction : uint8_t {
#define REDUCE(name, ...) name,
#define REDUCE_ONLY(name, ...) name,
#include "reduction_formulas.h"
};

constexpr int kFolds = 0
#define FOLD(...) +1
#include "reduction_formulas.h"
    ;
constexpr int kMaps = 0
#define MAP(...) +1
#include "reduction_formulas.h"
    ;
constexpr int kFinishes = 0
#define FINISH(...) +1
#include "reduction_formulas.h"
    ;

constexpr int kReductions = 0
#define REDUCE(...) +1
#define REDUCE_ONLY(...) +1
#include "reduction_formulas.h"
    ;

// What a fold takes; see reduction_formulas.h.
enum class FoldTypes : uint8_t { every, ordered, whole, scanned };

using ReductionFacts = uint8_t;
constexpr ReductionFacts kAddsUp = 1,  // integers, in int64; to another dtype first, if asked
    kAverages = 2,                     // floating and complex numbers alone
    kRealOnly = 4,                     // not complex numbers
    kTwoForms = 8,                     // as in PyTorch, one of them has no `dim`
    kInRegions = 16;                   // the code generator knows it (core/lazy)

struct ReductionRow {
  const char* name;
  ReductionFacts facts;
  Map map;
  Fold fold;
  Finish finish;
};
const ReductionRow& row_of(Reduction f, double p = 0);  // p: the order, of norm

const char* name_of(Reduction f);
const char* name_of(Fold f);
// The formulas as text.
const char* text_of(Fold f);
const char* text_of(Map f);
const char* text_of(Finish f);
const char* start_of(Fold f);
// The same as a number: of integers of 64 bits, or of floating ones.
template <class Number>
constexpr Number start_as(Fold f) {
  using Limits = std::numeric_limits<Number>;
  [[maybe_unused]] constexpr Number lowest =
                                        Limits::has_infinity ? -Limits::infinity() : Limits::min(),
                                    highest =
                                        Limits::has_infinity ? Limits::infinity() : Limits::max();
  switch (f) {
#define FOLD(name, types, start, join) \
  case Fold::name: return Number(start);
#include "reduction_formulas.h"
  }
  return Number();
}

}  // namespace ember
