// Checks that raise Python's exceptions, switches over dtypes, and loops on several threads.
#pragma once

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

#include "ember/values.h"

#define TORCH_CHECK_WITH(kind, condition, ...)                                                   \
  do {                                                                                           \
    if (!(condition)) {                                                                          \
      std::string ember_text = ::c10::str(__VA_ARGS__);                                          \
      if (ember_text.empty()) ember_text = "Expected " #condition " to be true, but got false."; \
      throw ::c10::kind(ember_text);                                                             \
    }                                                                                            \
  } while (false)
#define TORCH_CHECK(condition, ...) TORCH_CHECK_WITH(Error, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_INDEX(condition, ...) \
  TORCH_CHECK_WITH(IndexError, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_VALUE(condition, ...) \
  TORCH_CHECK_WITH(ValueError, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_TYPE(condition, ...) \
  TORCH_CHECK_WITH(TypeError, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) \
  TORCH_CHECK_WITH(NotImplementedError, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(condition, ...) \
  TORCH_CHECK_WITH(Error, condition __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_WARN(...) \
  ::pybind11::module_::import("warnings").attr("warn")(::c10::str(__VA_ARGS__))
#define AT_ASSERTM(condition, ...) TORCH_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#define AT_ASSERT(condition) TORCH_CHECK(condition)
#define AT_ERROR(...) throw ::c10::Error(::c10::str(__VA_ARGS__))

// --- a switch over dtypes: `scalar_t` is the type in the body ---

#define AT_DISPATCH_CASE(enum_value, ...)                                           \
  case enum_value: {                                                                \
    using scalar_t [[maybe_unused]] = ::c10::ScalarTypeToCppType<enum_value>::type; \
    return __VA_ARGS__();                                                           \
  }
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                      \
  [&] {                                                                          \
    const ::c10::ScalarType ember_type = TYPE;                                   \
    switch (ember_type) {                                                        \
      __VA_ARGS__                                                                \
      default:                                                                   \
        throw ::c10::NotImplementedError(                                        \
            ::c10::str('"', NAME, "\" not implemented for '", ember_type, "'")); \
    }                                                                            \
  }()

#define EMBER_CASES_FLOAT(...) \
  AT_DISPATCH_CASE(::c10::kFloat, __VA_ARGS__) AT_DISPATCH_CASE(::c10::kDouble, __VA_ARGS__)
#define EMBER_CASES_INTEGER(...)               \
  AT_DISPATCH_CASE(::c10::kByte, __VA_ARGS__)  \
  AT_DISPATCH_CASE(::c10::kChar, __VA_ARGS__)  \
  AT_DISPATCH_CASE(::c10::kShort, __VA_ARGS__) \
  AT_DISPATCH_CASE(::c10::kInt, __VA_ARGS__) AT_DISPATCH_CASE(::c10::kLong, __VA_ARGS__)
#define EMBER_CASES_COMPLEX(...)                      \
  AT_DISPATCH_CASE(::c10::kComplexFloat, __VA_ARGS__) \
  AT_DISPATCH_CASE(::c10::kComplexDouble, __VA_ARGS__)

#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, EMBER_CASES_FLOAT(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME,                             \
                     EMBER_CASES_FLOAT(__VA_ARGS__) AT_DISPATCH_CASE(::c10::kHalf, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(ONE, TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, EMBER_CASES_FLOAT(__VA_ARGS__) AT_DISPATCH_CASE(ONE, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(ONE, TWO, TYPE, NAME, ...)                     \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                       \
                     EMBER_CASES_FLOAT(__VA_ARGS__) AT_DISPATCH_CASE(ONE, __VA_ARGS__) \
                         AT_DISPATCH_CASE(TWO, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, EMBER_CASES_INTEGER(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, EMBER_CASES_FLOAT(__VA_ARGS__) EMBER_CASES_INTEGER(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(ONE, TYPE, NAME, ...)                              \
  AT_DISPATCH_SWITCH(TYPE, NAME,                                                     \
                     EMBER_CASES_FLOAT(__VA_ARGS__) EMBER_CASES_INTEGER(__VA_ARGS__) \
                         AT_DISPATCH_CASE(ONE, __VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, EMBER_CASES_COMPLEX(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(TYPE, NAME, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, EMBER_CASES_FLOAT(__VA_ARGS__) EMBER_CASES_COMPLEX(__VA_ARGS__))

namespace c10 {

template <ScalarType>
struct ScalarTypeToCppType;
#define ROW(cpp, name, own)                      \
  template <>                                    \
  struct ScalarTypeToCppType<ScalarType::name> { \
    using type = cpp;                            \
  };
EMBER_DTYPES(ROW)
#undef ROW

}  // namespace c10

namespace at {

inline int get_num_threads() {
  pybind11::gil_scoped_acquire lock;
  return c10::ember().attr("get_num_threads")().cast<int>();
}

// Calls `body(from, to)` on parts of a range, which may not touch Python objects. The first
// exception of a part is thrown when all have ended.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const F& body) {
  if (begin >= end) return;
  const int64_t parts =
      std::clamp<int64_t>((end - begin) / std::max<int64_t>(grain, 1), 1, get_num_threads());
  if (parts == 1) return body(begin, end);
  const int64_t step = (end - begin + parts - 1) / parts;
  std::vector<std::exception_ptr> failures(parts);
  std::vector<std::thread> threads;
  auto part = [&](int64_t i) {
    try {
      const int64_t from = begin + i * step;
      if (from < end) body(from, std::min(end, from + step));
    } catch (...) {
      failures[i] = std::current_exception();
    }
  };
  for (int64_t i = 1; i < parts; i++) threads.emplace_back(part, i);
  part(0);
  for (std::thread& t : threads) t.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace at
