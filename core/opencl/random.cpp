// Draws: 64 bits of the host's generator are the key, Philox on the device makes the numbers.
#include "opencl/random.h"

#include <cmath>
#include <limits>

#include "opencl/launch.h"
#include "opencl/opencl_backend.h"
#include "opencl/sources.h"

namespace ember::opencl {

namespace {

int digits_of(Dtype d) { return d == Dtype::Float16 ? 11 : d == Dtype::BFloat16 ? 8 : 24; }

// How many integers random_() draws from: those not negative that the dtype holds exactly.
uint64_t width_of(Dtype d) {
  if (d == Dtype::Float64) return (uint64_t(1) << 53) + 1;
  if (is_floating(d)) return (uint64_t(1) << digits_of(d)) + 1;
  if (d == Dtype::Bool) return 2;
  const int bits = int(item_size(d)) * 8 - (is_signed(d) ? 1 : 0);
  return bits == 64 ? 0 : uint64_t(1) << bits;
}

const char* formula(Distribution kind) {
  switch (kind) {
    case Distribution::Uniform: return "EACH(a + (b - a) * UNIT(w, i)); EACH(v[i] < b ? v[i] : a)";
    case Distribution::Normal: return "NORMAL(v)";
    case Distribution::LogNormal: return "NORMAL(v); EACH(exp(v[i]))";
    case Distribution::Exponential: return "EACH(-log(OPEN(w, i)) / a)";
    case Distribution::Cauchy: return "EACH(a + b * tan(TAU / 2 * (OPEN(w, i) - (R)0.5)))";
    // b is log(1 - p); a trial is at least one
    case Distribution::Geometric: return "EACH(fmax(ceil(log(OPEN(w, i)) / b), (R)1))";
    // width is the chance in 2^32 parts
    case Distribution::Bernoulli: return "EACH((u64)w[i] < width ? b : (R)0)";
    default: return "EACH(low + (i64)(width ? WORD64(w, i) % width : WORD64(w, i)))";
  }
}

// Fills n adjacent elements from `at` on.
void fill_line(const Tensor& out, int64_t at, int64_t n, Dtype d, uint64_t key, Draw draw) {
  if (draw.kind == Distribution::IntegersOfDtype) draw.low = 0, draw.width = width_of(d);
  const bool integers =
      draw.kind == Distribution::Integers || draw.kind == Distribution::IntegersOfDtype;
  if (draw.kind == Distribution::Bernoulli)
    draw.width = uint64_t(std::llround(draw.a * 4294967296.0));
  if (draw.kind == Distribution::Geometric) draw.b = std::log1p(-draw.a);
  const bool wide = d == Dtype::Float64 && draw.kind != Distribution::Bernoulli;
  const Dtype scalar = d == Dtype::Float64 ? d : Dtype::Float32;
  const Dtype value = integers ? Dtype::Int64 : scalar;
  const int64_t per = integers || wide ? 2 : 4;
  Launch launch("random" + std::to_string(int(integers ? Distribution::Integers : draw.kind)) +
                    ',' + std::to_string(int(d)),
                "random_fill", [&] {
                  return std::string("#define R ") + value_type(value) + "\n#define SCALAR " +
                         value_type(scalar) + "\n#define PER " + std::to_string(per) +
                         (wide ? "\n#define WIDE 1" : "") + "\n#define DIGITS " +
                         std::to_string(digits_of(d)) + "\n#define M_OUT " + memory_type(d) +
                         "\n#define STORE(p, i, v) " + store_macro(d) + "(p, i, " +
                         stored(value, d, "v") + ")\n#define VALUES " + formula(draw.kind) + "\n" +
                         sources::random;
                });
  launch.tensor(out).value(at).value(n).value(uint32_t(key)).value(uint32_t(key >> 32));
  launch.scalar(scalar, Scalar(draw.a)).scalar(scalar, Scalar(draw.b));
  launch.value(draw.low).value(draw.width).run((n + per - 1) / per, 64);
}

}  // namespace

Generator& device_generator() {
  static Generator& instance = *[] {
    auto* g = new Generator;
    g->seed();
    return g;
  }();
  return instance;
}

void OpenClBackend::random(const Tensor& out, Generator& g, const Draw& draw) {
  if (out.numel() == 0) return;
  check_holds("random", out.dtype());
  Generator& source = &g == &default_generator() ? device_generator() : g;
  Tensor ordered = random::in_memory_order(out, out);
  Tensor line =
      ordered.is_contiguous() ? ordered : empty(ordered.shape(), out.dtype(), out.device());
  const uint64_t key = source.random64();
  if (draw.kind == Distribution::Permutation) {
    const int64_t n = out.numel();
    Tensor keys = empty({n}, Dtype::Int64, out.device()),
           order = empty({n}, Dtype::Int64, out.device());
    fill_line(keys, 0, n, Dtype::Int64, key, {Distribution::Integers});
    own().sort({}, order, keys, 0, false);
    own().copy(out, order);
    return;
  }
  Draw drawn = draw;
  const bool complex = is_complex(out.dtype());
  // Of a normal number's parts, so that it has variance 1 as a whole.
  if (complex && draw.kind == Distribution::Normal) drawn.b /= std::sqrt(2.0);
  fill_line(line, line.offset() * (complex ? 2 : 1), line.numel() * (complex ? 2 : 1),
            real_of(out.dtype()), key, drawn);
  if (!line.same(ordered)) own().copy(ordered, line);
}

}  // namespace ember::opencl
