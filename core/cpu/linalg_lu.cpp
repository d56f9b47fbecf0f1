// LU and LDL factors, and systems solved with them.
#include "cpu/kernels/once.h"
#include "cpu/lapack.h"
#include "cpu/triangular.h"

namespace ember::cpu {

namespace {

// LAPACK believes its pivots, and would follow wrong ones out of the matrix. A negative pair stands
// for a block of two (LDL only).
// The pivots come as a copy, which no other thread changes.
std::vector<int> checked_pivots(const char* op, const Tensor& given, int64_t count, int64_t n,
                                bool pairs) {
  std::vector<int> pivots(size_t(count * n));
  if (!pivots.empty()) copy_once(pivots.data(), given.data<int32_t>(), count * n);
  for (int64_t b = 0; b < count; b++) {
    const int* p = pivots.data() + b * n;
    for (int64_t i = 0; i < n; i++) {
      bool two = pairs && p[i] < 0;
      for (int64_t j = i; j < std::min(i + 1 + two, n); j++)
        check(p[j] >= (two ? -n : 1) && p[j] <= n, Kind::Runtime, op,
              ": pivots must be greater or equal to 1 (|pivot| >= 1) and smaller or equal to "
              "LU.size(-2) (|pivot| <= LD.size(-2)), which is ",
              n, ", got ", p[j], " at position ", j);
      check(!two || (i + 1 < n && p[i + 1] < 0), Kind::Runtime, op,
            ": negative pivots stand for blocks of two and come in pairs, got ", p[i],
            " alone at position ", i);
      i += two;
    }
  }
  return pivots;
}

// For matrices of a few rows, a call of LAPACK takes longer than the work; for large real ones our
// own products are faster than its.
constexpr int kSmall = 8, kLarge = 160;
template <class T>
bool is_large(int64_t n) {
  return !is_complex_type<T> && n >= kLarge;
}

// How LAPACK compares complex numbers.
template <class T>
auto magnitude(T x) {
  if constexpr (is_complex_type<T>)
    return std::abs(x.real()) + std::abs(x.imag());
  else
    return std::abs(x);
}

template <class T>
int small_lu(int m, int n, T* a, int* pivots) {
  int info = 0;
  for (int j = 0; j < std::min(m, n); j++) {
    T* column = a + j * m;
    int best = j;
    for (int i = j + 1; i < m; i++)
      if (magnitude(column[i]) > magnitude(column[best])) best = i;
    pivots[j] = best + 1;
    if (column[best] == T(0)) {
      if (!info) info = j + 1;
      continue;
    }
    if (best != j)
      for (int k = 0; k < n; k++) std::swap(a[k * m + j], a[k * m + best]);
    for (int i = j + 1; i < m; i++) column[i] /= column[j];
    for (int k = j + 1; k < n; k++) {
      const T top = a[k * m + j];
      for (int i = j + 1; i < m; i++) a[k * m + i] -= column[i] * top;
    }
  }
  return info;
}

// One column of b at a time; a is P L U.
template <class T>
void small_lu_solve(int n, const T* a, const int* pivots, T* x) {
  for (int i = 0; i < n; i++)
    if (pivots[i] != i + 1) std::swap(x[i], x[pivots[i] - 1]);
  for (int j = 0; j < n; j++)
    for (int i = j + 1; i < n; i++) x[i] -= a[j * n + i] * x[j];
  for (int j = n - 1; j >= 0; j--) {
    x[j] /= a[j * n + j];
    for (int i = 0; i < j; i++) x[i] -= a[j * n + i] * x[j];
  }
}

}  // namespace

void CpuBackend::lu(const Tensor& a, const Tensor& pivots, const Tensor& info) {
  const int m = lapack_int("linalg.lu", a.size(-2)), n = lapack_int("linalg.lu", a.size(-1));
  const int64_t k = std::min(m, n), step = int64_t(m) * n;
  with_lapack_dtype("linalg.lu", a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Getrf = void(const int*, const int*, T*, const int*, int*, int*);
    static Getrf* getrf = routine<T, Getrf>("getrf");
    T* matrices = a.data<T>();
    int *rows = pivots.data<int32_t>(), *infos = info.data<int32_t>();
    over_batch(batch_count(a), double(step) * double(k), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        T* matrix = matrices + i * step;
        if (m <= kSmall && n <= kSmall) {
          infos[i] = small_lu(m, n, matrix, rows + i * k);
          continue;
        }
        if constexpr (!is_complex_type<T>)
          if (is_large<T>(k)) {
            infos[i] = lu_factor<T>(m, n, {matrix, 1, m}, rows + i * k);
            continue;
          }
        getrf(&m, &n, matrix, &m, rows + i * k, infos + i);
      }
    });
  });
}

void CpuBackend::lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, Apply op) {
  const int n = lapack_int("linalg.lu_solve", lu.size(-1)),
            columns = lapack_int("linalg.lu_solve", b.size(-1));
  const char* how = op == Apply::Plain ? "N" : op == Apply::Transpose ? "T" : "C";
  with_lapack_dtype("linalg.lu_solve", b.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Getrs = void(const char*, const int*, const int*, const T*, const int*, const int*, T*,
                       const int*, int*, size_t);
    static Getrs* getrs = routine<T, Getrs>("getrs");
    const T* factors = lu.data<T>();
    const std::vector<int> kept =
        checked_pivots("linalg.lu_solve", pivots, batch_count(b), n, false);
    const int* rows = kept.data();
    T* x = b.data<T>();
    if constexpr (!is_complex_type<T>)
      if (is_large<T>(n))
        return over_batch(batch_count(b), double(n) * n * columns, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; i++)
            cpu::lu_solve<T>(n, columns, {factors + i * n * n, 1, n}, rows + i * n,
                             {x + i * n * columns, 1, n}, op != Apply::Plain);
        });
    const bool small = n <= kSmall && op == Apply::Plain;
    // A large system is shared among threads by columns of b, which lie one after the other.
    const int64_t parts = std::clamp<int64_t>(columns / 64, 1, num_threads());
    const int64_t share = (columns + parts - 1) / parts;
    over_batch(batch_count(b) * parts, double(n) * n * double(share),
               [&](int64_t begin, int64_t end) {
                 for (int64_t piece = begin; piece < end; piece++) {
                   const int64_t i = piece / parts, from = piece % parts * share;
                   const int some = int(std::min(share, columns - from));
                   T* to = x + (i * columns + from) * n;
                   int info = 0;
                   if (some <= 0) continue;
                   if (small)
                     for (int c = 0; c < some; c++)
                       small_lu_solve(n, factors + i * n * n, rows + i * n, to + c * n);
                   else
                     getrs(how, &n, &some, factors + i * n * n, &n, rows + i * n, to, &n, &info, 1);
                 }
               });
  });
}

void CpuBackend::lu_inverse(const Tensor& lu, const Tensor& pivots, const Tensor& out) {
  const int64_t n = lu.size(-1);
  auto invert = [&]<class T>(Tag<T>) {
    over_batch(
        batch_count(lu), 2.0 * double(n) * double(n) * double(n), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; i++)
            cpu::lu_inverse<T>(n, {lu.data<T>() + i * n * n, 1, n}, pivots.data<int32_t>() + i * n,
                               {out.data<T>() + i * n * n, 1, n});
        });
  };
  if (n >= kLarge && lu.dtype() == Dtype::Float32) return invert(Tag<float>{});
  if (n >= kLarge && lu.dtype() == Dtype::Float64) return invert(Tag<double>{});
  Backend::lu_inverse(lu, pivots, out);
}

void CpuBackend::pivot_order(const Tensor& pivots, const Tensor& rows) {
  const int64_t k = pivots.size(-1), m = rows.size(-1), count = rows.numel() / m;
  const int32_t* swaps = pivots.data<int32_t>();
  int64_t* order = rows.data<int64_t>();
  for (int64_t b = 0; b < count; b++) {
    int64_t* o = order + b * m;
    for (int64_t i = 0; i < m; i++) o[i] = i;
    for (int64_t i = 0; i < k; i++) {
      int64_t with = int64_t(read_once(swaps + b * k + i)) - 1;
      check(with >= 0 && with < m, Kind::Runtime, "lu: pivots must be between 1 and LU.size(-2). ",
            "That is ", m, ", got ", with + 1);
      std::swap(o[i], o[with]);
    }
  }
}

void CpuBackend::ldl(const Tensor& a, const Tensor& pivots, const Tensor& info, bool hermitian) {
  const int n = lapack_int("linalg.ldl_factor", a.size(-1));
  with_lapack_dtype("linalg.ldl_factor", a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Sytrf = void(const char*, const int*, T*, const int*, int*, T*, const int*, int*, size_t);
    static Sytrf* symmetric = routine<T, Sytrf>("sytrf");
    static Sytrf* adjoint = routine<T, Sytrf>("sytrf", "hetrf");
    Sytrf* factor = hermitian ? adjoint : symmetric;
    T* matrices = a.data<T>();
    int *rows = pivots.data<int32_t>(), *infos = info.data<int32_t>();
    int query = -1;
    T answer{};
    factor("L", &n, matrices, &n, rows, &answer, &query, infos, 1);
    const int size = workspace(answer);
    over_batch(batch_count(a), double(n) * n * n / 3, [&](int64_t begin, int64_t end) {
      std::vector<T> work(static_cast<size_t>(size));
      for (int64_t i = begin; i < end; i++)
        factor("L", &n, matrices + i * n * n, &n, rows + i * n, work.data(), &size, infos + i, 1);
    });
  });
}

void CpuBackend::ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b,
                           bool hermitian) {
  const int n = lapack_int("linalg.ldl_solve", ld.size(-1)),
            columns = lapack_int("linalg.ldl_solve", b.size(-1));
  with_lapack_dtype("linalg.ldl_solve", b.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Sytrs = void(const char*, const int*, const int*, const T*, const int*, const int*, T*,
                       const int*, int*, size_t);
    static Sytrs* symmetric = routine<T, Sytrs>("sytrs");
    static Sytrs* adjoint = routine<T, Sytrs>("sytrs", "hetrs");
    Sytrs* solve = hermitian ? adjoint : symmetric;
    const T* factors = ld.data<T>();
    const std::vector<int> kept =
        checked_pivots("linalg.ldl_solve", pivots, batch_count(b), n, true);
    const int* rows = kept.data();
    T* x = b.data<T>();
    over_batch(batch_count(b), double(n) * n * columns, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        int info = 0;
        solve("L", &n, &columns, factors + i * n * n, &n, rows + i * n, x + i * n * columns, &n,
              &info, 1);
      }
    });
  });
}

}  // namespace ember::cpu
