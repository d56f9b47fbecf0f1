#include "ops/ops.h"
namespace ember {
Tensor cumsum(const Tensor&, int64_t, std::optional<Dtype>) { fail(Kind::NotImplemented, "cumsum"); }
Tensor cumprod(const Tensor&, int64_t, std::optional<Dtype>) { fail(Kind::NotImplemented, "cumprod"); }
}
