// Short-time Fourier transforms: of overlapping windows of a signal, and back.
#include <cmath>

#include "ops/devices.h"
#include "ops/fft.h"

namespace ember {

namespace {

using MaybeInt = std::optional<int64_t>;

// The window, centred in n_fft elements.
Tensor centred(const Tensor& window, int64_t win_length, int64_t n_fft) {
  if (win_length == n_fft) return window;
  const int64_t left = (n_fft - win_length) / 2;
  TensorList parts = {zeros({left}, window.dtype(), window.device()), window,
                      zeros({n_fft - win_length - left}, window.dtype(), window.device())};
  return cat(parts, 0);
}

void check_window(const char* op, const Tensor& window, int64_t win_length) {
  if (!window.defined() && win_length > 1 && host_warn)
    host_warn(
        "A window was not provided. A rectangular window will be applied, which is known to "
        "cause spectral leakage. Pass window=torch.hann_window(win_length) or the like, or "
        "torch.ones(win_length) to mean this one.");
  check(!window.defined() || (window.dim() == 1 && window.size(0) == win_length), Kind::Runtime, op,
        "(): expected a 1D window tensor of size equal to win_length=", win_length,
        ", but got a window of shape ", window.defined() ? window.shape() : Shape());
}

// Where element i of a padded line comes from.
int64_t source_of(const std::string& mode, int64_t i, int64_t n) {
  if (mode == "replicate") return std::min(std::max<int64_t>(i, 0), n - 1);
  if (mode == "circular") return (i % n + n) % n;
  return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
}

// Rows (B, T) with `pad` more elements at both ends.
Tensor padded(const Tensor& x, int64_t pad, const std::string& mode) {
  const int64_t n = x.size(1);
  size_product("stft", size_sum("stft", n, pad), 4);  // no sum below overflows
  check(mode == "constant" || mode == "reflect" || mode == "replicate" || mode == "circular",
        Kind::NotImplemented, "stft(): Unrecognised padding mode ", mode);
  if (mode == "constant") {
    const Tensor side = zeros({x.size(0), pad}, x.dtype(), x.device());
    return cat(TensorList{side, x, side}, 1);
  }
  check(n > 0 && (mode != "reflect" || pad < n) && (mode != "circular" || pad <= n), Kind::Runtime,
        "stft(): Padding size should be less than the corresponding input dimension, but got: "
        "padding ",
        pad, " for a signal of ", n, " samples, mode ", mode);
  auto sources = [&](int64_t from, int64_t to) {
    Tensor all = arange(from, to, 1, Dtype::Int64, x.device());
    if (mode == "replicate") return full_like(all, Scalar(source_of(mode, from, n)));
    const int64_t first = source_of(mode, from, n);
    return mode == "reflect" ? (first + from) - all : all + Scalar(first - from);
  };
  return cat(
      TensorList{index_select(x, 1, sources(-pad, 0)), x, index_select(x, 1, sources(n, n + pad))},
      1);
}

Tensor stft(const Tensor& self, int64_t n_fft, MaybeInt hop, MaybeInt win, const Tensor& window,
            bool center, const std::string& pad_mode, bool normalized, std::optional<bool> onesided,
            std::optional<bool> return_complex, std::optional<bool> align_to_window) {
  const int64_t hop_length = hop.value_or(n_fft / 4), win_length = win.value_or(n_fft);
  const bool complex = is_complex(self.dtype()) || (window.defined() && is_complex(window.dtype()));
  const bool as_complex = return_complex.value_or(complex);
  const bool half = onesided.value_or(!complex);
  check(!center || !align_to_window, Kind::Runtime,
        "stft align_to_window should only be set when center = false.");
  check(return_complex || complex, Kind::Runtime,
        "stft(): stft requires the return_complex parameter be given for real inputs, and will "
        "further require that return_complex=True in a future release.");
  check(is_differentiable(self.dtype()), Kind::Runtime,
        "stft(): expected a tensor of floating point or complex values, got ", self.dtype());
  fft::check_precision("stft", self.dtype());
  check(self.dim() == 1 || self.dim() == 2, Kind::Runtime,
        "stft(): expected a 1D or 2D tensor, got shape ", self.shape());
  Tensor x = self.dim() == 1 ? unsqueeze(self, 0) : self;
  if (center) x = padded(x, n_fft / 2, pad_mode);
  const int64_t length = x.size(1);
  const bool aligned = align_to_window.value_or(false);
  check(n_fft > 0 && (n_fft <= length || aligned), Kind::Runtime,
        "stft(): expected 0 < n_fft <= ", length, ", but got n_fft=", n_fft);
  check(hop_length > 0, Kind::Runtime,
        "stft(): expected hop_length > 0, but got hop_length=", hop_length);
  check(win_length > 0 && win_length <= n_fft, Kind::Runtime,
        "stft(): expected 0 < win_length <= n_fft, but got win_length=", win_length);
  check_window("stft", window, win_length);
  check(!(half && complex), Kind::Runtime,
        "stft(): Cannot have onesided output if window or input is complex");
  if (aligned) {
    const int64_t lead = (n_fft - win_length) / 2;
    x = padded(x, lead, "constant");
    x = fft::resized(x, 1, length + n_fft - win_length);
  }
  Tensor frames = unfold(x, 1, n_fft, hop_length);
  if (window.defined())
    frames = frames * centred(window, win_length, n_fft);
  else if (win_length < n_fft)
    frames = frames * centred(ones({win_length}, self.dtype(), self.device()), win_length, n_fft);
  const double scale = normalized ? 1 / std::sqrt(double(n_fft)) : 1;
  const Shape last{2};
  Tensor out =
      half ? fft::real_to_complex(frames, last, scale)
           : fft::complex_to_complex(to(frames, complex_of(frames.dtype())), last, false, scale);
  out = transpose(out, 1, 2);
  if (self.dim() == 1) out = squeeze(out, Dims(0));
  return as_complex ? out : view_as_real(out);
}

Tensor istft(const Tensor& self, int64_t n_fft, MaybeInt hop, MaybeInt win, const Tensor& window,
             bool center, bool normalized, std::optional<bool> onesided, MaybeInt length,
             bool return_complex) {
  const int64_t hop_length = hop.value_or(n_fft / 4), win_length = win.value_or(n_fft);
  check(is_complex(self.dtype()), Kind::Runtime,
        "istft(): istft requires a complex-valued input tensor matching the output from stft with "
        "return_complex=True.");
  fft::check_precision("istft", self.dtype());
  check(self.numel() > 0, Kind::Runtime, "istft(): input tensor cannot be empty.");
  check(self.dim() == 2 || self.dim() == 3, Kind::Runtime,
        "istft(): expected a tensor with 2 or 3 dimensions, but got ", self.dim());
  const int64_t bins = self.size(-2), count = self.size(-1);
  const bool half = onesided.value_or(n_fft != bins);
  check(bins == (half ? n_fft / 2 + 1 : n_fft), Kind::Runtime,
        "istft(): expected the frequency dimension (the last but one) to match ",
        half ? "n_fft / 2 + 1 when onesided=True" : "n_fft when onesided=False", ", but got ", bins,
        " for n_fft=", n_fft);
  check(0 < win_length && win_length <= n_fft, Kind::Runtime,
        "istft(): expected 0 < win_length <= n_fft, but got win_length=", win_length);
  check(0 < hop_length && hop_length <= win_length, Kind::Runtime,
        "istft(): expected 0 < hop_length <= win_length, but got hop_length=", hop_length);
  check_window("istft", window, win_length);
  check(!(return_complex && half), Kind::Runtime,
        "istft(): complex output is incompatible with onesided=True");
  check(return_complex || !window.defined() || !is_complex(window.dtype()), Kind::Runtime,
        "istft(): complex windows are incompatible with return_complex=False");
  Tensor by = window.defined() ? window : ones({win_length}, real_of(self.dtype()), self.device());
  by = centred(by, win_length, n_fft);

  Tensor x = transpose(self.dim() == 2 ? unsqueeze(self, 0) : self, 1, 2);  // (B, T, bins)
  const double scale = normalized ? 1 / std::sqrt(double(n_fft)) : 1 / double(n_fft);
  const Shape last{2};
  Tensor frames = return_complex
                      ? fft::complex_to_complex(x, last, true, scale)
                      : fft::complex_to_real(narrow(x, 2, 0, n_fft / 2 + 1), last, n_fft, scale);
  frames = frames * by;
  const int64_t full = size_sum("istft", n_fft, size_product("istft", hop_length, count - 1));
  Tensor y = unfold_backward(frames, {x.size(0), full}, 1, n_fft, hop_length);
  Tensor envelope = unfold_backward(expand(view(by * by, {1, 1, n_fft}), {1, count, n_fft}),
                                    {1, full}, 1, n_fft, hop_length);
  const int64_t start = center ? n_fft / 2 : 0;
  const int64_t end = length ? size_sum("istft", start, *length) : center ? full - n_fft / 2 : full;
  check(end >= start, Kind::Runtime, "istft(): length must not be negative, got ",
        length.value_or(0));
  y = slice(y, 1, start, end, 1);
  envelope = slice(envelope, 1, start, end, 1);
  if (has_values(envelope)) {
    const double least = item(amin(abs(envelope))).to<double>();
    check(least > 1e-11, Kind::Runtime, "istft(): window overlap add min: ", least,
          "; the windows must cover every sample");
  }
  y = y / envelope;
  if (end > full) {
    if (host_warn)
      host_warn(
          "The length of signal is shorter than the length parameter. Result is being padded "
          "with zeros in the tail. Please check your center and hop_length settings.");
    y = fft::resized(y, 1, end - start);
  }
  return self.dim() == 2 ? squeeze(y, Dims(0)) : y;
}

}  // namespace

EMBER_OP(
    "stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? "
    "window=None, bool center=True, str pad_mode='reflect', bool normalized=False, bool? "
    "onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor",
    &stft, kForms | Entries | Float32,
    "Short-time Fourier transform: of windows of `n_fft` samples, `hop_length` apart.");
EMBER_OP(
    "istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? "
    "window=None, bool center=True, bool normalized=False, bool? onesided=None, int? "
    "length=None, bool return_complex=False) -> Tensor",
    &istft, kForms | Entries, "Inverse of stft: the signal whose windows have these transforms.");

}  // namespace ember
