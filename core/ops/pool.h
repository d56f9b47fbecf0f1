// Pooling over lists of windows (families/pool.h), and the lists: pool_windows.cpp. The ops that
// users call are in pool.cpp.
#pragma once

#include <memory>

#include "backend.h"
#include "ops/ops.h"

namespace ember {

using Windows = std::shared_ptr<const PoolWindows>;

// x is (N, C, ...). The indices are undefined unless they are wanted.
std::tuple<Tensor, Tensor> max_of_windows(const char* op, const Tensor& x, const Windows& windows,
                                          bool with_indices);
// The mean, or the sum divided by `divisor` if that is not 0.
Tensor mean_of_windows(const char* op, const Tensor& x, const Windows& windows, int64_t divisor);

// Along one axis of `size` elements.
PoolAxis sliding_windows(int64_t size, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
                         int64_t dilation, bool count_padding);
PoolAxis adaptive_windows(int64_t size, int64_t out);

}  // namespace ember
