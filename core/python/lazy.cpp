// Regions in Python: opening and closing them, what happened in them, and the compiler, which is
// Python's (ember/compiler). It is called when the outermost region of a thread closes, never from
// within an op.

#include "lazy/region.h"

#include <bit>

#include "python/replay.h"
#include "tensor/deferred.h"

namespace ember::python {

namespace {

using lazy::Code;
using lazy::ProgramNode;

PyObject* compile_hook = nullptr;

constexpr const char* kOps[] = {"load",      "number", "cast",    "unary",   "unary_grad",
                                "predicate", "binary", "compare", "ternary", "reduce"};

Object tuple_of(const std::vector<int>& values) {
  Object t = checked(PyTuple_New(Py_ssize_t(values.size())));
  for (size_t i = 0; i < values.size(); i++)
    PyTuple_SET_ITEM(t.get(), Py_ssize_t(i), checked(PyLong_FromLong(values[i])).release());
  return t;
}

// The fields of ember.compiler._program.Node.
Object node_tuple(const ProgramNode& n) {
  Object params = checked(PyTuple_New(Py_ssize_t(n.params.size())));
  for (size_t i = 0; i < n.params.size(); i++) {
    const auto& p = n.params[i];
    PyObject* value = p.constant ? PyFloat_FromDouble(std::bit_cast<double>(p.value))
                                 : PyLong_FromLongLong(p.value);
    PyTuple_SET_ITEM(params.get(), Py_ssize_t(i), checked(value).release());
  }
  const bool row = n.op >= ProgramNode::Unary && n.op != ProgramNode::Reduce;
  return checked(Py_BuildValue("(sssNsNi)", kOps[n.op], name_of(n.dtype), n.row_name(),
                               tuple_of(n.args).release(), row ? name_of(n.compute) : "",
                               params.release(), n.slot));
}

// What goes wrong in the compiler is reported, and the group runs op by op: the program that it is
// for is right without.
template <class F>
void try_to(F&& f) {
  try {
    f();
  } catch (const PythonError&) {
    PyErr_WriteUnraisable(compile_hook);
  }
}

void begin(const std::shared_ptr<Code>& code) {
  const lazy::Program& p = code->program;
  Object nodes = checked(PyTuple_New(Py_ssize_t(p.nodes.size())));
  for (size_t i = 0; i < p.nodes.size(); i++)
    PyTuple_SET_ITEM(nodes.get(), Py_ssize_t(i), node_tuple(p.nodes[i]).release());
  auto flag = [](bool on) { return on ? Py_True : Py_False; };
  Object layout = checked(Py_BuildValue("(isOOOiLL)", p.rank, p.patterns.c_str(), flag(p.chunks),
                                        flag(p.long_rows), flag(p.short_rows), p.reduced,
                                        (long long)p.columns, (long long)p.inner));
  code->ticket =
      checked(PyObject_CallFunction(compile_hook, "OOOO", nodes.get(), tuple_of(p.outputs).get(),
                                    tuple_of(p.rows).get(), layout.get()))
          .release();
  code->state = Code::State::Asked;
}

void ask(const std::shared_ptr<Code>& code) {
  code->state = Code::State::Failed;  // unless what follows works
  if (compile_hook) try_to([&] { begin(code); });
}

void take_answer(Code& code, const Object& ticket) {
  Object answer = checked(PyObject_CallMethod(ticket.get(), "result", nullptr));
  Object kernel = checked(PyObject_GetAttrString(answer.get(), "code"));
  Object functions = checked(PyObject_GetAttrString(answer.get(), "functions"));
  Object list = checked(PySequence_Fast(functions.get(), "functions: expected a sequence"));
  Object grain = checked(PyObject_GetAttrString(answer.get(), "grain"));
  std::vector<int64_t> addresses;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); i++)
    addresses.push_back(
        int64_t(PyLong_AsUnsignedLongLong(PySequence_Fast_GET_ITEM(list.get(), i))));
  Object width = checked(PyObject_GetAttrString(answer.get(), "width"));
  const long long most = PyLong_AsLongLong(grain.get()), wide = PyLong_AsLongLong(width.get());
  void* address = PyCapsule_GetPointer(kernel.get(), kKernel);
  if (!address || PyErr_Occurred()) throw PythonError{};
  code.kernel = reinterpret_cast<cpu::FusedKernel>(address);
  code.functions = std::move(addresses);
  code.grain = std::max<int64_t>(most, 1);
  code.width = std::max<int64_t>(wide, 1);
  code.state = Code::State::Ready;
}

bool answered(const std::shared_ptr<Code>& code, bool wait) {
  PyObject* ticket = static_cast<PyObject*>(code->ticket);
  bool ready = wait;
  if (!wait)
    try_to([&] {
      ready = PyObject_IsTrue(checked(PyObject_CallMethod(ticket, "ready", nullptr)).get()) != 0;
    });
  if (!ready) return false;
  const Object owned = Object::steal(ticket);
  code->ticket = nullptr;
  code->state = Code::State::Failed;
  try_to([&] { take_answer(*code, owned); });
  return true;
}

lazy::Break where() {
  PyFrameObject* frame = PyEval_GetFrame();
  if (!frame) return {"", 0};
  Object code = Object::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  Object name = Object::steal(PyObject_GetAttrString(code.get(), "co_filename"));
  const char* text = name ? PyUnicode_AsUTF8(name.get()) : nullptr;
  if (!text) PyErr_Clear();
  return {text ? text : "", PyFrame_GetLineNumber(frame)};
}

// --- functions ---

// _lazy_open(key, fullgraph, wait)
PyObject* lazy_open(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    check(count == 3, Kind::Type, "_lazy_open(): expected 3 arguments, got ", count);
    const long long key = PyLong_AsLongLong(args[0]);
    if (key == -1 && PyErr_Occurred()) return nullptr;
    lazy::open(
        {key, checked(PyObject_IsTrue(args[1])) != 0, checked(PyObject_IsTrue(args[2])) != 0});
    Py_RETURN_NONE;
  });
}

PyObject* lazy_close(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    lazy::close();
    Py_RETURN_NONE;
  });
}

PyObject* lazy_is_open(PyObject*, PyObject*) { return PyBool_FromLong(lazy::is_open()); }

PyObject* lazy_flush(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    lazy::flush();
    Py_RETURN_NONE;
  });
}

PyObject* lazy_reset(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    lazy::reset();
    Py_RETURN_NONE;
  });
}

PyObject* lazy_set_enabled(PyObject*, PyObject* on) {
  const int value = PyObject_IsTrue(on);
  return value < 0 ? nullptr : PyBool_FromLong(lazy::set_enabled(value != 0));
}

// _lazy_set_least(elements) -> the number before: of results that are not computed at once.
PyObject* lazy_set_least(PyObject*, PyObject* elements) {
  const long long value = PyLong_AsLongLong(elements);
  if (value == -1 && PyErr_Occurred()) return nullptr;
  return PyLong_FromLongLong(std::exchange(deferred_least, std::max<int64_t>(value, 1)));
}

PyObject* lazy_compile_hook(PyObject*, PyObject* hook) {
  PyObject* old = std::exchange(compile_hook, hook == Py_None ? nullptr : Py_NewRef(hook));
  Py_XDECREF(old);
  Py_RETURN_NONE;
}

constexpr const char* kStates[] = {"new", "wanted", "compiling", "ready", "op by op"};

// _lazy_stats(key) -> what happened in the regions of a key, as a dict.
PyObject* lazy_stats(PyObject*, PyObject* arg) {
  return guarded([&]() -> PyObject* {
    const long long key = PyLong_AsLongLong(arg);
    if (key == -1 && PyErr_Occurred()) return nullptr;
    static const lazy::Report none;
    const lazy::Report* found = lazy::report_of(key);
    const lazy::Report& r = found ? *found : none;
    Object breaks = checked(PyList_New(0)), groups = checked(PyList_New(0));
    for (const auto& [at, times] : r.breaks) {
      Object one = checked(Py_BuildValue("(siL)", at.file.c_str(), at.line, (long long)times));
      checked(PyList_Append(breaks.get(), one.get()));
    }
    for (const auto& g : r.groups) {
      Object one =
          checked(Py_BuildValue("(LLLLs)", (long long)g.nodes, (long long)g.inputs,
                                (long long)g.outputs, (long long)g.units, kStates[int(g.state)]));
      checked(PyList_Append(groups.get(), one.get()));
    }
    return Py_BuildValue("{sLsLsLsLsLsLsNsN}", "calls", (long long)r.calls, "graphs",
                         (long long)r.graphs, "primitives", (long long)r.primitives, "kernels",
                         (long long)r.kernels, "eager_groups", (long long)r.eager_groups,
                         "bytes_saved", (long long)r.bytes_saved, "breaks", breaks.release(),
                         "groups", groups.release());
  });
}

PyMethodDef functions[] = {
    {"_lazy_open", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(lazy_open)), METH_FASTCALL,
     nullptr},
    {"_lazy_close", lazy_close, METH_NOARGS, nullptr},
    {"_lazy_is_open", lazy_is_open, METH_NOARGS, nullptr},
    {"_lazy_flush", lazy_flush, METH_NOARGS, nullptr},
    {"_lazy_reset", lazy_reset, METH_NOARGS, nullptr},
    {"_lazy_set_enabled", lazy_set_enabled, METH_O, nullptr},
    {"_lazy_set_least", lazy_set_least, METH_O, nullptr},
    {"_lazy_compile_hook", lazy_compile_hook, METH_O, nullptr},
    {"_lazy_stats", lazy_stats, METH_O, nullptr},
    {}};

}  // namespace

void add_lazy(PyObject* module) {
  lazy::host = {where, ask, answered};
  checked(PyModule_AddFunctions(module, functions));
  add_replay(module);
}

}  // namespace ember::python
