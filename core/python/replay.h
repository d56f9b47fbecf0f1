// Replay for Python: part of what add_lazy() adds.
#pragma once

#include "python/python.h"

namespace ember::python {

void add_replay(PyObject* module);

}  // namespace ember::python
