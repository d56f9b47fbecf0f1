// The entry points of pointwise.h: find the kernel, then leave the rest to iter.
#include "cpu/pointwise.h"

#include "cpu/dispatch.h"
#include "cpu/iter.h"
#include "cpu/parallel.h"

namespace ember::cpu {

const int64_t kZeroStrides[64] = {};

namespace {

Strided strided(const Operand& o, Dtype native) {
  return {static_cast<char*>(o.data), o.dtype, native, o.strides};
}

template <class K, class F>
K kernel_of(const K (&row)[kColumns], Dtype native, F f, Dtype compute) {
  K kernel = row[int(native)];
  internal_check(kernel != nullptr, name_of(f), "() has no kernel for ", compute);
  return kernel;
}

}  // namespace

// Does the kernel of a narrow dtype itself fit, if there is one? A number as second operand
// may have more digits than it could take. Functions that round on the way have no other kernel,
// but a quotient does not do so if its divisor is a number.
static bool is_own(Binary f, Dtype compute, int ndim, const int64_t* shape, const Operand& out,
                   const Operand& b) {
  if (types_of(f) & kOwnHalf) return true;
  if (out.dtype != compute || b.dtype != compute) return false;
  if (!(types_of(f) & kRounds16)) return true;
  bool one = true;
  for (int d = 0; d < ndim; d++) one &= shape[d] == 1 || b.strides[d] == 0;
  return !one;
}

void unary(Unary f, Dtype compute, int ndim, const int64_t* shape, Operand out, Operand x,
           const Params& p) {
  const auto& row = kernels().unary[int(f)];
  const Dtype native = native_of(row, compute);
  const Dtype result = types_of(f) & kToReal ? real_of(native) : native;
  const Strided operands[] = {strided(out, result), strided(x, native)};
  run(Kernel(kernel_of(row, native, f, compute), p), ndim, shape, operands);
}

void unary_grad(Unary f, Dtype compute, int ndim, const int64_t* shape, Operand out, Operand g,
                Operand kept, const Params& p) {
  const auto& row = kernels().unary_grad[int(f)];
  const Dtype native = native_of(row, compute);
  const Dtype incoming = types_of(f) & kToReal ? real_of(native) : native;
  const Strided operands[] = {strided(out, native), strided(g, incoming), strided(kept, native)};
  run(Kernel(kernel_of(row, native, f, compute), p), ndim, shape, operands);
}

void predicate(Predicate f, Dtype compute, int ndim, const int64_t* shape, Operand out, Operand x,
               const Params& p) {
  const auto& row = kernels().predicate[int(f)];
  const Dtype native = native_of(row, compute);
  const Strided operands[] = {strided(out, Dtype::Bool), strided(x, native)};
  run(Kernel(kernel_of(row, native, f, compute), p), ndim, shape, operands);
}

void binary(Binary f, Dtype compute, int ndim, const int64_t* shape, Operand out, Operand a,
            Operand b, const Params& p) {
  const auto& row = kernels().binary[int(f)];
  if (is_narrow(compute) && !is_own(f, compute, ndim, shape, out, b)) compute = compute_of(compute);
  const Dtype native = native_of(row, compute);
  bool zero_division = false;
  Params params = p;
  params.zero_division = &zero_division;
  const bool commutes = types_of(f) & kCommutes;
  if (commutes && ndim > 0 && a.strides[ndim - 1] == 0) std::swap(a, b);
  const Strided operands[] = {strided(out, native), strided(a, native), strided(b, native)};
  Kernel call(kernel_of(row, native, f, compute), params);
  call.number = kernels().binary_number[int(f)][int(native)];
  run(call, ndim, shape, operands);
  check(!zero_division, Kind::Runtime, "ZeroDivisionError");
}

void compare(Compare f, Dtype compute, int ndim, const int64_t* shape, Operand out, Operand a,
             Operand b, const Params& p) {
  const auto& row = kernels().compare[int(f)];
  const Dtype native = native_of(row, compute);
  const Strided operands[] = {strided(out, Dtype::Bool), strided(a, native), strided(b, native)};
  run(Kernel(kernel_of(row, native, f, compute), p), ndim, shape, operands);
}

void ternary(Ternary f, Dtype compute, int ndim, const int64_t* shape, Operand out, Operand a,
             Operand b, Operand c, const Params& p) {
  const auto& row = kernels().ternary[int(f)];
  const bool chooses = types_of(f) & kChooses;
  if (chooses && b.dtype == c.dtype)
    compute = b.dtype;  // nothing to compute, and so nothing to convert
  const Dtype native = native_of(row, compute);
  const Dtype first = chooses ? Dtype::Bool : native;
  const Strided operands[] = {strided(out, native), strided(a, first), strided(b, native),
                              strided(c, native)};
  run(Kernel(kernel_of(row, native, f, compute), p), ndim, shape, operands);
}

void copy(int ndim, const int64_t* shape, Operand out, Operand x) {
  run_copy(ndim, shape, strided(out, out.dtype), strided(x, x.dtype));
}

void fill(int ndim, const int64_t* shape, Operand out, const void* value, Dtype value_dtype) {
  alignas(16) char one[16];
  const Kernels& k = kernels();
  if (value_dtype == out.dtype)
    std::memcpy(one, value, size_t(item_size(out.dtype)));
  else
    k.cast[int(value_dtype)][int(out.dtype)](value, one, 1);
  const int64_t size = item_size(out.dtype);
  if (is_dense(ndim, shape, out.strides)) {
    Fill kernel = k.fill[size_index(size)];
    parallel_for(element_count(ndim, shape), kGrain, [&](int64_t begin, int64_t end) {
      kernel(one, static_cast<char*>(out.data) + begin * size, end - begin);
    });
    return;
  }
  Operand source{one, out.dtype, kZeroStrides};
  copy(ndim, shape, out, source);
}

}  // namespace ember::cpu
