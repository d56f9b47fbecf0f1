// What ember/opencl.py needs of the OpenCL device: opening it, its properties, memory and events.
#include "backend.h"
#include "opencl/device.h"
#include "opencl/kernels.h"
#include "opencl/memory.h"
#include "opencl/program.h"
#include "opencl/register.h"
#include "python/python.h"

namespace ember::python {

namespace {

// _opencl_open(library, cache directory) -> names of the devices, or a str that says what is wrong.
PyObject* open(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char *path, *directory;
    if (!PyArg_ParseTuple(args, "ss:_opencl_open", &path, &directory)) return nullptr;
    std::string why;
    if (!opencl::open_api(path, why)) return PyUnicode_FromString(why.c_str());
    opencl::set_cache_directory(directory);
    auto found = opencl::devices(why);
    if (found.empty()) return PyUnicode_FromString(why.c_str());
    Object names = checked(PyList_New(0));
    for (opencl::Handle device : found) {
      Object name = checked(PyUnicode_FromString(opencl::properties_of(device).name.c_str()));
      if (PyList_Append(names.get(), name.get())) return nullptr;
    }
    return names.release();
  });
}

// _opencl_use(place in the list of _opencl_open)
PyObject* use(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    Py_ssize_t place;
    if (!PyArg_ParseTuple(args, "n:_opencl_use", &place)) return nullptr;
    std::string why;
    auto found = opencl::devices(why);
    check(place >= 0 && size_t(place) < found.size(), Kind::Runtime, "there is no OpenCL device ",
          place, "; there are ", found.size());
    opencl::use_device(found[size_t(place)]);
    opencl::register_device();
    Py_RETURN_NONE;
  });
}

PyObject* properties(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    const opencl::Properties& p = opencl::context().properties;
    return Py_BuildValue(
        "{sssssssssssssKsKsKsKsIsnsOsO}", "name", p.name.c_str(), "vendor", p.vendor.c_str(),
        "version", p.version.c_str(), "driver_version", p.driver.c_str(), "extensions",
        p.extensions.c_str(), "platform", p.platform.c_str(), "type", (unsigned long long)p.type,
        "total_memory", (unsigned long long)p.memory, "max_allocation",
        (unsigned long long)p.largest_buffer, "local_memory", (unsigned long long)p.local_memory,
        "compute_units", p.compute_units, "max_work_group_size", Py_ssize_t(p.group_size),
        "has_fp64", p.has_double ? Py_True : Py_False, "has_int64_atomics",
        p.has_long_atomics ? Py_True : Py_False);
  });
}

PyObject* memory_stats(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    opencl::MemoryStats s = opencl::memory_stats();
    opencl::BuildCounts b = opencl::build_counts();
    return Py_BuildValue(
        "{sLsLsLsLsLsLsLsLsLsLsL}", "allocated", (long long)s.allocated, "allocated_peak",
        (long long)s.allocated_peak, "reserved", (long long)s.reserved, "reserved_peak",
        (long long)s.reserved_peak, "requests", (long long)s.requests, "device_allocations",
        (long long)s.device_allocations, "device_frees", (long long)s.device_frees, "retries",
        (long long)s.retries, "ooms", (long long)s.out_of_memory, "programs_built",
        (long long)b.built, "programs_loaded", (long long)b.loaded);
  });
}

template <void (*F)()>
PyObject* call(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    F();
    Py_RETURN_NONE;
  });
}

PyObject* limit(PyObject*, PyObject* fraction) {
  return guarded([&]() -> PyObject* {
    double f = PyFloat_AsDouble(fraction);
    if (f == -1 && PyErr_Occurred()) return nullptr;
    opencl::limit_memory(f);
    Py_RETURN_NONE;
  });
}

// Events are handles as integers, owned by the Python object that made them.
PyObject* record(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    opencl::Handle event = nullptr;
    opencl::checked(opencl::api().EnqueueMarker(opencl::context().queue, 0, nullptr, &event),
                    "clEnqueueMarkerWithWaitList");
    opencl::api().Flush(opencl::context().queue);
    return PyLong_FromVoidPtr(event);
  });
}
opencl::Handle event_of(PyObject* o) {
  opencl::Handle event = PyLong_AsVoidPtr(o);
  if (PyErr_Occurred()) throw PythonError{};
  check(event != nullptr, Kind::Value, "not an OpenCL event");
  return event;
}
PyObject* wait(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    opencl::Handle event = event_of(o);
    opencl::checked(opencl::api().WaitForEvents(1, &event), "clWaitForEvents");
    Py_RETURN_NONE;
  });
}
PyObject* is_done(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    int32_t status = 1;
    opencl::checked(opencl::api().GetEventInfo(event_of(o), opencl::kEventStatus, sizeof status,
                                               &status, nullptr),
                    "clGetEventInfo");
    return PyBool_FromLong(status <= 0);
  });
}
PyObject* time_of(PyObject*, PyObject* o) {  // nanoseconds of the device's clock
  return guarded([&]() -> PyObject* {
    uint64_t t = 0;
    opencl::checked(opencl::api().GetEventProfilingInfo(event_of(o), opencl::kProfilingEnd,
                                                        sizeof t, &t, nullptr),
                    "clGetEventProfilingInfo");
    return PyLong_FromUnsignedLongLong(t);
  });
}
PyObject* drop(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    opencl::api().ReleaseEvent(event_of(o));
    Py_RETURN_NONE;
  });
}

PyObject* set_deterministic(PyObject*, PyObject* o) {
  opencl::deterministic = PyObject_IsTrue(o) == 1;
  return Py_NewRef(Py_None);
}

PyMethodDef functions[] = {
    {"_opencl_open", open, METH_VARARGS, nullptr},
    {"_opencl_use", use, METH_VARARGS, nullptr},
    {"_opencl_properties", properties, METH_NOARGS, nullptr},
    {"_opencl_memory_stats", memory_stats, METH_NOARGS, nullptr},
    {"_opencl_reset_peaks", call<opencl::reset_peaks>, METH_NOARGS, nullptr},
    {"_opencl_empty_cache", call<opencl::release_cached>, METH_NOARGS, nullptr},
    {"_opencl_synchronize", call<opencl::finish>, METH_NOARGS, nullptr},
    {"_opencl_limit_memory", limit, METH_O, nullptr},
    {"_opencl_deterministic", set_deterministic, METH_O, nullptr},
    {"_opencl_event_record", record, METH_NOARGS, nullptr},
    {"_opencl_event_wait", wait, METH_O, nullptr},
    {"_opencl_event_done", is_done, METH_O, nullptr},
    {"_opencl_event_time", time_of, METH_O, nullptr},
    {"_opencl_event_drop", drop, METH_O, nullptr},
    {}};

}  // namespace

void add_opencl(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace ember::python
