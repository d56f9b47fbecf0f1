// Matrix products.
#include "ops/ops.h"

namespace ember {

Tensor matmul(const Tensor& self, const Tensor&) { return self; }

}  // namespace ember
