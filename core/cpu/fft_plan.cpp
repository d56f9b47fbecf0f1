// Plans and their cache.
#include "cpu/fft_plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <list>
#include <mutex>
#include <tuple>
#include <unordered_map>

#include "cpu/dispatch.h"
#include "cpu/fft_lines.h"

namespace ember::cpu::fft {

namespace {

using Root = std::complex<long double>;
constexpr int64_t kCacheBytes = int64_t(64) << 20;  // for each kind of plan

// std::complex multiplies with care for infinities, at ten times the price.
Root times(Root a, Root b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

template <class T>
void put(T* to, Root r) {
  to[0] = T(r.real());
  to[1] = T(r.imag());
}

std::vector<int64_t> primes_of(int64_t n) {
  std::vector<int64_t> factors;
  for (int64_t p = 2; p * p <= n; p++)
    for (; n % p == 0; n /= p) factors.push_back(p);
  if (n > 1) factors.push_back(n);
  return factors;
}

// About the operations per element, by the lengths of the steps.
double cost(int64_t n) {
  double sum = 0;
  for (int64_t p : primes_of(n)) sum += p <= 5 ? double(p) : 1.1 * double(p);
  return sum * double(n);
}

// The next length that 2, 3 and 5 divide evenly, and enough of 2 to fill vectors.
int64_t smooth_above(int64_t n) {
  int64_t best = 64;
  while (best < n) best *= 2;
  for (int64_t odd : {3, 5, 9, 15, 25, 27, 45, 75})
    for (int64_t size = 64 * odd; size < best; size *= 2)
      if (size >= n) best = size;
  return best;
}

template <class Plan>
class Cache {
 public:
  std::shared_ptr<const Plan> get(int64_t n) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      auto found = places_.find(n);
      if (found != places_.end()) {
        recent_.splice(recent_.begin(), recent_, found->second);
        return found->second->second;
      }
    }
    auto plan = std::make_shared<const Plan>(n);
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = places_.find(n);
    if (found != places_.end()) return found->second->second;  // another thread was faster
    recent_.emplace_front(n, plan);
    places_[n] = recent_.begin();
    bytes_ += plan->bytes();
    while (bytes_ > kCacheBytes && recent_.size() > 1) {
      bytes_ -= recent_.back().second->bytes();
      places_.erase(recent_.back().first);
      recent_.pop_back();
    }
    return plan;
  }

 private:
  using Entry = std::pair<int64_t, std::shared_ptr<const Plan>>;
  std::mutex mutex_;
  std::list<Entry> recent_;  // the latest first
  std::unordered_map<int64_t, typename std::list<Entry>::iterator> places_;
  int64_t bytes_ = 0;
};

FftTable load_table() {
  FftTable table;
#define EMBER_LOAD(level)                                                           \
  level::add_fft(table), level::add_fft_layout(table), level::add_fft_fused(table), \
      level::add_fft_lines(table)
  EMBER_BY_LEVEL(EMBER_LOAD(avx512), EMBER_LOAD(avx2), EMBER_LOAD(baseline))
  return table;
}

const FftTable& table() {
  static const FftTable loaded = load_table();
  return loaded;
}

}  // namespace

template <>
const FftLaneKernels& lane_kernels<float>() {
  return table().f32;
}
template <>
const FftLaneKernels& lane_kernels<double>() {
  return table().f64;
}

template <class Plan>
std::shared_ptr<const Plan> plan_for(int64_t n) {
  static Cache<Plan>& cache = *new Cache<Plan>;
  return cache.get(n);
}

Roots::Roots(int64_t n) : n_(n), shift_(0) {
  if (n <= 256) return;
  while ((int64_t(1) << (2 * shift_)) < n) shift_++;
  for (int64_t m = 0; m < n; m += int64_t(1) << shift_) coarse_.push_back(exact(m));
  for (int64_t m = 0; m < std::min<int64_t>(n, int64_t(1) << shift_); m++)
    fine_.push_back(exact(m));
}

// By the angle within half a quadrant, where the functions are at their best.
Root Roots::exact(int64_t m) const {
  constexpr long double pi = 3.141592653589793238462643383279502884L;
  const int64_t quadrant = int64_t((__int128(4) * m) / n_);
  const int64_t rest = int64_t(__int128(4) * m - __int128(quadrant) * n_);
  const bool turned = rest > n_ - rest;
  const long double angle = pi * (long double)(turned ? n_ - rest : rest) / (2 * (long double)n_);
  long double c = std::cos(angle), s = std::sin(angle);
  if (turned) std::swap(c, s);
  switch (quadrant) {
    case 0: return {c, -s};
    case 1: return {-s, -c};
    case 2: return {-c, s};
    default: return {s, c};
  }
}

Root Roots::operator()(int64_t m) const {
  if (coarse_.empty()) return exact(m);
  const int64_t low = m & ((int64_t(1) << shift_) - 1);
  return low ? times(coarse_[size_t(m >> shift_)], fine_[size_t(low)])
             : coarse_[size_t(m >> shift_)];
}

template <class T>
LanePlan<T>::LanePlan(int64_t n) {
  steps.n = n;
  auto take = [&](int64_t r) {
    steps.radix[steps.count++] = int(r);
    n /= r;
  };
  // A power of two is as few steps as it can be, and none of them of radix 2 unless it is 2 itself.
  while (n % 8 == 0 && n != 16) take(8);
  while (n % 4 == 0) take(4);
  for (int64_t p : primes_of(n)) take(p);
  n = steps.n;
  int64_t size = 0, l1 = 1;
  for (int s = 0; s < steps.count; s++) {
    const int64_t r = steps.radix[s], ido = n / (l1 * r);
    size += 2 * ((r - 1) * ido + r);
    l1 *= r;
  }
  table = Buffer<T>(size);
  const Roots roots(n);
  T* at = table.data();
  l1 = 1;
  for (int s = 0; s < steps.count; s++) {
    const int64_t r = steps.radix[s], ido = n / (l1 * r);
    steps.twiddles[s] = at;
    for (int64_t i = 0; i < ido; i++)
      for (int64_t j = 1; j < r; j++, at += 2) put(at, roots(i * j * l1));
    steps.roots[s] = at;
    for (int64_t j = 0; j < r; j++, at += 2) put(at, roots(j * (n / r)));
    l1 *= r;
  }
}

template <class T>
SplitPlan<T>::SplitPlan(int64_t n) {
  const int W = lane_kernels<T>().lanes;
  std::tie(n1, n2) = split_of(n, W);
  columns = plan_for<LanePlan<T>>(n1);
  rows = plan_for<LanePlan<T>>(n2);
  const int64_t blocks = (n2 + W - 1) / W;
  base = Buffer<T>(blocks * n1 * 2);
  by = Buffer<T>(n1 * 2 * W);
  const Roots roots(n);
  for (int64_t b = 0; b < blocks; b++)
    for (int64_t k = 0; k < n1; k++) put(&base[(b * n1 + k) * 2], roots(k * b * W));
  for (int64_t k = 0; k < n1; k++)
    for (int64_t l = 0; l < W; l++) {
      const Root r = roots(k * l % n);
      by[2 * k * W + l] = T(r.real());
      by[(2 * k + 1) * W + l] = T(r.imag());
    }
}

template <class T>
ChirpPlan<T>::ChirpPlan(int64_t n)
    : n(n),
      m(smooth_above(2 * n - 1)),
      inner(plan_for<SplitPlan<T>>(m)),
      chirp(2 * n),
      spectrum(2 * m) {
  const Roots roots(2 * n);
  std::memset(spectrum.data(), 0, size_t(spectrum.bytes()));
  for (int64_t j = 0; j < n; j++) {
    const Root r = roots(int64_t(__int128(j) * j % (2 * n)));
    put(&chirp[2 * j], r);
    put(&spectrum[2 * j], std::conj(r) / (long double)m);
    if (j) put(&spectrum[2 * (m - j)], std::conj(r) / (long double)m);
  }
  run_split(*inner, spectrum.data(), spectrum.data(), false, 1);
}

template <class T>
HalfPlan<T>::HalfPlan(int64_t n) : roots(2 * (n / 4 + 1)) {
  const Roots all(n);
  for (int64_t k = 0; k <= n / 4; k++) put(&roots[2 * k], all(k));
}

bool needs_chirp(int64_t n) {
  if (n <= kFftLargestPrime) return false;
  const int64_t largest = primes_of(n).back();
  if (largest > kFftLargestPrime) return true;
  // Three transforms (one of them of the plan) and some products; one of a smooth length is cheap.
  return largest > 13 && cost(n) > 3 * cost(smooth_above(2 * n - 1));
}

std::pair<int64_t, int64_t> split_of(int64_t n, int lanes) {
  int64_t best = 1, best_cost = 0;
  for (int64_t a = int64_t(std::sqrt(double(n))) + 1; a > 1; a--) {
    if (n % a || a * a > n) continue;
    const int64_t b = n / a;
    // Vector operations, with what is lost in partly filled ones.
    const int64_t steps = (b + lanes - 1) / lanes * a + (a + lanes - 1) / lanes * b;
    if (best == 1 || (b <= 16 * a && steps < best_cost)) best = a, best_cost = steps;
    if (b > 16 * a) break;
  }
  return {best, n / best};
}

#define EMBER_INSTANTIATE(T)                                                    \
  template struct LanePlan<T>;                                                  \
  template struct SplitPlan<T>;                                                 \
  template struct ChirpPlan<T>;                                                 \
  template struct HalfPlan<T>;                                                  \
  template std::shared_ptr<const LanePlan<T>> plan_for<LanePlan<T>>(int64_t);   \
  template std::shared_ptr<const SplitPlan<T>> plan_for<SplitPlan<T>>(int64_t); \
  template std::shared_ptr<const ChirpPlan<T>> plan_for<ChirpPlan<T>>(int64_t); \
  template std::shared_ptr<const HalfPlan<T>> plan_for<HalfPlan<T>>(int64_t);
EMBER_INSTANTIATE(float)
EMBER_INSTANTIATE(double)

}  // namespace ember::cpu::fft
