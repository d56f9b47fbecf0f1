// How ops tell the profiler about themselves.
#pragma once

#include "profile.h"
#include "python/python.h"

namespace ember::python {

// Begins the span of an op called with `args`; only while profile::on().
void begin_op(profile::Span& span, const char* name, PyObject* const* args, Py_ssize_t n);

}  // namespace ember::python
