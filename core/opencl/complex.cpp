// Rewrites formulas for complex numbers, and makes products and sums of complex tensors from those
// of their parts. kernels/complex.cl holds what formulas call.
#include "opencl/complex.h"

#include <algorithm>
#include <cctype>

#include "opencl/launch.h"
#include "opencl/opencl_backend.h"
#include "opencl/sources.h"

namespace ember::opencl {

namespace {

// A part of a formula: a complex value, a truth (int), or digits that may become either.
struct Piece {
  enum Kind { Value, Truth, Digits } kind;
  std::string text;
  std::string value() const { return kind == Value ? text : "c_of(" + text + ")"; }
  std::string truth() const { return kind == Value ? "c_truth(" + text + ")" : text; }
};

// Reads C expressions by precedence, from the loosest operator to the tightest.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}
  Piece whole() {
    Piece all = any();
    internal_check(peek() == '\0', "a formula that cannot be read");
    return all;
  }

 private:
  char peek(size_t ahead = 0) {
    while (at_ < text_.size() && std::isspace((unsigned char)text_[at_])) at_++;
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool take(std::string_view token) {
    peek();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  static Piece call(const char* name, const Piece& a, const Piece& b) {
    return {Piece::Value, std::string(name) + "(" + a.value() + ", " + b.value() + ")"};
  }

  Piece any() {
    Piece left = both();
    while (take("|")) left = {Piece::Truth, "(" + left.truth() + " | " + both().truth() + ")"};
    return left;
  }
  Piece both() {
    Piece left = equality();
    while (take("&")) left = {Piece::Truth, "(" + left.truth() + " & " + equality().truth() + ")"};
    return left;
  }
  Piece equality() {
    Piece left = order();
    while (true) {
      const bool equal = take("==");
      if (!equal && !take("!=")) return left;
      Piece right = order();
      if (left.kind == Piece::Truth || right.kind == Piece::Truth) {
        left = {Piece::Truth, "(" + left.truth() + (equal ? " == " : " != ") + right.truth() + ")"};
      } else {
        left = call(equal ? "c_eq" : "c_ne", left, right);
        left.kind = Piece::Truth;
      }
    }
  }
  Piece order() {
    Piece left = sum();
    if (!take("<=")) return left;
    left = call("c_le", left, sum());
    left.kind = Piece::Truth;
    return left;
  }
  Piece sum() {
    Piece left = product();
    while (true) {
      if (take("+"))
        left = call("c_add", left, product());
      else if (take("-"))
        left = call("c_sub", left, product());
      else
        return left;
    }
  }
  Piece product() {
    Piece left = sign();
    while (true) {
      if (take("*"))
        left = call("c_mul", left, sign());
      else if (take("/"))
        left = call("c_div", left, sign());
      else
        return left;
    }
  }
  Piece sign() {
    if (take("(T)")) return sign();
    if (!take("-")) return primary();
    Piece of = sign();
    if (of.kind == Piece::Digits) return {Piece::Digits, "-" + of.text};
    return {Piece::Value, "c_neg(" + of.value() + ")"};
  }
  Piece primary() {
    if (take("(")) {
      Piece inner = any();
      close();
      return inner;
    }
    size_t from = (peek(), at_);
    auto is_word = [&] {
      const char c = at_ < text_.size() ? text_[at_] : '\0';
      const bool exponent = (c == '-' || c == '+') && std::isdigit((unsigned char)text_[from]) &&
                            (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
      return std::isalnum((unsigned char)c) || c == '_' || c == '.' || exponent;
    };
    while (at_ < text_.size() && is_word()) at_++;
    std::string word(text_.substr(from, at_ - from));
    internal_check(!word.empty(), "a formula that cannot be read");
    if (std::isdigit((unsigned char)word[0]) || word == "NAN" || word == "INFINITY")
      return {Piece::Digits, word};
    if (!take("(")) return {Piece::Value, word};
    std::string text = "c_" + word + "(";
    for (bool first = true; first || take(","); first = false) {
      Piece argument = any();
      const bool condition = first && word == "where";
      text += (first ? "" : ", ") + (condition ? argument.truth() : argument.value());
    }
    close();
    const bool asks = word == "isnan" || word == "isinf" || word == "isfinite" || word == "isreal";
    return {asks ? Piece::Truth : Piece::Value, text + ")"};
  }
  void close() { internal_check(take(")"), "a formula that cannot be read"); }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::string complex_formula(std::string_view formula) {
  Piece all = Parser(formula).whole();
  return all.kind == Piece::Truth ? all.text : all.value();
}

std::string complex_functions(Dtype complex) {
  return std::string("typedef ") + memory_type(complex) + " T;\ntypedef " +
         memory_type(real_of(complex)) + " R;\n" + sources::complex;
}

Tensor part(const Tensor& t, int which) {
  Shape strides = t.strides();
  for (int64_t& s : strides) s *= 2;
  return from_storage(t.storage(), real_of(t.dtype()), t.shape(), strides, t.offset() * 2 + which);
}

namespace {
// The product along `dims`: the end of its running product over them as one dimension.
void product(const Tensor& out, const Tensor& x, const Shape& dims) {
  Shape order, strides, kept;
  for (int pass = 0; pass < 2; pass++)
    for (int d = 0; d < x.dim(); d++)
      if (dims.contains(d) == (pass == 1)) {
        order.push_back(x.shape()[d]);
        strides.push_back(x.strides()[d]);
        if (pass == 0) kept.push_back(out.strides()[d]);
      }
  const int64_t n = numel_of(order) / std::max<int64_t>(out.numel(), 1);
  if (n == 0) return own().fill(out, Scalar(1));
  Tensor lines = empty({out.numel(), n}, x.dtype(), x.device());
  own().copy(alias(lines, order, contiguous_strides(order), 0),
             alias(x, order, strides, x.offset()));
  own().scan(Fold::prod, lines, {}, lines, 1);
  Shape first(order.data(), kept.size()), steps = contiguous_strides(first);
  for (int64_t& s : steps) s *= n;
  own().copy(alias(out, first, kept, out.offset()), alias(lines, first, steps, n - 1));
}
}  // namespace

void complex_reduce(Reduction f, const Tensor& out, const Tensor& x, const Shape& dims, double p) {
  if (out.numel() == 0) return;
  check_holds("reduce", x.dtype());
  check_holds("reduce", out.dtype());
  if (is_complex(out.dtype()) && x.dtype() != out.dtype()) {
    Tensor same = empty(x.shape(), out.dtype(), x.device());
    own().copy(same, x);
    return complex_reduce(f, out, same, dims, p);
  }
  const ReductionRow& row = row_of(f, p);
  if (row.map == Map::value && row.fold == Fold::sum) {
    for (int i = 0; i < 2; i++) own().reduce(f, part(out, i), part(x, i), dims, p);
  } else if (row.map == Map::value && row.fold == Fold::prod) {
    product(out, x, dims);
  } else if (row.map == Map::nonzero) {
    Tensor truth = empty(x.shape(), Dtype::Bool, x.device());
    own().copy(truth, x);
    own().reduce(f, out, truth, dims, p);
  } else if (!is_complex(out.dtype())) {  // of how large they are
    Tensor size = empty(x.shape(), real_of(x.dtype()), x.device());
    Input in;
    in.tensor = &x;
    own().unary(Unary::abs, x.dtype(), size, in, {});
    own().reduce(f, out, size, dims, p);
  } else {
    check_computes("reduce", x.dtype());
  }
}

void complex_matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha,
                    const Scalar& beta) {
  if (out.numel() == 0) return;
  check_holds("matmul", out.dtype());
  const complex128 by = alpha.to<complex128>(), keep = beta.to<complex128>();
  Input product, old, factor;
  if (by.imag() != 0) {  // alpha (a b), by itself
    Tensor apart = empty(out.shape(), out.dtype(), out.device());
    complex_matmul(apart, a, b, Scalar(1), Scalar(0));
    product.tensor = &apart, factor.scalar = alpha;
    own().binary(Binary::mul, out.dtype(), apart, product, factor);
    if (keep == 0.0) return own().copy(out, apart);
    old.tensor = &out, factor.scalar = beta;
    own().binary(Binary::mul, out.dtype(), out, old, factor);
    return own().binary(Binary::add, out.dtype(), out, old, product);
  }
  Scalar scale(keep.real());
  if (keep.imag() != 0) {
    old.tensor = &out, factor.scalar = beta;
    own().binary(Binary::mul, out.dtype(), out, old, factor);
    scale = Scalar(1);
  }
  const Scalar plus(by.real()), minus(-by.real());
  own().matmul(part(out, 0), part(a, 0), part(b, 0), plus, scale);
  own().matmul(part(out, 0), part(a, 1), part(b, 1), minus, Scalar(1));
  own().matmul(part(out, 1), part(a, 0), part(b, 1), plus, scale);
  own().matmul(part(out, 1), part(a, 1), part(b, 0), plus, Scalar(1));
}

}  // namespace ember::opencl
