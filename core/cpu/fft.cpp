// Fourier transforms of all lines of a tensor along one dimension: several lines at a time, one in
// each lane of a vector, or, where they are long or few, one line after another (fft_lines.h).

#include <algorithm>

#include "cpu/cpu_backend.h"
#include "cpu/fft_lines.h"
#include "cpu/layout.h"
#include "cpu/lines.h"
#include "cpu/parallel.h"

namespace ember::cpu {

namespace {

using namespace fft;

constexpr int64_t kFftGrain = 8192;
constexpr int64_t kLaneBytes = 256 << 10;  // a block of lines should stay in the L2 cache
constexpr int64_t kShort = 64;             // shorter lines go into lanes even when few

enum class Kind { Complex, Forward, Inverse };  // Forward: real to complex, Inverse: back

// Lines of `length` elements (of `parts` numbers) in a contiguous (outer, length, inner).
template <class T>
struct Side {
  T* data;
  int64_t length;
  int parts;
};

// Reads and writes groups of lines, as many as a vector has lanes.
template <class T>
class Groups {
 public:
  Groups(int64_t outer, int64_t inner)
      : k_(lane_kernels<T>()),
        outer_(outer),
        inner_(inner),
        beside_(2 * inner >= k_.lanes && inner > 1),
        blocks_((inner + k_.lanes - 1) / k_.lanes) {}
  int64_t count() const {
    return beside_ ? outer_ * blocks_ : (outer_ * inner_ + k_.lanes - 1) / k_.lanes;
  }
  bool contiguous() const { return inner_ == 1; }
  // The lines of a group, the last one repeated in lanes that have none; how many there are.
  int find(int64_t group, const Side<T>& s, void** lines) const {
    const int used = width(group);
    for (int l = 0; l < k_.lanes; l++)
      lines[l] = start(group * k_.lanes + std::min(l, used - 1), s);
    return used;
  }
  void load(int64_t group, const Side<T>& s, T* block) const {
    if (beside_)
      return k_.load_columns(s.length, s.parts, inner_ * s.parts, corner(group, s), width(group),
                             block);
    void* lines[kFftMostLanes];
    find(group, s, lines);
    if (inner_ == 1)
      k_.load_lines(s.length * s.parts, lines, block);
    else
      k_.load_apart(s.length, s.parts, inner_ * s.parts, lines, block);
  }
  void store(int64_t group, const Side<T>& s, const T* block, double scale) const {
    if (beside_)
      return k_.store_columns(s.length, s.parts, inner_ * s.parts, block, corner(group, s),
                              width(group), scale);
    void* lines[kFftMostLanes];
    const int used = find(group, s, lines);
    if (inner_ == 1)
      k_.store_lines(s.length * s.parts, block, lines, used, scale);
    else
      k_.store_apart(s.length, s.parts, inner_ * s.parts, block, lines, used, scale);
  }

 private:
  int width(int64_t group) const {
    const int64_t left =
        beside_ ? inner_ - group % blocks_ * k_.lanes : outer_ * inner_ - group * k_.lanes;
    return int(std::min<int64_t>(k_.lanes, left));
  }
  T* corner(int64_t group, const Side<T>& s) const {
    return s.data + (group / blocks_ * s.length * inner_ + group % blocks_ * k_.lanes) * s.parts;
  }
  T* start(int64_t line, const Side<T>& s) const {
    return s.data + (line / inner_ * s.length * inner_ + line % inner_) * s.parts;
  }

  const FftLaneKernels& k_;
  int64_t outer_, inner_;
  bool beside_;  // lines side by side fill most of a vector
  int64_t blocks_;
};

// n is the length of the complex transform that is run: half that of real lines of even length.
template <class T>
bool in_lanes(int64_t n, int64_t lines) {
  const int lanes = lane_kernels<T>().lanes;
  if (needs_chirp(n)) return false;
  if (n < kShort || split_of(n, lanes).first < 4) return true;
  return 2 * lines >= lanes && n * 2 * lanes * int64_t(sizeof(T)) <= kLaneBytes;
}

bool fusable(int radix) { return radix >= 3 && radix <= 8; }

template <class T>
void run_lanes(Kind kind, const Groups<T>& groups, const Side<T>& x, const Side<T>& out,
               bool inverse, double scale) {
  const FftLaneKernels& k = lane_kernels<T>();
  const int64_t n = kind == Kind::Forward ? x.length : out.length;
  const bool packed = kind != Kind::Complex && n % 2 == 0;
  const auto plan = plan_for<LanePlan<T>>(packed ? n / 2 : n);
  const auto half = packed ? plan_for<HalfPlan<T>>(n) : nullptr;
  const FftSteps& steps = plan->steps;
  const bool inv = kind == Kind::Complex ? inverse : kind == Kind::Inverse;
  const bool pairs = groups.contiguous() && steps.count >= 2 && (kind == Kind::Complex || packed);
  const bool from_lines = pairs && kind != Kind::Inverse && fusable(steps.radix[0]);
  const bool to_lines = pairs && kind != Kind::Forward && fusable(steps.radix[steps.count - 1]);
  const int64_t room = (n + 2) * 2 * k.lanes;
  parallel_for(groups.count(), 1 + kFftGrain / (n * k.lanes), [&](int64_t begin, int64_t end) {
    const Buffer<T> first(room), second(room);
    T *a = first.data(), *b = second.data();
    void* lines[kFftMostLanes];
    // The result of `f` is in b; make it a.
    auto through = [&](auto f) {
      f();
      std::swap(a, b);
    };
    for (int64_t g = begin; g < end; g++) {
      if (from_lines) {
        groups.find(g, x, lines);
        k.first_of_lines(steps, lines, a, inv);
      } else {
        groups.load(g, x, a);
      }
      if (kind == Kind::Forward && !packed) through([&] { k.widen(n, a, b); });
      if (kind == Kind::Inverse)
        through([&] { packed ? k.pack_real(n / 2, a, b, half->roots.data()) : k.mirror(n, a, b); });
      if (k.run_some(steps, from_lines, steps.count - to_lines, a, b, inv) != a) std::swap(a, b);
      if (kind == Kind::Forward && packed)
        through([&] { k.unpack_real(n / 2, a, b, half->roots.data()); });
      if (kind == Kind::Inverse && !packed) through([&] { k.narrow(n, a, b); });
      if (to_lines) {
        const int used = groups.find(g, out, lines);
        k.last_to_lines(steps, a, lines, used, inv, scale);
      } else {
        groups.store(g, out, a, scale);
      }
    }
  });
}

template <class T>
void run_lines(Kind kind, int64_t lines, const Side<T>& x, const Side<T>& out, bool inverse,
               double scale) {
  const int64_t x_step = x.length * x.parts, out_step = out.length * out.parts;
  auto each = [&](auto f) {
    // Few lines are shared out element by element, inside.
    const int64_t grain = lines < num_threads() ? lines : 1 + kFftGrain / out.length;
    parallel_for(lines, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) f(x.data + i * x_step, out.data + i * out_step);
    });
  };
  if (kind == Kind::Complex) {
    const Line<T> line(out.length);
    return each([&](const T* from, T* to) { line.run(from, to, inverse, scale); });
  }
  const RealLine<T> line(kind == Kind::Forward ? x.length : out.length);
  if (kind == Kind::Forward)
    each([&](const T* from, T* to) { line.forward(from, to, scale); });
  else
    each([&](const T* from, T* to) { line.inverse(from, to, scale); });
}

Tensor last(const Tensor& t, int dim) {
  Shape shape = t.shape(), strides = t.strides();
  std::swap(shape[dim], shape[t.dim() - 1]);
  std::swap(strides[dim], strides[t.dim() - 1]);
  return alias(t, shape, strides, t.offset());
}

template <class T>
void transform(Kind kind, const Tensor& out, const Tensor& x, int dim, bool inverse, double scale) {
  const Along a(out.shape(), dim);
  const int64_t n = kind == Kind::Forward ? x.size(dim) : a.n, lines = a.outer * a.inner;
  const int64_t run = kind != Kind::Complex && n % 2 == 0 ? n / 2 : n;
  const bool lanes = in_lanes<T>(run, lines);
  if (!lanes && a.inner > 1)
    return transform<T>(kind, last(out, dim), last(x, dim), out.dim() - 1, inverse, scale);
  const Tensor from = dense(x, x.dtype());
  const Output to(out, out.dtype());
  const Side<T> in{from.data<T>(), x.size(dim), kind == Kind::Forward ? 1 : 2};
  const Side<T> result{to.data<T>(), a.n, kind == Kind::Inverse ? 1 : 2};
  if (lanes)
    run_lanes<T>(kind, Groups<T>(a.outer, a.inner), in, result, inverse, scale);
  else
    run_lines<T>(kind, lines, in, result, inverse, scale);
  to.store();
}

void transform(Kind kind, const Tensor& out, const Tensor& x, int dim, bool inverse, double scale) {
  if (out.numel() == 0) return;
  if (out.dim() == 0) {
    const Shape one{1};
    return transform(kind, alias(out, one, one, out.offset()), alias(x, one, one, x.offset()), 0,
                     inverse, scale);
  }
  if (real_of(out.dtype()) == Dtype::Float64)
    transform<double>(kind, out, x, dim, inverse, scale);
  else
    transform<float>(kind, out, x, dim, inverse, scale);
}

}  // namespace

void CpuBackend::fft_c2c(const Tensor& out, const Tensor& x, int dim, bool inverse, double scale) {
  transform(Kind::Complex, out, x, dim, inverse, scale);
}
void CpuBackend::fft_r2c(const Tensor& out, const Tensor& x, int dim, double scale) {
  transform(Kind::Forward, out, x, dim, false, scale);
}
void CpuBackend::fft_c2r(const Tensor& out, const Tensor& x, int dim, double scale) {
  transform(Kind::Inverse, out, x, dim, true, scale);
}

}  // namespace ember::cpu
