// A C interface to random/, for tests/core/check_random.py.
#include <cstring>
#include <new>

#include "random/distributions.h"

using namespace ember;

#define API extern "C" __attribute__((visibility("default")))

API void* generator_new(uint64_t seed) { return new Generator(seed); }
API void generator_delete(void* g) { delete static_cast<Generator*>(g); }
API void generator_seed(Generator* g, uint64_t seed) { g->manual_seed(seed); }
API uint64_t generator_entropy(Generator* g) { return g->seed(); }
API void generator_get(Generator* g, uint8_t* out) { g->get_state(out); }
API int generator_set(Generator* g, const uint8_t* state, size_t bytes) {
  try {
    g->set_state(state, bytes);
    return 0;
  } catch (const Error&) {
    return 1;
  }
}
API void uniform(Generator* g, void* out, int64_t n, int d, double a, double b) {
  random::uniform(*g, out, n, Dtype(d), a, b);
}
API void normal(Generator* g, void* out, int64_t n, int d, double a, double b, bool blocks) {
  random::normal(*g, out, n, Dtype(d), a, b, blocks);
}
API void exponential(Generator* g, void* out, int64_t n, int d, double a) {
  random::exponential(*g, out, n, Dtype(d), a);
}
API void cauchy(Generator* g, void* out, int64_t n, int d, double a, double b) {
  random::cauchy(*g, out, n, Dtype(d), a, b);
}
API void log_normal(Generator* g, void* out, int64_t n, int d, double a, double b) {
  random::log_normal(*g, out, n, Dtype(d), a, b);
}
API void geometric(Generator* g, void* out, int64_t n, int d, double p) {
  random::geometric(*g, out, n, Dtype(d), p);
}
API void integers(Generator* g, void* out, int64_t n, int d, int64_t low, uint64_t width) {
  random::integers(*g, out, n, Dtype(d), low, width);
}
API void range(Generator* g, void* out, int64_t n, int d, int64_t low, int64_t high) {
  random::representable_range(Dtype(d), low, high);
  random::integers(*g, out, n, Dtype(d), low, uint64_t(high) - uint64_t(low));
}
API void integers_of_dtype(Generator* g, void* out, int64_t n, int d) {
  random::integers_of_dtype(*g, out, n, Dtype(d));
}
API void bernoulli(Generator* g, void* out, int64_t n, int d, double p, double value) {
  random::bernoulli(*g, out, n, Dtype(d), p, value);
}
API void bernoulli_each(Generator* g, void* out, int64_t n, int d, const void* p, int pd) {
  random::bernoulli(*g, out, n, Dtype(d), p, Dtype(pd));
}
API void permutation(Generator* g, void* out, int64_t n, int d) {
  random::permutation(*g, out, n, Dtype(d));
}
API void poisson(Generator* g, void* out, const void* rate, int64_t n, int d) {
  random::poisson(*g, out, rate, n, Dtype(d));
}
API void binomial(Generator* g, void* out, const void* count, const void* p, int64_t n, int d) {
  random::binomial(*g, out, count, p, n, Dtype(d));
}
API void standard_gamma(Generator* g, void* out, const void* alpha, int64_t n, int d) {
  random::standard_gamma(*g, out, alpha, n, Dtype(d));
}
API void dirichlet(Generator* g, void* out, const void* alpha, int64_t n, int64_t k, int d) {
  random::dirichlet(*g, out, alpha, n, k, Dtype(d));
}
API void multinomial(Generator* g, int64_t* out, const void* w, int64_t n, int64_t k, int64_t s,
                     int d) {
  random::multinomial(*g, out, w, n, k, s, Dtype(d));
}
