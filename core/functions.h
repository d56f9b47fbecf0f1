// Names of the pointwise functions (one enum value per row of scalar_functions.h) and what a row
// says.
#pragma once

#include <cstdint>
#include <string_view>

namespace ember {

enum class Unary : uint8_t {
#define UNARY(name, ...) name,
#define UNARY_P(name, ...) name,
#include "scalar_functions.h"
};

enum class Predicate : uint8_t {
#define PREDICATE(name, ...) name,
#include "scalar_functions.h"
};

enum class Binary : uint8_t {
#define BINARY(name, ...) name,
#include "scalar_functions.h"
};

enum class Compare : uint8_t {
#define COMPARE(name, ...) name,
#include "scalar_functions.h"
};

enum class Ternary : uint8_t {
#define TERNARY(name, ...) name,
#include "scalar_functions.h"
};

constexpr int kUnaryRows = 0
#define UNARY(...) +1
#define UNARY_P(...) +1
#include "scalar_functions.h"
    ;
constexpr int kPredicateRows = 0
#define PREDICATE(...) +1
#include "scalar_functions.h"
    ;
constexpr int kBinaryRows = 0
#define BINARY(...) +1
#include "scalar_functions.h"
    ;
constexpr int kCompareRows = 0
#define COMPARE(...) +1
#include "scalar_functions.h"
    ;
constexpr int kTernaryRows = 0
#define TERNARY(...) +1
#include "scalar_functions.h"
    ;

// The dtypes that a row takes, as a set. With kPromotes, whatever is not floating or complex
// is first converted to the default float. Beside them, what else is to be known of a row.
using Types = uint32_t;
constexpr Types kHasBool = 1, kHasInt = 2, kHasWideUnsigned = 4, kHasHalf = 8, kHasFloat = 16,
                kHasComplex = 32, kPromotes = 64, kHasComplex32 = 128, kHasFloat8 = 256;

constexpr Types kFloatOnly = kHasFloat | kHasHalf;         // others are errors
constexpr Types kFloatComplex = kFloatOnly | kHasComplex;  // the same, and complex
constexpr Types kRealFloat = kFloatOnly | kPromotes;       // integers promote, complex is an error
constexpr Types kFloat = kRealFloat | kHasComplex;         // integers promote
constexpr Types kSpecial = kHasFloat | kPromotes;          // float32 and float64 only
constexpr Types kInt = kHasInt;                            // not bool
constexpr Types kIntBool = kInt | kHasBool;                //
constexpr Types kBits = kIntBool | kHasWideUnsigned;       // bool and all integers
constexpr Types kReal = kInt | kFloatOnly;                 // not bool, not complex
constexpr Types kRounds = kReal | kHasWideUnsigned;        // what rounding leaves alone included
constexpr Types kRealBool = kReal | kHasBool;              // not complex
constexpr Types kRealAny = kRealBool | kHasWideUnsigned;   //
constexpr Types kNumber = kReal | kHasComplex;             // not bool
constexpr Types kNumberBool = kNumber | kHasBool;          //
constexpr Types kAny = kNumberBool | kHasWideUnsigned;     // everything but:
constexpr Types kStored = kHasComplex32 | kHasFloat8;      // dtypes that few rows take

constexpr Types fact(int i) { return Types(1) << (9 + i); }
// Of the op: which operands may be numbers, and forms besides those that all rows have.
constexpr Types kTakesNumber = fact(0);                       // the second
constexpr Types kTakesNumbers = fact(1);                      // each, but not both
constexpr Types kTakesOnlyNumbers = kTakesNumbers | fact(2);  // each, and both
constexpr Types kNoOp = fact(3);                              // none, or registered by hand
constexpr Types kInPlace = fact(4), kFunctionInPlace = fact(5);
constexpr Types kUnaligned = fact(6);  // out= is no operand, unless that is copied first
// Of values.
constexpr Types kToReal = fact(7);        // of complex numbers, real ones
constexpr Types kChooses = fact(8);       // the first operand is a condition
constexpr Types kExact = fact(9);         // Note [Exact operands]
constexpr Types kExactNumber = fact(10);  // the same, if it is a number
constexpr Types kCommutes = fact(11);
constexpr Types kDivides = fact(12);  // zero does not divide integers
constexpr Types kModulo = fact(13);   // takes many steps where the quotient is huge
constexpr Types kTurns = fact(14);    // is periodic
constexpr Types kNoMask = fact(18);   // truths are refused
constexpr Types kPowers = fact(19);   // by some numbers it is another, cheaper row
constexpr Types kBounds = fact(22);   // a number must be one that the dtype has
// Of the CPU's kernels.
constexpr Types kNarrow = fact(15);     // for integers of 8 and 16 bits, too
constexpr Types kByNumber = fact(16);   // for a number as second operand, too
constexpr Types kOwnHalf = fact(17);    // those of float16 and bfloat16 round on the way
constexpr Types kRounds16 = fact(20);   // so they do but where the second operand is a number
constexpr Types kOfNumbers = fact(21);  // there are others for some of the row's numbers

// What the derivative of a Unary needs.
enum class Keep : uint8_t { none, x, y, never };

// The numbers of a UNARY_P row, in its order; also addcmul's value and isclose's tolerances.
struct Params {
  double p0 = 0, p1 = 0, p2 = 0;
  bool* zero_division =
      nullptr;  // the CPU kernels' own: where to report an integer division by zero
};

const char* name_of(Unary f);
const char* name_of(Predicate f);
const char* name_of(Binary f);
const char* name_of(Compare f);
const char* name_of(Ternary f);

Types types_of(Unary f);
Types types_of(Predicate f);
Types types_of(Binary f);
Types types_of(Compare f);
Types types_of(Ternary f);

Keep keep_of(Unary f);

// The formulas as text, in terms of x (and p0, p1, p2) or a, b, c; derivatives in terms of what is
// kept.
const char* formula_of(Unary f);
const char* formula_of(Predicate f);
const char* formula_of(Binary f);
const char* formula_of(Compare f);
const char* formula_of(Ternary f);
const char* derivative_of(Unary f);
// Whether a derivative, by its text, stops gradients: see scalar_functions.h.
constexpr bool cuts(std::string_view derivative) { return derivative.starts_with("cut("); }
// The gradient of operand i, in terms of g, a, b, c and y.
const char* gradient_of(Binary f, int i);
const char* gradient_of(Ternary f, int i);

}  // namespace ember
