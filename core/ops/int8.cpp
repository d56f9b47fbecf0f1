// Products of 8-bit integers, as quantized layers call them. They are exact in float32 as long as
// no partial sum leaves its 24 bits, so the floating-point products do the work, block by block.
#include <algorithm>

#include "ops/change.h"
#include "ops/ops.h"

namespace ember {

namespace {

constexpr int64_t kExactDepth = 512;  // 512 * 255 * 128 < 2^24

const char* kind_of(const Tensor& t) { return name_of(t.dtype()); }

Tensor int_mm(const Tensor& self, const Tensor& mat2, Dest dest) {
  check(self.dim() == 2, Kind::Runtime, "_int_mm(): Expected self to be of dimension 2 but got ",
        self.dim());
  check(mat2.dim() == 2, Kind::Runtime, "_int_mm(): Expected mat2 to be of dimension 2 but got ",
        mat2.dim());
  check(self.size(1) == mat2.size(0), Kind::Runtime,
        "_int_mm(): self.size(1) needs to match mat2.size(0) but got ", self.size(1), " and ",
        mat2.size(0));
  check(self.dtype() == Dtype::Int8 || self.dtype() == Dtype::UInt8, Kind::Runtime,
        "_int_mm(): Expected self dtype to be int8 or uint8 but got ", kind_of(self));
  check(mat2.dtype() == Dtype::Int8, Kind::Runtime,
        "_int_mm(): Expected mat2 dtype to be of type int8 but got ", kind_of(mat2));
  NoGrad guard;
  const int64_t k = self.size(1);
  Tensor sum;
  for (int64_t at = 0; at == 0 || at < k; at += kExactDepth) {
    const int64_t deep = std::min(kExactDepth, k - at);
    Tensor a = to(narrow(self, 1, at, deep), Dtype::Float32);
    Tensor part = to(mm(a, to(narrow(mat2, 0, at, deep), Dtype::Float32), {}), Dtype::Int32);
    sum = sum ? sum + part : part;
  }
  return deliver("_int_mm", dest, sum);
}
EMBER_OP("_int_mm(Tensor self, Tensor mat2) -> Tensor", &int_mm, Function | Out | Apart | Whole,
         "Product of two matrices of 8-bit integers, in int32.");

}  // namespace

}  // namespace ember
