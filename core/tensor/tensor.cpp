#include "tensor/tensor.h"

#include <mutex>
#include <numeric>

#include "backend.h"
#include "runtime.h"
#include "tensor/deferred.h"
#include "tensor/mode.h"
#include "tensor/rehearsed.h"

namespace ember {

namespace {
Dtype the_default_dtype = Dtype::Float32;
Device the_default_device;
}  // namespace

Dtype default_dtype() { return the_default_dtype; }
void set_default_dtype(Dtype dtype) { the_default_dtype = dtype; }
Device default_device() { return the_default_device; }
void set_default_device(Device device) { the_default_device = device; }

Device with_index(Device d) {
  if (d.kind > Device::kMeta && d.index < 0) d.index = int8_t(backend_of(d).current_index());
  return d;
}

namespace {

std::mutex alias_mutex;  // guards the lists of aliases, since anybody may drop one

void join_root(Storage& s) {
  std::lock_guard lock(alias_mutex);
  s.alias_after = s.root->aliases;
  if (s.alias_after) s.alias_after->alias_before = &s;
  s.root->aliases = &s;
}

void leave_root(Storage& s) {
  std::lock_guard lock(alias_mutex);
  (s.alias_before ? s.alias_before->alias_after : s.root->aliases) = s.alias_after;
  if (s.alias_after) s.alias_after->alias_before = s.alias_before;
}

void follow(Storage& s, const Storage& root) {
  s.data = root.data;
  s.bytes = root.bytes;
  s.watch = uint8_t((s.watch & ~kShrunk) | (root.watch & kShrunk));
}

}  // namespace

void Storage::destroy() {
  if (host_object) return give_back_storage(this);
  if (__builtin_expect(watch & kAwaited, 0) && deferred.keep(this)) return;
  if (release)
    release(this);
  else if (owner && !root)
    owner->deallocate(data, bytes);
  // One after the other: there may be many.
  for (Ref<Storage> old = std::move(retired); old && old->refs.load() == 1;) {
    Ref<Storage> next = std::move(old->retired);
    old = std::move(next);
  }
  if (root) leave_root(*this);
  delete this;
}

void Storage::provide() {
  data = owner->allocate(bytes);
  watch &= uint8_t(~kUnallocated);
}

void Storage::settle_now() {
  if (watch & kAwaited) deferred.settle(*this);
  if (watch & kUnallocated) provide();
}

Ref<Storage> new_storage(int64_t bytes, Device device) {
  device = with_index(device);
  Backend& backend = backend_of(device);
  Ref<Storage> s(new Storage);
  if (__builtin_expect(deferring, 0) && device.is_cpu() && bytes >= 4 * deferred_least &&
      bytes <= kMostDeferredBytes)
    s->watch = kUnallocated;
  else
    s->data = backend.allocate(bytes);
  s->bytes = bytes;
  s->device = device;
  s->owner = &backend;
  return s;
}

Ref<Storage> wrap_memory(void* data, int64_t bytes, Device device, void (*release)(Storage*),
                         void* context) {
  Ref<Storage> s(new Storage);
  s->data = data;
  s->bytes = bytes;
  s->device = device;
  s->release = release;
  s->context = context;
  s->resizable = false;
  return s;
}

Ref<Storage> alias_storage(const Ref<Storage>& storage) {
  storage->settle();
  Ref<Storage> s(new Storage);
  s->device = storage->device;
  s->root = storage->root ? storage->root : storage;
  follow(*s, *s->root);
  join_root(*s);
  return s;
}

void update_aliases(Storage& root) {
  if (!root.aliases) return;
  std::lock_guard lock(alias_mutex);
  for (Storage* s = root.aliases; s; s = s->alias_after) follow(*s, root);
}

void pin_storage(const Ref<Storage>& storage) {
  const Ref<Storage>& owner = storage->root ? storage->root : storage;
  owner->pins++;
  owner->resizable = false;
}

namespace {

// Never destroyed: a thread may still be in a kernel when the process ends.
struct Aside {
  std::mutex mutex;
  std::vector<Ref<Storage>> storages;
};
Aside& aside() {
  static auto* kept = new Aside;
  return *kept;
}

void free_set_aside() {
  std::vector<Ref<Storage>> freed;
  std::lock_guard lock(aside().mutex);
  if (HostCall::any_in_flight()) return;
  HostCall::drained = nullptr;
  freed.swap(aside().storages);
}

// Keeps what a kernel of another thread may be using until it is done.
void set_aside(Ref<Storage> storage) {
  std::lock_guard lock(aside().mutex);
  aside().storages.push_back(std::move(storage));
  HostCall::drained = free_set_aside;
}

}  // namespace

void leave_storage(Ref<Storage> storage) {
  storage->settle();
  if (HostCall::any_in_flight()) set_aside(storage->root ? storage->root : std::move(storage));
}

void resize_storage(Storage& s, int64_t bytes) {
  if (s.root) return resize_storage(*s.root, bytes);
  s.settle();
  if (s.bytes == bytes && !s.pins) return;
  check(s.resizable && !s.pins, Kind::Runtime, "Trying to resize storage that is not resizable",
        s.pins ? ": an array or another library has a pointer to its memory" : "");
  check(bytes >= 0, Kind::Runtime, "resize_(): the size must not be negative, got ", bytes);
  Backend& backend = backend_of(s.device);
  void* data = backend.allocate(bytes);
  if (s.data && bytes && s.bytes) backend.copy_bytes(data, s.data, std::min(bytes, s.bytes));
  if (HostCall::any_in_flight()) {
    Ref<Storage> old(new Storage);
    old->data = s.data;
    old->bytes = s.bytes;
    old->device = s.device;
    old->owner = &backend;
    set_aside(std::move(old));
  } else {
    backend.deallocate(s.data, s.bytes);
  }
  if (bytes < s.bytes) {
    s.peak = std::max(s.peak, s.bytes);
    s.watch |= kShrunk;
  } else if ((s.watch & kShrunk) && bytes >= s.peak) {
    s.watch &= uint8_t(~kShrunk);
  }
  s.data = data;
  s.bytes = bytes;
  update_aliases(s);
}

namespace {

// Elements between the first and the last, or an error if the count does not fit an int64.
int64_t extent(const Shape& shape, const Shape& strides) {
  int64_t last = 0;
  for (int i = 0; i < shape.size(); i++) {
    if (shape[i] == 0) return 0;
    int64_t step;
    bool overflow = __builtin_mul_overflow(shape[i] - 1, strides[i], &step) ||
                    __builtin_add_overflow(last, step, &last);
    check(!overflow && last != INT64_MAX, Kind::Runtime,
          "Storage size calculation overflowed with sizes=", shape, " and strides=", strides);
  }
  return last + 1;
}

// Kernels keep sizes and strides in arrays of kMaxDims.
void check_dims(const Shape& shape) {
  check(shape.size() <= kMaxDims, Kind::Runtime, "a tensor has at most ", kMaxDims,
        " dimensions, got ", shape.size());
}

int64_t count_elements(const Shape& shape) {
  check_dims(shape);
  return numel_of(shape);
}

Tensor make(Ref<Storage> storage, Dtype dtype, const Shape& shape, const Shape& strides,
            int64_t offset) {
  auto* impl = new TensorImpl;
  Tensor t{Ref<TensorImpl>(impl)};
  impl->dtype = dtype;
  impl->device = storage->device;
  impl->storage = std::move(storage);
  impl->shape = shape;
  impl->strides = strides;
  impl->offset = offset;
  impl->numel = count_elements(shape);
  impl->contiguous = impl->numel == 0 || is_contiguous(shape, strides);
  impl->inference = grad_mode.inference;
  return t;
}

}  // namespace

void Tensor::look_closer() const {
  Storage& s = *impl_->storage;
  s.settle();
  if (__builtin_expect(s.watch & kRehearsed, 0) && rehearsed.looked) rehearsed.looked();
  if (numel() == 0 || !(s.watch & kShrunk)) return;
  int64_t need;
  const bool fits = !__builtin_add_overflow(extent(shape(), strides()), offset(), &need) &&
                    !__builtin_mul_overflow(need, item_size(), &need) && need <= s.bytes;
  check(fits, Kind::Runtime, "the storage of a tensor of shape ", shape(), " and dtype ", dtype(),
        " has been resized to ", s.bytes,
        " bytes, which its elements do not fit in; resize it back before using the tensor");
}

Tensor empty(const Shape& shape, Dtype dtype, Device device) {
  auto* impl = new TensorImpl;
  Tensor t{Ref<TensorImpl>(impl)};
  int64_t numel = 1;
  Shape& strides = impl->strides;
  check_dims(shape);
  strides.resize(shape.size());
  for (int i = shape.size() - 1; i >= 0; i--) {
    check(shape[i] >= 0, Kind::Runtime, "Trying to create tensor with negative dimension ",
          shape[i], ": ", shape);
    strides[i] = numel;
    check(!__builtin_mul_overflow(numel, std::max<int64_t>(shape[i], 1), &numel), Kind::Runtime,
          shape.contains(0) ? "Stride" : "Storage size",
          " calculation overflowed with sizes=", shape);
  }
  for (int64_t d : shape)
    if (d == 0) numel = 0;
  impl->dtype = dtype;
  impl->shape = shape;
  impl->numel = numel;
  impl->inference = grad_mode.inference;
  impl->storage = new_storage(byte_count(shape, numel, dtype), device);
  impl->device = impl->storage->device;
  return t;
}

Tensor empty_strided(const Shape& shape, const Shape& strides, Dtype dtype, Device device) {
  check(shape.size() == strides.size(), Kind::Runtime, "empty_strided(): dimensionality of sizes (",
        shape.size(), ") must match dimensionality of strides (", strides.size(), ")");
  for (int i = 0; i < shape.size(); i++) {
    check(shape[i] >= 0, Kind::Runtime, "Trying to create tensor with negative dimension ",
          shape[i], ": ", shape);
    check(strides[i] >= 0, Kind::Runtime,
          "empty_strided(): negative strides are not supported, got ", strides);
  }
  int64_t n = extent(shape, strides);
  return make(new_storage(byte_count(shape, n, dtype), device), dtype, shape, strides, 0);
}

Tensor empty_like(const Tensor& t, Dtype dtype) {
  if (t.is_contiguous()) return empty(t.shape(), dtype, t.device());
  return empty_strided(t.shape(), preserved_strides(t.shape(), t.strides()), dtype, t.device());
}
Tensor empty_like(const Tensor& t) { return empty_like(t, t.dtype()); }

Tensor from_storage(Ref<Storage> storage, Dtype dtype, Shape shape, Shape strides, int64_t offset) {
  check(shape.size() == strides.size(), Kind::Runtime,
        "mismatch in length of strides and shape: ", strides, " and ", shape);
  for (int64_t d : shape)
    check(d >= 0, Kind::Runtime, "negative dimension ", d, " in shape ", shape);
  for (int64_t s : strides)
    check(s >= 0, Kind::Runtime,
          "as_strided: Negative strides are not supported at the moment, got strides: ", strides);
  check(offset >= 0, Kind::Runtime, "storage_offset must be non-negative, got ", offset);
  int64_t need = extent(shape, strides);
  if (need) {
    bool overflows = __builtin_add_overflow(need, offset, &need) ||
                     __builtin_mul_overflow(need, item_size(dtype), &need);
    check(!overflows, Kind::Runtime, "Storage size calculation overflowed with sizes=", shape,
          ", strides=", strides, " and storage offset ", offset);
    check(need <= storage->bytes, Kind::Runtime, "setStorage: sizes ", shape, ", strides ", strides,
          ", storage offset ", offset, ", and itemsize ", item_size(dtype),
          " requiring a storage size of ", need, " are out of bounds for storage of size ",
          storage->bytes);
  }
  return make(std::move(storage), dtype, shape, strides, offset);
}

Tensor alias(const Tensor& t) {
  const TensorImpl& from = *t.impl();
  auto* impl = new TensorImpl;
  Tensor out{Ref<TensorImpl>(impl)};
  impl->dtype = from.dtype;
  impl->device = from.device;
  impl->inference = from.inference;
  impl->contiguous = from.contiguous;
  impl->numel = from.numel;
  impl->offset = from.offset;
  impl->shape = from.shape;
  impl->strides = from.strides;
  impl->storage = from.storage;
  return out;
}

Tensor alias(const Tensor& t, Shape shape, Shape strides, int64_t offset) {
  auto* impl = new TensorImpl;
  Tensor out{Ref<TensorImpl>(impl)};
  impl->dtype = t.dtype();
  impl->device = t.device();
  impl->inference = t.impl()->inference;
  impl->offset = offset;
  impl->shape = std::move(shape);
  impl->strides = std::move(strides);
  impl->numel = count_elements(impl->shape);
  impl->contiguous = impl->numel == 0 || is_contiguous(impl->shape, impl->strides);
  impl->storage = t.storage();
  return out;
}

void set_geometry(const Tensor& t, Shape shape, Shape strides, int64_t offset) {
  TensorImpl& impl = *t.impl();
  const int64_t numel = count_elements(shape);
  impl.shape = std::move(shape);
  impl.strides = std::move(strides);
  impl.offset = offset;
  impl.numel = numel;
  impl.contiguous = numel == 0 || is_contiguous(impl.shape, impl.strides);
}

void resize(const Tensor& t, const Shape& shape, const Shape& strides) {
  const int64_t numel = numel_of(shape);
  if (numel) {
    int64_t need;
    bool overflows = __builtin_add_overflow(extent(shape, strides), t.offset(), &need) ||
                     __builtin_mul_overflow(need, t.item_size(), &need);
    check(!overflows, Kind::Runtime, "Storage size calculation overflowed with sizes=", shape);
    if (need > t.storage()->bytes) resize_storage(*t.storage(), need);
  }
  set_geometry(t, shape, strides, t.offset());
}

bool is_dense(const Shape& shape, const Shape& strides) {
  int order[kMaxDims];
  std::iota(order, order + shape.size(), 0);
  std::sort(order, order + shape.size(), [&](int a, int b) {
    return strides[a] != strides[b] ? strides[a] < strides[b] : shape[a] < shape[b];
  });
  int64_t step = 1;
  for (int k = 0; k < shape.size(); k++) {
    int i = order[k];
    if (shape[i] == 0) return true;
    if (shape[i] == 1) continue;
    if (strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

bool has_internal_overlap(const Tensor& t) {
  if (t.is_contiguous() || t.numel() == 0) return false;
  for (int i = 0; i < t.dim(); i++)
    if (t.shape()[i] > 1 && t.strides()[i] == 0) return true;
  return false;
}

Shape channels_last_strides(const Shape& shape) {
  Shape strides = Shape::filled(shape.size(), 0);
  int64_t step = 1;
  auto put = [&](int d) {
    strides[d] = step;
    if (__builtin_mul_overflow(step, std::max<int64_t>(shape[d], 1), &step)) fail_numel(shape);
  };
  put(1);
  for (int d = shape.size() - 1; d >= 2; d--) put(d);
  put(0);
  return strides;
}

Shape preserved_strides(const Shape& shape, const Shape& strides) {
  if (is_dense(shape, strides)) return strides;
  // Outermost first by stride; ties, and broadcast (stride 0) dimensions, keep their place.
  int order[kMaxDims];
  int n = shape.size();
  std::iota(order, order + n, 0);
  auto outer = [&](int a, int b) {  // is a further out than b? 0: unknown
    if (strides[a] == 0 || strides[b] == 0) return 0;
    if (strides[a] != strides[b]) return strides[a] > strides[b] ? 1 : -1;
    return shape[a] > shape[b] ? 1 : 0;
  };
  for (int i = 1; i < n; i++) {  // insertion sort from the inside; `outer` is no strict order
    int at = i;
    for (int j = i - 1; j >= 0; j--) {
      int cmp = outer(order[at], order[j]);
      if (cmp > 0) {
        std::swap(order[at], order[j]);
        at = j;
      } else if (cmp < 0) {
        break;
      }
    }
  }
  Shape out = Shape::filled(n, 0);
  int64_t step = 1;
  for (int k = n - 1; k >= 0; k--) {
    out[order[k]] = step;
    if (__builtin_mul_overflow(step, std::max<int64_t>(shape[order[k]], 1), &step))
      fail_numel(shape);
  }
  return out;
}

std::ostream& operator<<(std::ostream& out, const Tensor& t) {
  if (!t) return out << "undefined";
  return out << t.dtype() << t.shape();
}

}  // namespace ember
