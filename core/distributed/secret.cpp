#include "distributed/secret.h"

#include <sys/random.h>

#include <bit>
#include <cmath>

#include "check.h"

namespace ember::distributed {

namespace {

// The first 32 bits of the fractional parts of roots of the first primes, as the standard has it.
uint32_t fraction(long double root) { return uint32_t((root - std::floor(root)) * 4294967296.0L); }

struct Constants {
  std::array<uint32_t, 64> round;
  std::array<uint32_t, 8> start;
  Constants() {
    int found = 0;
    for (int n = 2; found < 64; ++n) {
      bool prime = true;
      for (int d = 2; d * d <= n; ++d) prime &= n % d != 0;
      if (!prime) continue;
      if (found < 8) start[size_t(found)] = fraction(std::sqrt((long double)n));
      round[size_t(found++)] = fraction(std::cbrt((long double)n));
    }
  }
};

void mix(std::array<uint32_t, 8>& state, const uint8_t* block, const Constants& constants) {
  std::array<uint32_t, 64> w;
  for (size_t i = 0; i < 16; ++i)
    w[i] = uint32_t(block[4 * i]) << 24 | uint32_t(block[4 * i + 1]) << 16 |
           uint32_t(block[4 * i + 2]) << 8 | block[4 * i + 3];
  for (size_t i = 16; i < 64; ++i) {
    uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t i = 0; i < 64; ++i) {
    uint32_t t = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                 ((e & f) ^ (~e & g)) + constants.round[i] + w[i];
    uint32_t u =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t, d = c, c = b, b = a, a = t + u;
  }
  uint32_t add[8] = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state[i] += add[i];
}

}  // namespace

std::string sha256(std::string_view data) {
  static const Constants constants;
  std::string text(data);
  text.push_back(char(0x80));
  while (text.size() % 64 != 56) text.push_back(0);
  for (int shift = 56; shift >= 0; shift -= 8) text.push_back(char(data.size() * 8 >> shift));
  std::array<uint32_t, 8> state = constants.start;
  for (size_t at = 0; at < text.size(); at += 64)
    mix(state, reinterpret_cast<const uint8_t*>(text.data()) + at, constants);
  std::string out;
  for (uint32_t word : state)
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(char(word >> shift));
  return out;
}

std::string hmac(std::string_view key, std::string_view data) {
  std::string block = key.size() > 64 ? sha256(key) : std::string(key);
  block.resize(64);
  std::string inner(64, 0), outer(64, 0);
  for (size_t i = 0; i < 64; ++i)
    inner[i] = char(block[i] ^ 0x36), outer[i] = char(block[i] ^ 0x5c);
  return sha256(outer + sha256(inner.append(data)));
}

std::string random_bytes(size_t count) {
  std::string out(count, 0);
  check(getrandom(out.data(), count, 0) == ssize_t(count), Kind::Runtime,
        "the system gives no random numbers");
  return out;
}

bool same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char different = 0;
  for (size_t i = 0; i < a.size(); ++i) different |= (unsigned char)(a[i] ^ b[i]);
  return !different;
}

}  // namespace ember::distributed
