// Drives the kernels of kernels/scan.cpp: over lines, over blocks of lines that lie side by side,
// and over the pieces of one long line (the total of each piece first, then the steps).
#include <complex>
#include <vector>

#include "cpu/dispatch.h"
#include "cpu/kernels/line_kernels.h"
#include "cpu/layout.h"
#include "cpu/lines.h"
#include "cpu/parallel.h"

namespace ember::cpu {

namespace {

constexpr int64_t kPiece = 32768;
constexpr int64_t kLongLine = 1 << 21;  // worth two passes by several threads

EMBER_TABLE_BY_LEVEL(ScanKernels, kernels_here, scan_kernels)

Dtype scan_dtype(Dtype d) { return is_integral(d, true) ? Dtype::Int64 : compute_of(d); }

LineType line_type(Dtype d) {
  switch (d) {
    case Dtype::Float32: return kLineF32;
    case Dtype::Float64: return kLineF64;
    case Dtype::Int64: return kLineI64;
    case Dtype::Complex64: return kLineC64;
    default: return kLineC128;
  }
}

// log(exp(a) + exp(b)), the one with the larger real part taken out.
complex128 complex_logaddexp(complex128 a, complex128 b) {
  if (std::isnan(a.real()) || std::isnan(a.imag())) return a;
  if (a.real() > b.real() || std::isnan(a.real())) std::swap(a, b);
  if (std::isinf(b.real()) && a.real() == b.real()) {
    if (b.real() < 0) return a;  // both vanish
    return std::log(std::exp(a) + std::exp(b));
  }
  complex128 e = std::exp(a - b);  // |e| <= 1
  double re = e.real(), im = e.imag();
  return b + complex128(0.5 * std::log1p(re * (2 + re) + im * im), std::atan2(im, 1 + re));
}
template <class T>
void complex_logsumexp(int64_t n, int64_t step, const T* x, T* out) {
  complex128 acc(-std::numeric_limits<double>::infinity());  // log(0), whatever the phase of x[0]
  for (int64_t i = 0; i < n; i++) {
    acc = complex_logaddexp(acc, complex128(x[i * step]));
    out[i * step] = T(acc);
  }
}

struct Job {
  Along along;
  int kind;  // a Fold
  LineType type;
  int64_t size;  // of an element
  const char* x;
  char* out;
  int64_t* indices;
  const ScanKernels& k = kernels_here();

  int64_t* index_at(int64_t i) const { return indices ? indices + i : nullptr; }

  void complex_lines() const {
    parallel_for(
        along.outer * along.inner, 1 + kGrain / 64 / along.n, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; i++) {
            int64_t at = i / along.inner * along.n * along.inner + i % along.inner;
            if (type == kLineC64)
              complex_logsumexp(along.n, along.inner, reinterpret_cast<const complex64*>(x) + at,
                                reinterpret_cast<complex64*>(out) + at);
            else
              complex_logsumexp(along.n, along.inner, reinterpret_cast<const complex128*>(x) + at,
                                reinterpret_cast<complex128*>(out) + at);
          }
        });
  }

  void one_line() const {
    const int64_t n = along.n, pieces = (n + kPiece - 1) / kPiece;
    std::vector<Carry> before(static_cast<size_t>(pieces));
    auto width = [&](int64_t p) { return std::min(kPiece, n - p * kPiece); };
    parallel_for(pieces - 1, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; p++)
        k.total[kind][type](width(p), x + p * kPiece * size, before[size_t(p + 1)]);
    });
    // A total is turned into what lies before it by scanning the totals, an element at a time.
    Carry carry{};
    for (int64_t p = 1; p < pieces; p++) join(carry, before[size_t(p)]);
    parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; p++) {
        Carry c = before[size_t(p)];
        c.started = p > 0;
        k.run[kind][type](width(p), x + p * kPiece * size, out + p * kPiece * size, nullptr, 0, c);
      }
    });
  }
  template <class A>
  void join_as(Carry& carry, Carry& piece) const {
    A& a = *reinterpret_cast<A*>(carry.value);
    A b = *reinterpret_cast<A*>(piece.value);
    a = !carry.started ? b : kind == int(Fold::sum) ? A(a + b) : A(a * b);
    carry.started = true;
    *reinterpret_cast<A*>(piece.value) = a;
  }
  void join(Carry& carry, Carry& piece) const {
    if (type == kLineI64)
      join_as<uint64_t>(carry, piece);
    else if (type <= kLineF64)
      join_as<double>(carry, piece);
    else
      join_as<complex128>(carry, piece);
  }

  void lines() const {
    parallel_for(along.outer, 1 + kGrain / along.n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        Carry carry{};
        int64_t at = i * along.n;
        k.run[kind][type](along.n, x + at * size, out + at * size, index_at(at), 0, carry);
      }
    });
  }

  void blocks() const {
    const int64_t chunk =
        std::min(kScanColumns, std::max<int64_t>(64, along.inner / num_threads()));
    const int64_t chunks = (along.inner + chunk - 1) / chunk;
    parallel_for(
        along.outer * chunks, 1 + kGrain / (along.n * chunk), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; i++) {
            int64_t column = i % chunks * chunk, at = i / chunks * along.n * along.inner + column;
            k.across[kind][type](along.n, std::min(chunk, along.inner - column), x + at * size,
                                 out + at * size, index_at(at), along.inner);
          }
        });
  }
};

}  // namespace

void scan(Fold f, const Tensor& out, const Tensor& indices, const Tensor& x, int dim) {
  if (x.numel() == 0) return;
  const Dtype dtype = scan_dtype(out.dtype());
  Tensor from = dense(x, dtype);
  const Output to(out, dtype);
  const Output places(indices, Dtype::Int64);
  const int kind = int(f);
  const LineType type = line_type(dtype);
  Job job{Along(x.shape(), dim), kind, type, item_size(dtype), from.data<char>(), to.data<char>(),
          places.data<int64_t>()};
  if (f == Fold::logsumexp && is_complex(dtype)) {
    job.complex_lines();
  } else {
    check(job.k.run[kind][type], Kind::NotImplemented, "scan: not implemented for ", dtype);
    const Along& a = job.along;
    if (a.inner > 1)
      job.blocks();
    else if (a.outer == 1 && a.n >= kLongLine && num_threads() > 1 && job.k.total[kind][type])
      job.one_line();
    else
      job.lines();
  }
  to.store();
  places.store();
}

}  // namespace ember::cpu
