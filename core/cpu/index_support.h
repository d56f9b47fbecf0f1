// What the files of indexing share.
#pragma once

#include "backend.h"
#include "cpu/kernels/index_kernels.h"

namespace ember::cpu {

const IndexKernels& index_kernels();  // for this machine
// The tensor itself if it is contiguous and of that dtype, else a copy that is.
Tensor dense(const Tensor& t, Dtype dtype);

}  // namespace ember::cpu
