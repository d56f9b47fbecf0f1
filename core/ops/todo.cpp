#include "ops/ops.h"
namespace ember {
Tensor cat(const TensorList&, int64_t) { fail(Kind::NotImplemented, "cat"); }
Tensor flip(const Tensor&, const Shape&) { fail(Kind::NotImplemented, "flip"); }
Tensor scatter(const Tensor&, int64_t, const Tensor&, const Operand&) { fail(Kind::NotImplemented, "scatter"); }
Tensor cumsum(const Tensor&, int64_t, std::optional<Dtype>) { fail(Kind::NotImplemented, "cumsum"); }
Tensor cumprod(const Tensor&, int64_t, std::optional<Dtype>) { fail(Kind::NotImplemented, "cumprod"); }
Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) { return slice(self, dim, start, start+length, 1); }
}
