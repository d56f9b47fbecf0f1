// Shapes and strides: short lists of int64 kept inline, and the arithmetic on them.
#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <ostream>

#include "check.h"
#include "tensor/dtype.h"

namespace ember {

constexpr int kMaxDims = 64;

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> v) : Shape(v.begin(), int(v.size())) {}
  Shape(const int64_t* v, int n) {
    reserve(n);
    size_ = n;
    if (n) std::memcpy(data_, v, size_t(n) * sizeof(int64_t));
  }
  static Shape filled(int n, int64_t value) {
    Shape s;
    s.resize(n, value);
    return s;
  }
  Shape(const Shape& o) : Shape(o.data_, o.size_) {}
  Shape(Shape&& o) noexcept { steal(o); }
  Shape& operator=(const Shape& o) {
    if (this == &o) return *this;
    size_ = 0;
    reserve(o.size_);
    size_ = o.size_;
    if (size_) std::memcpy(data_, o.data_, size_t(size_) * sizeof(int64_t));
    return *this;
  }
  Shape& operator=(Shape&& o) noexcept {
    if (this != &o) {
      release();
      steal(o);
    }
    return *this;
  }
  ~Shape() { release(); }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t* data() { return data_; }
  const int64_t* data() const { return data_; }
  int64_t* begin() { return data_; }
  int64_t* end() { return data_ + size_; }
  const int64_t* begin() const { return data_; }
  const int64_t* end() const { return data_ + size_; }
  int64_t& operator[](int64_t i) { return data_[i]; }
  int64_t operator[](int64_t i) const { return data_[i]; }
  int64_t& back() { return data_[size_ - 1]; }
  int64_t back() const { return data_[size_ - 1]; }

  void push_back(int64_t v) {
    reserve(size_ + 1);
    data_[size_++] = v;
  }
  void pop_back() { size_--; }
  void resize(int n, int64_t fill = 0) {
    reserve(n);
    for (int i = size_; i < n; i++) data_[i] = fill;
    size_ = n;
  }
  void insert(int at, int64_t v) {
    push_back(v);
    std::rotate(data_ + at, data_ + size_ - 1, data_ + size_);
  }
  void erase(int at) {
    std::copy(data_ + at + 1, data_ + size_, data_ + at);
    size_--;
  }
  bool contains(int64_t v) const { return std::find(begin(), end(), v) != end(); }

  friend bool operator==(const Shape& a, const Shape& b) {
    return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
  }
  friend std::ostream& operator<<(std::ostream& out, const Shape& s) {  // as a list: [2, 3]
    out << '[';
    for (int i = 0; i < s.size_; i++) out << (i ? ", " : "") << s[i];
    return out << ']';
  }

 private:
  static constexpr int kInline = 5;
  void reserve(int n) {
    if (n <= capacity_) return;
    int bigger = std::max(n, 2 * capacity_);
    auto* p = new int64_t[size_t(bigger)];
    if (size_) std::memcpy(p, data_, size_t(size_) * sizeof(int64_t));
    release();
    data_ = p;
    capacity_ = bigger;
  }
  void release() {
    if (data_ != inline_) delete[] data_;
  }
  void steal(Shape& o) {
    size_ = o.size_;
    if (o.data_ == o.inline_) {
      data_ = inline_;
      capacity_ = kInline;
      std::memcpy(inline_, o.inline_, size_t(size_) * sizeof(int64_t));
    } else {
      data_ = o.data_;
      capacity_ = o.capacity_;
      o.data_ = o.inline_;
      o.capacity_ = kInline;
    }
    o.size_ = 0;
  }
  int64_t* data_ = inline_;
  int size_ = 0;
  int capacity_ = kInline;
  int64_t inline_[kInline];
};

// A `dim=` argument: None, one dimension or several.
struct Dims {
  bool given = false;
  Shape values;
  Dims() = default;
  Dims(int64_t d) : given(true), values{d} {}
  Dims(Shape d) : given(true), values(std::move(d)) {}
};

// Sizes are multiplied here and in size_product() only, so that none wraps round.
[[noreturn]] void fail_numel(const Shape& shape);
[[noreturn]] void fail_product(const char* op, int64_t a, int64_t b);
[[noreturn]] void fail_bytes(const Shape& shape);

// The number of elements. Sizes of 0 count as 1 until the end: then no stride overflows either.
inline int64_t numel_of(const Shape& shape) {
  int64_t n = 1;
  bool empty = false;
  for (int64_t d : shape) {
    empty |= d == 0;
    if (d < 0 || __builtin_mul_overflow(n, d + (d == 0), &n)) fail_numel(shape);
  }
  return empty ? 0 : n;
}

// a * b, of sizes.
inline int64_t size_product(const char* op, int64_t a, int64_t b) {
  int64_t n;
  if (__builtin_mul_overflow(a, b, &n)) fail_product(op, a, b);
  return n;
}
inline int64_t size_sum(const char* op, int64_t a, int64_t b) {
  int64_t n;
  check(!__builtin_add_overflow(a, b, &n), Kind::Runtime, op,
        "(): integer overflow: the size would be ", a, " + ", b);
  return n;
}

// The bytes of so many elements.
inline int64_t byte_count(const Shape& shape, int64_t numel, Dtype dtype) {
  int64_t bytes;
  if (__builtin_mul_overflow(numel, item_size(dtype), &bytes)) fail_bytes(shape);
  return bytes;
}

// Shapes whose strides would overflow are refused.
inline Shape contiguous_strides(const Shape& shape) {
  Shape s = Shape::filled(shape.size(), 0);
  int64_t step = 1;
  for (int i = shape.size() - 1; i >= 0; i--) {
    s[i] = step;
    if (__builtin_mul_overflow(step, std::max<int64_t>(shape[i], 1), &step)) fail_numel(shape);
  }
  return s;
}

inline bool is_contiguous(const Shape& shape, const Shape& strides) {
  int64_t step = 1;
  for (int i = shape.size() - 1; i >= 0; i--) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1) {
      if (strides[i] != step) return false;
      step *= shape[i];
    }
  }
  return true;
}

// Wraps a negative dimension and checks its range; a 0-d tensor accepts -1 and 0.
inline int wrap_dim(const char* op, int64_t dim, int ndim) {
  int64_t n = ndim ? ndim : 1;
  check(dim >= -n && dim < n, Kind::Index, op,
        "(): Dimension out of range (expected to be in range of [", -n, ", ", n - 1, "], but got ",
        dim, ")");
  return int(dim < 0 ? dim + n : dim);
}

Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b);
// Strides that make `shape` look like `to` (whose trailing dimensions match or are 1 in `shape`).
Shape broadcast_strides(const Shape& shape, const Shape& strides, const Shape& to);
// Strides of a view with the new shape over the same elements, or nothing if a copy is needed.
std::optional<Shape> view_strides(const Shape& shape, const Shape& strides, const Shape& to);
// Fills in a -1 entry and checks the element count.
Shape infer_size(const char* op, Shape shape, int64_t numel);

}  // namespace ember
