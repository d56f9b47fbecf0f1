// The source of random numbers: mt19937 as torch seeds and reads it, so that a seed gives the same
// numbers. What is made of its bits is in distributions.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace ember {

// Not synchronised: whoever draws holds the host's lock (see docs/architecture.md, "Threads").
class Generator {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;
  static constexpr size_t kStateBytes = 5056;

  explicit Generator(uint64_t seed = kDefaultSeed) { manual_seed(seed); }

  void manual_seed(uint64_t seed);
  uint64_t seed();  // seeds from the system's entropy; returns the seed
  uint64_t initial_seed() const { return seed_; }

  uint32_t random() {
    if (next_ == kWords) twist();
    return output_[next_++];
  }
  uint64_t random64() {
    uint64_t high = random();
    return high << 32 | random();
  }
  double uniform() { return double(random64() & ((uint64_t(1) << 53) - 1)) * 0x1p-53; }
  float uniform_float() { return float(random() & 0xffffffu) * 0x1p-24f; }
  // A standard normal number. They come in pairs; the second one waits for the next call.
  double normal();

  // For bulk work: calls use(draws, count, done) with pieces of the next n draws, or of the next n
  // pairs (the first is the high half of a 64-bit number), of which `done` came before.
  template <class F>
  void draw(int64_t n, F&& use);
  template <class F>
  void draw_pairs(int64_t n, F&& use);

  // torch's get_rng_state(): seed, position, words, spare numbers.
  void get_state(uint8_t* out) const;
  void set_state(const uint8_t* state, size_t bytes);  // raises if it is none

 private:
  static constexpr int kWords = 624;
  void twist();

  uint64_t seed_ = 0;
  int next_ = kWords;      // the next of output_
  bool untouched_ = true;  // nothing was drawn since seeding: torch calls this position 0
  std::optional<double> spare_;
  std::optional<float> float_spare_;  // never used by the CPU; kept for whoever restores the state
  uint32_t state_[kWords];
  alignas(64) uint32_t output_[kWords];  // the state's words, tempered
};

// The generator that draws when none is named; seeded from the system's entropy.
Generator& default_generator();

template <class F>
void Generator::draw(int64_t n, F&& use) {
  for (int64_t done = 0; done < n;) {
    if (next_ == kWords) twist();
    int64_t count = n - done < kWords - next_ ? n - done : kWords - next_;
    const uint32_t* from = output_ + next_;
    next_ += int(count);
    use(from, count, done);
    done += count;
  }
}

template <class F>
void Generator::draw_pairs(int64_t n, F&& use) {
  for (int64_t done = 0; done < n;) {
    if (next_ == kWords) twist();
    if (next_ == kWords - 1) {  // a pair across the border
      uint32_t pair[2] = {random(), random()};
      use(static_cast<const uint32_t*>(pair), int64_t(1), done++);
      continue;
    }
    int64_t room = (kWords - next_) / 2, count = n - done < room ? n - done : room;
    const uint32_t* from = output_ + next_;
    next_ += int(2 * count);
    use(from, count, done);
    done += count;
  }
}

}  // namespace ember
