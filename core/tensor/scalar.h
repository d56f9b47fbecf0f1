// A Python number on its way into an op: never a tensor, so it costs nothing to pass.
#pragma once

#include "tensor/dtype.h"

namespace ember {

class Scalar {
 public:
  enum class Type : uint8_t { Bool, Int, UInt, Float, Complex };  // UInt: from 2^63 on

  Scalar() : Scalar(int64_t(0)) {}
  Scalar(bool v) : type_(Type::Bool) { v_.i = v; }
  Scalar(int v) : Scalar(int64_t(v)) {}
  Scalar(int64_t v) : type_(Type::Int) { v_.i = v; }
  Scalar(double v) : type_(Type::Float) { v_.d = v; }
  Scalar(complex128 v) : type_(Type::Complex) {
    v_.d = v.real();
    imag_ = v.imag();
  }

  static Scalar of_unsigned(uint64_t v) {
    Scalar s{int64_t(v)};
    if (v >> 63) s.type_ = Type::UInt;
    return s;
  }

  Type type() const { return type_; }
  bool is_bool() const { return type_ == Type::Bool; }
  bool is_int() const { return type_ == Type::Int || type_ == Type::UInt; }
  bool is_float() const { return type_ == Type::Float; }
  bool is_complex() const { return type_ == Type::Complex; }

  template <class T>
  T to() const {
    switch (type_) {
      case Type::Bool: return convert<T>(v_.i != 0);
      case Type::Int: return convert<T>(v_.i);
      case Type::UInt: return convert<T>(uint64_t(v_.i));
      case Type::Float: return convert<T>(v_.d);
      default: return convert<T>(complex128(v_.d, imag_));
    }
  }
  double real() const { return to<double>(); }
  bool equal(double v) const { return to<complex128>() == complex128(v, 0); }

  // Writes the value as an element of dtype `d`.
  void store(Dtype d, void* to_) const {
    with_any_dtype(d, [&](auto tag) {
      using T = typename decltype(tag)::type;
      *static_cast<T*>(to_) = to<T>();
    });
  }
  static Scalar load(Dtype d, const void* from) {
    return with_any_dtype(d, [&](auto tag) -> Scalar {
      using T = typename decltype(tag)::type;
      [[maybe_unused]] T v;
      if constexpr (!std::is_same_v<T, bool>) std::memcpy(&v, from, sizeof(T));
      if constexpr (std::is_same_v<T, bool>)
        return Scalar(*static_cast<const uint8_t*>(from) != 0);
      else if constexpr (std::is_same_v<T, uint64_t>)
        return of_unsigned(v);
      else if constexpr (is_complex_type<T>)
        return Scalar(convert<complex128>(v));
      else if constexpr (std::is_integral_v<T>)
        return Scalar(int64_t(v));
      else
        return Scalar(convert<double>(v));
    });
  }
  Scalar operator-() const {
    if (is_complex()) return Scalar(-to<complex128>());
    if (is_float()) return Scalar(-v_.d);
    if (type_ == Type::UInt && v_.i != INT64_MIN) return Scalar(-to<double>());
    return Scalar(int64_t(-uint64_t(v_.i)));
  }
  friend std::ostream& operator<<(std::ostream& out, const Scalar& s) {
    if (s.is_complex()) return out << s.to<complex128>();
    if (s.is_float()) return out << s.v_.d;
    if (s.type_ == Type::UInt) return out << uint64_t(s.v_.i);
    return out << s.v_.i;
  }

 private:
  union {
    int64_t i;
    double d;
  } v_;
  double imag_ = 0;
  Type type_;
};

}  // namespace ember
