// Tensors as arguments and results of functions given to Python, and TORCH_LIBRARY, which makes
// them operators `torch.ops.<namespace>.<name>`.
#pragma once

#include "ember/tensor.h"

namespace pybind11::detail {

template <>
struct type_caster<at::Tensor> {
  PYBIND11_TYPE_CASTER(at::Tensor, const_name("torch.Tensor"));
  bool load(handle source, bool) {
    if (source.is_none()) return true;  // an undefined tensor
    if (!at::api().is_tensor(source.ptr())) return false;
    value = at::Tensor(reinterpret_borrow<object>(source));
    return true;
  }
  static handle cast(const at::Tensor& t, return_value_policy, handle) {
    return t.defined() ? handle(t.ptr()).inc_ref() : none().release();
  }
};

template <>
struct type_caster<c10::ScalarType> {
  PYBIND11_TYPE_CASTER(c10::ScalarType, const_name("torch.dtype"));
  bool load(handle source, bool) {
    for (int i = 0; i < int(c10::ScalarType::Undefined); i++) {
      value = c10::ScalarType(i);
      if (c10::object_of(value).is(source)) return true;
    }
    return false;
  }
  static handle cast(c10::ScalarType t, return_value_policy, handle) {
    return c10::object_of(t).release();
  }
};

template <>
struct type_caster<c10::Scalar> {
  PYBIND11_TYPE_CASTER(c10::Scalar, const_name("float"));
  bool load(handle source, bool) {
    if (isinstance<bool_>(source))
      value = source.cast<bool>();
    else if (isinstance<int_>(source))
      value = source.cast<int64_t>();
    else if (isinstance<float_>(source))
      value = source.cast<double>();
    else
      return false;
    return true;
  }
  static handle cast(const c10::Scalar& s, return_value_policy, handle) {
    return at::Arg(s).object().release();
  }
};

template <class T>
struct type_caster<c10::ArrayRef<T>> {
  static constexpr auto name = make_caster<std::vector<T>>::name;
  template <class>
  using cast_op_type = c10::ArrayRef<T>;
  operator c10::ArrayRef<T>() { return static_cast<std::vector<T>&>(list); }
  bool load(handle source, bool convert) {
    if (convert && isinstance<int_>(source)) source = one = pybind11::make_tuple(source);
    return list.load(source, convert);
  }
  static handle cast(c10::ArrayRef<T> v, return_value_policy policy, handle parent) {
    return make_caster<std::vector<T>>::cast(v.vec(), policy, parent);
  }
  make_caster<std::vector<T>> list;
  object one;
};

}  // namespace pybind11::detail

namespace torch {

// How a C++ type is written in a schema.
template <class T>
struct SchemaType;
#define ROW(type, text)                        \
  template <>                                  \
  struct SchemaType<type> {                    \
    static std::string name() { return text; } \
  };
ROW(at::Tensor, "Tensor")
ROW(int64_t, "int")
ROW(double, "float")
ROW(bool, "bool")
ROW(std::string, "str")
ROW(std::string_view, "str")
ROW(c10::Scalar, "Scalar")
ROW(c10::ScalarType, "ScalarType")
ROW(void, "()")
#undef ROW
template <class T>
struct SchemaType<std::optional<T>> {
  static std::string name() { return SchemaType<T>::name() + "?"; }
};
template <class T>
struct SchemaType<std::vector<T>> {
  static std::string name() { return SchemaType<T>::name() + "[]"; }
};
template <class T>
struct SchemaType<c10::ArrayRef<T>> : SchemaType<std::vector<T>> {};
template <class... T>
struct SchemaType<std::tuple<T...>> {
  static std::string name() {
    std::string text;
    ((text += (text.empty() ? "" : ", ") + SchemaType<T>::name()), ...);
    return "(" + text + ")";
  }
};

template <class R, class... A>
std::string schema_of(const std::string& name, R (*)(A...)) {
  std::string text;
  int i = 0;
  ((text += (i ? ", " : "") + SchemaType<std::decay_t<A>>::name() + " _" + std::to_string(i), i++),
   ...);
  return name + "(" + text + ") -> " + SchemaType<std::decay_t<R>>::name();
}

// The operators of a namespace, while they are being defined.
class Library {
 public:
  Library(const char* space, const char* key) : key_(key) {
    library_ = c10::py::module_::import("ember.library")
                   .attr("Library")(space, *key ? "IMPL" : "FRAGMENT", key);
  }
  // "name(Tensor x) -> Tensor", or just a name, if the function says the rest.
  Library& def(const std::string& schema) {
    library_.attr("define")(schema);
    return *this;
  }
  template <class F>
  Library& def(const std::string& schema, F* function) {
    const bool whole = schema.find('(') != std::string::npos;
    def(whole ? schema : schema_of(schema, function));
    return impl(schema.substr(0, schema.find('(')), function);
  }
  template <class F>
  Library& impl(const std::string& name, F* function) {
    library_.attr("impl")(name, pybind11::cpp_function(function),
                          *key_ ? key_ : "CompositeExplicitAutograd");
    return *this;
  }

 private:
  const char* key_;
  c10::py::object library_;
};

// Runs when the extension is loaded. An exception could not pass dlopen: whoever loads the
// extension finds it (ember/utils/_cpp_calls.py).
struct Registration {
  Registration(void (*body)(Library&), const char* space, const char* key) {
    pybind11::gil_scoped_acquire lock;
    try {
      Library library(space, key);
      body(library);
    } catch (const std::exception& e) {
      pybind11::module_::import("ember.utils._cpp_calls").attr("failed")(space, e.what());
    }
  }
};

}  // namespace torch

#define EMBER_CONCAT_(a, b) a##b
#define EMBER_CONCAT(a, b) EMBER_CONCAT_(a, b)
#define EMBER_LIBRARY(space, key, m, id)                                    \
  static void EMBER_CONCAT(ember_library_, id)(::torch::Library&);          \
  static const ::torch::Registration EMBER_CONCAT(ember_registration_, id)( \
      EMBER_CONCAT(ember_library_, id), #space, key);                       \
  static void EMBER_CONCAT(ember_library_, id)(::torch::Library & m)
#define TORCH_LIBRARY(space, m) EMBER_LIBRARY(space, "", m, __COUNTER__)
#define TORCH_LIBRARY_FRAGMENT(space, m) EMBER_LIBRARY(space, "", m, __COUNTER__)
#define TORCH_LIBRARY_IMPL(space, key, m) EMBER_LIBRARY(space, #key, m, __COUNTER__)
#define TORCH_FN(function) &function
