// Attention in blocks: a block of queries meets the keys a block at a time, so that scores stay in
// the L2 cache. Keys are transposed once for each head, which lets the matrix products read them in
// place.

#include <limits>
#include <memory>

#include "cpu/cpu_backend.h"
#include "cpu/dispatch.h"
#include "cpu/gemm.h"
#include "cpu/kernels/attention_kernels.h"
#include "cpu/parallel.h"
#include "cpu/typed.h"

namespace ember::cpu {

namespace {

constexpr int64_t kQueries = 64, kKeys = 384;  // of a block

EMBER_TABLE_BY_LEVEL(AttentionTable, table, attention_kernels)

template <class T>
const AttentionKernelsOf<T>& kernels_for() {
  if constexpr (std::is_same_v<T, float>)
    return table().f32;
  else
    return table().f64;
}

template <class T>
std::unique_ptr<T[]> buffer(int64_t n) {  // not cleared: small calls would pay for it
  return std::unique_ptr<T[]>(new T[size_t(n)]);
}

// A tensor (B, H, L, E) whose last dimension is contiguous.
template <class T>
struct Heads {
  Tensor kept;
  T* data = nullptr;
  int64_t batch = 0, head = 0, row = 0;  // strides

  explicit Heads(Tensor t) : kept(std::move(t)) {
    if (!kept) return;
    data = kept.data<T>();
    batch = kept.stride(0), head = kept.stride(1), row = kept.stride(2);
  }
  T* at(int64_t b, int64_t h, int64_t l = 0) const { return data + b * batch + h * head + l * row; }
};

template <class T>
bool is_direct(const Tensor& t) {
  return t.dtype() == dtype_of<T> && (t.size(3) == 1 || t.stride(3) == 1);
}
template <class T>
Heads<const T> heads_of(const Tensor& t) {
  return Heads<const T>(!t || is_direct<T>(t) ? t : dense(t, dtype_of<T>));
}
template <class T>
Heads<T> room_for(const Tensor& t) {
  return Heads<T>(is_direct<T>(t) ? t : empty(t.shape(), dtype_of<T>));
}
template <class T>
void deliver(const Tensor& out, const Heads<T>& from) {
  if (!from.kept.same(out)) backend_of(out).copy(out, from.kept);
}

// The rows of a head as columns, padded to whole cache lines.
template <class T>
struct Transposed {
  int64_t stride = 0;
  Transposed(int64_t rows, int64_t columns)
      : stride((rows + 15) / 16 * 16), room_(new T[size_t(stride * columns + 16)]) {
    const auto at = reinterpret_cast<uintptr_t>(room_.get());
    start_ = room_.get() + (64 - at % 64) % 64 / sizeof(T);
  }
  void set(const T* from, int64_t row, int64_t rows, int64_t columns) {
    constexpr int64_t size = sizeof(T);
    kernels().move[size_index(size)](reinterpret_cast<const char*>(from), row * size, size,
                                     reinterpret_cast<char*>(start_), size, stride * size, rows,
                                     columns);
  }
  const T* get() const { return start_; }

 private:
  std::unique_ptr<T[]> room_;
  T* start_;
};

template <class T>
struct Problem {
  Heads<const T> q, k, v, mask;
  int64_t batch, heads, groups, queries, keys, width, depth;
  T scale;
  bool causal;

  Problem(const Tensor& q_, const Tensor& k_, const Tensor& v_, const AttentionOptions& o)
      : q(heads_of<T>(q_)),
        k(heads_of<T>(k_)),
        v(heads_of<T>(v_)),
        mask(heads_of<T>(o.mask)),
        batch(q_.size(0)),
        heads(q_.size(1)),
        groups(k_.size(1)),
        queries(q_.size(2)),
        keys(k_.size(2)),
        width(q_.size(3)),
        depth(v_.size(3)),
        scale(T(o.scale)),
        causal(o.causal) {}

  // How many keys the queries before `end` can see.
  int64_t seen_by(int64_t end) const { return causal ? std::min(keys, end) : keys; }

  // scores = scale * q k', for queries and keys from `first` and `from`
  ScoreBlock<T> scores(int64_t b, int64_t h, int64_t first, int64_t rows, int64_t from,
                       int64_t columns, const Transposed<T>& kt, T* to) const {
    product(rows, columns, width, q.at(b, h, first), q.row, 1, kt.get() + from, kt.stride, 1, to,
            kKeys, scale, 0);
    return {
        rows,     columns,          to,    kKeys, mask.data ? mask.at(b, h, first) + from : nullptr,
        mask.row, first + 1 - from, causal};
  }

  static void product(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_col,
                      const T* b, int64_t b_row, int64_t b_col, T* c, int64_t c_row, T alpha,
                      T beta) {
    gemm(dtype_of<T>, m, n, k, {a, a_row, a_col}, {b, b_row, b_col}, {c, c_row, 1}, double(alpha),
         double(beta));
  }
};

template <class T>
void forward_of(const Problem<T>& p, const Heads<T>& out, T* logsumexp) {
  const auto& kernel = kernels_for<T>();
  const int64_t blocks = (p.queries + kQueries - 1) / kQueries;
  const int64_t cost = kQueries * p.keys * (p.width + p.depth);
  const int64_t grain = 1 + (1 << 17) / std::max<int64_t>(1, cost);
  parallel_for(p.batch * p.heads * blocks, grain, [&](int64_t begin, int64_t end) {
    auto scores = buffer<T>(kQueries * kKeys), result = buffer<T>(kQueries * p.depth);
    Transposed<T> kt(p.keys, p.width);
    T max[kQueries], sum[kQueries];
    int64_t last = -1;
    for (int64_t task = begin; task < end; task++) {
      const int64_t b = task / blocks / p.heads, h = task / blocks % p.heads;
      const int64_t group = h / (p.heads / p.groups), first = task % blocks * kQueries;
      const int64_t rows = std::min(kQueries, p.queries - first);
      if (last != b * p.groups + group) {
        kt.set(p.k.at(b, group), p.k.row, p.keys, p.width);
        last = b * p.groups + group;
      }
      std::fill(max, max + rows, -std::numeric_limits<T>::infinity());
      std::fill(sum, sum + rows, T(0));
      std::fill_n(result.get(), rows * p.depth, T(0));
      const int64_t seen = p.seen_by(first + rows);
      for (int64_t from = 0; from < seen; from += kKeys) {
        const int64_t columns = std::min(kKeys, seen - from);
        const ScoreBlock<T> block = p.scores(b, h, first, rows, from, columns, kt, scores.get());
        kernel.accumulate(block, max, sum, result.get(), p.depth);
        p.product(rows, p.depth, columns, scores.get(), kKeys, 1, p.v.at(b, group, from), p.v.row,
                  1, result.get(), p.depth, 1, from ? 1 : 0);
      }
      kernel.finish(rows, p.depth, max, sum, result.get(), out.at(b, h, first), out.row,
                    logsumexp + (b * p.heads + h) * p.queries + first);
    }
  });
}

// One head of keys: dk and dv are summed over the queries of all heads that share it.
template <class T>
void backward_of(const Problem<T>& p, const Heads<const T>& g, const Heads<const T>& out,
                 const T* logsumexp, const Heads<T>& dq, const Heads<T>& dk, const Heads<T>& dv) {
  const auto& kernel = kernels_for<T>();
  const int64_t shared = p.heads / p.groups;
  parallel_for(p.batch * p.groups, 1, [&](int64_t begin, int64_t end) {
    auto scores = buffer<T>(kQueries * kKeys), grads = buffer<T>(kQueries * kKeys);
    Transposed<T> kt(p.keys, p.width), vt(p.keys, p.depth);
    T delta[kQueries];
    for (int64_t task = begin; task < end; task++) {
      const int64_t b = task / p.groups, group = task % p.groups;
      kt.set(p.k.at(b, group), p.k.row, p.keys, p.width);
      vt.set(p.v.at(b, group), p.v.row, p.keys, p.depth);
      for (int64_t i = 0; i < p.keys; i++) {
        std::fill_n(dk.at(b, group, i), p.width, T(0));
        std::fill_n(dv.at(b, group, i), p.depth, T(0));
      }
      for (int64_t h = group * shared; h < (group + 1) * shared; h++) {
        for (int64_t first = 0; first < p.queries; first += kQueries) {
          const int64_t rows = std::min(kQueries, p.queries - first);
          const int64_t seen = p.seen_by(first + rows);
          const T *up = g.at(b, h, first), *q = p.q.at(b, h, first);
          kernel.row_dots(rows, p.depth, up, g.row, out.at(b, h, first), out.row, delta);
          for (int64_t from = 0; from < seen; from += kKeys) {
            const int64_t columns = std::min(kKeys, seen - from);
            T *s = scores.get(), *ds = grads.get();
            const ScoreBlock<T> block = p.scores(b, h, first, rows, from, columns, kt, s);
            kernel.normalize(block, logsumexp + (b * p.heads + h) * p.queries + first);
            p.product(columns, p.depth, rows, s, 1, kKeys, up, g.row, 1, dv.at(b, group, from),
                      dv.row, 1, 1);
            p.product(rows, columns, p.depth, up, g.row, 1, vt.get() + from, vt.stride, 1, ds,
                      kKeys, 1, 0);
            kernel.score_grads(rows, columns, s, ds, kKeys, delta, p.scale);
            p.product(rows, p.width, columns, ds, kKeys, 1, p.k.at(b, group, from), p.k.row, 1,
                      dq.at(b, h, first), dq.row, 1, from ? 1 : 0);
            p.product(columns, p.width, rows, ds, 1, kKeys, q, p.q.row, 1, dk.at(b, group, from),
                      dk.row, 1, 1);
          }
        }
      }
    }
  });
}

}  // namespace

void CpuBackend::attention(const Tensor& out, const Tensor& logsumexp, const Tensor& q,
                           const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  for_type(q, [&](auto type) {
    using T = decltype(type);
    const Problem<T> problem(q, k, v, options);
    const Heads<T> to = room_for<T>(out);
    Result<T> sums(logsumexp);
    forward_of<T>(problem, to, sums.data);
    deliver(out, to);
    sums.store();
  });
}

void CpuBackend::attention_grad(const Tensor& dq, const Tensor& dk, const Tensor& dv,
                                const Tensor& g, const Tensor& q, const Tensor& k, const Tensor& v,
                                const Tensor& out, const Tensor& logsumexp,
                                const AttentionOptions& options) {
  for_type(q, [&](auto type) {
    using T = decltype(type);
    const Problem<T> problem(q, k, v, options);
    const Source<T> sums(logsumexp);
    const Heads<T> to_q = room_for<T>(dq), to_k = room_for<T>(dk), to_v = room_for<T>(dv);
    backward_of<T>(problem, heads_of<T>(g), heads_of<T>(out), sums.data, to_q, to_k, to_v);
    deliver(dq, to_q), deliver(dk, to_k), deliver(dv, to_v);
  });
}

}  // namespace ember::cpu
