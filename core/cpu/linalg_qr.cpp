// QR factors as products of Householder reflectors.
#include "cpu/lapack.h"

namespace ember::cpu {

void CpuBackend::qr(const Tensor& a, const Tensor& tau) {
  const int m = lapack_int("linalg.qr", a.size(-2)), n = lapack_int("linalg.qr", a.size(-1));
  const int64_t k = std::min(m, n), step = int64_t(m) * n;
  with_lapack_dtype("linalg.qr", a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Geqrf = void(const int*, const int*, T*, const int*, T*, T*, const int*, int*);
    static Geqrf* geqrf = routine<T, Geqrf>("geqrf");
    T *matrices = a.data<T>(), *factors = tau.data<T>(), answer{};
    int query = -1, info = 0;
    geqrf(&m, &n, matrices, &m, factors, &answer, &query, &info);
    const int size = workspace(answer);
    over_batch(batch_count(a), 2.0 * double(step) * double(k), [&](int64_t begin, int64_t end) {
      std::vector<T> work(static_cast<size_t>(size));
      int ignored = 0;
      for (int64_t i = begin; i < end; i++)
        geqrf(&m, &n, matrices + i * step, &m, factors + i * k, work.data(), &size, &ignored);
    });
  });
}

void CpuBackend::reflect_identity(const Tensor& a, const Tensor& tau) {
  const char* op = "linalg.householder_product";
  const int m = lapack_int(op, a.size(-2)), n = lapack_int(op, a.size(-1)),
            k = lapack_int(op, tau.size(-1));
  const int64_t step = int64_t(m) * n;
  with_lapack_dtype(op, a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Orgqr =
        void(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);
    static Orgqr* orgqr = routine<T, Orgqr>("orgqr", "ungqr");
    T *matrices = a.data<T>(), answer{};
    const T* factors = tau.data<T>();
    int query = -1, info = 0;
    orgqr(&m, &n, &k, matrices, &m, factors, &answer, &query, &info);
    const int size = workspace(answer);
    over_batch(batch_count(a), 2.0 * double(step) * n, [&](int64_t begin, int64_t end) {
      std::vector<T> work(static_cast<size_t>(size));
      int ignored = 0;
      for (int64_t i = begin; i < end; i++)
        orgqr(&m, &n, &k, matrices + i * step, &m, factors + i * k, work.data(), &size, &ignored);
    });
  });
}

void CpuBackend::reflect(const Tensor& a, const Tensor& tau, const Tensor& c, bool left,
                         bool adjoint) {
  const char* op = "ormqr";
  const int m = lapack_int(op, c.size(-2)), n = lapack_int(op, c.size(-1)),
            rows = lapack_int(op, a.size(-2)), k = lapack_int(op, tau.size(-1));
  const int64_t step = int64_t(m) * n, a_step = a.size(-2) * a.size(-1);
  with_lapack_dtype(op, c.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Ormqr = void(const char*, const char*, const int*, const int*, const int*, const T*,
                       const int*, const T*, T*, const int*, T*, const int*, int*, size_t, size_t);
    static Ormqr* ormqr = routine<T, Ormqr>("ormqr", "unmqr");
    const char *side = left ? "L" : "R", *how = !adjoint ? "N" : is_complex_type<T> ? "C" : "T";
    const T *vectors = a.data<T>(), *factors = tau.data<T>();
    T *x = c.data<T>(), answer{};
    int query = -1, info = 0;
    ormqr(side, how, &m, &n, &k, vectors, &rows, factors, x, &m, &answer, &query, &info, 1, 1);
    const int size = workspace(answer);
    over_batch(batch_count(c), 4.0 * double(step) * k, [&](int64_t begin, int64_t end) {
      std::vector<T> work(static_cast<size_t>(size));
      int ignored = 0;
      for (int64_t i = begin; i < end; i++)
        ormqr(side, how, &m, &n, &k, vectors + i * a_step, &rows, factors + i * k, x + i * step, &m,
              work.data(), &size, &ignored, 1, 1);
    });
  });
}

}  // namespace ember::cpu
