// Seeding, the spare normal number, and the state in torch's format.
#include "random/generator.h"

#include <cmath>
#include <cstring>
#include <random>

#include "check.h"
#include "random/dispatch.h"

namespace ember {

namespace {

constexpr double kPi = 3.14159265358979323846;

struct SavedState {  // torch's layout; old files end before `float_spare`
  uint64_t seed;
  int32_t left, seeded;
  uint64_t next;
  uint64_t words[624];
  double unused_x, spare, unused_rho;
  int32_t has_spare, padding;
  float float_spare;
  uint8_t has_float_spare;
};
constexpr size_t kOldBytes = 5048;
static_assert(sizeof(SavedState) == Generator::kStateBytes);

}  // namespace

void Generator::manual_seed(uint64_t seed) {
  seed_ = seed;
  state_[0] = uint32_t(seed);  // the low half seeds the words; the rest is only remembered
  for (uint32_t i = 1; i < kWords; i++)
    state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  next_ = kWords;
  untouched_ = true;
  spare_.reset();
  float_spare_.reset();
}

uint64_t Generator::seed() {
  std::random_device device;
  uint64_t high = device();
  manual_seed((high << 32 | device()) & ((uint64_t(1) << 53) - 1));  // 53 bits: exact as a float
  return seed_;
}

void Generator::twist() {
  random::kernels().twist(state_, output_);
  next_ = 0;
  untouched_ = false;
}

double Generator::normal() {
  if (spare_) {
    double value = *spare_;
    spare_.reset();
    return value;
  }
  double angle = 2.0 * kPi * uniform();
  double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  spare_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

void Generator::get_state(uint8_t* out) const {
  SavedState saved;
  std::memset(&saved, 0, sizeof saved);
  saved.seed = seed_;
  saved.left = kWords - next_ + 1;
  saved.seeded = 1;
  saved.next = untouched_ ? 0 : uint64_t(next_);
  for (int i = 0; i < kWords; i++) saved.words[i] = state_[i];
  saved.spare = spare_.value_or(0.0);
  saved.has_spare = spare_.has_value();
  saved.float_spare = float_spare_.value_or(0.0f);
  saved.has_float_spare = float_spare_.has_value();
  std::memcpy(out, &saved, sizeof saved);
}

void Generator::set_state(const uint8_t* state, size_t bytes) {
  check(bytes == kStateBytes || bytes == kOldBytes, Kind::Runtime,
        "set_state(): Expected a CPUGeneratorImplState of size ", kStateBytes,
        " but found the input RNG state size to be ", bytes);
  SavedState saved;
  std::memset(&saved, 0, sizeof saved);
  std::memcpy(&saved, state, bytes);
  check(saved.left >= 1 && saved.left <= kWords && saved.next <= kWords, Kind::Runtime,
        "set_state(): Invalid mt19937 state: ", saved.left, " outputs left, next one ", saved.next);
  seed_ = saved.seed;
  for (int i = 0; i < kWords; i++) state_[i] = uint32_t(saved.words[i]);
  next_ = kWords - saved.left + 1;
  untouched_ = saved.next == 0;
  if (!untouched_) random::kernels().temper(state_, output_);
  spare_.reset();
  float_spare_.reset();
  if (saved.has_spare) spare_ = saved.spare;
  if (bytes == kStateBytes && saved.has_float_spare) float_spare_ = saved.float_spare;
}

Generator& default_generator() {
  static Generator& generator = [&]() -> Generator& {
    Generator* made = new Generator;
    made->seed();
    return *made;
  }();
  return generator;
}

}  // namespace ember
