// The small types of PyTorch's C++ interface: dtypes, devices, options, lists, and `Arg`, which is
// any of them, or a tensor, as an argument of an op. Names and meanings are PyTorch's.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <complex>
#include <cstdint>
#include <cstring>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "ember/api.h"

namespace c10 {

namespace py = pybind11;
using std::nullopt;
using std::nullopt_t;
using std::optional;
using std::string_view;
template <class T>
using complex = std::complex<T>;

// Raised by TORCH_CHECK and its kin: Python's exception of that name, Error being RuntimeError.
struct Error : py::builtin_exception {
  using builtin_exception::builtin_exception;
  void set_error() const override { PyErr_SetString(PyExc_RuntimeError, what()); }
};
#define ROW(name)                                                              \
  struct name : Error {                                                        \
    using Error::Error;                                                        \
    void set_error() const override { PyErr_SetString(PyExc_##name, what()); } \
  };
ROW(IndexError)
ROW(ValueError)
ROW(TypeError)
ROW(NotImplementedError)
#undef ROW

template <class... Parts>
std::string str(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

// A list that somebody else owns.
template <class T>
class ArrayRef {
 public:
  ArrayRef() = default;
  ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  ArrayRef(const std::vector<T>& v) : ArrayRef(v.data(), v.size()) {}
  ArrayRef(const T& one) : ArrayRef(&one, 1) {}
  template <size_t N>
  ArrayRef(const std::array<T, N>& a) : ArrayRef(a.data(), N) {}
  // The list lives as long as the call it is written in.
  ArrayRef(std::initializer_list<T> v) : ArrayRef(v.begin(), v.size()) {}

  const T* data() const { return data_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](size_t i) const { return data_[i]; }
  const T& front() const { return data_[0]; }
  const T& back() const { return data_[size_ - 1]; }
  const T& at(size_t i) const {
    if (i >= size_) throw std::out_of_range(str("index ", i, " of a list of ", size_));
    return data_[i];
  }
  ArrayRef slice(size_t from, size_t count) const { return {data_ + from, count}; }
  ArrayRef slice(size_t from) const { return {data_ + from, size_ - from}; }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
  bool equals(ArrayRef o) const {
    return size_ == o.size_ && std::equal(begin(), end(), o.begin());
  }
  friend bool operator==(ArrayRef a, ArrayRef b) { return a.equals(b); }
  friend bool operator!=(ArrayRef a, ArrayRef b) { return !a.equals(b); }
  friend std::ostream& operator<<(std::ostream& out, ArrayRef a) {
    out << "[";
    for (size_t i = 0; i < a.size_; i++) out << (i ? ", " : "") << a[i];
    return out << "]";
  }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};
using IntArrayRef = ArrayRef<int64_t>;

// --- dtypes ---

// Halves are stored; arithmetic is that of float.
struct alignas(2) Half {
  uint16_t x = 0;
  Half() = default;
  Half(float value);
  operator float() const;
};
struct alignas(2) BFloat16 {
  uint16_t x = 0;
  BFloat16() = default;
  BFloat16(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    x = value != value ? 0x7fc0 : uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }
  operator float() const {
    uint32_t bits = uint32_t(x) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
};

// C++ type, PyTorch's name, ember's name.
#define EMBER_DTYPES(F)                              \
  F(uint8_t, Byte, uint8)                            \
  F(int8_t, Char, int8)                              \
  F(int16_t, Short, int16)                           \
  F(int, Int, int32)                                 \
  F(int64_t, Long, int64)                            \
  F(c10::Half, Half, float16)                        \
  F(float, Float, float32)                           \
  F(double, Double, float64)                         \
  F(c10::complex<float>, ComplexFloat, complex64)    \
  F(c10::complex<double>, ComplexDouble, complex128) \
  F(bool, Bool, bool)                                \
  F(c10::BFloat16, BFloat16, bfloat16)

enum class ScalarType : int8_t {
#define ROW(type, name, own) name,
  EMBER_DTYPES(ROW)
#undef ROW
      Undefined
};

inline const char* toString(ScalarType t) {
  static const char* const names[] = {
#define ROW(type, name, own) #name,
      EMBER_DTYPES(ROW)
#undef ROW
          "Undefined"};
  return names[int(t)];
}
inline std::ostream& operator<<(std::ostream& out, ScalarType t) { return out << toString(t); }
inline ScalarType scalar_type_named(const char* name) {
  for (int i = 0; i < int(ScalarType::Undefined); i++)
    if (!std::strcmp(toString(ScalarType(i)), name)) return ScalarType(i);
  return ScalarType::Undefined;
}

template <class T>
struct CppTypeToScalarType;
#define ROW(type, name, own)                              \
  template <>                                             \
  struct CppTypeToScalarType<type> {                      \
    static constexpr ScalarType value = ScalarType::name; \
  };                                                      \
  constexpr ScalarType k##name = ScalarType::name;
EMBER_DTYPES(ROW)
#undef ROW
constexpr ScalarType kUInt8 = kByte, kInt8 = kChar, kInt16 = kShort, kInt32 = kInt, kInt64 = kLong,
                     kFloat16 = kHalf, kFloat32 = kFloat, kFloat64 = kDouble,
                     kComplexF = kComplexFloat;
template <class T>
constexpr ScalarType CppTypeToScalarType_v = CppTypeToScalarType<T>::value;

inline bool isFloatingType(ScalarType t) {
  return t == kFloat || t == kDouble || t == kHalf || t == kBFloat16;
}
inline bool isComplexType(ScalarType t) { return t == kComplexFloat || t == kComplexDouble; }
inline bool isIntegralType(ScalarType t, bool with_bool = false) {
  return t <= kLong || (with_bool && t == kBool);
}

// --- Python ---

inline py::object ember() { return py::module_::import("ember"); }

inline py::object object_of(ScalarType t) {
  static const char* const names[] = {
#define ROW(type, name, own) #own,
      EMBER_DTYPES(ROW)
#undef ROW
  };
  if (t == ScalarType::Undefined) throw TypeError("undefined dtype");
  return ember().attr(names[int(t)]);
}

// --- devices and options ---

enum class DeviceType : int8_t { CPU, CUDA, Meta, Other };
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kMeta = DeviceType::Meta;

class Device {
 public:
  Device(DeviceType type = kCPU, int index = -1)
      : text_(type == kCPU    ? "cpu"
              : type == kCUDA ? "cuda"
                              : "meta") {
    if (index >= 0) text_ += ":" + std::to_string(index);
  }
  Device(std::string text) : text_(std::move(text)) {}
  Device(const char* text) : text_(text) {}
  const std::string& str() const { return text_; }
  DeviceType type() const {
    std::string kind = text_.substr(0, text_.find(':'));
    return kind == "cpu"    ? kCPU
           : kind == "cuda" ? kCUDA
           : kind == "meta" ? kMeta
                            : DeviceType::Other;
  }
  int index() const {
    size_t colon = text_.find(':');
    return colon == std::string::npos ? -1 : std::stoi(text_.substr(colon + 1));
  }
  bool is_cpu() const { return type() == kCPU; }
  bool is_cuda() const { return type() == kCUDA; }
  friend bool operator==(const Device& a, const Device& b) { return a.text_ == b.text_; }
  friend bool operator!=(const Device& a, const Device& b) { return a.text_ != b.text_; }
  friend std::ostream& operator<<(std::ostream& out, const Device& d) { return out << d.text_; }

 private:
  std::string text_;
};

class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType t) : dtype_(t) {}
  TensorOptions(Device d) : device_(std::move(d)) {}
  TensorOptions(DeviceType d) : device_(d) {}

  TensorOptions dtype(ScalarType t) const { return with(&TensorOptions::dtype_, t); }
  TensorOptions device(Device d) const { return with(&TensorOptions::device_, std::move(d)); }
  TensorOptions device(DeviceType d, int index = -1) const { return device(Device(d, index)); }
  TensorOptions requires_grad(bool on = true) const {
    return with(&TensorOptions::requires_grad_, on);
  }
  template <class L>
  TensorOptions layout(L) const {
    return *this;
  }
  ScalarType dtype() const { return dtype_.value_or(kFloat); }
  Device device() const { return device_.value_or(Device()); }
  bool requires_grad() const { return requires_grad_.value_or(false); }

  void add_to(py::dict& keywords) const {
    if (dtype_) keywords["dtype"] = object_of(*dtype_);
    if (device_) keywords["device"] = py::str(device_->str());
    if (requires_grad_) keywords["requires_grad"] = py::bool_(*requires_grad_);
  }

 private:
  template <class T, class V>
  TensorOptions with(std::optional<T> TensorOptions::* member, V value) const {
    TensorOptions copy = *this;
    copy.*member = std::move(value);
    return copy;
  }
  std::optional<ScalarType> dtype_;
  std::optional<Device> device_;
  std::optional<bool> requires_grad_;
};
inline TensorOptions dtype(ScalarType t) { return TensorOptions(t); }
inline TensorOptions device(Device d) { return TensorOptions(std::move(d)); }
inline TensorOptions requires_grad(bool on = true) { return TensorOptions().requires_grad(on); }

// A number, as ops take them.
class Scalar {
 public:
  using Value = std::variant<bool, int64_t, double, std::complex<double>>;
  Scalar() : value_(int64_t(0)) {}
  Scalar(bool v) : value_(v) {}
  Scalar(double v) : value_(v) {}
  Scalar(float v) : value_(double(v)) {}
  Scalar(int64_t v) : value_(v) {}
  Scalar(int v) : value_(int64_t(v)) {}
  template <class T>
  Scalar(std::complex<T> v) : value_(std::complex<double>(v)) {}
  const Value& value() const { return value_; }
  template <class T>
  T to() const {
    return std::visit([](auto v) { return cast<T>(v); }, value_);
  }
  double toDouble() const { return to<double>(); }
  float toFloat() const { return to<float>(); }
  int64_t toLong() const { return to<int64_t>(); }
  int toInt() const { return to<int>(); }
  bool toBool() const { return to<bool>(); }
  bool isFloatingPoint() const { return std::holds_alternative<double>(value_); }
  bool isBoolean() const { return std::holds_alternative<bool>(value_); }

 private:
  template <class T, class V>
  static T cast(V v) {
    if constexpr (std::is_convertible_v<V, T>)
      return T(v);
    else if constexpr (std::is_convertible_v<double, T> && !std::is_arithmetic_v<V>)
      return T(v.real());
    else
      return T(float(v));
  }
  Value value_;
};

inline Half::Half(float value) {
  uint32_t bits, magnitude;
  std::memcpy(&bits, &value, 4);
  uint32_t sign = (bits >> 16) & 0x8000;
  magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) {
    x = uint16_t(sign | 0x7e00);
  } else if (magnitude >= 0x477ff000) {
    x = uint16_t(sign | 0x7c00);
  } else if (magnitude < 0x38800000) {  // subnormal: the float adder rounds
    float rounded;
    std::memcpy(&rounded, &magnitude, 4);
    rounded += 0.5f;
    std::memcpy(&magnitude, &rounded, 4);
    x = uint16_t(sign | (magnitude - 0x3f000000));
  } else {
    x = uint16_t(sign | ((magnitude + 0xfff + ((magnitude >> 13) & 1) - 0x38000000) >> 13));
  }
}
inline Half::operator float() const {
  uint32_t sign = uint32_t(x & 0x8000) << 16, magnitude = x & 0x7fff, bits;
  float value;
  if (magnitude >= 0x7c00) {
    bits = sign | 0x7f800000 | (magnitude << 13);
  } else if (magnitude >= 0x0400) {
    bits = sign | ((magnitude + 0x1c000) << 13);
  } else {
    value = float(magnitude) * 5.9604644775390625e-8f;  // 2^-24
    std::memcpy(&bits, &value, 4);
    bits |= sign;
  }
  std::memcpy(&value, &bits, 4);
  return value;
}

}  // namespace c10
