// Images made larger or smaller: interpolation along one axis after the other. An axis of the
// output is described by taps: for every position a few positions of the input and their weights.
#include <cmath>
#include <memory>

#include "backend.h"
#include "ops/conv.h"
#include "ops/pool.h"

namespace ember {

namespace {

constexpr int64_t kMostTaps = int64_t(1) << 30;

using TapsPtr = std::shared_ptr<const Taps>;

// How far the source moves for one position of the output.
double step_of(int64_t in, int64_t out, double scale, bool align) {
  if (align) return out > 1 ? double(in - 1) / double(out - 1) : 0.0;
  return scale > 0 ? 1.0 / scale : double(in) / double(out);
}

// Keys' convolution kernel, for distances that are not negative.
template <class T>
T cubic(T x, T a) {
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : T(0);
}

// A sinc under the middle lobe of one three times as wide.
template <class T>
T lanczos(T x) {
  if (x >= 3) return 0;
  auto sinc = [](T t) { return t == 0 ? T(1) : std::sin(T(M_PI) * t) / (T(M_PI) * t); };
  return sinc(x) * sinc(x / 3);
}

// Positions are computed in the precision of the images, as PyTorch does it.
template <class T>
Taps plain_taps(const std::string& mode, int64_t in, int64_t out, T step, bool align) {
  Taps taps;
  auto add = [&](int64_t at, T weight) {
    taps.index.push_back(std::clamp<int64_t>(at, 0, in - 1));
    taps.weight.push_back(double(weight));
  };
  taps.width = mode == "nearest" || mode == "nearest-exact" ? 1 : mode == "bicubic" ? 4 : 2;
  for (int64_t i = 0; i < out; i++) {
    if (taps.width == 1) {
      add(int64_t(std::floor((T(i) + T(mode == "nearest" ? 0 : 0.5)) * step)), 1);
      continue;
    }
    T source = align ? T(i) * step : (T(i) + T(0.5)) * step - T(0.5);
    if (taps.width == 2) {
      source = std::max(source, T(0));
      const int64_t low = std::min(int64_t(source), in - 1);
      const T part = std::clamp(source - T(low), T(0), T(1));
      add(low, 1 - part);
      add(low + 1, part);
    } else {
      const T low = std::floor(source), part = source - low;
      for (int k = -1; k <= 2; k++)
        add(int64_t(low) + k, cubic<T>(std::abs(part - T(k)), T(-0.75)));
    }
  }
  return taps;
}

// A filter that widens when the image shrinks.
template <class T>
Taps smooth_taps(const std::string& mode, int64_t in, int64_t out, T step) {
  const bool by_cubic = mode == "bicubic", by_lanczos = mode == "lanczos";
  const T radius = by_lanczos ? 3 : by_cubic ? 2 : 1;
  const T widen = std::max(step, T(1)), reach = radius * widen;
  Taps taps;
  taps.width = std::min(in, int64_t(std::ceil(reach)) * 2 + 1);
  for (int64_t i = 0; i < out; i++) {
    const T centre = step * (T(i) + T(0.5));
    const int64_t first = std::max<int64_t>(int64_t(centre - reach + T(0.5)), 0);
    const int64_t last = std::min(int64_t(centre + reach + T(0.5)), in);
    const size_t begin = taps.weight.size();
    T total = 0;
    for (int64_t k = first; k < first + taps.width; k++) {
      const T x = std::abs((T(k) - centre + T(0.5)) / widen);
      const T near = by_lanczos ? lanczos<T>(x)
                     : by_cubic ? cubic<T>(x, T(-0.5))
                                : std::max(T(1) - x, T(0));
      const T weight = k < last ? near : T(0);
      total += weight;
      taps.index.push_back(std::min(k, in - 1));
      taps.weight.push_back(double(weight));
    }
    for (size_t k = begin; k < taps.weight.size(); k++) taps.weight[k] /= double(total);
  }
  return taps;
}

template <class T>
Taps taps_of(const std::string& mode, int64_t in, int64_t out, double scale, bool align,
             bool antialias) {
  const T step = T(step_of(in, out, scale, align));
  return antialias ? smooth_taps<T>(mode, in, out, step)
                   : plain_taps<T>(mode, in, out, step, align);
}

// Bytes are blended with weights of 16 bits, as PyTorch does it, so that rounding agrees. Positions
// that were brought back inside the image count once.
Taps for_bytes(Taps taps) {
  double most = 0;
  for (int64_t i = 0; i < taps.size(); i++) {
    int64_t* index = taps.index.data() + i * taps.width;
    double* weight = taps.weight.data() + i * taps.width;
    for (int64_t t = taps.width - 1; t > 0; t--)
      if (index[t] == index[t - 1]) weight[t - 1] += weight[t], weight[t] = 0;
    for (int64_t t = 0; t < taps.width; t++) most = std::max(most, weight[t]);
  }
  int bits = 0;
  while (bits < 22 && int64_t(0.5 + most * double(int64_t(2) << bits)) < (1 << 15)) bits++;
  const double unit = double(int64_t(1) << bits);
  for (double& w : taps.weight) w = std::trunc(w * unit + (w < 0 ? -0.5 : 0.5)) / unit;
  return taps;
}

Tensor host_index(const Taps& taps, int64_t tap, Device device) {
  std::vector<int64_t> at;
  for (int64_t i = 0; i < taps.size(); i++) at.push_back(taps.index[size_t(i * taps.width + tap)]);
  Tensor t = empty({taps.size()}, Dtype::Int64, device);
  backend_of(t).copy_from_host(t, at.data());
  return t;
}

// For devices without a kernel, and for integers, which are only ever picked.
Tensor blended_in_steps(const Tensor& x, int dim, const Taps& taps) {
  if (taps.width == 1) return index_select(x, dim, host_index(taps, 0, x.device()));
  Tensor total;
  for (int64_t t = 0; t < taps.width; t++) {
    std::vector<double> some;
    for (int64_t i = 0; i < taps.size(); i++)
      some.push_back(taps.weight[size_t(i * taps.width + t)]);
    Shape along = Shape::filled(x.dim(), 1);
    along[dim] = taps.size();
    Tensor weight = empty(along, Dtype::Float64);
    backend_of(weight).copy_from_host(weight, some.data());
    Tensor part = index_select(x, dim, host_index(taps, t, x.device())) *
                  to(to(weight, x.dtype()), x.device(), std::nullopt);
    total = total ? total + part : part;
  }
  return total;
}

Tensor blended_back(const Tensor& g, int dim, const TapsPtr& taps, const Shape& shape, bool last);

Tensor blended(const Tensor& x, int dim, const TapsPtr& taps) {
  Backend& backend = backend_of(x);
  if (!is_floating(x.dtype()) || !backend.has(Primitive::blend, Primitive::blend_grad))
    return blended_in_steps(x, dim, *taps);
  const bool last = prefers_channels_last(x);
  Shape shape = x.shape();
  shape[dim] = taps->size();
  Tensor y = empty_laid_out(shape, x.dtype(), x.device(), last);
  if (y.numel()) backend.blend(y, x, dim, *taps);
  if (!grad_needed(x)) return y;
  return tape(y, "interpolate", wrt(x, [dim, taps, shape = x.shape(), last](const Tensor& g) {
                return blended_back(g, dim, taps, shape, last);
              }));
}

Tensor blended_back(const Tensor& g, int dim, const TapsPtr& taps, const Shape& shape, bool last) {
  Tensor dx = empty_laid_out(shape, g.dtype(), g.device(), last);
  if (dx.numel()) backend_of(g).blend_grad(dx, g, dim, *taps);
  if (!grad_needed(g)) return dx;
  return tape(dx, "interpolate",
              wrt(g, [dim, taps](const Tensor& u) { return blended(u, dim, taps); }));
}

// `scales` has 0 where the sizes decide.
Tensor resample(const Tensor& input, const Dims& size, const std::vector<double>& scales,
                const std::string& mode, bool align, bool antialias) {
  const int axes = size.values.size();
  check(input.dim() == axes + 2 && int(scales.size()) == axes, Kind::Runtime,
        "interpolate(): expected sizes and scales for the last axes of ", input.shape(), ", got ",
        size.values);
  for (int i = 0; i < axes; i++)
    check(size.values[i] > 0 && input.size(2 + i) > 0, Kind::Runtime,
          "interpolate(): Input and output sizes should be greater than 0, but got input ",
          input.shape(), " output ", size.values);
  const Dtype dtype = input.dtype();
  const bool nearest = mode == "nearest" || mode == "nearest-exact";
  const bool bytes = is_integral(dtype, true) && !nearest;
  check(is_floating(dtype) || dtype == Dtype::UInt8, Kind::NotImplemented,
        "interpolate(): not implemented for ", dtype, " in mode ", mode);
  Shape shape = input.shape();
  for (int i = 0; i < axes; i++) {
    // An axis takes 16 bytes for each place it reads, however small the image.
    check(size.values[i] <= kMostTaps / (mode == "bicubic" ? 4
                                         : nearest         ? 1
                                                           : 2),
          Kind::Runtime, "interpolate(): an axis of ", size.values[i],
          " positions is too long, in ", size.values);
    shape[2 + i] = size.values[i];
  }
  double total = 1;
  for (int64_t n : shape) total *= double(n);
  if (total > double(kMostTaps) / 64) empty(shape, dtype, input.device());  // is there room?
  Tensor x = input;
  for (int dim = axes + 1; dim >= 2; dim--) {
    const int64_t in = input.size(dim), out = size.values[dim - 2];
    const double scale = scales[size_t(dim - 2)];
    const bool wide = bytes || (dtype == Dtype::Float64 && !nearest);
    Taps taps = wide ? taps_of<double>(mode, in, out, scale, align, antialias)
                     : taps_of<float>(mode, in, out, scale, align, antialias);
    if (bytes) taps = for_bytes(std::move(taps));
    if (bytes || (is_reduced(dtype) && x.dtype() == dtype)) x = to(x, Dtype::Float32);
    x = blended(x, dim, std::make_shared<const Taps>(std::move(taps)));
    if (bytes) x = to(clamp(floor(x + Scalar(0.5)), 0.0, 255.0), dtype);
  }
  return to(x, dtype);
}

}  // namespace

EMBER_OP(
    "_interpolate(Tensor input, Dims size, float[] scales, str mode, bool align_corners, "
    "bool antialias) -> Tensor",
    &resample, Function | Entries, "(N, C, ...) resampled to `size`: what `interpolate` ends in.");

}  // namespace ember
