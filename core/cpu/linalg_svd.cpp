// Singular values by divide and conquer, and least squares by any of LAPACK's four drivers.
#include "cpu/lapack.h"

namespace ember::cpu {

void CpuBackend::svd(const Tensor& a, const Tensor& s, const Tensor& u, const Tensor& vh,
                     const Tensor& info) {
  const int m = lapack_int("linalg.svd", a.size(-2)), n = lapack_int("linalg.svd", a.size(-1)),
            k = std::min(m, n), ldv = u ? int(vh.size(-2)) : 1;
  const char* job = !u ? "N" : u.size(-1) == m && vh.size(-2) == n ? "A" : "S";
  const int64_t u_step = u ? int64_t(m) * u.size(-1) : 0, v_step = int64_t(ldv) * n,
                step = int64_t(m) * n;
  with_lapack_dtype("linalg.svd", a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = typename Lapack<T>::Real;
    using Real = void(const char*, const int*, const int*, T*, const int*, R*, T*, const int*, T*,
                      const int*, T*, const int*, int*, int*, size_t);
    using Complex = void(const char*, const int*, const int*, T*, const int*, R*, T*, const int*,
                         T*, const int*, T*, const int*, R*, int*, int*, size_t);
    using Gesdd = std::conditional_t<is_complex_type<T>, Complex, Real>;
    static Gesdd* gesdd = routine<T, Gesdd>("gesdd");
    T *matrices = a.data<T>(), *left = u ? u.data<T>() : nullptr,
      *right = u ? vh.data<T>() : nullptr;
    R* values = s.data<R>();
    int* infos = info.data<int32_t>();
    auto solve = [&](int64_t i, T* work, int size, R* rwork, int* iwork) {
      T *ui = left ? left + i * u_step : nullptr, *vi = right ? right + i * v_step : nullptr;
      if constexpr (is_complex_type<T>)
        gesdd(job, &m, &n, matrices + i * step, &m, values + i * k, ui, &m, vi, &ldv, work, &size,
              rwork, iwork, infos + i, 1);
      else
        gesdd(job, &m, &n, matrices + i * step, &m, values + i * k, ui, &m, vi, &ldv, work, &size,
              iwork, infos + i, 1);
    };
    T answer{};
    R no_real{};
    int no_int = 0;
    solve(0, &answer, -1, &no_real, &no_int);
    const int size = workspace(answer);
    const size_t small = size_t(k), large = size_t(std::max(m, n));
    size_t reals = 0;
    if (is_complex_type<T>)
      reals = !u ? 7 * small : small * std::max(5 * small + 7, 2 * large + 2 * small + 1);
    over_batch(batch_count(a), 8.0 * double(step) * k, [&](int64_t begin, int64_t end) {
      std::vector<T> work(static_cast<size_t>(size));
      std::vector<R> rwork(reals);
      std::vector<int> iwork(8 * small);
      for (int64_t i = begin; i < end; i++) solve(i, work.data(), size, rwork.data(), iwork.data());
    });
  });
}

namespace {

// One call of a driver. gels has no rank, and only gelsd and gelss have singular values.
template <class T>
struct LeastSquaresCall {
  using R = typename Lapack<T>::Real;
  LeastSquares driver;
  int m, n, columns, rows;  // rows of b
  R rcond;

  void operator()(T* a, T* b, int* pivots, R* s, int* rank, T* work, int size, R* rwork, int* iwork,
                  int* info) const {
    switch (driver) {
      case LeastSquares::Gels: return gels(a, b, work, size, info);
      case LeastSquares::Gelsy: return gelsy(a, b, pivots, rank, work, size, rwork, info);
      default: return by_svd(a, b, s, rank, work, size, rwork, iwork, info);
    }
  }

 private:
  void gels(T* a, T* b, T* work, int size, int* info) const {
    using Gels = void(const char*, const int*, const int*, const int*, T*, const int*, T*,
                      const int*, T*, const int*, int*, size_t);
    static Gels* f = routine<T, Gels>("gels");
    f("N", &m, &n, &columns, a, &m, b, &rows, work, &size, info, 1);
  }
  void gelsy(T* a, T* b, int* pivots, int* rank, T* work, int size, R* rwork, int* info) const {
    using Real = void(const int*, const int*, const int*, T*, const int*, T*, const int*, int*,
                      const R*, int*, T*, const int*, int*);
    using Complex = void(const int*, const int*, const int*, T*, const int*, T*, const int*, int*,
                         const R*, int*, T*, const int*, R*, int*);
    using Gelsy = std::conditional_t<is_complex_type<T>, Complex, Real>;
    static Gelsy* f = routine<T, Gelsy>("gelsy");
    if constexpr (is_complex_type<T>)
      f(&m, &n, &columns, a, &m, b, &rows, pivots, &rcond, rank, work, &size, rwork, info);
    else
      f(&m, &n, &columns, a, &m, b, &rows, pivots, &rcond, rank, work, &size, info);
  }
  void by_svd(T* a, T* b, R* s, int* rank, T* work, int size, R* rwork, int* iwork,
              int* info) const {
    // gelsd, and gelss without the integers at the end
    using Real = void(const int*, const int*, const int*, T*, const int*, T*, const int*, R*,
                      const R*, int*, T*, const int*, int*, int*);
    using Complex = void(const int*, const int*, const int*, T*, const int*, T*, const int*, R*,
                         const R*, int*, T*, const int*, R*, int*, int*);
    using Shorter = void(const int*, const int*, const int*, T*, const int*, T*, const int*, R*,
                         const R*, int*, T*, const int*, int*);
    using Gelsd = std::conditional_t<is_complex_type<T>, Complex, Real>;
    using Gelss = std::conditional_t<is_complex_type<T>,
                                     void(const int*, const int*, const int*, T*, const int*, T*,
                                          const int*, R*, const R*, int*, T*, const int*, R*, int*),
                                     Shorter>;
    static Gelsd* gelsd = routine<T, Gelsd>("gelsd");
    static Gelss* gelss = routine<T, Gelss>("gelss");
    bool divide = driver == LeastSquares::Gelsd;
    if constexpr (is_complex_type<T>) {
      if (divide)
        gelsd(&m, &n, &columns, a, &m, b, &rows, s, &rcond, rank, work, &size, rwork, iwork, info);
      else
        gelss(&m, &n, &columns, a, &m, b, &rows, s, &rcond, rank, work, &size, rwork, info);
    } else {
      if (divide)
        gelsd(&m, &n, &columns, a, &m, b, &rows, s, &rcond, rank, work, &size, iwork, info);
      else
        gelss(&m, &n, &columns, a, &m, b, &rows, s, &rcond, rank, work, &size, info);
    }
  }
};

}  // namespace

void CpuBackend::least_squares(LeastSquares driver, const Tensor& a, const Tensor& b, double rcond,
                               const Tensor& rank, const Tensor& s, const Tensor& info) {
  const char* op = "linalg.lstsq";
  const int m = lapack_int(op, a.size(-2)), n = lapack_int(op, a.size(-1)),
            columns = lapack_int(op, b.size(-1)), rows = lapack_int(op, b.size(-2)),
            k = std::min(m, n);
  with_lapack_dtype(op, a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = typename Lapack<T>::Real;
    const LeastSquaresCall<T> call{driver, m, n, columns, rows, R(rcond)};
    T *matrices = a.data<T>(), *x = b.data<T>(), answer{};
    R *values = s ? s.data<R>() : nullptr, real_answer{};
    int *ranks = rank ? rank.data<int32_t>() : nullptr, *infos = info.data<int32_t>();
    int int_answer = 0, some_rank = 0;
    std::vector<int> some_pivots(static_cast<size_t>(n));
    call(matrices, x, some_pivots.data(), values, &some_rank, &answer, -1, &real_answer,
         &int_answer, infos);
    const int size = workspace(answer);
    // gelsd says how much it needs; gelsy and gelss have fixed sizes.
    const size_t reals = size_t(std::max(workspace(real_answer), std::max(2 * n, 5 * k)));
    const size_t ints = size_t(std::max(1, int_answer));
    over_batch(batch_count(a), 8.0 * m * n * k, [&](int64_t begin, int64_t end) {
      std::vector<T> work(static_cast<size_t>(size));
      std::vector<R> rwork(reals);
      std::vector<int> iwork(ints), pivots(static_cast<size_t>(n));
      for (int64_t i = begin; i < end; i++) {
        std::fill(pivots.begin(), pivots.end(), 0);
        int found = 0;
        call(matrices + i * m * n, x + i * rows * columns, pivots.data(),
             values ? values + i * k : nullptr, &found, work.data(), size, rwork.data(),
             iwork.data(), infos + i);
        if (ranks) ranks[i] = found;
      }
    });
  });
}

}  // namespace ember::cpu
