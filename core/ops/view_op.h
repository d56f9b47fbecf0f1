// Registering views. One line gives the view, and if asked the form that changes the geometry of
// `self` (squeeze_) and the one that returns a copy (squeeze_copy).
#pragma once

#include "ops/ops.h"

namespace ember {

constexpr unsigned kRenews = 64;   // x.squeeze_(): self takes the view's geometry
constexpr unsigned kCopies = 128;  // ember.squeeze_copy(x)

// `self` takes the geometry and the history of `view`, which was made from it.
Tensor take_geometry(const char* op, const Tensor& self, const Tensor& view);

// The gradient of a view that shows a part: g in its place in a tensor of zeros. `view` finds the
// place.
template <class View>
Tensor place(const Tensor& g, const Shape& shape, const char* op, View view) {
  Tensor out = zeros(shape, g.dtype(), g.device());
  {
    NoGrad guard;
    backend_of(out).copy(view(out), g);
  }
  if (!grad_needed(g)) return out;
  return tape(out, op, wrt(g, [view](const Tensor& gg) { return view(gg); }));
}

namespace detail {

inline Tensor copied_view(const Tensor& v) { return clone(v, MemoryFormat::Contiguous); }
inline TensorList copied_view(const TensorList& v) {
  TensorList out;
  for (const Tensor& t : v) out.push_back(clone(t, MemoryFormat::Contiguous));
  return out;
}

template <class Id, class R, class... P>
struct ViewForms {
  static R copy(const Tensor& self, P... p) { return copied_view(Id::function()(self, p...)); }
  static Tensor renew(const Tensor& self, P... p) {
    if constexpr (std::is_same_v<R, Tensor>)
      return take_geometry(Id::name, self, Id::function()(self, p...));
    else
      return self;
  }
};
template <class Id, class F>
struct ViewFormsOf;
template <class Id, class R, class... P>
struct ViewFormsOf<Id, R (*)(const Tensor&, P...)> : ViewForms<Id, R, P...> {};
template <class Id>
struct CopyOf {
  static auto function() { return &ViewFormsOf<Id, decltype(Id::function())>::copy; }
};
template <class Id>
struct RenewOf {
  static auto function() { return &ViewFormsOf<Id, decltype(Id::function())>::renew; }
};

template <class Id>
const OpInfo* add_view(const std::string& params, unsigned forms, const std::string& doc, Id id) {
  std::string name = Id::name;
  const unsigned traits = forms & kTraits;
  if (forms & kCopies)
    add((name + "_copy" + params).c_str(), Function | Out | traits, (doc + " As a copy.").c_str(),
        CopyOf<Id>());
  if (forms & kRenews)
    add((name + "_" + params).c_str(), Method | traits,
        (doc + " The tensor itself changes.").c_str(), RenewOf<Id>());
  if (!(forms & kForms)) return nullptr;
  return add((name + params).c_str(), (forms & kForms) | traits, doc.c_str(), id);
}

}  // namespace detail

// `fn` converts to a function pointer, whose first parameter is `const Tensor& self`.
#define EMBER_VIEW_NAMED(id, op, params, fn, forms, doc)                    \
  namespace {                                                               \
  struct EMBER_JOIN(ViewFunction, id) {                                     \
    static constexpr const char* name = op;                                 \
    static auto function() { return +fn; }                                  \
  };                                                                        \
  [[maybe_unused]] const OpInfo* const EMBER_JOIN(view_info, id) =          \
      detail::add_view(params, forms, doc, EMBER_JOIN(ViewFunction, id){}); \
  }                                                                         \
  static_assert(true, "")
#define EMBER_VIEW(op, params, fn, forms, doc) \
  EMBER_VIEW_NAMED(__COUNTER__, op, params, fn, forms, doc)

}  // namespace ember
