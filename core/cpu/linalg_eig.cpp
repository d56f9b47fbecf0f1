// Eigenvalues and eigenvectors: Hermitian by divide and conquer, general by QR iteration.
#include "cpu/lapack.h"

namespace ember::cpu {

void CpuBackend::eigh(const Tensor& a, const Tensor& values, const Tensor& info, bool upper,
                      bool vectors) {
  const int n = lapack_int("linalg.eigh", a.size(-1));
  const char *job = vectors ? "V" : "N", *part = upper ? "U" : "L";
  with_lapack_dtype("linalg.eigh", a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = typename Lapack<T>::Real;
    using Real = void(const char*, const char*, const int*, T*, const int*, R*, T*, const int*,
                      int*, const int*, int*, size_t, size_t);
    using Complex = void(const char*, const char*, const int*, T*, const int*, R*, T*, const int*,
                         R*, const int*, int*, const int*, int*, size_t, size_t);
    using Evd = std::conditional_t<is_complex_type<T>, Complex, Real>;
    static Evd* evd = routine<T, Evd>("syevd", "heevd");
    auto solve = [&](T* matrix, R* w, T* work, int lwork, R* rwork, int lrwork, int* iwork,
                     int liwork, int* status) {
      if constexpr (is_complex_type<T>)
        evd(job, part, &n, matrix, &n, w, work, &lwork, rwork, &lrwork, iwork, &liwork, status, 1,
            1);
      else
        evd(job, part, &n, matrix, &n, w, work, &lwork, iwork, &liwork, status, 1, 1);
    };
    T *matrices = a.data<T>(), answer{};
    R *w = values.data<R>(), real_answer{};
    int *infos = info.data<int32_t>(), int_answer = 0;
    solve(matrices, w, &answer, -1, &real_answer, -1, &int_answer, -1, infos);
    const int size = workspace(answer), real_size = workspace(real_answer);
    over_batch(batch_count(a), 4.0 * n * n * n, [&](int64_t begin, int64_t end) {
      std::vector<T> work(static_cast<size_t>(size));
      std::vector<R> rwork(static_cast<size_t>(real_size));
      std::vector<int> iwork(static_cast<size_t>(std::max(1, int_answer)));
      for (int64_t i = begin; i < end; i++)
        solve(matrices + i * n * n, w + i * n, work.data(), size, rwork.data(), real_size,
              iwork.data(), int(iwork.size()), infos + i);
    });
  });
}

namespace {

// Real geev gives the two of a conjugate pair as real and imaginary part, in neighbouring columns.
template <class R>
void join_pairs(int n, const R* re, const R* im, const R* v, std::complex<R>* w,
                std::complex<R>* out) {
  for (int j = 0; j < n; j++) w[j] = {re[j], im[j]};
  if (!out) return;
  for (int j = 0; j < n; j++) {
    const R* column = v + int64_t(j) * n;
    std::complex<R>* to = out + int64_t(j) * n;
    if (im[j] == 0 || j + 1 == n) {
      for (int i = 0; i < n; i++) to[i] = column[i];
      continue;
    }
    for (int i = 0; i < n; i++) {
      to[i] = {column[i], column[n + i]};
      to[n + i] = {column[i], -column[n + i]};
    }
    j++;
  }
}

}  // namespace

void CpuBackend::eig(const Tensor& a, const Tensor& values, const Tensor& vectors,
                     const Tensor& info) {
  const int n = lapack_int("linalg.eig", a.size(-1)), one = 1;
  const char* job = vectors ? "V" : "N";
  with_lapack_dtype("linalg.eig", a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = typename Lapack<T>::Real;
    using C = std::complex<R>;
    using Real = void(const char*, const char*, const int*, T*, const int*, R*, R*, T*, const int*,
                      T*, const int*, T*, const int*, int*, size_t, size_t);
    using Complex = void(const char*, const char*, const int*, T*, const int*, C*, T*, const int*,
                         C*, const int*, T*, const int*, R*, int*, size_t, size_t);
    using Geev = std::conditional_t<is_complex_type<T>, Complex, Real>;
    static Geev* geev = routine<T, Geev>("geev");
    T* matrices = a.data<T>();
    C *w = values.data<C>(), *v = vectors ? vectors.data<C>() : nullptr;
    int* infos = info.data<int32_t>();
    // `more` is room for real eigenvalues and vectors, or for what complex geev needs.
    auto solve = [&](int64_t i, T* work, int size, R* more) {
      T* matrix = matrices + i * n * n;
      C *wi = w + i * n, *vi = v ? v + int64_t(i) * n * n : nullptr;
      if constexpr (is_complex_type<T>) {
        geev("N", job, &n, matrix, &n, wi, nullptr, &one, vi, &n, work, &size, more, infos + i, 1,
             1);
      } else {
        R *re = more, *im = more + n, *columns = more + 2 * n;
        geev("N", job, &n, matrix, &n, re, im, nullptr, &one, columns, &n, work, &size, infos + i,
             1, 1);
        if (size != -1) join_pairs(n, re, im, columns, wi, vi);
      }
    };
    const size_t room = size_t(n) * 2 + (!is_complex_type<T> && v ? size_t(n) * size_t(n) : 0);
    T answer{};
    {
      std::vector<R> more(room);
      solve(0, &answer, -1, more.data());
    }
    const int size = workspace(answer);
    over_batch(batch_count(a), 10.0 * n * n * n, [&](int64_t begin, int64_t end) {
      std::vector<T> work(static_cast<size_t>(size));
      std::vector<R> more(room);
      for (int64_t i = begin; i < end; i++) solve(i, work.data(), size, more.data());
    });
  });
}

}  // namespace ember::cpu
