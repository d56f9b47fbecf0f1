// The profiler's side of the bindings; ember/profiler puts a Python face on it.
#include "python/op_span.h"

#include <frameobject.h>

namespace ember::python {

namespace {

void add_shape(std::string& text, const Tensor& t) {
  text += text.size() > 1 ? ", [" : "[";
  for (int d = 0; d < t.dim(); d++) text += (d ? ", " : "") + std::to_string(t.shape()[d]);
  text += "]";
}

std::string shapes_of(PyObject* const* args, Py_ssize_t n) {
  std::string text = "[";
  for (Py_ssize_t i = 0; i < n; i++) {
    if (is_tensor(args[i])) add_shape(text, tensor_of(args[i]));
    if (!PyList_Check(args[i]) && !PyTuple_Check(args[i])) continue;
    for (Py_ssize_t j = 0; j < PySequence_Fast_GET_SIZE(args[i]); j++)
      if (PyObject* part = PySequence_Fast_GET_ITEM(args[i], j); is_tensor(part))
        add_shape(text, tensor_of(part));
  }
  return text + "]";
}

std::string python_stack() {
  std::string text;
  Object frame = Object::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame) {
    auto* f = reinterpret_cast<PyFrameObject*>(frame.get());
    Object code = Object::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(f)));
    Object file = checked(PyObject_GetAttrString(code.get(), "co_filename"));
    Object name = checked(PyObject_GetAttrString(code.get(), "co_name"));
    text += PyUnicode_AsUTF8(file.get());
    text += ":" + std::to_string(PyFrame_GetLineNumber(f)) + " ";
    text += PyUnicode_AsUTF8(name.get());
    text += "\n";
    frame = Object::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(f)));
  }
  return text;
}

PyObject* py_start(PyObject*, PyObject* args) {
  int shapes, memory, stack;
  if (!PyArg_ParseTuple(args, "ppp", &shapes, &memory, &stack)) return nullptr;
  profile::start({bool(shapes), bool(memory), bool(stack)});
  Py_RETURN_NONE;
}

PyObject* py_stop(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    Object list = checked(PyList_New(0));
    for (const profile::Event& e : profile::stop()) {
      Object row =
          checked(Py_BuildValue("(siLLLLKss)", e.name.c_str(), int(e.kind), (long long)e.start,
                                (long long)e.end, (long long)e.before, (long long)e.after,
                                (unsigned long long)e.thread, e.shapes.c_str(), e.stack.c_str()));
      checked(PyList_Append(list.get(), row.get()));
    }
    return list.release();
  });
}

PyObject* py_on(PyObject*, PyObject*) { return PyBool_FromLong(profile::on()); }
PyObject* py_now(PyObject*, PyObject*) { return PyLong_FromLongLong(profile::now()); }

// A region: begun here, ended by closing the capsule.
PyObject* py_begin(PyObject*, PyObject* name) {
  if (!profile::on()) Py_RETURN_NONE;
  return guarded([&]() -> PyObject* {
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) throw PythonError{};
    auto* span = new profile::Span;
    profile::Event& event = span->begin(text, profile::Kind::Region);
    if (profile::options().stack) event.stack = python_stack();
    return PyCapsule_New(span, "ember.profile", [](PyObject* capsule) {
      delete static_cast<profile::Span*>(PyCapsule_GetPointer(capsule, "ember.profile"));
    });
  });
}

PyMethodDef functions[] = {
    {"_profile_start", py_start, METH_VARARGS, nullptr},
    {"_profile_stop", py_stop, METH_NOARGS, nullptr},
    {"_profile_on", py_on, METH_NOARGS, nullptr},
    {"_profile_now", py_now, METH_NOARGS, nullptr},
    {"_profile_begin", py_begin, METH_O, nullptr},
    {},
};

}  // namespace

void begin_op(profile::Span& span, const char* name, PyObject* const* args, Py_ssize_t n) {
  profile::Options options = profile::options();
  std::string shapes = options.shapes ? shapes_of(args, n) : "";
  std::string stack = options.stack ? python_stack() : "";
  profile::Event& event = span.begin(name, profile::Kind::Op);
  event.shapes = std::move(shapes);
  event.stack = std::move(stack);
}

void add_profile(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace ember::python
