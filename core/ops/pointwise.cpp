// Every row of the pointwise table as an op. Ops whose signature differs from their row's are at the end.
#include "ops/pointwise.h"

namespace ember {

using namespace pointwise;

namespace {
constexpr unsigned kRowForms = Function | Method | InPlace | Out | FunctionInPlace;
}

#define UNARY(name, types, keep, fwd, deriv, doc)                                                            \
  Tensor name(const Tensor& self, Dest dest) {                                                               \
    static constexpr UnaryRow row{                                                                           \
        Unary::name, #name, Keep::keep,                                                                      \
        [](const Tensor& g, [[maybe_unused]] const Tensor& x, const Params&) -> Tensor {                     \
          using T [[maybe_unused]] = double;                                                                 \
          [[maybe_unused]] const Tensor& y = x;                                                              \
          return chain(g, deriv);                                                                            \
        }};                                                                                                  \
    return pointwise::unary(row, self, {}, dest);                                                            \
  }                                                                                                          \
  EMBER_OP(#name "(Tensor self) -> Tensor", (static_cast<Tensor (*)(const Tensor&, Dest)>(&ember::name)),    \
           kRowForms, doc);
#define UNARY_P(name, params_, types, keep, fwd, deriv, doc)                                                 \
  Tensor name(const Tensor& self, const Params& params, Dest dest) {                                         \
    static constexpr UnaryRow row{                                                                           \
        Unary::name, #name, Keep::keep,                                                                      \
        [](const Tensor& g, [[maybe_unused]] const Tensor& x, const Params& p) -> Tensor {                   \
          using T [[maybe_unused]] = double;                                                                 \
          [[maybe_unused]] const Tensor& y = x;                                                              \
          [[maybe_unused]] double p0 = p.p0, p1 = p.p1, p2 = p.p2;                                           \
          return chain(g, deriv);                                                                            \
        }};                                                                                                  \
    return pointwise::unary(row, self, params, dest);                                                        \
  }
#define PREDICATE(name, types, expr, doc)                                                                    \
  Tensor name(const Tensor& self, Dest dest) { return pointwise::predicate(Predicate::name, self, dest); }   \
  EMBER_OP(#name "(Tensor self) -> Tensor", (static_cast<Tensor (*)(const Tensor&, Dest)>(&ember::name)),    \
           kRowForms, doc);
#define BINARY_RULE(text)                                                                                    \
  formula<BinaryRule>([](const Tensor& g, const Tensor& a, const Tensor& b, const Tensor& y) -> Tensor {     \
    using T [[maybe_unused]] = double;                                                                       \
    (void)g, (void)a, (void)b, (void)y;                                                                      \
    return text;                                                                                             \
  }, #text)
#define BINARY(name, types, fwd, grad_a, grad_b, doc)                                                        \
  Tensor name(const Operand& self, const Operand& other, Dest dest) {                                        \
    static constexpr BinaryRow row{Binary::name, #name, BINARY_RULE(grad_a), BINARY_RULE(grad_b)};           \
    return pointwise::binary(row, self, other, dest);                                                        \
  }                                                                                                          \
  EMBER_OP(#name "(Number self, Number other) -> Tensor",                                                    \
           (static_cast<Tensor (*)(const Operand&, const Operand&, Dest)>(&ember::name)), kRowForms, doc);
#define COMPARE(name, types, expr, doc)                                                                      \
  Tensor name(const Operand& self, const Operand& other, Dest dest) {                                        \
    return pointwise::compare(Compare::name, self, other, {}, dest);                                         \
  }                                                                                                          \
  EMBER_OP(#name "(Number self, Number other) -> Tensor",                                                    \
           (static_cast<Tensor (*)(const Operand&, const Operand&, Dest)>(&ember::name)), kRowForms, doc);
#define TERNARY_RULE(text)                                                                                   \
  formula<TernaryRule>(                                                                                      \
      [](const Tensor& g, const Tensor& a, const Tensor& b, const Tensor& c, const Params& p) -> Tensor {    \
        using T [[maybe_unused]] = double;                                                                   \
        [[maybe_unused]] double p0 = p.p0;                                                                   \
        (void)g, (void)a, (void)b, (void)c;                                                                  \
        return text;                                                                                         \
      }, #text)
#define TERNARY(name, types, fwd, grad_a, grad_b, grad_c, doc)                                               \
  Tensor name(const Operand& a, const Operand& b, const Operand& c, const Params& params, Dest dest) {       \
    static constexpr TernaryRow row{Ternary::name, #name, TERNARY_RULE(grad_a), TERNARY_RULE(grad_b),        \
                                    TERNARY_RULE(grad_c)};                                                   \
    return pointwise::ternary(row, a, b, c, params, dest);                                                   \
  }
#include "scalar_functions.h"

// --- ops whose signature differs from their row's ---------------------------------------------------------

Tensor conj(const Tensor& self) { return is_complex(self.dtype()) ? conj_physical(self) : self; }

Tensor add_scaled(const Operand& self, const Operand& other, const Scalar& alpha, Dest dest) {
  if (alpha.equal(1)) return add(self, other, dest);
  return add(self, mul(other, alpha), dest);
}
EMBER_OP("add(Number self, Number other, *, Scalar alpha=1) -> Tensor", &add_scaled, kRowForms,
         "self + alpha * other.");

}  // namespace ember
