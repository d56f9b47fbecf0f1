// scaled_dot_product_attention: fused where the device can, else step by step; the latter also for
// dropout, for gradients of the mask and where the gradient itself must be differentiable.
#include <cmath>
#include <limits>

#include "backend.h"
#include "ops/ops.h"

namespace ember {

namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

struct Call {
  Tensor mask;  // boolean, or numbers to add
  bool causal;
  double scale, dropout;
};

Tensor wide(const Tensor& t) { return t && is_reduced(t.dtype()) ? to(t, Dtype::Float32) : t; }

// A mask as numbers to add.
Tensor additive(const Tensor& mask, Dtype dtype) {
  if (!mask || mask.dtype() != Dtype::Bool) return mask;
  return where(mask, scalar_tensor(0.0, dtype, mask.device()), Scalar(kMinusInfinity));
}

// Keys or values once for each head of the queries that shares them.
Tensor shared_by(const Tensor& t, int64_t heads) {
  if (t.dim() < 3 || t.size(-3) == heads) return t;
  return repeat_interleave(t, heads / t.size(-3), -3);
}

Tensor weights_of(const Tensor& q, const Tensor& k, const Call& c) {
  Tensor scores = matmul(q, transpose(k, -2, -1)) * Scalar(c.scale);
  Tensor mask = wide(c.mask);
  if (c.causal) mask = tril(ones({q.size(-2), k.size(-2)}, Dtype::Bool, q.device()));
  if (!mask) return softmax(scores, -1);
  scores =
      mask.dtype() == Dtype::Bool ? where(mask, scores, Scalar(kMinusInfinity)) : scores + mask;
  Tensor blind = all(scores == Scalar(kMinusInfinity), Dims(-1), true);
  // Both sides of the softmax, so that no NaN enters its gradient.
  Tensor weights = softmax(masked_fill(scores, blind, Scalar(0.0)), -1);
  return masked_fill(weights, blind, Scalar(0.0));
}

Tensor in_steps(const Tensor& q, const Tensor& k, const Tensor& v, const Call& c, bool share) {
  const int64_t heads = share ? q.size(-3) : 0;
  Tensor keys = share ? shared_by(k, heads) : k, values = share ? shared_by(v, heads) : v;
  Tensor weights = weights_of(wide(q), wide(keys), c);
  if (c.dropout > 0) weights = dropout(weights, c.dropout, true);
  return to(matmul(weights, wide(values)), q.dtype());
}

// --- fused: four dimensions, batch and heads first -----------------------------------------------

struct AttentionGrad {
  Saved q, k, v, out, logsumexp, mask;
  Call call;

  std::vector<Tensor> operator()(const Tensor& g, const std::vector<bool>& needed) const {
    Call c = call;
    c.mask = mask.get();
    Tensor qs = q.get(), ks = k.get(), vs = v.get();
    if (grad_enabled()) return in_ops(g, needed, qs, ks, vs, c);
    std::vector<Tensor> dx = {empty_like(qs), empty_like(ks), empty_like(vs)};
    backend_of(qs).attention_grad(dx[0], dx[1], dx[2], g, qs, ks, vs, out.get(), logsumexp.get(),
                                  {c.mask, c.causal, c.scale});
    return dx;
  }

  static std::vector<Tensor> in_ops(const Tensor& g, const std::vector<bool>& needed,
                                    const Tensor& qs, const Tensor& ks, const Tensor& vs,
                                    const Call& c) {
    const int64_t heads = qs.size(1), groups = ks.size(1);
    Tensor up = wide(g), keys = wide(shared_by(ks, heads)), values = wide(shared_by(vs, heads));
    Tensor queries = wide(qs), p = weights_of(queries, keys, c);
    Tensor dp = matmul(up, transpose(values, -2, -1));
    Tensor ds = p * (dp - sum(p * dp, Dims(-1), true)) * Scalar(c.scale);
    auto summed = [&](const Tensor& t) {  // over the heads that share keys
      if (heads == groups) return t;
      return sum(reshape(t, {t.size(0), groups, heads / groups, t.size(2), t.size(3)}), Dims(2));
    };
    std::vector<Tensor> dx(3);
    if (needed[0]) dx[0] = matmul(ds, keys);
    if (needed[1]) dx[1] = summed(matmul(transpose(ds, -2, -1), queries));
    if (needed[2]) dx[2] = summed(matmul(transpose(p, -2, -1), up));
    return dx;
  }
};

// `like_queries`: the result lies in memory as they do; mostly with heads beside one another, where
// a projection wants them next.
Tensor fused(const Tensor& q, const Tensor& k, const Tensor& v, Call c, bool like_queries) {
  const int64_t batch = q.size(0), heads = q.size(1), queries = q.size(2), depth = v.size(3);
  const Shape shape = {batch, heads, queries, depth};
  Tensor out = like_queries ? empty_like(q) : empty(shape, q.dtype(), q.device());
  Tensor logsumexp = empty({batch, heads, queries}, compute_of(q.dtype()), q.device());
  {
    NoGrad guard;
    if (c.mask) c.mask = expand(additive(c.mask, q.dtype()), {batch, heads, queries, k.size(2)});
    backend_of(q).attention(out, logsumexp, q, k, v, {c.mask, c.causal, c.scale});
  }
  if (!grad_needed(q, k, v)) return out;
  AttentionGrad rule{Saved(q),         Saved(k),      Saved(v), Saved::output(out),
                     Saved(logsumexp), Saved(c.mask), c};
  rule.call.mask = Tensor();
  return tape_list(out, "scaled_dot_product_attention", {q, k, v}, std::move(rule));
}

bool can_fuse(const Tensor& q, const Tensor& k, const Tensor& v, const Call& c, bool share) {
  if (!backend_of(q).has(Primitive::attention, Primitive::attention_grad)) return false;
  if (c.dropout > 0 || !is_floating(q.dtype())) return false;
  if (c.mask && grad_needed(c.mask)) return false;
  if (q.dim() != k.dim() || q.dim() != v.dim() || !q.numel() || !k.numel() || !v.numel())
    return false;
  if (k.size(-1) != q.size(-1) || k.size(-2) != v.size(-2)) return false;
  for (int d = 0; d + 2 < q.dim(); d++) {
    if (k.size(d) != v.size(d)) return false;
    const bool is_head = share && d == q.dim() - 3;
    if (is_head ? q.size(d) % k.size(d) != 0 : q.size(d) != k.size(d)) return false;
  }
  return true;
}

// Batch dimensions as two: all but the last, and the last.
Tensor four(const Tensor& t) {
  if (t.dim() == 4) return t;
  if (t.dim() == 2) return reshape(t, {1, 1, t.size(0), t.size(1)});
  int64_t batch = 1;
  for (int d = 0; d < t.dim() - 3; d++) batch *= t.size(d);
  return reshape(t, {batch, t.size(-3), t.size(-2), t.size(-1)});
}

void check_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                     bool causal, bool share) {
  check(q.dtype() == k.dtype() && q.dtype() == v.dtype(), Kind::Runtime,
        "Expected query, key, and value to have the same dtype, but got query.dtype: ", q.dtype(),
        " key.dtype: ", k.dtype(), " and value.dtype: ", v.dtype(), " instead.");
  for (const Tensor* t : {&k, &v, &mask})
    if (*t)
      check(t->device().kind == q.device().kind, Kind::Runtime,
            "scaled_dot_product_attention(): Expected all tensors to be on the same device, but "
            "found ",
            q.device(), " and ", t->device());
  check(q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2, Kind::Runtime,
        "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim(): ",
        q.dim(), ", key.dim(): ", k.dim(), " and value.dim(): ", v.dim(), " instead.");
  check(!causal || !mask, Kind::Runtime,
        "scaled_dot_product_attention(): Explicit attn_mask should not be set when "
        "is_causal=True");
  check(!mask || mask.dtype() == Dtype::Bool || mask.dtype() == q.dtype(), Kind::Runtime,
        "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
        "attn_mask.dtype: ",
        mask ? mask.dtype() : q.dtype(), " and  query.dtype: ", q.dtype(), " instead.");
  if (!share) return;
  check(q.dim() >= 3 && k.dim() >= 3 && v.dim() >= 3, Kind::Runtime,
        "scaled_dot_product_attention(): enable_gqa needs at least 3 dimensions, got ", q.dim(),
        ", ", k.dim(), " and ", v.dim());
  for (const Tensor* t : {&k, &v})
    check(t->size(-3) > 0 && q.size(-3) % t->size(-3) == 0, Kind::Runtime,
          "scaled_dot_product_attention(): the number of heads of query (", q.size(-3),
          ") must be a multiple of that of key and value (", t->size(-3), ")");
}

}  // namespace

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                 double dropout, bool causal, std::optional<double> scale, bool share) {
  check_attention(query, key, value, mask, causal, share);
  Call c{mask, causal, scale.value_or(1 / std::sqrt(double(query.size(-1)))), dropout};
  if (!can_fuse(query, key, value, c, share)) return in_steps(query, key, value, c, share);
  if (query.dim() == 4) {
    // As torch, whose kernel wants one depth and rows without gaps; else its results are
    // contiguous.
    bool rows = value.size(-1) == query.size(-1);
    for (const Tensor* t : {&query, &key, &value}) rows = rows && t->strides().back() == 1;
    return fused(query, key, value, c, rows);
  }
  Shape shape = query.shape();
  if (mask && mask.dim() > 2) {  // its batch dimensions are joined with those of the queries
    Shape full = shape;
    full.back() = key.size(-2);
    c.mask = four(expand(mask, full));
  }
  shape.back() = value.size(-1);
  return reshape(fused(four(query), four(key), four(value), c, false), shape);
}
EMBER_OP(
    "nn.functional.scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? "
    "attn_mask=None, float dropout_p=0.0, bool is_causal=False, float? scale=None, bool "
    "enable_gqa=False) -> Tensor",
    &attention, Function | Leading | Random | Lower,
    "softmax(query @ key' * scale + mask) @ value, for [..., L, E] and [..., S, E]. A boolean mask "
    "is true where a query may look, another is added; a query that may look nowhere gets zeros. "
    "`scale` is 1 / sqrt(E) unless given. With `enable_gqa`, keys and values may have fewer heads "
    "(axis -3), each used by several queries.");

}  // namespace ember
