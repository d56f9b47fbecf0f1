// Copies between host and device memory, in the order of the current stream.
#pragma once

#include "opencl/memory.h"

namespace ember::opencl {

void copy_bytes(const Block& to, const Block& from, int64_t bytes);  // on one device
// `to` and `from` are contiguous and not empty. These return when the host memory is free again,
// or holds the elements; read() raises what kernels have reported.
void write(const Tensor& to, const void* from);
void read(void* to, const Tensor& from);
// These return at once; the host tensor is kept until the copy is done.
void write_later(const Tensor& to, const Tensor& host);
void read_later(const Tensor& host, const Tensor& from);

}  // namespace ember::opencl
