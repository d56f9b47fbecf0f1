#include "tensor/shape.h"

namespace ember {

void fail_numel(const Shape& shape) {
  for (int64_t d : shape)
    check(d >= 0, Kind::Runtime, "Trying to create tensor with negative dimension ", d, ": ",
          shape);
  if (shape.contains(0)) fail(Kind::Runtime, "Stride calculation overflowed with sizes=", shape);
  fail(Kind::Runtime, "numel: integer multiplication overflow, with sizes=", shape);
}

void fail_product(const char* op, int64_t a, int64_t b) {
  fail(Kind::Runtime, op, "(): integer multiplication overflow: the size would be ", a, " * ", b);
}

void fail_bytes(const Shape& shape) {
  fail(Kind::Runtime, "Storage size calculation overflowed with sizes=", shape);
}

Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  int shift = longer.size() - shorter.size();
  for (int i = 0; i < shorter.size(); i++) {
    int64_t x = out[shift + i], y = shorter[i];
    if (x == y || y == 1) continue;
    check(x == 1, Kind::Runtime, op, "(): The size of tensor a (",
          a[shift + i - (longer.size() - a.size())], ") must match the size of tensor b (",
          b[shift + i - (longer.size() - b.size())], ") at non-singleton dimension ", shift + i,
          "; shapes ", a, " and ", b, " do not broadcast");
    out[shift + i] = y;
  }
  return out;
}

Shape broadcast_strides(const Shape& shape, const Shape& strides, const Shape& to) {
  Shape out = Shape::filled(to.size(), 0);
  int shift = to.size() - shape.size();
  for (int i = 0; i < shape.size(); i++)
    if (shape[i] != 1 || to[shift + i] == 1) out[shift + i] = strides[i];
  return out;
}

std::optional<Shape> view_strides(const Shape& shape, const Shape& strides, const Shape& to) {
  if (numel_of(shape) == 0) {
    if (shape == to) return strides;
    return contiguous_strides(to);
  }
  // Walk both shapes from the back: each run of old dimensions that is contiguous in itself may be
  // cut into new dimensions freely.
  Shape out = Shape::filled(to.size(), 0);
  int j = to.size() - 1;
  int64_t base = shape.empty() ? 1 : strides.back(), old_run = 1, new_run = 1;
  for (int i = shape.size() - 1; i >= 0; i--) {
    old_run *= shape[i];
    bool run_ends = i == 0 || (shape[i - 1] != 1 && strides[i - 1] != old_run * base);
    if (!run_ends) continue;
    while (j >= 0 && (new_run < old_run || to[j] == 1)) {
      out[j] = new_run * base;
      new_run *= to[j];
      j--;
    }
    if (new_run != old_run) return std::nullopt;
    if (i > 0) {
      base = strides[i - 1];
      old_run = new_run = 1;
    }
  }
  if (shape.empty())
    for (; j >= 0 && to[j] == 1; j--) out[j] = 1;
  if (j != -1) return std::nullopt;
  return out;
}

Shape infer_size(const char* op, Shape shape, int64_t numel) {
  int unknown = -1;
  int64_t known = 1;
  for (int i = 0; i < shape.size(); i++) {
    if (shape[i] == -1) {
      check(unknown < 0, Kind::Runtime, op, "(): only one dimension can be inferred, got ", shape);
      unknown = i;
    } else {
      check(shape[i] >= 0, Kind::Runtime, op, "(): invalid shape dimension ", shape[i], " in ",
            shape);
      // Too large a product is no element count, and 0 times anything is 0.
      if (__builtin_mul_overflow(known, shape[i], &known)) known = shape.contains(0) ? 0 : -1;
    }
  }
  check(known >= 0, Kind::Runtime, op, "(): shape '", shape, "' is invalid for input of size ",
        numel);
  if (unknown >= 0) {
    check(known != 0, Kind::Runtime, op, "(): cannot reshape tensor of ", numel,
          " elements into shape ", shape,
          " because the unspecified dimension size -1 can be any value and is ambiguous");
    if (numel % known == 0) shape[unknown] = numel / known, known = numel;
  }
  check(known == numel, Kind::Runtime, op, "(): shape '", shape, "' is invalid for input of size ",
        numel);
  return shape;
}

}  // namespace ember
