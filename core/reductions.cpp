// What each row of reduction_formulas.h says, as data.
#include "reductions.h"

namespace ember {

namespace {

constexpr ReductionRow kRows[] = {
#define REDUCE(name, facts, map, fold, finish, gradient, doc) \
  {#name, facts, Map::map, Fold::fold, Finish::finish},
#define REDUCE_ONLY(name, facts, map, fold, finish) \
  {#name, facts, Map::map, Fold::fold, Finish::finish},
#include "reduction_formulas.h"
};

struct Order {
  double p;
  ReductionRow row;
};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Order kOrders[] = {
#define NORM(order, map, fold, finish) {order, {"norm", 0, Map::map, Fold::fold, Finish::finish}},
#include "reduction_formulas.h"
};

struct FoldRow {
  const char *name, *start, *text;
};
constexpr FoldRow kFoldRows[] = {
#define FOLD(name, types, start, join) {#name, #start, #join},
#include "reduction_formulas.h"
};
constexpr const char* kMapTexts[] = {
#define MAP(name, text) #text,
#include "reduction_formulas.h"
};
constexpr const char* kFinishTexts[] = {
#define FINISH(name, text) #text,
#include "reduction_formulas.h"
};

}  // namespace

const ReductionRow& row_of(Reduction f, double p) {
  if (f == Reduction::norm)
    for (const Order& o : kOrders)
      if (o.p == p) return o.row;
  return kRows[int(f)];
}

const char* name_of(Reduction f) { return kRows[int(f)].name; }
const char* name_of(Fold f) { return kFoldRows[int(f)].name; }
const char* text_of(Fold f) { return kFoldRows[int(f)].text; }
const char* text_of(Map f) { return kMapTexts[int(f)]; }
const char* text_of(Finish f) { return kFinishTexts[int(f)]; }
const char* start_of(Fold f) { return kFoldRows[int(f)].start; }

}  // namespace ember
