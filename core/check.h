// Errors. One variadic check(); its text is built only on failure.
// A message reads: "op(): what is wrong, with the actual values; what would be right".
#pragma once

#include <exception>
#include <sstream>
#include <string>
#include <utility>

namespace ember {

// The Python exception that an error becomes.
enum class Kind {
  Runtime,
  Value,
  Type,
  Index,
  NotImplemented,
  Assertion,
  OutOfMemory,
  Overflow,
  ZeroDivision,
  LinAlg
};

class Error : public std::exception {
 public:
  Error(Kind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
  std::string message_;
};

template <class... Parts>
[[noreturn, gnu::noinline, gnu::cold]] void fail(Kind kind, const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw Error(kind, text.str());
}

template <class... Parts>
inline void check(bool ok, Kind kind, const Parts&... parts) {
  if (__builtin_expect(!ok, 0)) fail(kind, parts...);
}

// For what only a bug in ember itself can bring about.
template <class... Parts>
inline void internal_check(bool ok, const Parts&... parts) {
  if (__builtin_expect(!ok, 0)) fail(Kind::Runtime, "internal error in ember: ", parts...);
}

}  // namespace ember
