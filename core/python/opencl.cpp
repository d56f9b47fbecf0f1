// What ember/opencl needs of OpenCL devices: opening them, their properties, memory, streams and
// events.
#include "backend.h"
#include "opencl/device.h"
#include "opencl/memory.h"
#include "opencl/opencl_backend.h"
#include "opencl/program.h"
#include "opencl/register.h"
#include "python/python.h"
#include "runtime.h"

namespace ember::python {

namespace {

void warn(const std::string& text) {
  const PyGILState_STATE state = PyGILState_Ensure();
  // A kernel that was to be built is there: the warning does not stop what needs it.
  if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1)) PyErr_WriteUnraisable(nullptr);
  PyGILState_Release(state);
}

// _opencl_open(library, cache directory, its size in bytes) -> names of the devices, or a str that
// says what is wrong.
PyObject* open(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char *path, *directory;
    long long most;
    if (!PyArg_ParseTuple(args, "ssL:_opencl_open", &path, &directory, &most)) return nullptr;
    std::string why;
    if (!opencl::open_api(path, why)) return PyUnicode_FromString(why.c_str());
    opencl::set_cache(directory, most);
    opencl::set_notice(warn);
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

// _opencl_use(places in the list of _opencl_open): ember's devices 0, 1 ...
PyObject* use(PyObject*, PyObject* places) {
  return guarded([&]() -> PyObject* {
    std::string why;
    auto found = opencl::devices(why);
    opencl::check_not_forked();
    std::vector<opencl::Handle> chosen;
    Object list = checked(PySequence_Fast(places, "_opencl_use(): expected a list"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); i++) {
      Py_ssize_t place = PyLong_AsSsize_t(PySequence_Fast_GET_ITEM(list.get(), i));
      if (place == -1 && PyErr_Occurred()) return nullptr;
      check(place >= 0 && size_t(place) < found.size(), Kind::Runtime, "there is no OpenCL device ",
            place, "; there are ", found.size(), why.empty() ? "" : ": ", why);
      chosen.push_back(found[size_t(place)]);
    }
    check(!chosen.empty(), Kind::Runtime, "_opencl_use(): no device was chosen",
          why.empty() ? "" : "; ", why);
    opencl::use_devices(chosen);
    opencl::register_device();
    Py_RETURN_NONE;
  });
}

opencl::Context& device_at(PyObject* index) {
  long i = PyLong_AsLong(index);
  if (i == -1 && PyErr_Occurred()) throw PythonError{};
  check(i == int(i), Kind::Runtime, "there is no device 'opencl:", i, "'");
  return opencl::context(int(i));
}
template <class F>
PyObject* nothing(F&& f) {
  return guarded([&]() -> PyObject* {
    f();
    Py_RETURN_NONE;
  });
}

PyObject* properties(PyObject*, PyObject* index) {
  return guarded([&]() -> PyObject* {
    const opencl::Properties& p = device_at(index).properties;
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

PyObject* memory_stats(PyObject*, PyObject* index) {
  return guarded([&]() -> PyObject* {
    opencl::Context& device = device_at(index);
    opencl::MemoryStats s = opencl::memory_stats(device);
    opencl::BuildCounts b = opencl::build_counts();
    return Py_BuildValue(
        "{sLsLsLsLsLsLsLsLsLsLsLsLsLsL}", "allocated", (long long)s.allocated, "allocated_peak",
        (long long)s.allocated_peak, "reserved", (long long)s.reserved, "reserved_peak",
        (long long)s.reserved_peak, "waiting", (long long)s.waiting, "blocks", (long long)s.blocks,
        "requests", (long long)s.requests, "device_allocations", (long long)s.device_allocations,
        "device_frees", (long long)s.device_frees, "retries", (long long)s.retries, "ooms",
        (long long)s.out_of_memory, "programs_built", (long long)b.built, "programs_loaded",
        (long long)b.loaded, "host_waits", (long long)device.waits);
  });
}
PyObject* reset_peaks(PyObject*, PyObject* index) {
  return nothing([&] { opencl::reset_peaks(device_at(index)); });
}
PyObject* empty_cache(PyObject*, PyObject*) {
  return nothing([&] {
    for (opencl::Context* device : opencl::opened()) opencl::release_cached(*device);
  });
}
PyObject* limit(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int index;
    double fraction;
    if (!PyArg_ParseTuple(args, "id:_opencl_limit_memory", &index, &fraction)) return nullptr;
    check(fraction >= 0, Kind::Value, "_opencl_limit_memory(): expected a fraction, got ",
          fraction);
    opencl::limit_memory(opencl::context(index), fraction);
    Py_RETURN_NONE;
  });
}
PyObject* synchronize(PyObject*, PyObject* index) {
  return nothing([&] { opencl::finish(device_at(index)); });
}

PyObject* finish_all(PyObject*, PyObject*) {
  return nothing([] {
    if (opencl::forked()) return;  // the work is the parent's
    for (opencl::Context* device : opencl::opened()) opencl::finish(*device);
  });
}

PyObject* count(PyObject*, PyObject*) { return PyLong_FromLong(opencl::device_count()); }
PyObject* current(PyObject*, PyObject*) { return PyLong_FromLong(opencl::current_device()); }
PyObject* set_current(PyObject*, PyObject* index) {
  return nothing([&] { opencl::set_current_device(device_at(index).index); });
}

// Streams are pairs: the index of the device, and the stream's place on it.
opencl::Stream& stream_at(int index, int id) {
  opencl::Context& device = opencl::context(index);
  check(id >= 0 && size_t(id) < device.streams.size(), Kind::Value, "opencl:", index,
        " has no stream ", id);
  return device.streams[size_t(id)];
}
opencl::Stream& stream_in(PyObject* args) {
  int index, id;
  if (!PyArg_ParseTuple(args, "ii", &index, &id)) throw PythonError{};
  return stream_at(index, id);
}
PyObject* new_stream(PyObject*, PyObject* index) {
  return guarded([&] { return PyLong_FromLong(opencl::next_stream(device_at(index)).id); });
}
PyObject* current_stream(PyObject*, PyObject* index) {
  return guarded([&] { return PyLong_FromLong(opencl::current_stream(device_at(index)).id); });
}
PyObject* set_stream(PyObject*, PyObject* args) {
  return nothing([&] { opencl::set_current_stream(stream_in(args)); });
}
PyObject* finish_stream(PyObject*, PyObject* args) {
  return nothing([&] { opencl::finish(stream_in(args)); });
}
PyObject* is_idle(PyObject*, PyObject* args) {
  return guarded([&] { return PyBool_FromLong(opencl::is_idle(stream_in(args))); });
}

// Events are capsules: whoever waits for one keeps it, even if another thread records anew.
constexpr const char* kEvent = "ember.opencl.event";

PyObject* record(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    opencl::Stream& s = stream_in(args);
    opencl::Handle event = nullptr;
    opencl::checked(opencl::api().EnqueueMarker(s.queue, 0, nullptr, &event),
                    "clEnqueueMarkerWithWaitList");
    opencl::api().Flush(s.queue);
    PyObject* capsule = PyCapsule_New(event, kEvent, [](PyObject* o) {
      if (!opencl::forked()) opencl::api().ReleaseEvent(PyCapsule_GetPointer(o, kEvent));
    });
    if (!capsule) opencl::api().ReleaseEvent(event);
    return capsule;
  });
}
opencl::Handle event_of(PyObject* o) {
  opencl::Handle event = PyCapsule_GetPointer(o, kEvent);
  if (!event) throw PythonError{};
  return event;
}
PyObject* wait(PyObject*, PyObject* o) {
  return nothing([&] {
    opencl::check_not_forked();
    opencl::Handle event = event_of(o);
    Unlocked free(true);
    opencl::checked(opencl::api().WaitForEvents(1, &event), "clWaitForEvents");
  });
}
// _opencl_stream_wait(device, stream, event, device of the event)
PyObject* wait_in_stream(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int index, id, from;
    PyObject* event;
    if (!PyArg_ParseTuple(args, "iiOi:_opencl_stream_wait", &index, &id, &event, &from))
      return nullptr;
    opencl::wait_for(stream_at(index, id), event_of(event), opencl::context(from));
    Py_RETURN_NONE;
  });
}
PyObject* record_stream(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* tensor;
    int index, id;
    if (!PyArg_ParseTuple(args, "Oii:_opencl_record_stream", &tensor, &index, &id)) return nullptr;
    check(is_tensor(tensor), Kind::Type, "record_stream(): expected a Tensor");
    const Tensor& t = tensor_of(tensor);
    check(backends[t.device().kind] && backend_of(t).name() == "opencl", Kind::Runtime,
          "record_stream(): the tensor is on ", t.device(), ", the stream on opencl:", index);
    if (auto* block = static_cast<opencl::Block*>(t.storage()->data))
      opencl::record_stream(block, stream_at(index, id));
    Py_RETURN_NONE;
  });
}
PyObject* is_done(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    opencl::check_not_forked();
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
PyObject* set_deterministic(PyObject*, PyObject* o) {
  int on = PyObject_IsTrue(o);
  if (on < 0) return nullptr;
  opencl::deterministic = on == 1;
  return Py_NewRef(Py_None);
}

PyMethodDef functions[] = {{"_opencl_open", open, METH_VARARGS, nullptr},
                           {"_opencl_use", use, METH_O, nullptr},
                           {"_opencl_properties", properties, METH_O, nullptr},
                           {"_opencl_memory_stats", memory_stats, METH_O, nullptr},
                           {"_opencl_reset_peaks", reset_peaks, METH_O, nullptr},
                           {"_opencl_empty_cache", empty_cache, METH_NOARGS, nullptr},
                           {"_opencl_limit_memory", limit, METH_VARARGS, nullptr},
                           {"_opencl_synchronize", synchronize, METH_O, nullptr},
                           {"_opencl_finish_all", finish_all, METH_NOARGS, nullptr},
                           {"_opencl_device_count", count, METH_NOARGS, nullptr},
                           {"_opencl_current_device", current, METH_NOARGS, nullptr},
                           {"_opencl_set_device", set_current, METH_O, nullptr},
                           {"_opencl_stream_new", new_stream, METH_O, nullptr},
                           {"_opencl_stream_current", current_stream, METH_O, nullptr},
                           {"_opencl_stream_use", set_stream, METH_VARARGS, nullptr},
                           {"_opencl_stream_synchronize", finish_stream, METH_VARARGS, nullptr},
                           {"_opencl_stream_idle", is_idle, METH_VARARGS, nullptr},
                           {"_opencl_stream_wait", wait_in_stream, METH_VARARGS, nullptr},
                           {"_opencl_record_stream", record_stream, METH_VARARGS, nullptr},
                           {"_opencl_deterministic", set_deterministic, METH_O, nullptr},
                           {"_opencl_event_record", record, METH_VARARGS, nullptr},
                           {"_opencl_event_wait", wait, METH_O, nullptr},
                           {"_opencl_event_done", is_done, METH_O, nullptr},
                           {"_opencl_event_time", time_of, METH_O, nullptr},
                           {}};

}  // namespace

void add_opencl(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace ember::python
