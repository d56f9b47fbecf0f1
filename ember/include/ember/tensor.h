// at::Tensor: a handle of a Python tensor. Shapes and memory are read from the core directly
// (api.h); ops are called through Python, so that gradients, devices and modes work as they do
// there.
#pragma once

#include "ember/op_names.h"
#include "ember/values.h"

namespace at {

using namespace c10;
class Tensor;
using TensorList = ArrayRef<Tensor>;
using TensorPair = std::tuple<Tensor, Tensor>;
using TensorTriple = std::tuple<Tensor, Tensor, Tensor>;

inline const EmberApi& api() {
  static const EmberApi* const found = [] {
    py::gil_scoped_acquire lock;
    py::module_::import("ember");
    auto* api = static_cast<EmberApi*>(PyCapsule_Import(EMBER_API_CAPSULE, 0));
    if (!api) throw py::error_already_set();
    if (api->version != EMBER_API_VERSION)
      throw Error("this extension was compiled for another version of ember: compile it again");
    return api;
  }();
  return *found;
}

// An owned Python object. Threads without Python's lock may copy and drop it: they take the lock.
class Held {
 public:
  Held() = default;
  explicit Held(py::object o) : p_(o.release().ptr()) {}
  Held(const Held& o) : p_(o.p_) {
    with_lock([&] { Py_XINCREF(p_); });
  }
  Held(Held&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Held& operator=(Held o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Held() {
    if (p_) with_lock([&] { Py_DECREF(p_); });
  }
  PyObject* get() const { return p_; }

 private:
  template <class F>
  static void with_lock(F&& body) {
    if (PyGILState_Check()) return body();
    py::gil_scoped_acquire lock;
    body();
  }
  PyObject* p_ = nullptr;
};

// An argument of an op, of any type that ops take; not given, by default.
class Arg {
 public:
  struct NotGiven {};
  struct None {};
  Arg() = default;
  Arg(nullopt_t) : value_(None()) {}
  Arg(const Tensor& t);
  Arg(const Scalar& s) {
    std::visit([&](auto v) { value_ = v; }, s.value());
  }
  Arg(bool v) : value_(v) {}
  Arg(int v) : value_(int64_t(v)) {}
  Arg(long v) : value_(int64_t(v)) {}
  Arg(long long v) : value_(int64_t(v)) {}
  Arg(unsigned v) : value_(int64_t(v)) {}
  Arg(unsigned long v) : value_(int64_t(v)) {}
  Arg(double v) : value_(v) {}
  Arg(float v) : value_(double(v)) {}
  Arg(const char* v) : value_(std::string(v)) {}
  Arg(std::string v) : value_(std::move(v)) {}
  Arg(std::string_view v) : value_(std::string(v)) {}
  Arg(ScalarType v) : value_(TensorOptions(v)) {}
  Arg(TensorOptions v) : value_(std::move(v)) {}
  Arg(Device v) : value_(TensorOptions(std::move(v))) {}
  Arg(DeviceType v) : value_(TensorOptions(v)) {}
  Arg(IntArrayRef v) : value_(v.vec()) {}
  Arg(const std::vector<int64_t>& v) : value_(v) {}
  Arg(std::initializer_list<int64_t> v) : value_(std::vector<int64_t>(v)) {}
  Arg(TensorList v);
  Arg(const std::vector<Tensor>& v);
  Arg(std::initializer_list<Tensor> v);
  template <size_t N>
  Arg(const std::array<int64_t, N>& v) : value_(std::vector<int64_t>(v.begin(), v.end())) {}
  template <class T>
  Arg(const std::optional<T>& v) {
    *this = v ? Arg(*v) : Arg(nullopt);
  }

  bool given() const { return !std::holds_alternative<NotGiven>(value_); }
  const TensorOptions* options() const { return std::get_if<TensorOptions>(&value_); }
  py::object object() const;  // with Python's lock held

 private:
  std::variant<NotGiven, None, bool, int64_t, double, std::complex<double>, std::string,
               std::vector<int64_t>, std::vector<PyObject*>, PyObject*, TensorOptions>
      value_;
};

// A function of ember's, with the names of its keyword-only parameters (ember/utils/_cpp_calls.py),
// which are positional in C++.
class Op {
 public:
  explicit Op(const char* name) : name_(name) {}
  template <class... A>
  py::object operator()(const A&... args) {
    const Arg list[] = {Arg(args)...};
    return run(list, sizeof...(args));
  }

 private:
  py::object run(const Arg* args, size_t count) {
    if (!call_) call_ = new Held(py::module_::import("ember.utils._cpp_calls").attr("call")(name_));
    while (count && !args[count - 1].given()) count--;
    py::list positional;
    py::dict keywords;
    for (size_t i = 0; i < count; i++) {
      if (const TensorOptions* options = args[i].options())
        options->add_to(keywords);
      else
        positional.append(args[i].object());
    }
    return py::handle(call_->get())(*py::tuple(positional), **keywords);
  }
  const char* name_;
  Held* call_ = nullptr;  // never freed: Python may be gone when statics are
};

template <class T, size_t N>
class TensorAccessor;
class TensorIndex;

class Tensor {
 public:
  Tensor() = default;  // undefined; None in Python
  explicit Tensor(py::object o) : held_(std::move(o)) {}

  PyObject* ptr() const { return held_.get(); }
  bool defined() const { return held_.get() != nullptr; }
  bool is_same(const Tensor& o) const { return ptr() == o.ptr(); }
  void reset() { held_ = Held(); }

  // --- shape and memory ---
  EmberTensorView view_of() const {
    if (!defined()) throw Error("the tensor is undefined");
    EmberTensorView view;
    api().describe(ptr(), &view);
    return view;
  }
  int64_t dim() const { return view_of().dim; }
  int64_t ndimension() const { return dim(); }
  int64_t numel() const { return view_of().numel; }
  IntArrayRef sizes() const {
    EmberTensorView v = view_of();
    return {v.sizes, size_t(v.dim)};
  }
  IntArrayRef strides() const {
    EmberTensorView v = view_of();
    return {v.strides, size_t(v.dim)};
  }
  int64_t size(int64_t d) const { return sizes()[wrap(d)]; }
  int64_t stride(int64_t d) const { return strides()[wrap(d)]; }
  ScalarType scalar_type() const { return scalar_type_named(view_of().dtype); }
  ScalarType dtype() const { return scalar_type(); }
  bool is_contiguous() const { return view_of().contiguous; }
  bool requires_grad() const { return view_of().requires_grad; }
  bool is_floating_point() const { return isFloatingType(scalar_type()); }
  bool is_complex() const { return isComplexType(scalar_type()); }
  bool is_cpu() const { return view_of().on_cpu; }
  bool is_cuda() const { return device().is_cuda(); }
  int64_t element_size() const { return attr("element_size")().cast<int64_t>(); }
  int64_t nbytes() const { return numel() * element_size(); }
  Device device() const {
    if (is_cpu()) return Device();
    py::gil_scoped_acquire lock;
    return Device(py::str(attr("device")).cast<std::string>());
  }
  TensorOptions options() const { return TensorOptions(scalar_type()).device(device()); }
  // Older programs: x.type().is_cuda(), AT_DISPATCH_...(x.type(), ...).
  struct Type {
    const Tensor& of;
    bool is_cuda() const { return of.is_cuda(); }
    operator ScalarType() const { return of.scalar_type(); }
    ScalarType scalarType() const { return of.scalar_type(); }
  };
  Type type() const { return {*this}; }

  void* data_ptr() const {
    EmberTensorView v = view_of();
    if (v.numel && !v.data) throw Error("data_ptr(): the tensor has no memory on the CPU");
    return v.data;
  }
  template <class T>
  T* data_ptr() const {
    using Element = std::remove_const_t<T>;
    if (scalar_type() != CppTypeToScalarType_v<Element>)
      throw Error(str("expected scalar type ", CppTypeToScalarType_v<Element>, " but found ",
                      view_of().dtype));
    return static_cast<T*>(data_ptr());
  }
  template <class T>
  T* data() const {
    return data_ptr<T>();
  }
  template <class T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T>
  const T* const_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() const;
  template <class T, size_t N>
  TensorAccessor<T, N> packed_accessor64() const {
    return accessor<T, N>();
  }
  template <class T, size_t N>
  TensorAccessor<T, N> packed_accessor32() const {
    return accessor<T, N>();
  }

  // --- conversions ---
  Scalar item() const {
    py::gil_scoped_acquire lock;
    py::object v = attr("item")();
    if (py::isinstance<py::bool_>(v)) return v.cast<bool>();
    if (py::isinstance<py::int_>(v)) return v.cast<int64_t>();
    if (py::isinstance<py::float_>(v)) return v.cast<double>();
    return v.cast<std::complex<double>>();
  }
  template <class T>
  T item() const {
    return item().to<T>();
  }
  Tensor to(Arg a, Arg b = {}, Arg c = {}, Arg d = {}) const;
  Tensor toType(ScalarType t) const { return to(t); }
  Tensor cpu() const { return to(Device()); }
  std::string toString() const { return str(view_of().dtype, "Tensor"); }

  // --- gradients ---
  Tensor grad() const { return of(attr("grad")); }
  Tensor& set_requires_grad(bool on) {
    py::gil_scoped_acquire lock;
    attr("requires_grad_")(on);
    return *this;
  }
  void backward(Arg gradient = {}, bool retain_graph = false, bool create_graph = false) const;
  bool is_leaf() const { return boolean("is_leaf"); }
  Tensor variable_data() const { return of(attr("data")); }

  // --- indexing ---
  Tensor operator[](int64_t i) const { return at(py::int_(i)); }
  Tensor operator[](const Tensor& i) const {
    return at(py::reinterpret_borrow<py::object>(i.ptr()));
  }
  Tensor index(std::initializer_list<TensorIndex> where) const;
  Tensor& index_put_(std::initializer_list<TensorIndex> where, const Arg& value);
  Tensor slice(int64_t d = 0, std::optional<int64_t> from = nullopt,
               std::optional<int64_t> to = nullopt, int64_t step = 1) const;

  // --- ops: see op_names.h ---
#define ROW(name)                                                                             \
  Tensor name(Arg a = {}, Arg b = {}, Arg c = {}, Arg d = {}, Arg e = {}, Arg f = {}) const { \
    py::gil_scoped_acquire lock;                                                              \
    static Op op("Tensor." #name);                                                            \
    return of(op(*this, a, b, c, d, e, f));                                                   \
  }
  EMBER_OPS(ROW)
  EMBER_METHODS(ROW)
#undef ROW
#define ROW(name, Tuple)                                             \
  Tuple name(Arg a = {}, Arg b = {}, Arg c = {}, Arg d = {}) const { \
    py::gil_scoped_acquire lock;                                     \
    static Op op("Tensor." #name);                                   \
    return tuple_of<Tuple>(op(*this, a, b, c, d));                   \
  }
  EMBER_TUPLES(ROW)
#undef ROW
#define ROW(name)                                     \
  std::vector<Tensor> name(Arg a, Arg b = {}) const { \
    py::gil_scoped_acquire lock;                      \
    static Op op("Tensor." #name);                    \
    return list_of(op(*this, a, b));                  \
  }
  EMBER_LISTS(ROW)
#undef ROW
#define ROW(name)                                            \
  Tensor name() const {                                      \
    py::gil_scoped_acquire lock;                             \
    static Op op("Tensor." #name);                           \
    return of(op(*this));                                    \
  }                                                          \
  TensorPair name(int64_t dim, bool keepdim = false) const { \
    py::gil_scoped_acquire lock;                             \
    static Op op("Tensor." #name);                           \
    return tuple_of<TensorPair>(op(*this, dim, keepdim));    \
  }                                                          \
  Tensor name(const Tensor& other) const {                   \
    py::gil_scoped_acquire lock;                             \
    static Op op("Tensor." #name);                           \
    return of(op(*this, other));                             \
  }
  ROW(max)
  ROW(min)
  ROW(median)
#undef ROW

  Tensor& operator+=(const Arg& o) { return *this = add_(o); }
  Tensor& operator-=(const Arg& o) { return *this = sub_(o); }
  Tensor& operator*=(const Arg& o) { return *this = mul_(o); }
  Tensor& operator/=(const Arg& o) { return *this = div_(o); }
  Tensor operator-() const { return neg(); }
  Tensor operator~() const { return bitwise_not(); }
  bool equal(const Tensor& o) const {
    py::gil_scoped_acquire lock;
    return attr("equal")(py::handle(o.ptr())).cast<bool>();
  }

  static Tensor of(py::object o) { return o.is_none() ? Tensor() : Tensor(std::move(o)); }
  template <class Tuple>
  static Tuple tuple_of(const py::object& o) {
    return parts_of<Tuple>(o, std::make_index_sequence<std::tuple_size_v<Tuple>>());
  }
  static std::vector<Tensor> list_of(const py::object& o) {
    std::vector<Tensor> list;
    for (py::handle item : o) list.push_back(of(py::reinterpret_borrow<py::object>(item)));
    return list;
  }

 private:
  template <class Tuple, size_t... I>
  static Tuple parts_of(const py::object& o, std::index_sequence<I...>) {
    return Tuple(of(o[py::int_(I)])...);
  }
  py::object attr(const char* name) const { return py::handle(ptr()).attr(name); }
  bool boolean(const char* name) const {
    py::gil_scoped_acquire lock;
    return attr(name).cast<bool>();
  }
  Tensor at(const py::object& index) const {
    py::gil_scoped_acquire lock;
    return of(py::handle(ptr())[index]);
  }
  size_t wrap(int64_t d) const {
    int64_t n = dim();
    if (d < -n || d >= n)
      throw IndexError(str("Dimension out of range (expected to be in range of [", -n, ", ", n - 1,
                           "], but got ", d, ")"));
    return size_t(d < 0 ? d + n : d);
  }
  Held held_;
};

// --- arguments ---

inline Arg::Arg(const Tensor& t) {
  if (t.defined())
    value_ = t.ptr();
  else
    value_ = None();
}
inline Arg::Arg(TensorList v) {
  std::vector<PyObject*> list;
  for (const Tensor& t : v) list.push_back(t.ptr());
  value_ = std::move(list);
}
inline Arg::Arg(const std::vector<Tensor>& v) : Arg(TensorList(v)) {}
inline Arg::Arg(std::initializer_list<Tensor> v) : Arg(TensorList(v.begin(), v.size())) {}

struct ArgConversion {
  py::object operator()(Arg::NotGiven) const { return py::none(); }
  py::object operator()(Arg::None) const { return py::none(); }
  py::object operator()(PyObject* p) const { return py::reinterpret_borrow<py::object>(p); }
  py::object operator()(const std::vector<PyObject*>& v) const {
    py::list list;
    for (PyObject* p : v) list.append(p ? py::handle(p) : py::none());
    return list;
  }
  py::object operator()(const TensorOptions&) const { return py::none(); }
  template <class T>
  py::object operator()(const T& v) const {
    return py::cast(v);
  }
};
inline py::object Arg::object() const { return std::visit(ArgConversion(), value_); }

// --- functions ---

#define ROW(name)                                                                            \
  inline Tensor name(Arg a = {}, Arg b = {}, Arg c = {}, Arg d = {}, Arg e = {}, Arg f = {}, \
                     Arg g = {}, Arg h = {}, Arg i = {}) {                                   \
    py::gil_scoped_acquire lock;                                                             \
    static Op op(#name);                                                                     \
    return Tensor::of(op(a, b, c, d, e, f, g, h, i));                                        \
  }
EMBER_OPS(ROW)
EMBER_FUNCTIONS(ROW)
#undef ROW
#define ROW(name, Tuple)                                                               \
  inline Tuple name(const Tensor& x, Arg a = {}, Arg b = {}, Arg c = {}, Arg d = {}) { \
    return x.name(a, b, c, d);                                                         \
  }
EMBER_TUPLES(ROW)
#undef ROW
#define ROW(name) \
  inline std::vector<Tensor> name(const Tensor& x, Arg a, Arg b = {}) { return x.name(a, b); }
EMBER_LISTS(ROW)
#undef ROW
#define ROW(name)                                                              \
  inline Tensor name(const Tensor& x) { return x.name(); }                     \
  inline TensorPair name(const Tensor& x, int64_t dim, bool keepdim = false) { \
    return x.name(dim, keepdim);                                               \
  }                                                                            \
  inline Tensor name(const Tensor& x, const Tensor& other) { return x.name(other); }
ROW(max)
ROW(min)
ROW(median)
#undef ROW

// Any other op that returns one tensor.
template <class... A>
Tensor call(const char* name, const A&... args) {
  py::gil_scoped_acquire lock;
  return Tensor::of(Op(name)(args...));
}

inline Tensor Tensor::to(Arg a, Arg b, Arg c, Arg d) const {
  py::gil_scoped_acquire lock;
  static Op op("Tensor.to");
  return of(op(*this, a, b, c, d));
}
inline void Tensor::backward(Arg gradient, bool retain_graph, bool create_graph) const {
  py::gil_scoped_acquire lock;
  py::object g = gradient.object();
  attr("backward")(g, py::bool_(retain_graph), py::bool_(create_graph));
}

#define OPERATOR(symbol, name)                                                          \
  inline Tensor operator symbol(const Tensor& a, const Tensor& b) { return a.name(b); } \
  inline Tensor operator symbol(const Tensor& a, const Scalar& b) { return a.name(b); }
#define ARITHMETIC(symbol, name)                                    \
  OPERATOR(symbol, name)                                            \
  inline Tensor operator symbol(const Scalar& a, const Tensor& b) { \
    py::gil_scoped_acquire lock;                                    \
    return Tensor::of(Arg(a).object() symbol Arg(b).object());      \
  }
#define COMPARISON(symbol, name, turned) \
  OPERATOR(symbol, name)                 \
  inline Tensor operator symbol(const Scalar& a, const Tensor& b) { return b.turned(a); }
ARITHMETIC(+, add)
ARITHMETIC(-, sub)
ARITHMETIC(*, mul)
ARITHMETIC(/, div)
ARITHMETIC(&, bitwise_and)
ARITHMETIC(|, bitwise_or)
ARITHMETIC(^, bitwise_xor)
COMPARISON(<, lt, gt)
COMPARISON(<=, le, ge)
COMPARISON(>, gt, lt)
COMPARISON(>=, ge, le)
COMPARISON(==, eq, eq)
COMPARISON(!=, ne, ne)
#undef COMPARISON
#undef ARITHMETIC
#undef OPERATOR

// A tensor from numbers.
template <class T>
Tensor tensor(std::initializer_list<T> values, const TensorOptions& options = {}) {
  py::gil_scoped_acquire lock;
  py::dict keywords;
  options.add_to(keywords);
  return Tensor::of(ember().attr("tensor")(py::cast(std::vector<T>(values)), **keywords));
}
template <class T>
Tensor tensor(const std::vector<T>& values, const TensorOptions& options = {}) {
  py::gil_scoped_acquire lock;
  py::dict keywords;
  options.add_to(keywords);
  return Tensor::of(ember().attr("tensor")(py::cast(values), **keywords));
}
inline Tensor tensor(Scalar value, const TensorOptions& options = {}) {
  return full({}, value, options);
}

inline std::ostream& operator<<(std::ostream& out, const Tensor& t) {
  py::gil_scoped_acquire lock;
  if (!t.defined()) return out << "[ Tensor (undefined) ]";
  return out << py::repr(py::handle(t.ptr())).cast<std::string>();
}

// --- elements ---

template <class T, size_t N>
class TensorAccessor {
 public:
  TensorAccessor(T* data, const int64_t* sizes, const int64_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  int64_t size(int64_t d) const { return sizes_[d]; }
  int64_t stride(int64_t d) const { return strides_[d]; }
  IntArrayRef sizes() const { return {sizes_, N}; }
  T* data() const { return data_; }
  decltype(auto) operator[](int64_t i) const {
    if constexpr (N == 1)
      return (data_[i * strides_[0]]);
    else
      return TensorAccessor<T, N - 1>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1);
  }

 private:
  T* data_;
  const int64_t *sizes_, *strides_;
};

template <class T, size_t N>
TensorAccessor<T, N> Tensor::accessor() const {
  if (dim() != int64_t(N))
    throw Error(str("TensorAccessor expected ", N, " dims but tensor has ", dim()));
  return {data_ptr<T>(), sizes().data(), strides().data()};
}

}  // namespace at
