// Gradients of a base and of its views, by their geometry in a common storage: what a change of a
// view in place and as_strided need (Note [In-place on views], autograd/views.cpp). A gradient is
// laid out in a buffer like the storage that base and view share; the three operations are linear
// in their gradients and each other's adjoints, but for elements that the base has several times
// (`shared`), so they can be recorded in turn. A view may reach elements outside its base (their
// gradient is 0 or is lost), the base may have gaps, either may overlap itself, and a complex
// tensor and its real view share a buffer byte by byte.
#include <numeric>

#include "autograd/engine.h"
#include "ops/ops.h"

namespace ember {

namespace {

struct Span {
  int64_t first, end;  // in bytes
};
Span span_of(const Geometry& g) {
  int64_t last = g.offset, item = item_size(g.dtype);
  for (int i = 0; i < g.shape.size(); i++) {
    if (g.shape[i] == 0) return {g.offset * item, g.offset * item};
    last += (g.shape[i] - 1) * g.strides[i];
  }
  return {g.offset * item, (last + 1) * item};
}

// Dimensions of `g` that together reach every element at most once; the others (in `rest`) repeat
// elements.
void split_overlap(const Geometry& g, Shape& distinct, Shape& rest) {
  Shape order;
  for (int i = 0; i < g.shape.size(); i++) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return g.shape[a] > g.shape[b]; });
  auto injective = [&](Shape dims) {
    std::sort(dims.begin(), dims.end(),
              [&](int64_t a, int64_t b) { return g.strides[a] < g.strides[b]; });
    int64_t reach = 0;
    for (int64_t d : dims) {
      if (g.strides[d] <= reach) return false;
      reach += (g.shape[d] - 1) * g.strides[d];
    }
    return true;
  };
  for (int64_t d : order) {
    Shape with = distinct;
    with.push_back(d);
    if (g.shape[d] <= 1) continue;
    if (injective(with))
      distinct = with;
    else
      rest.push_back(d);
  }
}

bool overlaps(const Geometry& g) {
  Shape distinct, rest;
  split_overlap(g, distinct, rest);
  return !rest.empty();
}

// region += part, where elements of the region may coincide.
void accumulate(const Tensor& region, Tensor part) {
  Geometry g(region);
  Shape distinct, rest;
  split_overlap(g, distinct, rest);
  if (region.numel() == 0) return;
  Shape zero;  // repeated by stride 0: sum these at once
  for (int64_t d : rest)
    if (g.strides[d] == 0) zero.push_back(d);
  if (!zero.empty()) {
    part = sum(part, Dims(zero), true);
    for (int64_t d : zero) rest.erase(int(std::find(rest.begin(), rest.end(), d) - rest.begin()));
  }
  Shape shape, strides, part_strides, at = Shape::filled(rest.size(), 0);
  for (int64_t d : distinct) {
    shape.push_back(g.shape[d]);
    strides.push_back(g.strides[d]);
    part_strides.push_back(part.strides()[d]);
  }
  for (;;) {
    int64_t to = region.offset(), from = part.offset();
    for (int i = 0; i < rest.size(); i++) {
      to += at[i] * g.strides[rest[i]];
      from += at[i] * part.strides()[rest[i]];
    }
    Tensor target = alias(region, shape, strides, to);
    add(target, alias(part, shape, part_strides, from), {&target, true});
    int i = 0;
    while (i < rest.size() && ++at[i] == g.shape[rest[i]]) at[i++] = 0;
    if (i == rest.size()) return;
  }
}

// How often a tensor of this geometry has each of its elements.
Tensor counts(const Geometry& g, Device device) {
  const Span s = span_of(g);
  Ref<Storage> storage = new_storage(s.end - s.first, device);
  Tensor count =
      from_storage(storage, g.dtype, g.shape, g.strides, g.offset - s.first / item_size(g.dtype));
  backend_of(count).fill(from_storage(storage, Dtype::UInt8, {storage->bytes}, {1}, 0), Scalar(0));
  accumulate(count, ones(g.shape, g.dtype, device));
  return count;
}

// Elements that the base has several times share their gradient.
Tensor shared(const Tensor& g, const Geometry& base) {
  return overlaps(base) ? div(g, counts(base, g.device())) : g;
}

// Base and view as tensors over one fresh buffer.
struct Buffer {
  Tensor base, view;
  bool filled_by_base;  // the base leaves no gap that the view could reach

  Buffer(const Geometry& b, const Geometry& v, Device device) {
    Span s = span_of(b), t = span_of(v);
    filled_by_base = is_dense(b.shape, b.strides) && t.first >= s.first && t.end <= s.end;
    int64_t unit = std::max(item_size(b.dtype), item_size(v.dtype));
    int64_t first = std::min(s.first, t.first) / unit * unit, end = std::max(s.end, t.end);
    Ref<Storage> storage = new_storage(end - first, device);
    auto place = [&](const Geometry& g) {
      return from_storage(storage, g.dtype, g.shape, g.strides,
                          g.offset - first / item_size(g.dtype));
    };
    base = place(b);
    view = place(v);
  }
  void clear() {
    Tensor bytes = from_storage(base.storage(), Dtype::UInt8, {base.storage()->bytes}, {1}, 0);
    backend_of(base).fill(bytes, Scalar(0));
  }
  void load_base(const Tensor& g, const Geometry& b) {
    if (!filled_by_base) clear();
    if (overlaps(b))
      accumulate(base, g);
    else
      backend_of(base).copy(base, g);
  }
  Tensor unload_base(const Geometry& b) { return shared(base, b); }
};

Tensor region_take(const Tensor& whole, const Geometry& base, const Geometry& view) {
  Tensor out;
  {
    NoGrad guard;
    Span s = span_of(base), t = span_of(view);
    if (whole.strides() == base.strides && is_dense(base.shape, base.strides) &&
        t.first >= s.first && t.end <= s.end) {
      int64_t shift = (whole.offset() - base.offset) * item_size(base.dtype);
      int64_t start = view.offset * item_size(view.dtype) + shift;
      if (start % item_size(view.dtype) == 0)
        out = from_storage(whole.storage(), view.dtype, view.shape, view.strides,
                           start / item_size(view.dtype));
    }
    if (!out) {
      Buffer buffer(base, view, whole.device());
      buffer.load_base(whole, base);
      out = buffer.view;
    }
  }
  if (!grad_needed(whole)) return out;
  return tape(out, "as_strided", wrt(whole, [base, view](const Tensor& g) {
                return engine_ops.region_grad(g, base, view);
              }));
}

Tensor region_grad(const Tensor& part, const Geometry& base, const Geometry& view) {
  Tensor out;
  {
    NoGrad guard;
    Buffer buffer(base, view, part.device());
    buffer.clear();
    if (overlaps(view))
      accumulate(buffer.view, part);
    else
      backend_of(part).copy(buffer.view, part);
    out = buffer.unload_base(base);
  }
  if (!grad_needed(part)) return out;
  return tape(out, "as_strided_backward", wrt(part, [base, view](const Tensor& g) {
                return region_take(shared(g, base), base, view);
              }));
}

Tensor region_put(Tensor whole, const Geometry& base, const Geometry& view, const Tensor& part,
                  bool ours) {
  auto write = [&](const Tensor& hole) {
    if (part)
      backend_of(hole).copy(hole, part);
    else
      backend_of(hole).fill(hole, Scalar(0));
  };
  if (ours) {
    Tensor hole = region_take(whole, base, view);
    if (hole.storage() == whole.storage()) {  // not if the view reaches outside the base
      write(hole);
      return whole;
    }
  }
  Tensor out;
  {
    NoGrad guard;
    Buffer buffer(base, view, whole.device());
    buffer.load_base(whole, base);
    write(buffer.view);
    out = buffer.unload_base(base);
  }
  if (!grad_needed(whole, part)) return out;
  return tape(out, "copy_slices_backward",
              wrt(whole,
                  [base, view](const Tensor& g) {
                    return engine_ops.region_put(g, base, view, Tensor(), false);
                  }),
              wrt(part, [base, view](const Tensor& g) {
                return region_take(shared(g, base), base, view);
              }));
}

const bool provided = [] {
  engine_ops.region_take = region_take;
  engine_ops.region_put = region_put;
  engine_ops.region_grad = region_grad;
  return true;
}();

}  // namespace

}  // namespace ember
