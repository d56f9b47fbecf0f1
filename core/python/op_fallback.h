// Calls that fit no overload of an op, and still mean something.
#pragma once

#include "python/python.h"

namespace ember::python {

// What the call gives by another way; nullptr, without an exception, if there is none.
PyObject* call_otherwise(PyObject* op, const OpInfo& info, const std::string& name,
                         PyObject* const* args, Py_ssize_t n, PyObject* kwnames);

}  // namespace ember::python
