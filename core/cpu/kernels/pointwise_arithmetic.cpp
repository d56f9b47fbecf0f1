// Kernels of the ARITHMETIC family: sums, products, rounding, bits, selection.
#include <initializer_list>

#include "cpu/vmath.h"

#define EMBER_FAMILY ARITHMETIC
#include "cpu/kernels/rows.h"
// It builds on rows.h.
#include "cpu/kernels/half_rows.h"

namespace ember::cpu::EMBER_ISA {

namespace {

// where() only moves elements: one instance per size serves all types.
template <class T>
void add_where(Kernels& k, std::initializer_list<Column> columns) {
  for (Column c : columns)
    k.ternary[int(Ternary::where)][c] = ternary_kernel<Ternary_where, uint8_t, T>;
}

void add_bool(Kernels& k) {
  auto row = [&](Binary f) { return k.binary[int(f)]; };
  Kernel2 both = binary_bool_kernel<Binary_bitwise_and>,
          either = binary_bool_kernel<Binary_bitwise_or>;
  row(Binary::bitwise_and)[kColumnBool] = row(Binary::mul)[kColumnBool] = both;
  row(Binary::minimum)[kColumnBool] = row(Binary::fmin)[kColumnBool] = both;
  row(Binary::bitwise_or)[kColumnBool] = row(Binary::add)[kColumnBool] = either;
  row(Binary::maximum)[kColumnBool] = row(Binary::fmax)[kColumnBool] = either;
  row(Binary::bitwise_xor)[kColumnBool] = binary_bool_kernel<Binary_bitwise_xor>;
}

// In float, the next number would be one that float16 and bfloat16 do not have.
template <int kInfinity>
uint16_t next16(uint16_t a, uint16_t b) {
  const int size_a = a & 0x7fff, size_b = b & 0x7fff;
  if (size_a > kInfinity || size_b > kInfinity) return size_a > kInfinity ? a : b;
  const int at = a & 0x8000 ? -size_a : size_a, to = b & 0x8000 ? -size_b : size_b;
  if (at == to) return b;
  if (at == 0) return uint16_t((b & 0x8000) | 1);
  return uint16_t((to > at) == (at > 0) ? a + 1 : a - 1);
}
template <int kInfinity>
void next16_kernel(const void* a, const void* b, void* out, int64_t n, const Params&) {
  for (int64_t i = 0; i < n; i++)
    static_cast<uint16_t*>(out)[i] =
        next16<kInfinity>(static_cast<const uint16_t*>(a)[i], static_cast<const uint16_t*>(b)[i]);
}

// What models in bfloat16 do all the time.
template <class Row>
struct InFloat {
  template <class H>
  static EMBER_INLINE float forward(float a, float b) {
    return Row::forward(a, b);
  }
};
template <class... Row>
void add_bfloat(Kernels& k) {
  ((k.binary[int(Row::id)][kColumnBFloat16] = half_kernel<InFloat<Row>, BFloat16>), ...);
}

// floor_divide() in steps that are each rounded. Where the quotient is too large for modulo(), it
// is also too large for what is left over to be seen.
struct FloorDivide {
  template <class H>
  static EMBER_INLINE float forward(float a, float b) {
    const float m = isfinite(b) ? modulo(a, b) : a;
    const bool down = (m != 0) & ((m < 0) != (b < 0));
    float q = step<H>(step<H>(a - m) / b);
    q = down ? step<H>(q - 1) : q;
    float f = floor(q);
    f = q - f > 0.5f ? f + 1 : f;
    f = q == 0 ? copysign(0.f, a / b) : f;
    return b == 0 ? a / b : f;
  }
};

}  // namespace

void add_arithmetic(Kernels& k) {
  add_rows(k);
  add_where<uint8_t>(
      k, {kColumnBool, kColumnUInt8, kColumnInt8, kColumnFloat8_e4m3fn, kColumnFloat8_e5m2,
          kColumnFloat8_e4m3fnuz, kColumnFloat8_e5m2fnuz, kColumnFloat8_e8m0fnu});
  add_where<uint16_t>(k, {kColumnInt16, kColumnUInt16, kColumnFloat16, kColumnBFloat16});
  add_where<uint32_t>(k, {kColumnInt32, kColumnUInt32, kColumnFloat32, kColumnComplex32});
  add_where<uint64_t>(k, {kColumnInt64, kColumnUInt64, kColumnFloat64, kColumnComplex64});
  add_where<complex128>(k, {kColumnComplex128});
  add_bool(k);
  add_bfloat<Binary_add, Binary_sub, Binary_mul, Binary_div>(k);
  add_in_halves<FloorDivide>(k, Binary::floor_divide);
  k.binary[int(Binary::nextafter)][kColumnFloat16] = next16_kernel<0x7c00>;
  k.binary[int(Binary::nextafter)][kColumnBFloat16] = next16_kernel<0x7f80>;
}

}  // namespace ember::cpu::EMBER_ISA
