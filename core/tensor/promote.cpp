#include "tensor/promote.h"

namespace ember {

namespace {

enum Category { kBool, kInteger, kFloating, kComplex };
Category category(Dtype d) {
  if (is_complex(d)) return kComplex;
  if (is_any_floating(d)) return kFloating;
  return d == Dtype::Bool ? kBool : kInteger;
}

// The wider unsigned types meet none but floating ones, as in torch.
void check_no_wide_unsigned(Dtype a, Dtype b) {
  check(!is_wide_unsigned(a) && !is_wide_unsigned(b), Kind::Runtime,
        "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote ", a,
        " and ", b);
}

Dtype promote_integers(Dtype a, Dtype b) {
  check_no_wide_unsigned(a, b);
  if (a == Dtype::Bool) return b;
  if (b == Dtype::Bool) return a;
  bool a_signed = is_signed(a), b_signed = is_signed(b);
  if (a_signed == b_signed) return item_size(a) >= item_size(b) ? a : b;
  Dtype with_sign = a_signed ? a : b;  // the other one is uint8
  return with_sign == Dtype::Int8 ? Dtype::Int16 : with_sign;
}

Dtype promote_floats(Dtype a, Dtype b) {
  if (is_reduced(a) && is_reduced(b)) return Dtype::Float32;  // float16 with bfloat16
  return item_size(a) >= item_size(b) ? a : b;
}

}  // namespace

Dtype complex_type(Dtype d) {
  check(is_complex(d) || is_floating(d), Kind::Runtime, "Unknown Complex ScalarType for ",
        type_name(d));
  return complex_of(d);
}

Dtype promote(Dtype a, Dtype b) {
  if (a == b) return a;
  check(!is_float8(a) && !is_float8(b), Kind::Runtime,
        "Promotion for Float8 Types is not supported, attempted to promote ", type_name(a), " and ",
        type_name(b));
  Category ca = category(a), cb = category(b);
  if (ca == kComplex || cb == kComplex) check_no_wide_unsigned(a, b);
  if (ca <= kInteger && cb <= kInteger) return promote_integers(a, b);
  if (ca <= kInteger) return b;
  if (cb <= kInteger) return a;
  if (ca == kFloating && cb == kFloating) return promote_floats(a, b);
  // complex with something: as precise as the more precise part
  const Dtype x = complex_of(a), y = complex_of(b);
  return item_size(x) >= item_size(y) ? x : y;
}

namespace {

// `strong` keeps its dtype unless `weak` is of a higher category.
int combine(int strong, int weak) {
  if (strong < 0) return weak;
  if (weak < 0) return strong;
  Dtype s = Dtype(strong), w = Dtype(weak);
  if (is_complex(s)) return strong;
  if (is_any_floating(s)) return is_complex(w) ? int(complex_type(s)) : strong;
  if (is_complex(w) && is_wide_unsigned(s)) return weak;
  if (s == Dtype::Bool || is_any_floating(w) || is_complex(w)) return int(promote(s, w));
  return strong;
}

}  // namespace

Dtype Promotion::result() const { return Dtype(combine(tensors_, combine(zero_dim_, numbers_))); }

Dtype result_type(const TensorList& tensors) {
  Promotion p;
  for (const Tensor& t : tensors) p.add(t);
  return p.result();
}

bool can_cast(Dtype from, Dtype to) {
  return category(from) <= category(to) || (category(from) == kInteger && to != Dtype::Bool);
}

}  // namespace ember
