// Finds which parameters of an op the arguments of a call are for.
#pragma once

#include "python/python.h"

namespace ember::python {

struct Call {
  PyObject* values[kMostArgs];
  PyObject* out = nullptr;
  Object varargs;  // keeps a packed size alive
  Object copies;   // and of operands that lie where the op writes
  Object dtype;    // and the dtype of out=
};

// Places the arguments of a call on the parameters of one overload; false (and why) if they do not
// fit. `skipped`: how many arguments come before those that are counted, 1 for a method.
bool match(const OpInfo& op, PyObject* const* args, Py_ssize_t n, PyObject* kwnames, Call& call,
           std::string* why, int skipped = 0);

}  // namespace ember::python
