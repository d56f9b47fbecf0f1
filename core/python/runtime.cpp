// Generators, threads, memory statistics.
#include "python/python.h"

namespace ember::python {

bool is_generator(PyObject*) { return false; }
Generator* generator_of(PyObject*) { return nullptr; }

}  // namespace ember::python
