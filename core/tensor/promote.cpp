#include "tensor/promote.h"

namespace ember {

namespace {

enum Category { kBool, kInteger, kFloating, kComplex };
Category category(Dtype d) {
  if (is_complex(d)) return kComplex;
  if (is_floating(d)) return kFloating;
  return d == Dtype::Bool ? kBool : kInteger;
}

Dtype promote_integers(Dtype a, Dtype b) {
  // The wider unsigned types meet no other, as in torch.
  check(a < Dtype::UInt16 && b < Dtype::UInt16, Kind::Runtime,
        "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote ", a,
        " and ", b);
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

Dtype promote(Dtype a, Dtype b) {
  if (a == b) return a;
  Category ca = category(a), cb = category(b);
  if (ca <= kInteger && cb <= kInteger) return promote_integers(a, b);
  if (ca <= kInteger) return b;
  if (cb <= kInteger) return a;
  if (ca == kFloating && cb == kFloating) return promote_floats(a, b);
  // complex with something: as precise as the more precise part (float16 counts as float32)
  bool wide = a == Dtype::Float64 || b == Dtype::Float64 || a == Dtype::Complex128 ||
              b == Dtype::Complex128;
  return wide ? Dtype::Complex128 : Dtype::Complex64;
}

namespace {

// `strong` keeps its dtype unless `weak` is of a higher category.
int combine(int strong, int weak) {
  if (strong < 0) return weak;
  if (weak < 0) return strong;
  Dtype s = Dtype(strong), w = Dtype(weak);
  if (is_complex(s)) return strong;
  if (is_floating(s)) return is_complex(w) ? int(complex_of(s)) : strong;
  if (s == Dtype::Bool || is_floating(w) || is_complex(w)) return int(promote(s, w));
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
