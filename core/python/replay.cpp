// Replay in Python: ember/compiler/_face/replay.py rehearses a call, and runs what was recorded.

#include "python/replay.h"
#include "lazy/rehearsal.h"

namespace ember::python {

namespace {

using lazy::Recording;

constexpr const char* kRecording = "ember.compiler.recording";

TensorList tensors_of(PyObject* list, const char* what) {
  check(PyTuple_Check(list) || PyList_Check(list), Kind::Type, what, ": expected a tuple or list");
  TensorList all;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(list);
  all.reserve(size_t(n));
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* o = PySequence_Fast_GET_ITEM(list, i);
    check(is_tensor(o), Kind::Type, what, ": expected tensors, got ", Py_TYPE(o)->tp_name);
    all.push_back(tensor_of(o));
  }
  return all;
}

Recording* recording_of(PyObject* o) {
  auto* r = static_cast<Recording*>(PyCapsule_GetPointer(o, kRecording));
  if (!r) throw PythonError{};
  return r;
}

PyObject* list_of(TensorList tensors) {
  Object list = checked(PyList_New(Py_ssize_t(tensors.size())));
  for (size_t i = 0; i < tensors.size(); i++)
    PyList_SET_ITEM(list.get(), Py_ssize_t(i), checked(wrap(std::move(tensors[i]))).release());
  return list.release();
}

// _replay_begin(tensors, recording or None) -> whether a call of these arguments is rehearsed now,
// on this thread: in a region that opens and closes after this.
PyObject* replay_begin(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *list, *before;
    if (!PyArg_ParseTuple(args, "OO:_replay_begin", &list, &before)) return nullptr;
    const Recording* known = before == Py_None ? nullptr : recording_of(before);
    return PyBool_FromLong(lazy::rehearsal::begin(tensors_of(list, "_replay_begin()"), known));
  });
}

// _replay_end(results) -> (recording or None, why there is none)
PyObject* replay_end(PyObject*, PyObject* list) {
  return guarded([&]() -> PyObject* {
    std::string why;
    std::unique_ptr<Recording> found = lazy::rehearsal::end(tensors_of(list, "_replay_end()"), why);
    if (!found) return Py_BuildValue("(Os)", Py_None, why.c_str());
    Object capsule = checked(PyCapsule_New(found.get(), kRecording, [](PyObject* o) {
      delete static_cast<Recording*>(PyCapsule_GetPointer(o, kRecording));
    }));
    found.release();
    return Py_BuildValue("(Ns)", capsule.release(), why.c_str());
  });
}

PyObject* replay_abandon(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    lazy::rehearsal::abandon();
    Py_RETURN_NONE;
  });
}

// _replay_same(a, b) -> whether two calls asked the device for the same.
PyObject* replay_same(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *a, *b;
    if (!PyArg_ParseTuple(args, "OO:_replay_same", &a, &b)) return nullptr;
    return PyBool_FromLong(recording_of(a)->same_as(*recording_of(b)));
  });
}

// _replay_run(recording, tensors) -> the results for these arguments; None if they do not fit.
PyObject* replay_run(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    check(count == 2, Kind::Type, "_replay_run(): expected 2 arguments, got ", count);
    auto found = recording_of(args[0])->run(tensors_of(args[1], "_replay_run()"));
    if (!found) Py_RETURN_NONE;
    return list_of(std::move(*found));
  });
}

// _replay_results(recording, tensors) -> those of the call that was recorded.
PyObject* replay_results(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *recording, *list;
    if (!PyArg_ParseTuple(args, "OO:_replay_results", &recording, &list)) return nullptr;
    return list_of(recording_of(recording)->results(tensors_of(list, "_replay_results()")));
  });
}

PyMethodDef functions[] = {
    {"_replay_begin", replay_begin, METH_VARARGS, nullptr},
    {"_replay_end", replay_end, METH_O, nullptr},
    {"_replay_abandon", replay_abandon, METH_NOARGS, nullptr},
    {"_replay_same", replay_same, METH_VARARGS, nullptr},
    {"_replay_run", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(replay_run)),
     METH_FASTCALL, nullptr},
    {"_replay_results", replay_results, METH_VARARGS, nullptr},
    {}};

}  // namespace

void add_replay(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace ember::python
