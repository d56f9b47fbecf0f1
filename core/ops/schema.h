// Registering an op: one line gives the function, the method, the in-place and out= forms, argument
// parsing, the stub and the docstring.
//
//     EMBER_OP("sum(Tensor self, Dims dim=None, bool keepdim=False) -> Tensor",
//              sum, Function | Method | Out,
//              "Sum over `dim`, or over every axis when `dim` is None.");
//
// Types in a schema, and the C++ parameter each becomes; T? is std::optional<T>, but for tensors:
//     Tensor      const Tensor&
//     Tensor?     const Tensor&, maybe undefined
//     Tensor[]    const TensorList&
//     Number      const Operand&: a tensor or a number
//     Scalar      const Scalar&
//     int         int64_t
//     float       double
//     float[]     const std::vector<double>&
//     bool        bool
//     str         const std::string&
//     Dims        const Dims&: None, an int or ints
//     Size        const Shape&: ints, also as varargs if it is the first parameter after self
//     Dtype, Device
//     Format      MemoryFormat
//     Generator?  Generator*
//     Any         void*: the host's object
// "Tensor[] *tensors" also takes the tensors as separate arguments: f(a, b). The items of
// "Tensor?[]" may be None, and come undefined.
// A `*` in the list makes what follows keyword-only. Results: Tensor, a tuple "(Tensor values,
// Tensor indices)" (named tuples if the parts are named), Tensor[], Scalar, bool, int, float or
// None.
//
// Several lines with one name are overloads, tried in order. A name like "linalg.norm" belongs to a
// submodule.
#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "tensor/tensor.h"

namespace ember {

class Generator;
enum class MemoryFormat : uint8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

// Which forms of an op users see.
enum Forms : unsigned {
  Function = 1,          // ember.sum(x)
  Method = 2,            // x.sum()
  InPlace = 4,           // x.exp_()
  Out = 8,               // ember.exp(x, out=y)
  FunctionInPlace = 16,  // ember.exp_(x), too
  // Not forms, but what may share memory with the tensor that a call writes: Note [Overlap] in
  // ops/overlap.h.
  Aligned = 32,
  Apart = 64,
  // Nor these: which dtypes out= may have, where it is not any that the result can be cast to
  // in the way of pointwise ops. The messages are PyTorch's.
  SafeOut = 128,   // one that the result can safely be cast to
  ExactOut = 256,  // that of the result
  DtypeOut = 512,  // that of dtype=, for which it stands where that is not given

  // Note [Traits]: nor these, but what an op does, for whoever carries it out in a way of its own:
  // vmap, autocast, nested, masked and distributed tensors. Each overload has one of the first
  // group, which says what an element of the result depends on, ...
  Pointwise = 1 << 10,      // the elements at its place, once the operands broadcast
  Along = 1 << 11,          // what lies along dimensions that arguments name, or all there are
  Leading = 1 << 12,        // the last dimensions: those before them are a batch
  Entries = 1 << 13,        // one entry of the first operand's first dimension, where it has one: N
  Whole = 1 << 14,          // anything: whoever carries it out needs to know this very op
  Factory = 1 << 15,        // no tensor's elements: a new tensor of a given size, or from the host
  Query = 1 << 16,          // no elements: what is asked for is the same for any
  DataDependent = 1 << 17,  // the elements, and so does its size; or it is a number of the host
  // ... and any of these.
  Random = 1 << 18,      // draws numbers
  Rearranges = 1 << 19,  // elements of the first operand, from places that do not depend on them
  Lower = 1 << 20,       // in autocast's lower precision: products
  Float32 = 1 << 21,     // in float32 there: what needs the range or the accuracy
  Widest = 1 << 22,      // in the widest dtype of the operands there: joins
};
constexpr unsigned kShown = Function | Method | InPlace | Out | FunctionInPlace;
constexpr unsigned kTraits = ~(Pointwise - 1u);
// In the order of their bits.
constexpr const char* kTraitNames[] = {
    "pointwise",      "along",  "leading",    "entries", "whole",   "factory", "query",
    "data_dependent", "random", "rearranges", "lower",   "float32", "widest"};
constexpr unsigned kForms = Function | Method;
constexpr unsigned kAllForms = Function | Method | InPlace | Out;
constexpr unsigned kPointwiseForms = kAllForms | Aligned | Pointwise;

// Where the result of an op goes: into a new tensor, into `out=`, or into `self`.
struct Dest {
  const Tensor* tensor = nullptr;
  bool in_place = false;
  bool keeps_shape = false;  // out= lies in the memory of an operand, which resizing could change
};

// The arguments of a call, as the host language passed them; python/arguments.cpp reads them.
struct OpInfo;
struct Args {
  const OpInfo* op;
  void* const* values;  // one host object per parameter, null where the default holds
  Dest dest;

  const Tensor& tensor(int i) const;
  TensorList tensors(int i) const;
  Operand operand(int i) const;
  Scalar scalar(int i) const;
  int64_t integer(int i) const;
  double real(int i) const;
  std::vector<double> reals(int i) const;
  bool boolean(int i) const;
  std::string text(int i) const;
  Dims dims(int i) const;
  Shape size(int i) const;
  Dtype dtype(int i) const;
  Device device(int i) const;
  MemoryFormat format(int i) const;
  Generator* generator(int i) const;
  bool is_none(int i) const;
};

// Results on their way to the host: each returns a new host object.
void* to_host(Tensor t);
void* to_host(const Scalar& s);
void* to_host(bool b);
void* to_host(int64_t i);
void* to_host(double d);
void* to_host(const std::string& text);
void* to_host(const Shape& shape);
void* to_host(std::vector<Tensor> list);
void* to_host(const OpInfo& op, Tensor* parts, int n);
void* none_to_host();

enum class ArgType : uint8_t {
  Tensor,
  TensorOrNone,
  TensorList,
  Number,
  Scalar,
  Int,
  Float,
  FloatList,
  Bool,
  Str,
  Dims,
  Size,
  Dtype,
  Device,
  Format,
  Generator,
  Any
};

struct Param {
  std::string name;
  ArgType type;
  bool optional = false;  // "?": accepts None
  bool keyword_only = false;
  bool varargs = false;  // "Tensor[] *tensors"
  bool holes = false;    // "Tensor?[]": items may be None
  bool has_default = false;
  std::string default_text;  // as in the schema
  Scalar default_scalar;     // parsed
  Shape default_size;
  void* host_name = nullptr;  // interned
};

struct OpInfo {
  std::string schema;
  std::string name;  // "linalg.norm"
  std::string doc;
  unsigned forms;
  bool native_dest;  // the function itself writes to out= / in place
  std::vector<Param> params;
  std::vector<std::string> result_names;
  std::string result_text;
  void* (*call)(Args& args);
  void* host_tuple = nullptr;  // the named-tuple type
};

// All ops, in order of registration within a file.
std::vector<OpInfo*>& all_ops();
// What a C++ parameter can be given: a bit for each ArgType, and whether None.
struct Takes {
  uint32_t types;
  bool none = false;
};
constexpr Takes takes(std::same_as<ArgType> auto... types) { return {((1u << int(types)) | ...)}; }

OpInfo* register_op(const char* schema, unsigned forms, const char* doc, void* (*call)(Args&),
                    bool native_dest, std::span<const Takes> arguments);

namespace detail {

// How each C++ type is read, and which types of a schema it can stand for.
template <class T>
struct Reader;
template <>
struct Reader<Tensor> {
  static constexpr Takes kTakes = {takes(ArgType::Tensor, ArgType::TensorOrNone).types, true};
  static const Tensor& read(Args& a, int i) { return a.tensor(i); }
};
template <>
struct Reader<TensorList> {
  static constexpr Takes kTakes = takes(ArgType::TensorList);
  static TensorList read(Args& a, int i) { return a.tensors(i); }
};
template <>
struct Reader<Operand> {
  static constexpr Takes kTakes = takes(ArgType::Number, ArgType::Tensor);
  static Operand read(Args& a, int i) { return a.operand(i); }
};
template <>
struct Reader<Scalar> {
  static constexpr Takes kTakes = takes(ArgType::Scalar);
  static Scalar read(Args& a, int i) { return a.scalar(i); }
};
template <>
struct Reader<int64_t> {
  static constexpr Takes kTakes = takes(ArgType::Int);
  static int64_t read(Args& a, int i) { return a.integer(i); }
};
template <>
struct Reader<double> {
  static constexpr Takes kTakes = takes(ArgType::Float);
  static double read(Args& a, int i) { return a.real(i); }
};
template <>
struct Reader<std::vector<double>> {
  static constexpr Takes kTakes = takes(ArgType::FloatList);
  static std::vector<double> read(Args& a, int i) { return a.reals(i); }
};
template <>
struct Reader<bool> {
  static constexpr Takes kTakes = takes(ArgType::Bool);
  static bool read(Args& a, int i) { return a.boolean(i); }
};
template <>
struct Reader<std::string> {
  static constexpr Takes kTakes = takes(ArgType::Str);
  static std::string read(Args& a, int i) { return a.text(i); }
};
template <>
struct Reader<Dims> {
  static constexpr Takes kTakes = {takes(ArgType::Dims).types, true};
  static Dims read(Args& a, int i) { return a.dims(i); }
};
template <>
struct Reader<Shape> {
  static constexpr Takes kTakes = takes(ArgType::Size);
  static Shape read(Args& a, int i) { return a.size(i); }
};
template <>
struct Reader<Dtype> {
  static constexpr Takes kTakes = takes(ArgType::Dtype);
  static Dtype read(Args& a, int i) { return a.dtype(i); }
};
template <>
struct Reader<Device> {
  static constexpr Takes kTakes = takes(ArgType::Device);
  static Device read(Args& a, int i) { return a.device(i); }
};
template <>
struct Reader<MemoryFormat> {
  static constexpr Takes kTakes = takes(ArgType::Format);
  static MemoryFormat read(Args& a, int i) { return a.format(i); }
};
template <>
struct Reader<Generator*> {
  static constexpr Takes kTakes = {takes(ArgType::Generator).types, true};
  static Generator* read(Args& a, int i) { return a.generator(i); }
};
template <>
struct Reader<void*> {
  static constexpr Takes kTakes = {takes(ArgType::Any).types, true};
  static void* read(Args& a, int i) { return a.values[i]; }
};
template <>
struct Reader<Dest> {
  static constexpr Takes kTakes = {};
  static Dest read(Args& a, int) { return a.dest; }
};
template <class T>
struct Reader<std::optional<T>> {
  static constexpr Takes kTakes = {Reader<T>::kTakes.types, true};
  static std::optional<T> read(Args& a, int i) {
    if (a.is_none(i)) return std::nullopt;
    return Reader<T>::read(a, i);
  }
};

template <class... T>
void* tuple_to_host(const OpInfo& op, std::tuple<T...> parts) {
  Tensor list[sizeof...(T)];
  [&]<size_t... I>(std::index_sequence<I...>) {
    ((list[I] = std::move(std::get<I>(parts))), ...);
  }(std::index_sequence_for<T...>{});
  return to_host(op, list, int(sizeof...(T)));
}
template <class T>
struct is_tuple : std::false_type {};
template <class... T>
struct is_tuple<std::tuple<T...>> : std::true_type {};

template <class R, class... P>
struct Signature {
  static constexpr int arity =
      int(sizeof...(P)) - int((std::is_same_v<std::decay_t<P>, Dest> || ... || false));
  static constexpr Takes takes[] = {Reader<std::decay_t<P>>::kTakes..., Takes{}};
  static constexpr bool native_dest = (std::is_same_v<std::decay_t<P>, Dest> || ... || false);
  template <class F>
  static void* call(F f, Args& args) {
    return [&]<size_t... I>(std::index_sequence<I...>) -> void* {
      if constexpr (std::is_void_v<R>) {
        f(Reader<std::decay_t<P>>::read(args, int(I))...);
        return none_to_host();
      } else if constexpr (is_tuple<std::decay_t<R>>::value) {
        return tuple_to_host(*args.op, f(Reader<std::decay_t<P>>::read(args, int(I))...));
      } else if constexpr (std::is_same_v<R, void*>) {
        return f(Reader<std::decay_t<P>>::read(args, int(I))...);
      } else {
        return to_host(f(Reader<std::decay_t<P>>::read(args, int(I))...));
      }
    }(std::index_sequence_for<P...>{});
  }
};
template <class F>
struct SignatureOf : SignatureOf<decltype(&F::operator())> {};
template <class R, class... P>
struct SignatureOf<R (*)(P...)> : Signature<R, P...> {};
template <class C, class R, class... P>
struct SignatureOf<R (C::*)(P...) const> : Signature<R, P...> {};

// `f` is a stateless function: a lambda made by EMBER_OP, so that the call can be inlined.
template <class F>
OpInfo* add(const char* schema, unsigned forms, const char* doc, F) {
  using S = SignatureOf<decltype(F::function())>;
  return register_op(schema, forms, doc,
                     [](Args& args) -> void* { return S::call(F::function(), args); },
                     S::native_dest, {S::takes, S::arity});
}

}  // namespace detail

#define EMBER_JOIN2(a, b) a##b
#define EMBER_JOIN(a, b) EMBER_JOIN2(a, b)
#define EMBER_OP_NAMED(id, schema, fn, forms, doc)                                                 \
  namespace {                                                                                      \
  struct EMBER_JOIN(OpFunction, id) {                                                              \
    static auto function() { return fn; }                                                          \
  };                                                                                               \
  [[maybe_unused]] const OpInfo* const EMBER_JOIN(op_info,                                         \
                                                  id) = detail::add(schema, forms, doc,            \
                                                                    EMBER_JOIN(OpFunction, id){}); \
  }                                                                                                \
  static_assert(true, "")
// A lambda with commas in it goes into parentheses.
#define EMBER_OP(schema, fn, forms, doc) EMBER_OP_NAMED(__COUNTER__, schema, fn, forms, doc)

}  // namespace ember
