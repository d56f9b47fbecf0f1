// Fills of one distribution with the same parameters for every element. Rejection samplers and
// others with a parameter per element are in samplers.cpp, the vector loops in
// cpu/kernels/random.cpp.
#include "random/distributions.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "cpu/parallel.h"
#include "random/dispatch.h"

#pragma GCC optimize("O3", "fp-contract=off")  // rounding is part of the result

namespace ember::random {

namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int64_t kPiece = 16384;  // elements drawn, then worked on while in the cache
constexpr int64_t kLibmGrain = 1024;

void uniform_floats(Generator& g, float* out, int64_t n, float low, float high) {
  auto fill = kernels().uniform_float;
  g.draw(n, [&](const uint32_t* draws, int64_t count, int64_t done) {
    fill(draws, out + done, count, low, high);
  });
}

void uniform_doubles(Generator& g, double* out, int64_t n, double low = 0.0, double high = 1.0) {
  auto fill = kernels().uniform_double;
  g.draw_pairs(n, [&](const uint32_t* draws, int64_t count, int64_t done) {
    fill(draws, out + done, count, low, high);
  });
}

// out[i] = f(u) for uniform doubles u.
template <class T, class F>
void from_uniform(Generator& g, T* out, int64_t n, F f) {
  int64_t piece = std::min(n, kPiece);
  std::unique_ptr<double[]> u(new double[size_t(piece)]);
  for (int64_t done = 0; done < n; done += piece) {
    int64_t count = std::min(piece, n - done);
    uniform_doubles(g, u.get(), count);
    T* to = out + done;
    cpu::parallel_for(count, kLibmGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) to[i] = convert<T>(f(u[size_t(i)]));
    });
  }
}

template <class T>
void normal_one_by_one(Generator& g, T* out, int64_t n, double mean, double std) {
  for (int64_t i = 0; i < n; i++) out[i] = T(std::fma(g.normal(), std, mean));
}

// Sixteen uniforms to normals; element i goes with i + 8.
void normal_block(double* data, double mean, double std) {
  for (int i = 0; i < 8; i++) {
    double radius = std::sqrt(-2.0 * std::log(1.0 - data[i])), angle = 2.0 * kPi * data[i + 8];
    data[i] = std::fma(radius * std::cos(angle), std, mean);
    data[i + 8] = std::fma(radius * std::sin(angle), std, mean);
  }
}
void normal_blocks(double* data, int64_t blocks, double mean, double std) {
  cpu::parallel_for(blocks, kLibmGrain / 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) normal_block(data + 16 * i, mean, std);
  });
}
void normal_blocks(float* data, int64_t blocks, double mean, double std) {
  auto transform = kernels().normal_float;
  cpu::parallel_for(blocks, cpu::kGrain / 64, [&](int64_t begin, int64_t end) {
    transform(data + 16 * begin, end - begin, float(mean), float(std));
  });
}

void draw_uniforms(Generator& g, float* out, int64_t n) { uniform_floats(g, out, n, 0.0f, 1.0f); }
void draw_uniforms(Generator& g, double* out, int64_t n) { uniform_doubles(g, out, n); }

// Block by block while the uniforms are in the cache; if elements are left over, the last 16 are
// drawn anew.
template <class T>
void normal_in_blocks(Generator& g, T* out, int64_t n, double mean, double std) {
  constexpr int64_t kMany = 64 * kPiece;  // worth several threads
  const int64_t whole = n / 16 * 16;
  for (int64_t done = 0; done < whole; done += kMany) {
    const int64_t count = std::min(kMany, whole - done);
    draw_uniforms(g, out + done, count);
    normal_blocks(out + done, count / 16, mean, std);
  }
  if (whole == n) return;
  T last[16];
  draw_uniforms(g, last, n - whole);  // in their turn; the last 16 replace what they would make
  draw_uniforms(g, last, 16);
  normal_blocks(last, 1, mean, std);
  std::copy(last, last + 16, out + n - 16);
}

// In float, whose blocks draw for themselves, so that a rest draws only for the last 16.
template <class T>
void normal_reduced(Generator& g, T* out, int64_t n, double mean, double std) {
  int64_t whole = n / 16 * 16, piece = std::min(whole, kPiece);
  std::unique_ptr<float[]> buffer(new float[size_t(piece)]);
  auto fill = [&](T* to, int64_t count) {
    draw_uniforms(g, buffer.get(), count);
    normal_blocks(buffer.get(), count / 16, mean, std);
    for (int64_t i = 0; i < count; i++) to[i] = T(buffer[size_t(i)]);
  };
  for (int64_t done = 0; done < whole; done += piece)
    fill(out + done, std::min(piece, whole - done));
  if (whole < n) fill(out + n - 16, 16);
}

template <class T>
void round_inwards(int64_t& low, int64_t& high) {
  // The distance between floats of the magnitude of x.
  auto step = [](int64_t x) {
    int width = std::bit_width(uint64_t(x < 0 ? -x : x));
    return int64_t(1) << (width - std::numeric_limits<T>::digits);
  };
  auto rounded = [](int64_t x) {
    T value = T(x);
    return value >= T(0x1p63) ? std::numeric_limits<int64_t>::max() : int64_t(value);
  };
  int64_t above = rounded(low + 1);
  if (above < low) low = above + step(low + 1);
  int64_t below = rounded(high - 1);
  if (below >= high) high = below - step(high - 1);
}

}  // namespace

void uniform(Generator& g, void* out, int64_t n, Dtype dtype, double low, double high) {
  if (dtype == Dtype::Float64) return uniform_doubles(g, static_cast<double*>(out), n, low, high);
  if (dtype == Dtype::Float32)
    return uniform_floats(g, static_cast<float*>(out), n, float(low), float(high));
  with_floating("uniform", dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = static_cast<T*>(out);
    g.draw(n, [&](const uint32_t* draws, int64_t count, int64_t done) {
      float drawn[624];
      kernels().uniform_float(draws, drawn, count, float(low), float(high));
      float top = T(high);
      for (int64_t i = 0; i < count; i++) {
        T x = T(drawn[i]);
        to[done + i] = float(x) == top ? T(low) : x;
      }
    });
  });
}

void normal(Generator& g, void* out, int64_t n, Dtype dtype, double mean, double std,
            bool in_blocks) {
  with_floating("normal", dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = static_cast<T*>(out);
    if (n < 16 || !in_blocks) return normal_one_by_one(g, to, n, mean, std);
    if constexpr (std::is_floating_point_v<T>)
      normal_in_blocks(g, to, n, mean, std);
    else
      normal_reduced(g, to, n, mean, std);
  });
}

void exponential(Generator& g, void* out, int64_t n, Dtype dtype, double rate) {
  with_floating("exponential", dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    double scale = -1.0 / rate;
    from_uniform(g, static_cast<T*>(out), n, [=](double u) { return scale * std::log1p(-u); });
  });
}

void cauchy(Generator& g, void* out, int64_t n, Dtype dtype, double median, double sigma) {
  with_floating("cauchy", dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    from_uniform(g, static_cast<T*>(out), n,
                 [=](double u) { return std::fma(sigma, std::tan(kPi * (u - 0.5)), median); });
  });
}

void log_normal(Generator& g, void* out, int64_t n, Dtype dtype, double mean, double std) {
  with_floating("log_normal", dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = static_cast<T*>(out);
    for (int64_t i = 0; i < n; i++) to[i] = T(std::exp(std::fma(g.normal(), std, mean)));
  });
}

void geometric(Generator& g, void* out, int64_t n, Dtype dtype, double p) {
  with_real("geometric", dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    double scale = std::log1p(-p);
    from_uniform(g, static_cast<T*>(out), n,
                 [=](double u) { return std::ceil(std::log(u) / scale); });
  });
}

void representable_range(Dtype dtype, int64_t& low, int64_t& high) {
  if (dtype == Dtype::Float64) round_inwards<double>(low, high);
  if (dtype == Dtype::Float32) round_inwards<float>(low, high);
}

void integers(Generator& g, void* out, int64_t n, Dtype dtype, int64_t low, uint64_t width) {
  constexpr uint64_t kNarrow = uint64_t(1) << 28;  // from here on torch draws 64 bits
  auto wide = [&](uint64_t draw) { return int64_t(width ? draw % width + uint64_t(low) : draw); };
  with_real("random_", dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = static_cast<T*>(out);
    if (width == 0 || width >= kNarrow) {
      for (int64_t i = 0; i < n; i++) to[i] = convert<T>(wide(g.random64()));
      return;
    }
    auto modulo = kernels().modulo;
    g.draw(n, [&](const uint32_t* draws, int64_t count, int64_t done) {
      int64_t drawn[624];
      if constexpr (std::is_same_v<T, int64_t>) {
        modulo(draws, to + done, count, uint32_t(width), low);
      } else {
        modulo(draws, drawn, count, uint32_t(width), low);
        for (int64_t i = 0; i < count; i++) to[done + i] = convert<T>(drawn[i]);
      }
    });
  });
}

void integers_of_dtype(Generator& g, void* out, int64_t n, Dtype dtype) {
  with_real("random_", dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = static_cast<T*>(out);
    constexpr bool kWide = sizeof(T) == 8;
    constexpr uint64_t kWidth = std::is_same_v<T, double>     ? (uint64_t(1) << 53) + 1
                                : std::is_same_v<T, float>    ? (uint64_t(1) << 24) + 1
                                : std::is_same_v<T, Half>     ? (uint64_t(1) << 11) + 1
                                : std::is_same_v<T, BFloat16> ? (uint64_t(1) << 8) + 1
                                : std::is_same_v<T, bool>     ? 2
                                : std::is_same_v<T, uint64_t>
                                    ? 0
                                    : uint64_t(std::numeric_limits<T>::max()) + 1;
    for (int64_t i = 0; i < n; i++) {
      uint64_t draw = kWide ? g.random64() : g.random();
      if constexpr (kWidth != 0) draw %= kWidth;
      to[i] = convert<T>(int64_t(draw));
    }
  });
}

void bernoulli(Generator& g, void* out, int64_t n, Dtype dtype, double p, double value) {
  with_real("bernoulli_", dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T one = convert<T>(value);
    g.draw_pairs(n, [&](const uint32_t* draws, int64_t count, int64_t done) {
      T* to = static_cast<T*>(out) + done;
      if constexpr (std::is_same_v<T, float>) {
        kernels().bernoulli_float(draws, to, count, p, one);
      } else if constexpr (sizeof(T) == 1) {
        kernels().bernoulli_byte(draws, reinterpret_cast<uint8_t*>(to), count, p, uint8_t(one));
      } else {
        uint8_t drawn[312];
        kernels().bernoulli_byte(draws, drawn, count, p, 1);
        for (int64_t i = 0; i < count; i++) to[i] = drawn[i] ? one : convert<T>(0);
      }
    });
  });
}

void bernoulli(Generator& g, void* out, int64_t n, Dtype dtype, const void* p, Dtype p_dtype) {
  with_real("bernoulli", dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    with_floating("bernoulli", p_dtype, [&](auto p_tag) {
      using P = typename decltype(p_tag)::type;
      T* to = static_cast<T*>(out);
      const P* chance = static_cast<const P*>(p);
      for (int64_t i = 0; i < n; i++) {
        if constexpr (std::is_same_v<P, double>)
          to[i] = convert<T>(int(g.uniform() < chance[i]));
        else
          to[i] = convert<T>(int(g.uniform_float() < float(chance[i])));
      }
    });
  });
}

void permutation(Generator& g, void* out, int64_t n, Dtype dtype) {
  constexpr int64_t kNarrow = (int64_t(1) << 32) / 20;  // beyond, 32 bits would be biased
  with_real("randperm", dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = static_cast<T*>(out);
    if (n < kNarrow) {
      for (int64_t i = 0; i < n; i++) to[i] = convert<T>(i);
      for (int64_t i = 0; i < n - 1; i++) std::swap(to[i], to[i + g.random() % uint32_t(n - i)]);
    } else {
      for (int64_t i = 0; i < n; i++) {
        int64_t at = int64_t(g.random64() % uint64_t(i + 1));
        to[i] = to[at];
        to[at] = convert<T>(i);
      }
    }
  });
}

}  // namespace ember::random
