// Every row of the pointwise table as a function, and most as an op. Rows of the families
// ACTIVATION and SPECIAL become ops in activation.cpp and special.cpp; so do, in arithmetic.cpp,
// rows whose op has another signature.
#include "ops/pointwise.h"

#include <string_view>

namespace ember {

using namespace pointwise;

#define UNARY(name, types, keep, fwd, deriv, doc)                                        \
  Tensor name(const Tensor& self, Dest dest) {                                           \
    static constexpr UnaryRow row{                                                       \
        Unary::name, #name, Keep::keep,                                                  \
        [](const Tensor& g, [[maybe_unused]] const Tensor& x, const Params&) -> Tensor { \
          using T [[maybe_unused]] = double;                                             \
          [[maybe_unused]] const Tensor& y = x;                                          \
          return chain<cuts(#deriv)>(g, deriv);                                          \
        }};                                                                              \
    return pointwise::unary(row, self, {}, dest);                                        \
  }
#define UNARY_P(name, params_, types, keep, fwd, deriv, doc)                               \
  Tensor name(const Tensor& self, const Params& params, Dest dest) {                       \
    static constexpr UnaryRow row{                                                         \
        Unary::name, #name, Keep::keep,                                                    \
        [](const Tensor& g, [[maybe_unused]] const Tensor& x, const Params& p) -> Tensor { \
          using T [[maybe_unused]] = double;                                               \
          [[maybe_unused]] const Tensor& y = x;                                            \
          [[maybe_unused]] double p0 = p.p0, p1 = p.p1, p2 = p.p2;                         \
          return chain<cuts(#deriv)>(g, deriv);                                            \
        }};                                                                                \
    return pointwise::unary(row, self, params, dest);                                      \
  }
#define PREDICATE(name, types, expr, doc)                     \
  Tensor name(const Tensor& self, Dest dest) {                \
    return pointwise::predicate(Predicate::name, self, dest); \
  }
#define BINARY_RULE(text)                                                                \
  formula<BinaryRule>(                                                                   \
      [](const Tensor& g, const Tensor& a, const Tensor& b, const Tensor& y) -> Tensor { \
        using T [[maybe_unused]] = double;                                               \
        (void)g, (void)a, (void)b, (void)y;                                              \
        return text;                                                                     \
      },                                                                                 \
      #text)
#define NUMBER_RULE(types, text)                                                                  \
  number_rule<types>([](const Tensor& g, const auto& a, const auto& b, const auto& y) -> Tensor { \
    using T [[maybe_unused]] = double;                                                            \
    (void)g, (void)a, (void)b, (void)y;                                                           \
    return text;                                                                                  \
  })
#define BINARY(name, types, fwd, grad_a, grad_b, doc)                                             \
  Tensor name(const Operand& self, const Operand& other, Dest dest) {                             \
    static constexpr BinaryRow row{Binary::name, #name, BINARY_RULE(grad_a), BINARY_RULE(grad_b), \
                                   NUMBER_RULE(types, grad_a)};                                   \
    return pointwise::binary(row, self, other, dest);                                             \
  }
#define COMPARE(name, types, expr, doc)                               \
  Tensor name(const Operand& self, const Operand& other, Dest dest) { \
    return pointwise::compare(Compare::name, self, other, {}, dest);  \
  }
#define TERNARY_RULE(text)                                                   \
  formula<TernaryRule>(                                                      \
      [](const Tensor& g, const Tensor& a, const Tensor& b, const Tensor& c, \
         const Params& p) -> Tensor {                                        \
        using T [[maybe_unused]] = double;                                   \
        [[maybe_unused]] double p0 = p.p0;                                   \
        (void)g, (void)a, (void)b, (void)c;                                  \
        return text;                                                         \
      },                                                                     \
      #text)
#define TERNARY(name, types, fwd, grad_a, grad_b, grad_c, doc)                            \
  Tensor name(const Operand& a, const Operand& b, const Operand& c, const Params& params, \
              Dest dest) {                                                                \
    static constexpr TernaryRow row{Ternary::name, #name, TERNARY_RULE(grad_a),           \
                                    TERNARY_RULE(grad_b), TERNARY_RULE(grad_c)};          \
    return pointwise::ternary(row, a, b, c, params, dest);                                \
  }
#include "scalar_functions.h"

// --- registration --------------------------------------------------------------------------------

namespace {

// Those that arithmetic.cpp and special.cpp register have no forms here.
constexpr unsigned row_forms(Types facts, unsigned forms) {
  if (facts & kNoOp) return 0;
  if (facts & kInPlace) forms |= InPlace;
  if (facts & kFunctionInPlace) forms |= FunctionInPlace;
  return facts & kUnaligned ? forms & ~Aligned : forms;
}
// PyTorch takes numbers for both operands of some, for the second of others, and for none of the
// rest.
constexpr const char* row_schema(Types facts, const char* numbers, const char* number,
                                 const char* tensors) {
  return facts & kTakesNumbers ? numbers : facts & kTakesNumber ? number : tensors;
}
// The second operand of a row that limits the first is called by the side.
constexpr const char* bound_schema(std::string_view name) {
  return name == "clamp_min" ? "clamp_min(Tensor self, Number min) -> Tensor"
                             : "clamp_max(Tensor self, Number max) -> Tensor";
}

}  // namespace

#define EMBER_UNARY_ROW(name, types, keep, fwd, deriv, doc) \
  EMBER_UNARY_OP(#name, name, row_forms(types, kUnaryForms), doc);
#define EMBER_PREDICATE_ROW(name, types, expr, doc) \
  EMBER_UNARY_OP(#name, name, row_forms(types, kForms | Out | Aligned | Pointwise), doc);
#define EMBER_TWO_OPERANDS(name, types, doc)                                                    \
  EMBER_OP((types) & kBounds ? bound_schema(#name)                                              \
                             : row_schema(types, #name "(Number self, Number other) -> Tensor", \
                                          #name "(Tensor self, Number other) -> Tensor",        \
                                          #name "(Tensor self, Tensor other) -> Tensor"),       \
           (static_cast<Tensor (*)(const Operand&, const Operand&, Dest)>(&ember::name)),       \
           row_forms(types, kPointwiseForms), doc);
#define EMBER_BINARY_ROW(name, types, fwd, grad_a, grad_b, doc) EMBER_TWO_OPERANDS(name, types, doc)
#define EMBER_COMPARE_ROW(name, types, expr, doc) EMBER_TWO_OPERANDS(name, types, doc)

#define FAMILY ARITHMETIC
#define UNARY EMBER_UNARY_ROW
#define BINARY EMBER_BINARY_ROW
#include "scalar_functions.h"
#define FAMILY EXPONENTIAL
#define UNARY EMBER_UNARY_ROW
#define BINARY EMBER_BINARY_ROW
#include "scalar_functions.h"
#define FAMILY TRIGONOMETRIC
#define UNARY EMBER_UNARY_ROW
#define BINARY EMBER_BINARY_ROW
#include "scalar_functions.h"
#define FAMILY COMPARISON
#define PREDICATE EMBER_PREDICATE_ROW
#define COMPARE EMBER_COMPARE_ROW
#include "scalar_functions.h"

}  // namespace ember
