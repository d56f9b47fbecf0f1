// EMBER_OPENCL_FALLBACK=1: what the device refuses with NotImplementedError, or as it has no
// float64, is done by the CPU, with operands moved there and back. Kernels refuse before they
// change anything, so the host can start from the same operands.
#pragma once

#include <deque>
#include <tuple>

#include "opencl/opencl_backend.h"

namespace ember::opencl {

bool falls_back();
// Whether the host may take over from here.
bool is_missing(const Error& e);
Backend& host();

// The operands of one call on the host.
class Journey {
 public:
  // Inputs are broadcast to the shape of the first tensor there is.
  template <class... G>
  explicit Journey(const G&... given) {
    (find_first(given.value), ...);
  }
  void move(Role role, Tensor& t);
  void move(Role role, TensorList& list);
  void move(Role role, Input& in);
  template <class T>
  void move(Role, T& value) {
    if constexpr (HasFields<T>)
      fields(value, [this](Role role, const char*, auto& field) { move(role, field); });
  }
  void bring_back() const;             // what was written
  Tensor home(const Tensor& t) const;  // a new tensor

 private:
  template <class T>
  void find_first(const T& value) {
    if constexpr (std::is_same_v<T, Tensor>)
      if (!first_) first_ = value;
  }
  Tensor first_;
  std::deque<Tensor> inputs_;
  std::vector<std::pair<Tensor, Tensor>> written_;  // there, here
};

template <class T>
constexpr bool kMoves = HasFields<T> || std::is_same_v<T, Tensor> ||
                        std::is_same_v<T, TensorList> || std::is_same_v<T, Input>;

template <class Call, class... G>
auto on_host(Call call, const G&... given) {
  Journey journey(given...);
  // Copies of what is moved; the rest is taken as it is.
  std::tuple<std::conditional_t<kMoves<typename G::Type>, typename G::Type, typename G::Type&>...>
      here{const_cast<typename G::Type&>(given.value)...};
  return std::apply(
      [&](auto&... values) {
        (journey.move(G::role, values), ...);
        if constexpr (std::is_void_v<decltype(call(values...))>) {
          call(values...);
          journey.bring_back();
        } else {
          return journey.home(call(values...));
        }
      },
      here);
}

// Every primitive on the device if it can, else on the host.
class EitherBackend final : public OpenClBackend {
 public:
#define PRIMITIVE(need, result, name, ...)                                 \
  result name(EMBER_PARAMETERS(__VA_ARGS__)) override {                    \
    try {                                                                  \
      return device_.name(EMBER_NAMES(__VA_ARGS__));                       \
    } catch (const Error& e) {                                             \
      if (!is_missing(e)) throw;                                           \
    }                                                                      \
    return on_host([](auto&... a) -> result { return host().name(a...); }, \
                   EMBER_GIVEN(__VA_ARGS__));                              \
  }
#include "primitives.h"

 private:
  OpenClBackend& device_ = own();
};

}  // namespace ember::opencl
