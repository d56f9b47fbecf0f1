// What each row of scalar_functions.h says, as data.
#include "functions.h"

namespace ember {

namespace {

struct Row {
  const char* name;
  Types types;
  const char* formula;
  const char* derivative;
  Keep keep;
};

// A row of several operands.
struct WideRow {
  const char* name;
  Types types;
  const char* formula;
  const char* gradients[3];
};

constexpr Row kUnary[] = {
#define UNARY(name, types, keep, fwd, deriv, doc) {#name, types, #fwd, #deriv, Keep::keep},
#define UNARY_P(name, params, types, keep, fwd, deriv, doc) \
  {#name, types, #fwd, #deriv, Keep::keep},
#include "scalar_functions.h"
};

constexpr Row kPredicate[] = {
#define PREDICATE(name, types, expr, doc) {#name, types, #expr, "", Keep::never},
#include "scalar_functions.h"
};

constexpr WideRow kBinary[] = {
#define BINARY(name, types, fwd, grad_a, grad_b, doc) {#name, types, #fwd, {#grad_a, #grad_b, ""}},
#include "scalar_functions.h"
};

constexpr Row kCompare[] = {
#define COMPARE(name, types, expr, doc) {#name, types, #expr, "", Keep::never},
#include "scalar_functions.h"
};

constexpr WideRow kTernary[] = {
#define TERNARY(name, types, fwd, grad_a, grad_b, grad_c, doc) \
  {#name, types, #fwd, {#grad_a, #grad_b, #grad_c}},
#include "scalar_functions.h"
};

}  // namespace

#define EMBER_ROWS(Kind)                                       \
  const char* name_of(Kind f) { return k##Kind[int(f)].name; } \
  Types types_of(Kind f) { return k##Kind[int(f)].types; }     \
  const char* formula_of(Kind f) { return k##Kind[int(f)].formula; }
EMBER_ROWS(Unary)
EMBER_ROWS(Predicate)
EMBER_ROWS(Binary)
EMBER_ROWS(Compare)
EMBER_ROWS(Ternary)
#undef EMBER_ROWS

Keep keep_of(Unary f) { return kUnary[int(f)].keep; }
const char* derivative_of(Unary f) { return kUnary[int(f)].derivative; }
const char* gradient_of(Binary f, int i) { return kBinary[int(f)].gradients[i]; }
const char* gradient_of(Ternary f, int i) { return kTernary[int(f)].gradients[i]; }

}  // namespace ember
