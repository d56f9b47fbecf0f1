// Threads and memory statistics.
#include "cpu/parallel.h"
#include "python/python.h"
#include "tensor/allocator.h"

namespace ember::python {

namespace {

PyObject* get_num_threads(PyObject*, PyObject*) { return PyLong_FromLong(cpu::num_threads()); }
PyObject* set_num_threads(PyObject*, PyObject* n) {
  return guarded([&]() -> PyObject* {
    check(is_int(n), Kind::Type, "set_num_threads(): expects an int, but got ", Py_TYPE(n)->tp_name);
    cpu::set_num_threads(int(int_of(n)));
    return Py_NewRef(Py_None);
  });
}

PyObject* memory_statistics(PyObject*, PyObject*) {
  AllocatorStats s = memory_stats();
  return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "allocated", (long long)s.allocated,
                       "allocated_peak", (long long)s.allocated_peak, "reserved", (long long)s.reserved,
                       "reserved_peak", (long long)s.reserved_peak, "system_allocations",
                       (long long)s.system_allocations, "system_frees", (long long)s.system_frees, "large_hits",
                       (long long)s.large_hits, "large_misses", (long long)s.large_misses, "small_refills",
                       (long long)s.small_refills, "small_flushes", (long long)s.small_flushes);
}
PyObject* reset_peak(PyObject*, PyObject*) {
  reset_peak_memory_stats();
  return Py_NewRef(Py_None);
}
PyObject* release_cache(PyObject*, PyObject*) {
  empty_cache();
  return Py_NewRef(Py_None);
}

PyMethodDef functions[] = {
    {"get_num_threads", get_num_threads, METH_NOARGS, "How many threads an op may use."},
    {"set_num_threads", set_num_threads, METH_O, "Sets how many threads an op may use."},
    {"_memory_stats", memory_statistics, METH_NOARGS, "Bytes of host memory in use and cached, and their peaks."},
    {"_reset_peak_memory_stats", reset_peak, METH_NOARGS, "Starts the peaks of _memory_stats() anew."},
    {"_empty_cache", release_cache, METH_NOARGS, "Returns cached host memory to the system."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_runtime(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace ember::python
