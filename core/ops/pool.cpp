// max_pool, avg_pool and their adaptive forms for one to three axes: argument checks and shapes.
#include "ops/pool.h"
#include "ops/conv.h"

namespace ember {

namespace {

constexpr int64_t kMost = (int64_t(1) << 31) - 1;  // of a kernel size, stride, padding or dilation

constexpr const char* kMaxNames[] = {"max_pool1d", "max_pool2d", "max_pool3d"};
constexpr const char* kMeanNames[] = {"avg_pool1d", "avg_pool2d", "avg_pool3d"};

void check_input(const char* op, const Tensor& x, int axes) {
  const bool batched = x.dim() == axes + 2;
  bool ok = batched || x.dim() == axes + 1;
  for (int i = batched; i < x.dim(); i++) ok = ok && x.size(i) > 0;
  check(ok, Kind::Runtime, op, "(): Expected ", axes + 1, "D or ", axes + 2,
        "D (batch mode) tensor with optional 0 dim batch size for input, but got: ", x.shape());
}

struct Sizes {
  Shape kernel, stride, padding, dilation, out;
};

Sizes sizes_of(const char* op, int axes, const Tensor& x, const Dims& kernel, const Dims& stride,
               const Dims& padding, const Dims& dilation, bool ceil_mode) {
  Sizes s;
  s.kernel = expanded(op, "kernel_size", kernel, axes);
  s.stride =
      stride.given && !stride.values.empty() ? expanded(op, "stride", stride, axes) : s.kernel;
  s.padding = expanded(op, "padding", padding, axes);
  s.dilation = expanded(op, "dilation", dilation, axes);
  check_input(op, x, axes);
  bool fits = true;
  for (int i = 0; i < axes; i++) {
    const int64_t k = s.kernel[i], step = s.stride[i], p = s.padding[i], d = s.dilation[i];
    check(k > 0, Kind::Runtime, op, "(): kernel size should be greater than zero, but got ",
          s.kernel);
    check(step != 0, Kind::Runtime, op, "(): stride should not be zero, but got ", s.stride);
    check(step > 0, Kind::Runtime, op, "(): stride should be greater than zero, but got ",
          s.stride);
    check(d > 0, Kind::Runtime, op, "(): dilation should be greater than zero, but got ",
          s.dilation);
    check(k <= kMost && step <= kMost && p <= kMost && d <= kMost, Kind::Runtime, op,
          "(): value cannot be converted to type int without overflow: kernel size ", s.kernel,
          ", stride ", s.stride, ", padding ", s.padding, " and dilation ", s.dilation,
          " must be less than 2^31");
    check(p >= 0, Kind::Runtime, op, "(): pad must be non-negative, but got pad: ", p);
    const int64_t reach = d * (k - 1) + 1, size = x.size(i - axes);
    check(p <= k / 2, Kind::Runtime, op,
          "(): pad should be smaller than or equal to half of kernel size, but got pad=", p,
          ", kernel_size=", k, " and dilation=", d);
    const int64_t room = size + 2 * p - reach + (ceil_mode ? step - 1 : 0);
    int64_t out = room < 0 ? 0 : room / step + 1;
    if (ceil_mode && (out - 1) * step >= size + p) out--;  // the last would start beyond the input
    fits = fits && out > 0;
    s.out.push_back(out);
  }
  check(fits, Kind::Runtime, op, "(): Given input size: ", Product{x.shape()},
        ". Calculated output size: ", Product{s.out}, ". Output size is too small");
  return s;
}

Windows windows_of(const Tensor& x, const Sizes& s, bool count_padding) {
  auto windows = std::make_shared<PoolWindows>();
  const int axes = s.kernel.size();
  for (int i = 0; i < axes; i++)
    windows->push_back(sliding_windows(x.size(i - axes), s.out[i], s.kernel[i], s.stride[i],
                                       s.padding[i], s.dilation[i], count_padding));
  return windows;
}

// Means and adaptive maxima of three axes are contiguous in PyTorch, whatever the input is.
Tensor plain_volumes(const Tensor& x) { return x.dim() == 5 ? contiguous(x) : x; }

using Pair = std::tuple<Tensor, Tensor>;

// Calls f with a batch, and takes it off again if there was none.
template <class F>
auto batched(const Tensor& x, int axes, F f) {
  if (x.dim() == axes + 2) return f(x);
  auto result = f(unsqueeze(x, 0));
  if constexpr (std::is_same_v<decltype(result), Tensor>) {
    return squeeze(result, Dims(0));
  } else {
    auto& [values, indices] = result;
    return Pair{squeeze(values, Dims(0)), indices ? squeeze(indices, Dims(0)) : indices};
  }
}

Pair max_pool(int axes, const Tensor& x, const Dims& kernel, const Dims& stride,
              const Dims& padding, const Dims& dilation, bool ceil_mode, bool with_indices) {
  const char* op = kMaxNames[axes - 1];
  check(x.dtype() != Dtype::Bool && !is_complex(x.dtype()) && x.dtype() < Dtype::UInt16,
        Kind::NotImplemented, op, "(): not implemented for ", x.dtype());
  const Sizes s = sizes_of(op, axes, x, kernel, stride, padding, dilation, ceil_mode);
  const Windows windows = windows_of(x, s, false);
  return batched(x, axes,
                 [&](const Tensor& b) { return max_of_windows(op, b, windows, with_indices); });
}

Tensor avg_pool(int axes, const Tensor& x, const Dims& kernel, const Dims& stride,
                const Dims& padding, bool ceil_mode, bool count_padding,
                std::optional<int64_t> divisor) {
  const char* op = kMeanNames[axes - 1];
  check(is_floating(x.dtype()) || x.dtype() == Dtype::Int64, Kind::NotImplemented, op,
        "(): not implemented for ", x.dtype());
  check(divisor != 0, Kind::Runtime, op, "(): divisor must be not zero");
  const Sizes s = sizes_of(op, axes, x, kernel, stride, padding, Dims(1), ceil_mode);
  for (int i = 0; i < 3 && axes == 3; i++)
    check(x.size(i - 3) >= s.kernel[i], Kind::Runtime, op, "(): input image ",
          Product{x.shape(), x.dim() - 3}, " smaller than kernel size ", Product{s.kernel});
  const Windows windows = windows_of(x, s, count_padding);
  return batched(x, axes, [&](const Tensor& b) {
    return mean_of_windows(op, plain_volumes(b), windows, divisor.value_or(0));
  });
}

Windows adaptive(const char* op, const Tensor& x, const Shape& size) {
  const int axes = size.size();
  check(axes >= 1 && axes <= 3, Kind::Runtime, op, "(): output_size must have 1 to 3 numbers, got ",
        axes);
  check(x.dim() == axes + 1 || x.dim() == axes + 2, Kind::Runtime, op, "(): Expected ", axes + 1,
        "D or ", axes + 2, "D tensor, but got ", x.shape());
  for (int i = 1; i < x.dim(); i++)
    check(x.size(i) > 0, Kind::Runtime, op,
          "(): Expected input to have non-zero size for non-batch dimensions, but input has sizes ",
          x.shape());
  Shape result = x.shape();
  bool large = false;
  for (int i = 0; i < axes; i++) {
    check(size[i] >= 0 && size[i] <= kMost, Kind::Runtime, op,
          "(): elements of output_size must be greater than or equal to 0 but received ", size);
    result[x.dim() - axes + i] = size[i];
    large = large || size[i] > (1 << 24);
  }
  if (large) empty(result, x.dtype(), x.device());  // refused before its windows take the memory
  auto windows = std::make_shared<PoolWindows>();
  for (int i = 0; i < axes; i++) windows->push_back(adaptive_windows(x.size(i - axes), size[i]));
  return windows;
}

std::string adaptive_name(const char* kind, int axes) {
  return std::string("adaptive_") + kind + "_pool" + char('0' + axes) + "d";
}

Tensor adaptive_avg_pool(const Tensor& x, const Dims& size) {
  const int axes = size.values.size();
  const std::string op = adaptive_name("avg", axes);
  check(is_floating(x.dtype()), Kind::NotImplemented, op, "(): not implemented for ", x.dtype());
  const Windows windows = adaptive(op.c_str(), x, size.values);
  return batched(x, axes, [&](const Tensor& b) {
    return mean_of_windows("adaptive_avg_pool", plain_volumes(b), windows, 0);
  });
}

Pair adaptive_max_pool(const Tensor& x, const Dims& size) {
  const int axes = size.values.size();
  const std::string op = adaptive_name("max", axes);
  check(is_floating(x.dtype()), Kind::NotImplemented, op, "(): not implemented for ", x.dtype());
  const Windows windows = adaptive(op.c_str(), x, size.values);
  return batched(x, axes, [&](const Tensor& b) {
    return max_of_windows("adaptive_max_pool", plain_volumes(b), windows, true);
  });
}

template <int axes>
void* max_pool_op(const Tensor& x, const Dims& kernel, const Dims& stride, const Dims& padding,
                  const Dims& dilation, bool ceil_mode, bool return_indices) {
  auto [values, indices] =
      max_pool(axes, x, kernel, stride, padding, dilation, ceil_mode, return_indices);
  if (!return_indices) return to_host(std::move(values));
  return to_host(std::vector<Tensor>{std::move(values), std::move(indices)});
}

template <int axes>
Pair max_pool_with_indices(const Tensor& x, const Dims& kernel, const Dims& stride,
                           const Dims& padding, const Dims& dilation, bool ceil_mode, bool) {
  return max_pool(axes, x, kernel, stride, padding, dilation, ceil_mode, true);
}

template <int axes>
Tensor avg_pool_op(const Tensor& x, const Dims& kernel, const Dims& stride, const Dims& padding,
                   bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor) {
  return avg_pool(axes, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor);
}

}  // namespace

#define MAX_ARGUMENTS                                                                    \
  "(Tensor input, Dims kernel_size, Dims stride=None, Dims padding=0, Dims dilation=1, " \
  "bool ceil_mode=False, bool return_indices=False) -> "
template <int axes>
constexpr unsigned kMaxTraits = axes == 3 ? Entries | Float32 : Entries;
#define MAX_POOL(axes, doc)                                                                  \
  EMBER_OP("nn.functional.max_pool" #axes "d" MAX_ARGUMENTS "Any", &max_pool_op<axes>,       \
           Function | kMaxTraits<axes>, doc);                                                \
  EMBER_OP("nn.functional.max_pool" #axes "d_with_indices" MAX_ARGUMENTS "(Tensor, Tensor)", \
           &max_pool_with_indices<axes>, Function | Entries,                                 \
           "`max_pool" #axes "d` with `return_indices=True`.")
MAX_POOL(1, "The maximum of windows of (N, C, L); the stride is the window's size if None.");
MAX_POOL(2, "The maximum of windows of (N, C, H, W); the stride is the window's size if None.");
MAX_POOL(3, "The maximum of windows of (N, C, D, H, W); the stride is the window's size if None.");

#define AVG_ARGUMENTS                                                                         \
  "(Tensor input, Dims kernel_size, Dims stride=None, Dims padding=0, bool ceil_mode=False, " \
  "bool count_include_pad=True"
EMBER_OP("nn.functional.avg_pool1d" AVG_ARGUMENTS ") -> Tensor",
         ([](const Tensor& x, const Dims& kernel, const Dims& stride, const Dims& padding,
             bool ceil_mode, bool count_include_pad) {
           return avg_pool(1, x, kernel, stride, padding, ceil_mode, count_include_pad, {});
         }),
         Function | Out | Entries, "The mean of windows of (N, C, L).");
EMBER_OP("nn.functional.avg_pool2d" AVG_ARGUMENTS ", int? divisor_override=None) -> Tensor",
         &avg_pool_op<2>, Function | Out | Entries, "The mean of windows of (N, C, H, W).");
EMBER_OP("nn.functional.avg_pool3d" AVG_ARGUMENTS ", int? divisor_override=None) -> Tensor",
         &avg_pool_op<3>, Function | Out | Entries | Float32,
         "The mean of windows of (N, C, D, H, W).");

// A size for each axis: nn.functional fills in None.
EMBER_OP("_adaptive_avg_pool(Tensor input, Dims output_size) -> Tensor", &adaptive_avg_pool,
         Function | Entries, "The mean of windows that cover the last axes evenly.");
EMBER_OP("_adaptive_max_pool(Tensor input, Dims output_size) -> (Tensor, Tensor)",
         &adaptive_max_pool, Function | Entries,
         "The maximum of windows that cover the last axes evenly, and its place.");

}  // namespace ember
