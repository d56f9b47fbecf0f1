// ember.fft: arguments, padding and norms, on top of the transforms of fft_transforms.cpp.
#include "ops/fft.h"

#include <cmath>

namespace ember::fft {

void check_precision(const char* op, Dtype dtype) {
  check(!is_narrow(dtype), Kind::Runtime, op, "(): Unsupported dtype ", dtype,
        "; the Fourier transforms take float32, float64, complex64 and complex128");
}

namespace {

using Norm = std::optional<std::string>;
using MaybeShape = std::optional<Shape>;

enum class Kind1 { Complex, RealToComplex, ComplexToReal };

Tensor promoted(const char* op, const Tensor& x, bool to_complex) {
  Dtype t = is_integral(x.dtype(), true) ? default_dtype() : x.dtype();
  check_precision(op, t);
  return to(x, to_complex ? complex_of(t) : t);
}

// What to multiply by: `count` elements are transformed together.
double scale_of(const char* op, const Norm& norm, bool inverse, double count) {
  const std::string mode = norm.value_or("backward");
  check(mode == "backward" || mode == "ortho" || mode == "forward", Kind::Runtime, op,
        "(): Invalid normalization mode: \"", mode, "\"; expected backward, ortho or forward");
  if (mode == "ortho") return 1 / std::sqrt(count);
  return (mode == "forward") == inverse ? 1 : 1 / count;
}

void check_points(const char* op, int64_t n) {
  check(n >= 1, Kind::Runtime, op, "(): Invalid number of data points (", n, ") specified");
}

// The dimensions to transform and the size of each, -1 where it stays.
struct Plan {
  Shape dims, sizes;
};

Plan plan_of(const char* op, const Tensor& x, const MaybeShape& s, const Dims& dim) {
  Plan p;
  const int ndim = x.dim();
  if (dim.given) {
    check(ndim > 0 || dim.values.empty(), Kind::Index, op, "(): Dimension specified as ",
          dim.values.empty() ? 0 : dim.values[0], " but tensor has no dimensions");
    for (int64_t d : dim.values) {
      const int64_t w = wrap_dim(op, d, ndim);
      check(!p.dims.contains(w), Kind::Runtime, op, "(): FFT dims must be unique, got ",
            dim.values);
      p.dims.push_back(w);
    }
    check(!s || s->size() == p.dims.size(), Kind::Runtime, op,
          "(): When given, dim and shape arguments must have the same length, got ", dim.values,
          " and ", s ? *s : Shape());
  } else {
    const int count = s ? s->size() : ndim;
    check(count <= ndim, Kind::Runtime, op, "(): Got shape with ", count,
          " values but input tensor only has ", ndim, " dimensions.");
    for (int d = ndim - count; d < ndim; d++) p.dims.push_back(d);
  }
  for (int i = 0; i < p.dims.size(); i++) {
    const int64_t n = s ? (*s)[i] : -1;
    check(n >= 1 || n == -1, Kind::Runtime, op, "(): Invalid number of data points (", n,
          ") specified");
    p.sizes.push_back(n);
  }
  return p;
}

Tensor resized_all(const char* op, Tensor x, const Plan& p) {
  for (int i = 0; i < p.dims.size(); i++) {
    if (p.sizes[i] != -1) x = resized(x, int(p.dims[i]), p.sizes[i]);
    check_points(op, x.size(p.dims[i]));
  }
  return x;
}

double count_of(const Tensor& x, const Shape& dims) {
  double n = 1;
  for (int64_t d : dims) n *= double(x.size(d));
  return n;
}

Tensor complex_n(const char* op, const Tensor& self, const Plan& p, const Norm& norm,
                 bool inverse) {
  Tensor x = resized_all(op, promoted(op, self, true), p);
  return complex_to_complex(x, p.dims, inverse, scale_of(op, norm, inverse, count_of(x, p.dims)));
}

// rfft and, with the other sign, ihfft.
Tensor real_n(const char* op, const Tensor& self, const Plan& p, const Norm& norm, bool inverse) {
  std::string name = op;
  if (name.back() == '2') name.back() = 'n';  // as PyTorch names it
  check(!is_complex(self.dtype()), Kind::Runtime, name,
        name.back() == 'n' ? " expects a real-valued input tensor, but got "
                           : " expects a real input tensor, but got ",
        self.dtype());
  check(p.dims.size() > 0, Kind::Runtime, op, "(): must transform at least one axis");
  Tensor x = resized_all(op, promoted(op, self, false), p);
  Tensor y = real_to_complex(x, p.dims, scale_of(op, norm, inverse, count_of(x, p.dims)));
  return inverse ? conj(y) : y;
}

// irfft and, with the other sign, hfft.
Tensor to_real_n(const char* op, const Tensor& self, Plan p, const Norm& norm, bool inverse) {
  check(p.dims.size() > 0, Kind::Runtime, op, "(): must transform at least one axis");
  Tensor x = promoted(op, self, true);
  int64_t& last = p.sizes.back();
  const int64_t n = last == -1 ? 2 * (x.size(p.dims.back()) - 1) : last;
  check_points(op, n);
  last = n / 2 + 1;
  x = resized_all(op, x, p);
  const double count = count_of(x, p.dims) / double(last) * double(n);
  return complex_to_real(inverse ? x : conj(x), p.dims, n, scale_of(op, norm, inverse, count));
}

using Run = Tensor (*)(const char*, const Tensor&, const Plan&, const Norm&, bool);
Tensor to_real(const char* op, const Tensor& x, const Plan& p, const Norm& norm, bool inverse) {
  return to_real_n(op, x, p, norm, inverse);
}

Plan one(const char* op, const Tensor& x, std::optional<int64_t> n, int64_t dim) {
  if (n) check_points(op, *n);
  return plan_of(op, x, n ? MaybeShape(Shape{*n}) : MaybeShape(), Dims(dim));
}

// The result in `dest`, whose dtype must be of the same kind.
Tensor into(const char* op, Dest dest, Tensor result) {
  if (!dest.tensor) return result;
  const Dtype want = result.dtype(), got = dest.tensor->dtype();
  check(is_complex(want) ? is_complex(got) : is_floating(got), Kind::Runtime, op, "(): expects a ",
        is_complex(want) ? "complex" : "floating point", " output tensor, but got ", got);
  copy_to_out(op, *dest.tensor, result);
  return *dest.tensor;
}

}  // namespace

#define EMBER_FFT(name, run, inverse, what)                                                      \
  EMBER_OP(                                                                                      \
      "fft." #name "(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor",           \
      ([](const Tensor& x, std::optional<int64_t> n, int64_t dim, const Norm& norm, Dest dest) { \
        return into(#name, dest, run(#name, x, one(#name, x, n, dim), norm, inverse));           \
      }),                                                                                        \
      Function | Out | Along | Float32, what " along one dimension.");                           \
  EMBER_OP(                                                                                      \
      "fft." #name "2(Tensor self, Size? s=None, Dims dim=[-2, -1], str? norm=None) -> Tensor",  \
      ([](const Tensor& x, const MaybeShape& s, const Dims& dim, const Norm& norm, Dest dest) {  \
        return into(#name "2", dest,                                                             \
                    run(#name "2", x, plan_of(#name "2", x, s, dim), norm, inverse));            \
      }),                                                                                        \
      Function | Out | Along | Float32, what " along two dimensions.");                          \
  EMBER_OP(                                                                                      \
      "fft." #name "n(Tensor self, Size? s=None, Dims dim=None, str? norm=None) -> Tensor",      \
      ([](const Tensor& x, const MaybeShape& s, const Dims& dim, const Norm& norm, Dest dest) {  \
        return into(#name "n", dest,                                                             \
                    run(#name "n", x, plan_of(#name "n", x, s, dim), norm, inverse));            \
      }),                                                                                        \
      Function | Out | Along | Float32,                                                          \
      what " along all of `dim`, or of `s` from the last, or every dimension.")

EMBER_FFT(fft, complex_n, false, "Discrete Fourier transform");
EMBER_FFT(ifft, complex_n, true, "Inverse discrete Fourier transform");
EMBER_FFT(rfft, real_n, false, "The first half of the discrete Fourier transform of a real tensor");
EMBER_FFT(irfft, to_real, true, "Inverse of rfft: a real tensor from half of its transform");
EMBER_FFT(hfft, to_real, false,
          "Discrete Fourier transform of a Hermitian-symmetric tensor, of which half is given");
EMBER_FFT(ihfft, real_n, true, "Inverse of hfft: half of a Hermitian-symmetric tensor");

namespace {

Shape shift_dims(const char* op, const Tensor& x, const Dims& dim) {
  Shape dims;
  if (!dim.given)
    for (int d = 0; d < x.dim(); d++) dims.push_back(d);
  for (int64_t d : dim.values) {
    const int64_t w = wrap_dim(op, d, x.dim());
    check(!dims.contains(w), Kind::Runtime, op, "(): dims must be unique, got ", dim.values);
    dims.push_back(w);
  }
  return dims;
}

Tensor shifted(const char* op, const Tensor& x, const Dims& dim, int64_t extra) {
  check(x.dim() || !dim.given || dim.values.empty(), Kind::Index, op, "(): Dimension specified as ",
        dim.values.empty() ? 0 : dim.values[0], " but tensor has no dimensions");
  const Shape dims = x.dim() ? shift_dims(op, x, dim) : Shape();
  if (dims.empty()) return clone(x);
  Shape shifts;
  for (int64_t d : dims) shifts.push_back((x.size(d) + extra) / 2);
  return roll(x, shifts, dims);
}

}  // namespace

EMBER_OP("fft.fftshift(Tensor self, Dims dim=None) -> Tensor",
         ([](const Tensor& x, const Dims& dim) { return shifted("fftshift", x, dim, 0); }),
         Function | Along, "Moves frequency zero from the first place to the middle.");
EMBER_OP("fft.ifftshift(Tensor self, Dims dim=None) -> Tensor",
         ([](const Tensor& x, const Dims& dim) { return shifted("ifftshift", x, dim, 1); }),
         Function | Along,
         "Inverse of fftshift: frequency zero from the middle to the first place.");

}  // namespace ember::fft
