// Arguments and parameters: names and their synonyms, packed sizes, and what is said when they do
// not fit. Conversions of single values are in arguments.cpp.
#include "python/op_match.h"

#include <cstring>
#include <sstream>

namespace ember::python {

namespace {

// torch's NumPy-style names for parameters.
const char* synonym(const char* keyword) {
  static const std::pair<const char*, const char*> names[] = {
      {"input", "self"}, {"axis", "dim"}, {"keepdims", "keepdim"}, {"x", "self"},
      {"a", "self"},     {"x1", "self"},  {"x2", "other"}};
  for (auto& [from, to] : names)
    if (!std::strcmp(from, keyword)) return to;
  return nullptr;
}

int find_param(const OpInfo& op, PyObject* keyword) {
  int n = int(op.params.size());
  for (int i = 0; i < n; i++)
    if (op.params[size_t(i)].host_name == keyword) return i;
  const char* text = PyUnicode_AsUTF8(keyword);
  for (int i = 0; i < n; i++)
    if (op.params[size_t(i)].name == text) return i;
  if (const char* other = synonym(text))
    for (int i = 0; i < n; i++)
      if (op.params[size_t(i)].name == other) return i;
  return -1;
}

bool takes_varargs(const OpInfo& op, size_t i) {
  return op.params[i].type == ArgType::Size && !op.params[i].keyword_only &&
         (i == 0 || (i == 1 && op.params[0].type == ArgType::Tensor));
}

std::string type_text(const Param& p) {
  switch (p.type) {
    case ArgType::Tensor:
    case ArgType::TensorOrNone: return "Tensor";
    case ArgType::TensorList: return "tuple of Tensors";
    case ArgType::Number: return "Tensor or Number";
    case ArgType::Scalar: return "Number";
    case ArgType::Int: return "int";
    case ArgType::Float: return "float";
    case ArgType::FloatList: return "tuple of floats";
    case ArgType::Bool: return "bool";
    case ArgType::Str: return "str";
    case ArgType::Dims:
    case ArgType::Size: return "tuple of ints";
    case ArgType::Dtype: return "torch.dtype";
    case ArgType::Device: return "torch.device";
    case ArgType::Format: return "torch.memory_format";
    case ArgType::Generator: return "torch.Generator";
    case ArgType::Any: return "object";
  }
  return "";
}

// What of `o` is in the way of its being a list of tensors.
std::string misfit(const Param& p, PyObject* o) {
  if (p.type == ArgType::TensorList && (PyList_Check(o) || PyTuple_Check(o)))
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++)
      if (PyObject* item = PySequence_Fast_GET_ITEM(o, i); !is_tensor(item))
        return std::string(Py_TYPE(item)->tp_name) + " as element " + std::to_string(i);
  return is_tensor(o) && Py_TYPE(o) == tensor_type ? "Tensor" : Py_TYPE(o)->tp_name;
}

}  // namespace

bool match(const OpInfo& op, PyObject* const* args, Py_ssize_t n, PyObject* kwnames, Call& call,
           std::string* why, int skipped) {
  size_t count = op.params.size();
  for (size_t i = 0; i < count; i++) call.values[i] = nullptr;
  call.out = nullptr;
  auto reject = [&](auto&&... parts) {
    if (why) {
      std::ostringstream text;
      (text << ... << parts);
      *why = text.str();
    }
    return false;
  };
  for (Py_ssize_t i = 0; i < n; i++) {
    size_t k = size_t(i);
    if (k >= count || op.params[k].keyword_only)
      return reject(
          "takes ",
          [&] {
            size_t positional = 0;
            while (positional < count && !op.params[positional].keyword_only) positional++;
            return positional;
          }(),
          " positional arguments but ", n, " were given");
    const Param& p = op.params[k];
    if (takes_varargs(op, k) && (n - i > 1) && is_int(args[i])) {  // view(2, 3)
      call.varargs = checked(PyTuple_New(n - i));
      for (Py_ssize_t j = i; j < n; j++)
        PyTuple_SET_ITEM(call.varargs.get(), j - i, Py_NewRef(args[j]));
      call.values[k] = call.varargs.get();
      if (!fits(p, call.values[k]))
        return reject("argument '", p.name, "' must be a sequence of ints");
      break;
    }
    if (p.varargs && is_tensor(args[i])) {  // broadcast_tensors(a, b)
      call.varargs = checked(PyTuple_New(n - i));
      for (Py_ssize_t j = i; j < n; j++)
        PyTuple_SET_ITEM(call.varargs.get(), j - i, Py_NewRef(args[j]));
      call.values[k] = call.varargs.get();
      if (!fits(p, call.values[k]))
        return reject("argument '", p.name, "' must be a sequence of tensors");
      break;
    }
    if (!fits(p, args[i]))
      return reject("argument '", p.name == "self" ? "input" : p.name, "' (position ",
                    i + 1 - skipped, ") must be ", type_text(p), ", not ", misfit(p, args[i]));
    call.values[k] = args[i];
  }
  Py_ssize_t keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  for (Py_ssize_t j = 0; j < keywords; j++) {
    PyObject* keyword = PyTuple_GET_ITEM(kwnames, j);
    PyObject* given = args[n + j];
    int k = find_param(op, keyword);
    if (k < 0) {
      const bool is_out = !PyUnicode_CompareWithASCIIString(keyword, "out");
      if (is_out && (op.forms & Out)) {
        if (given != Py_None) call.out = given;
        continue;
      }
      return reject("got an unexpected keyword argument '", PyUnicode_AsUTF8(keyword), "'");
    }
    if (call.values[k])
      return reject("got multiple values for argument '", op.params[size_t(k)].name, "'");
    if (!fits(op.params[size_t(k)], given))
      return reject("argument '", op.params[size_t(k)].name, "' must be ",
                    type_text(op.params[size_t(k)]), ", not ", misfit(op.params[size_t(k)], given));
    call.values[k] = given;
  }
  for (size_t i = 0; i < count; i++)
    if (!call.values[i] && !op.params[i].has_default && !op.params[i].varargs)
      return reject("missing required argument '",
                    op.params[i].name == "self" ? "input" : op.params[i].name, "'");
  return true;
}

}  // namespace ember::python
