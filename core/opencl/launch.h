// Starting kernels: geometry of operands, texts that depend on dtypes, and arguments.
#pragma once

#include <atomic>
#include <string>

#include "backend.h"
#include "opencl/memory.h"
#include "opencl/program.h"

namespace ember::opencl {

constexpr int kGeometryDims = 12, kOperands = 4;

// Where the elements of up to four operands are; see kernels/common.cl, which has the same struct.
struct Geometry {
  int64_t n = 0, ndim = 0;
  int64_t offset[kOperands] = {};
  int64_t size[kGeometryDims] = {};
  int64_t stride[kOperands][kGeometryDims] = {};
};

// Collects operands of one shape, then merges dimensions.
class Walk {
 public:
  explicit Walk(const Shape& shape) : shape_(shape) {}
  void add(const Tensor& t) { add(t.strides(), t.offset()); }
  void add(const Shape& strides, int64_t offset);
  void skip() { add(Shape::filled(shape_.size(), 0), 0); }
  // Raises NotImplemented if more dimensions are left than kernels walk.
  Geometry geometry() const;
  // Whether every operand marked as a tensor lies in one piece, in the order of the shape.
  static bool is_flat(const Geometry& g, int operands);

 private:
  Shape shape_;
  int count_ = 0;
  Shape strides_[kOperands];
  int64_t offset_[kOperands] = {};
};

// Kernel texts of a dtype: the type in memory, and the macros that read and write one element.
const char* memory_type(Dtype d);
const char* load_macro(Dtype d);
const char* store_macro(Dtype d);
// The type to calculate in, and the value `v` of type `from` as one to store in `to`.
const char* value_type(Dtype compute);
std::string stored(Dtype from, Dtype to, const std::string& v);
// Raises if the device has no d: float64 or complex128 where it has no double.
void check_holds(const char* op, Dtype d);
// The same, in kernels of real numbers: raises for complex ones, too.
void check_computes(const char* op, Dtype d);

// The text of a kernel, and what was built of it: mostly one, for work-groups of one size.
struct Text {
  std::string name, source;
  std::atomic<Kernel*> kernels[4] = {};
};

// Arguments are collected first and given to the kernel in run(), so that launches may nest and
// threads share kernels.
class Launch {
 public:
  // The kernel `name` of the text that `source` writes; `key` stands for that text, so that it is
  // written once for each device. It is built by run(), for work-groups of the size given there.
  template <class Source>
  Launch(const std::string& key, const char* name, Source&& source) : device_(context()) {
    text_ = known(key);
    if (!text_) text_ = remember(key, name, source());
  }
  // Its whole buffer. It must be on the launch's device. If it is undefined, the kernel gets
  // another buffer that it may read the beginning of (see stand_in()).
  Launch& tensor(const Tensor& t);
  Launch& bytes(const void* data, size_t size);
  Launch& local(size_t size);  // local memory
  template <class T>
  Launch& value(const T& v) {
    return bytes(&v, sizeof v);
  }
  Launch& scalar(Dtype compute, const Scalar& s);
  // The two arguments FAULTS of a kernel that may call FAULT (common.cl). Errors name `op` and
  // `what` is wrong; these are literals.
  Launch& faults(const char* op, Kind kind = Kind::Index, const char* what = "index");
  void run(int64_t items, int64_t group);  // items are rounded up to whole groups

 private:
  static constexpr int kMostArguments = 48;
  static constexpr size_t kMostBytes = 4096;
  struct Argument {
    uint32_t offset, size;
    bool is_handle, is_local;
  };
  Text* known(const std::string& key) const;
  Text* remember(const std::string& key, const char* name, std::string source) const;
  void add(const void* data, size_t size, bool is_handle, bool is_local);
  Kernel& built(size_t group) const;
  void give_arguments(Kernel& kernel);
  void stand_in();

  Context& device_;
  Text* text_;
  int count_ = 0;
  size_t used_ = 0;
  bool missing_ = false;  // a tensor is undefined
  Argument arguments_[kMostArguments];
  alignas(16) char data_[kMostBytes];
};

inline Block* block_of(const Tensor& t) {
  t.check_memory();
  return static_cast<Block*>(t.storage()->data);
}

}  // namespace ember::opencl
