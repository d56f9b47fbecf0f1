// Geometry, dtype texts and arguments of kernels.
#include "opencl/launch.h"

#include <unordered_map>

#include "opencl/device.h"
#include "opencl/program.h"

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
  }
  fail(Kind::NotImplemented, "OpenCL kernels do not read ", d);
}

const char* load_macro(Dtype d) {
  return d == Dtype::Float16 ? "LOAD_HALF" : d == Dtype::BFloat16 ? "LOAD_BFLOAT" : "LOAD_PLAIN";
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
std::unordered_map<std::string, Handle>& kernels() {
  static auto& instance = *new std::unordered_map<std::string, Handle>;
  return instance;
}
}  // namespace

std::mutex& Launch::mutex() {
  static auto& instance = *new std::mutex;
  return instance;
}

Handle Launch::known(const std::string& key) {
  auto found = kernels().find(key);
  return found == kernels().end() ? nullptr : found->second;
}

Handle Launch::build(const std::string& key, const char* name, const std::string& source) {
  return kernels()[key] = kernel(source, name);
}

Launch& Launch::tensor(const Tensor& t) {
  Handle buffer = nullptr;
  if (t && block_of(t)) buffer = block_of(t)->buffer;
  return bytes(&buffer, sizeof buffer);
}

Launch& Launch::bytes(const void* data, size_t size) {
  checked(api().SetKernelArg(kernel_, args_++, size, data), "clSetKernelArg");
  return *this;
}

Launch& Launch::scalar(Dtype compute, const Scalar& s) {
  alignas(16) char v[16];
  s.store(compute_of(compute), v);
  return bytes(v, size_t(item_size(compute_of(compute))));
}

void Launch::run(int64_t items, int64_t group) {
  size_t local = size_t(group), global = size_t((items + group - 1) / group * group);
  int32_t code = items <= 0 ? kSuccess
                            : api().EnqueueNDRangeKernel(context().queue, kernel_, 1, nullptr,
                                                         &global, &local, 0, nullptr, nullptr);
  lock_.unlock();  // what follows in the same scope may launch again
  checked(code, "clEnqueueNDRangeKernel");
}

}  // namespace ember::opencl
