// Starts and stops counting when the process runs under valgrind --tool=callgrind, for
// ember/utils/benchmark/callgrind.py. Where valgrind's headers were not installed when ember was
// built, nothing is ever counted, and _under_callgrind() says so.
#include "python/python.h"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_TOGGLE_COLLECT
#define CALLGRIND_DUMP_STATS
#endif

namespace ember::python {

namespace {

PyObject* under_callgrind(PyObject*, PyObject*) { return PyBool_FromLong(RUNNING_ON_VALGRIND); }

PyObject* start(PyObject*, PyObject*) {
  CALLGRIND_START_INSTRUMENTATION;
  Py_RETURN_NONE;
}

// Returns a number, as it stands in for a clock.
PyObject* toggle(PyObject*, PyObject*) {
  CALLGRIND_TOGGLE_COLLECT;
  return PyLong_FromLong(0);
}

PyObject* dump(PyObject*, PyObject*) {
  CALLGRIND_DUMP_STATS;
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"_under_callgrind", under_callgrind, METH_NOARGS, nullptr},
                           {"_callgrind_start", start, METH_NOARGS, nullptr},
                           {"_callgrind_toggle", toggle, METH_NOARGS, nullptr},
                           {"_callgrind_dump", dump, METH_NOARGS, nullptr},
                           {}};

}  // namespace

void add_callgrind(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace ember::python
