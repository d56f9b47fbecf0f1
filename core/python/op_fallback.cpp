#include "python/op_fallback.h"

#include "autograd/node.h"

namespace ember::python {

namespace {

bool has_factor(const OpInfo& info, const char* name) {
  for (const Param& p : info.params)
    if (p.keyword_only && p.type == ArgType::Scalar && p.name == name) return true;
  return false;
}

bool is_plain_number(PyObject* o) { return !is_tensor(o) && is_number(o); }

bool is_given(PyObject* kwnames, const char* name) {
  for (Py_ssize_t j = 0; kwnames && j < PyTuple_GET_SIZE(kwnames); j++)
    if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, j), name)) return true;
  return false;
}

// The factors of addmm() and its kin once stood before what they multiply: addmm(beta, input,
// alpha, mat1, mat2) and input.addmm(beta, mat1, mat2).
PyObject* with_factors_named(PyObject* op, const OpInfo& info, const std::string& name,
                             PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  constexpr const char* kFactors[] = {"beta", "alpha"};
  if (!has_factor(info, "beta") || !has_factor(info, "alpha")) return nullptr;
  std::vector<PyObject*> given, numbers;
  for (Py_ssize_t i = 0; i < n; i++)
    (is_plain_number(args[i]) ? numbers : given).push_back(args[i]);
  if (numbers.empty() || numbers.size() > 2 || is_given(kwnames, "beta")) return nullptr;
  if (numbers.size() == 2 && is_given(kwnames, "alpha")) return nullptr;
  if (host_warn)
    host_warn("This overload of " + name +
              " is deprecated: its factors are the keyword arguments `beta` and `alpha`");
  const Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  const auto positional = given.size();
  Object names = checked(PyTuple_New(named + Py_ssize_t(numbers.size())));
  for (Py_ssize_t j = 0; j < named; j++) {
    PyTuple_SET_ITEM(names.get(), j, Py_NewRef(PyTuple_GET_ITEM(kwnames, j)));
    given.push_back(args[n + j]);
  }
  for (size_t k = 0; k < numbers.size(); k++) {
    PyTuple_SET_ITEM(names.get(), named + Py_ssize_t(k), PyUnicode_InternFromString(kFactors[k]));
    given.push_back(numbers[k]);
  }
  return checked(PyObject_Vectorcall(op, given.data(), positional, names.get())).release();
}

// Tensors of a sparse layout are made in Python.
PyObject* with_layout(const std::string& name, PyObject* const* args, Py_ssize_t n,
                      PyObject* kwnames) {
  bool sparse = false;
  for (Py_ssize_t j = 0; kwnames && j < PyTuple_GET_SIZE(kwnames); j++)
    sparse = sparse || (Py_TYPE(args[n + j]) == layout_type &&
                        args[n + j] != imported("ember._C", "strided"));
  if (!sparse) return nullptr;
  Object op = checked(PyUnicode_FromStringAndSize(name.data(), Py_ssize_t(name.size())));
  std::vector<PyObject*> given{op.get()};
  given.insert(given.end(), args, args + n + PyTuple_GET_SIZE(kwnames));
  return checked(PyObject_Vectorcall(imported("ember.sparse._create", "of_layout"), given.data(),
                                     size_t(n) + 1, kwnames))
      .release();
}

}  // namespace

PyObject* call_otherwise(PyObject* op, const OpInfo& info, const std::string& name,
                         PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  if (PyObject* made = with_layout(name, args, n, kwnames)) return made;
  return with_factors_named(op, info, name, args, n, kwnames);
}

}  // namespace ember::python
