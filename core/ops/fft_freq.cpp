// The frequencies that the elements of a Fourier transform stand for.
#include "ops/create.h"

namespace ember {

namespace {

Tensor frequencies(const char* op, int64_t n, double d, bool half, create::MaybeDtype dtype,
                   create::MaybeDevice device, bool requires_grad, Dest dest) {
  const Dtype t = dest.tensor ? dest.tensor->dtype() : dtype.value_or(default_dtype());
  check(is_differentiable(t), Kind::Runtime, op,
        "(): requires a floating point or complex dtype, got ", t);
  check(n >= 0, Kind::Runtime, op, "(): n must not be negative, got ", n);
  const int64_t count = half ? n / 2 + 1 : n;
  Tensor out = create::target(op, dest, {count}, dtype, default_dtype(), device);
  NoGrad guard;
  // Negative ones come second: from -(n / 2) on.
  const int64_t positive = half ? count : (n + 1) / 2;
  const Device where = out.device();
  copy_(narrow(out, 0, 0, positive), arange(0, positive, 1, t, where));
  if (positive < count)
    copy_(narrow(out, 0, positive, count - positive), arange(-(n / 2), 0, 1, t, where));
  copy_(out, out * Scalar(1.0 / (double(n) * d)));
  return dest.tensor ? out : create::finish(out, requires_grad);
}

}  // namespace

EMBER_OP("fft.fftfreq(int n, float d=1.0, " OPTIONS ") -> Tensor",
         ([](int64_t n, double d, OPTION_PARAMS, Dest dest) {
           return frequencies("fftfreq", n, d, false, dtype, device, requires_grad, dest);
         }),
         Function | Out | Factory, "The frequencies of fft's results for n samples, `d` apart.");
EMBER_OP("fft.rfftfreq(int n, float d=1.0, " OPTIONS ") -> Tensor",
         ([](int64_t n, double d, OPTION_PARAMS, Dest dest) {
           return frequencies("rfftfreq", n, d, true, dtype, device, requires_grad, dest);
         }),
         Function | Out | Factory, "The frequencies of rfft's results for n samples, `d` apart.");

}  // namespace ember
