// Geometry, dtype texts and arguments of kernels.
#include "opencl/launch.h"

#include <cstring>
#include <memory>
#include <unordered_map>

#include "opencl/fault.h"

namespace ember::opencl {

void Walk::add(const Shape& strides, int64_t offset) {
  strides_[count_] = strides;
  offset_[count_++] = offset;
}

Geometry Walk::geometry() const {
  Geometry g;
  g.n = numel_of(shape_);
  for (int k = 0; k < count_; k++) g.offset[k] = offset_[k];
  for (int d = shape_.size() - 1; d >= 0; d--) {
    const int64_t size = shape_[d];
    if (size == 1) continue;
    bool merges = g.ndim > 0;
    const int64_t last = g.ndim - 1;
    for (int k = 0; k < count_ && merges; k++)
      merges = strides_[k][d] == g.stride[k][last] * g.size[last];
    if (merges) {
      g.size[last] *= size;
      continue;
    }
    check(g.ndim < kGeometryDims, Kind::NotImplemented, "OpenCL kernels walk at most ",
          kGeometryDims, " dimensions that do not merge; make the operands contiguous");
    g.size[g.ndim] = size;
    for (int k = 0; k < count_; k++) g.stride[k][g.ndim] = strides_[k][d];
    g.ndim++;
  }
  return g;
}

bool Walk::is_flat(const Geometry& g, int operands) {
  if (g.ndim > 1) return false;
  for (int k = 0; k < operands; k++)
    if (g.ndim == 1 && g.stride[k][0] != 1) return false;
  return true;
}

const char* memory_type(Dtype d) {
  switch (d) {
    case Dtype::Bool:
    case Dtype::UInt8: return "u8";
    case Dtype::Int8: return "i8";
    case Dtype::Int16: return "i16";
    case Dtype::Int32: return "i32";
    case Dtype::Int64: return "i64";
    case Dtype::Float16:
    case Dtype::BFloat16:
    case Dtype::UInt16: return "u16";
    case Dtype::Float32: return "float";
    case Dtype::Float64: return "double";
    case Dtype::UInt32: return "u32";
    case Dtype::UInt64: return "u64";
    case Dtype::Complex64: return "c64";
    case Dtype::Complex128: return "c128";
    default: break;
  }
  fail(Kind::NotImplemented, "OpenCL kernels do not read ", d);
}

const char* load_macro(Dtype d) {
  switch (d) {
    case Dtype::Bool: return "LOAD_BOOL";
    case Dtype::Float16: return "LOAD_HALF";
    case Dtype::BFloat16: return "LOAD_BFLOAT";
    default: return "LOAD_PLAIN";
  }
}

const char* store_macro(Dtype d) {
  switch (d) {
    case Dtype::Bool: return "STORE_BOOL";
    case Dtype::Float16: return "STORE_HALF";
    case Dtype::BFloat16: return "STORE_BFLOAT";
    default: return "STORE_PLAIN";
  }
}

const char* value_type(Dtype compute) { return memory_type(compute_of(compute)); }

std::string stored(Dtype from, Dtype to, const std::string& v) {
  const std::string type = memory_type(to), real = memory_type(real_of(to));
  if (is_complex(from) && is_complex(to))
    return "make_" + type + "((" + real + ")(" + v + ").x, (" + real + ")(" + v + ").y)";
  if (is_complex(to)) return "make_" + type + "((" + real + ")(" + v + "), 0)";
  if (is_complex(from) && to == Dtype::Bool) return "(((" + v + ").x != 0) | ((" + v + ").y != 0))";
  if (is_complex(from)) return stored(real_of(from), to, "(" + v + ").x");
  if (to == Dtype::Bool || is_reduced(to)) return v;
  if (is_floating(from) && is_integral(to) && to != Dtype::UInt64)
    return "(" + type + ")(i64)(" + v + ")";
  return "(" + type + ")(" + v + ")";
}

void check_holds(const char* op, Dtype d) {
  if (real_of(d) != Dtype::Float64 || context().properties.has_double) return;
  fail(Kind::Type, "Could not run '", op, "' on device 'opencl': ", context().properties.name,
       " has no ", d, "; use ", is_complex(d) ? Dtype::Complex64 : Dtype::Float32);
}

void check_computes(const char* op, Dtype d) {
  check(!is_complex(d), Kind::NotImplemented, "Could not run '", op,
        "' on device 'opencl': it has no kernels for ", d);
  check_holds(op, d);
}

namespace {

struct Texts {
  std::mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<Text>> all[kMostDevices];
};
Texts& texts() {
  static auto& instance = *new Texts;
  return instance;
}

}  // namespace

Text* Launch::known(const std::string& key) const {
  Texts& t = texts();
  std::lock_guard lock(t.mutex);
  auto& all = t.all[device_.index];
  auto found = all.find(key);
  return found == all.end() ? nullptr : found->second.get();
}

Text* Launch::remember(const std::string& key, const char* name, std::string source) const {
  Texts& t = texts();
  std::lock_guard lock(t.mutex);
  auto& text = t.all[device_.index][key];
  if (!text) {
    text = std::make_unique<Text>();
    text->name = name;
    text->source = std::move(source);
  }
  return text.get();
}

Kernel& Launch::built(size_t group) const {
  std::atomic<Kernel*>* free = nullptr;
  for (auto& slot : text_->kernels) {
    Kernel* k = slot.load(std::memory_order_acquire);
    if (k && k->group == group) return *k;
    if (!k && !free) free = &slot;
  }
  Kernel* k = kernel(device_, text_->source, text_->name.c_str(), group);
  (free ? free : text_->kernels)->store(k, std::memory_order_release);
  return *k;
}

void Launch::add(const void* data, size_t size, bool is_handle, bool is_local) {
  internal_check(count_ < kMostArguments && used_ + size <= kMostBytes,
                 "too many arguments for a kernel");
  arguments_[count_++] = {uint32_t(used_), uint32_t(size), is_handle, is_local};
  if (is_local) return;
  std::memcpy(data_ + used_, data, size);
  used_ += (size + 7) / 8 * 8;
}

Launch& Launch::tensor(const Tensor& t) {
  Handle buffer = nullptr;
  if (t && block_of(t)) {
    const Block& block = *block_of(t);
    check(block.stream->device == &device_, Kind::Runtime,
          "Expected all tensors to be on the same device, but found at least two devices, opencl:",
          device_.index, " and ", t.device(), "!");
    buffer = block.buffer;
  }
  missing_ = missing_ || !buffer;
  add(&buffer, sizeof buffer, true, false);
  return *this;
}

Launch& Launch::bytes(const void* data, size_t size) {
  add(data, size, false, false);
  return *this;
}

Launch& Launch::local(size_t size) {
  add(nullptr, size, false, true);
  return *this;
}

Launch& Launch::scalar(Dtype compute, const Scalar& s) {
  alignas(16) char v[16];
  s.store(compute_of(compute), v);
  return bytes(v, size_t(item_size(compute_of(compute))));
}

Launch& Launch::faults(const char* op, Kind kind, const char* what) {
  Handle cell = fault_cell(current_stream(device_));
  add(&cell, sizeof cell, true, false);
  return value(fault_place(op, kind, what));
}

// What the kernel has from the last time is not given again, but for buffers: a new one may have
// the address of one that is gone.
void Launch::give_arguments(Kernel& k) {
  const bool same = k.last_count == count_ && k.last.size() == used_;
  k.last_count = -1;
  for (int i = 0; i < count_; i++) {
    const Argument& a = arguments_[i];
    if (same && !a.is_handle && !a.is_local &&
        std::memcmp(k.last.data() + a.offset, data_ + a.offset, a.size) == 0)
      continue;
    checked(
        api().SetKernelArg(k.handle, uint32_t(i), a.size, a.is_local ? nullptr : data_ + a.offset),
        "clSetKernelArg");
  }
  k.last.assign(data_, used_);
  k.last_count = count_;
}

// An operand that is not there is another one of the launch to the driver. Kernels do not use it,
// but compilers may read it before they ask (Intel's does).
void Launch::stand_in() {
  Handle some = nullptr, one = nullptr;
  for (bool fills : {false, true})
    for (int i = 0; i < count_; i++) {
      if (!arguments_[i].is_handle) continue;
      std::memcpy(&one, data_ + arguments_[i].offset, sizeof one);
      if (one && !some) some = one;
      if (!one && fills) std::memcpy(data_ + arguments_[i].offset, &some, sizeof some);
    }
}

void Launch::run(int64_t items, int64_t group) {
  if (items <= 0) return;
  if (missing_) stand_in();
  Kernel& k = built(size_t(group));
  Stream& s = current_stream(device_);
  const size_t local = size_t(group), global = size_t((items + group - 1) / group * group);
  auto start = [&] {
    std::lock_guard lock(k.mutex);
    give_arguments(k);
    return api().EnqueueNDRangeKernel(s.queue, k.handle, 1, nullptr, &global, &local, 0, nullptr,
                                      nullptr);
  };
  int32_t code = start();
  if (is_out_of_memory(code)) {  // drivers may find room for buffers only now
    release_cached(device_);
    code = start();
    check(!is_out_of_memory(code), Kind::OutOfMemory, "OpenCL out of memory: kernel '", k.name,
          "' does not fit on opencl:", device_.index, " (", device_.properties.name,
          "), where tensors use ", memory_stats(device_).allocated, " bytes of ",
          device_.properties.memory, " (", error_name(code), ")");
  }
  checked(code, k.name.c_str());
  enqueued(s);
  if (waits_always()) finish(s);
}

}  // namespace ember::opencl
