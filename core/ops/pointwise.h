// The machinery behind the pointwise table: from a row to an op with promotion, broadcasting,
// in-place and out= forms and a gradient. pointwise.cpp applies it to every row; ops with other
// signatures use it by hand.
#pragma once

#include <string_view>

#include "ops/devices.h"
#include "ops/ops.h"

namespace ember::pointwise {

// The derivative of a row as differentiable tensor code, from g and what the row keeps.
using UnaryRule = Tensor (*)(const Tensor& g, const Tensor& kept, const Params& p);

struct UnaryRow {
  Unary f;
  const char* name;
  Keep keep;
  UnaryRule rule;
};
Tensor unary(const UnaryRow& row, const Tensor& self, const Params& params, Dest dest);
Tensor predicate(Predicate f, const Tensor& self, Dest dest);
Tensor compare(Compare f, const Operand& a, const Operand& b, const Params& params, Dest dest);

// Gradients of a BINARY or TERNARY row in terms of the incoming gradient, the operands and the
// result.
using BinaryRule = Tensor (*)(const Tensor& g, const Tensor& a, const Tensor& b, const Tensor& y);
using TernaryRule = Tensor (*)(const Tensor& g, const Tensor& a, const Tensor& b, const Tensor& c,
                               const Params& p);

// A rule, and which tensors it names (only these are kept).
template <class F>
struct Formula {
  F rule;
  bool a, b, c, y, exists;
};
// The gradient of a, if b is a number.
using NumberRule = Tensor (*)(const Tensor& g, const Scalar& b);
struct BinaryRow {
  Binary f;
  const char* name;
  Formula<BinaryRule> wrt_a, wrt_b;
  NumberRule by_number;  // of the rows that say so (kByNumber)
};
Tensor binary(const BinaryRow& row, const Operand& a, const Operand& b, Dest dest);
struct TernaryRow {
  Ternary f;
  const char* name;
  Formula<TernaryRule> wrt_a, wrt_b, wrt_c;
};
Tensor ternary(const TernaryRow& row, const Operand& a, const Operand& b, const Operand& c,
               const Params& p, Dest dest);

// Does the text of a formula name the variable `id` (a single letter)?
constexpr bool names(std::string_view text, char id) {
  auto part_of_word = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  for (size_t i = 0; i < text.size(); i++)
    if (text[i] == id && (i == 0 || !part_of_word(text[i - 1])) &&
        (i + 1 == text.size() || !part_of_word(text[i + 1])))
      return true;
  return false;
}
template <class F>
constexpr Formula<F> formula(F rule, std::string_view text) {
  return {rule,           names(text, 'a'), names(text, 'b'), names(text, 'c'), names(text, 'y'),
          text != "never"};
}

// `text` is a lambda that takes whatever stands for g, a, b and y. It is compiled only if the row
// says that its gradient names b alone.
template <Types types, class Text>
constexpr NumberRule number_rule(Text) {
  if constexpr (types & kByNumber)
    return [](const Tensor& g, const Scalar& b) -> Tensor { return Text()(g, b, b, b); };
  return nullptr;
}
inline Scalar conj(const Scalar& s) {
  return s.is_complex() ? Scalar(std::conj(s.to<complex128>())) : s;
}

// The product of a gradient with a plain derivative; where that cuts it off, or is the number 0,
// it is 0 whatever the gradient is.
template <bool cuts_off>
Tensor chain(const Tensor& g, const Tensor& derivative) {
  const Tensor product = g * conj(derivative);
  return cuts_off ? where(derivative == 0, 0.0, product) : product;
}
template <bool>
Tensor chain(const Tensor& g, double derivative) {
  if (derivative == 0) return zeros_like(g);
  return derivative == 1 ? g : g * Scalar(derivative);
}
inline Tensor cut(const Tensor& c, const Operand& d) { return where(c, 0.0, d); }
// What `never` stands for in tensor code; it is not reached.
struct Never {
  operator Tensor() const { return {}; }
};
[[maybe_unused]] constexpr Never never{};

// The dtype in which a row computes operands of promoted dtype `d`, or an error naming the op.
Dtype row_dtype(const char* op, Types types, Dtype d);

// The number of this dtype that is nearest to `s`.
Scalar rounded(const Scalar& s, Dtype dtype);
// Is it a number, or a tensor on the host that holds just one?
inline bool is_single(const Operand& o) {
  return !o.is_tensor() || (o.tensor().numel() == 1 && on_host(o.tensor()));
}

// A primitive's operand: broadcast strides are kept here while the call lasts.
class Broadcast {
 public:
  Broadcast(const Operand& o, const Shape& to) {
    if (!o.is_tensor()) {
      input.scalar = o.scalar();
      return;
    }
    input.tensor = &o.tensor();
    if (!(o.tensor().shape() == to)) {
      strides_ = broadcast_strides(o.tensor().shape(), o.tensor().strides(), to);
      input.strides = &strides_;
    }
  }
  Broadcast(const Broadcast&) = delete;
  Input input;

 private:
  Shape strides_;
};

// Shape and device of the result; operands on different devices are an error, except 0-d ones on
// the host.
struct Meeting {
  Shape shape;
  Device device;
  const Tensor* like =
      nullptr;      // an operand of the result's shape, whose memory order the result takes
  Shape strides{};  // the result's, where no operand alone decides them
};
Meeting meet(const char* op, std::initializer_list<const Operand*> operands);
Tensor result_tensor(const char* op, Dest dest, const Meeting& m, Dtype dtype);

}  // namespace ember::pointwise

namespace ember {
constexpr unsigned kUnaryForms = kPointwiseForms | FunctionInPlace;
}

// A function of one or two operands, such as a row of the table, as the op `names`.
#define EMBER_UNARY_OP(names, function, forms, doc) \
  EMBER_OP(names "(Tensor self) -> Tensor",         \
           (static_cast<Tensor (*)(const Tensor&, Dest)>(&ember::function)), forms, doc)
#define EMBER_BINARY_OP(names, function, forms, doc)                                          \
  EMBER_OP(names "(Number self, Number other) -> Tensor",                                     \
           (static_cast<Tensor (*)(const Operand&, const Operand&, Dest)>(&ember::function)), \
           forms, doc)
