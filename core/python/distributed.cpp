// What ember/distributed is made of: tables behind stores, their servers, MPI's world and works.
// Objects are capsules; ember/distributed/_stores.py and _engine.py give them their faces.
#include <variant>

#include "distributed/engine.h"
#include "python/python.h"
#include "runtime.h"

namespace ember::python {

namespace {

using namespace ember::distributed;

template <class T>
PyObject* capsule(std::shared_ptr<T> value, const char* name) {
  auto* held = new std::shared_ptr<T>(std::move(value));
  PyObject* made = PyCapsule_New(held, name, [](PyObject* o) {
    Unlocked unlocked(true);  // a server waits for its threads
    delete static_cast<std::shared_ptr<T>*>(PyCapsule_GetPointer(o, PyCapsule_GetName(o)));
  });
  if (!made) delete held;
  return made;
}
template <class T>
const std::shared_ptr<T>& held(PyObject* o, const char* name) {
  void* pointer = PyCapsule_GetPointer(o, name);
  if (!pointer) throw PythonError{};
  return *static_cast<std::shared_ptr<T>*>(pointer);
}

std::string bytes_of(PyObject* o) {
  char* data;
  Py_ssize_t size;
  if (PyUnicode_Check(o)) {
    const char* text = PyUnicode_AsUTF8AndSize(o, &size);
    if (!text) throw PythonError{};
    return std::string(text, size_t(size));
  }
  checked(PyBytes_AsStringAndSize(o, &data, &size));
  return std::string(data, size_t(size));
}
std::vector<std::string> list_of_bytes(PyObject* o) {
  Object list = checked(PySequence_Fast(o, "expected a list"));
  std::vector<std::string> out;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i)
    out.push_back(bytes_of(PySequence_Fast_GET_ITEM(list.get(), i)));
  return out;
}
PyObject* to_bytes(const std::string& s) {
  return PyBytes_FromStringAndSize(s.data(), Py_ssize_t(s.size()));
}

// --- stores ---

using Keys = std::variant<std::shared_ptr<Table>, std::shared_ptr<Client>>;
constexpr const char *kKeys = "ember.keys", *kServer = "ember.server", *kWork = "ember.work";

PyObject* hash_table(PyObject*, PyObject*) {
  return guarded([&] { return capsule(std::make_shared<Keys>(std::make_shared<Table>()), kKeys); });
}
// _dist_server(host, port, secret, descriptor): port 0 takes a free one.
PyObject* server(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* host;
    int port, fd;
    PyObject* secret;
    if (!PyArg_ParseTuple(args, "siOi:_dist_server", &host, &port, &secret, &fd)) return nullptr;
    Socket socket = fd >= 0 ? take_over(fd) : listen_on(host, port);
    return capsule(std::make_shared<Server>(std::move(socket), bytes_of(secret)), kServer);
  });
}
PyObject* server_port(PyObject*, PyObject* o) {
  return guarded([&] { return PyLong_FromLong(held<Server>(o, kServer)->port()); });
}
// _dist_client(host, port, secret, timeout)
PyObject* client(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* host;
    int port;
    PyObject* object;
    double timeout;
    if (!PyArg_ParseTuple(args, "siOd:_dist_client", &host, &port, &object, &timeout))
      return nullptr;
    std::string secret = bytes_of(object), where = host;
    std::shared_ptr<Client> made;
    {
      Unlocked unlocked(true);
      made = std::make_shared<Client>(where, port, secret, after(timeout));
    }
    return capsule(std::make_shared<Keys>(std::move(made)), kKeys);
  });
}

// The result of `run`, which may wait, with other threads running meanwhile.
template <class F>
auto unlocked(F&& run) {
  Unlocked u(true);
  return run();
}

// _dist_ask(keys, command, arguments, timeout)
PyObject* ask(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *object, *arguments;
    const char* name;
    double timeout;
    if (!PyArg_ParseTuple(args, "OsOd:_dist_ask", &object, &name, &arguments, &timeout))
      return nullptr;
    std::shared_ptr<Keys> keys = held<Keys>(object, kKeys);
    std::string command = name;
    std::vector<std::string> a = list_of_bytes(arguments);
    return std::visit(
        [&](auto& k) -> PyObject* {
          constexpr bool local = std::is_same_v<std::decay_t<decltype(k)>, std::shared_ptr<Table>>;
          auto until = [&] {
            if constexpr (local)
              return after(timeout);
            else
              return timeout;
          };
          if (command == "set")
            return unlocked([&] { k->set(a.at(0), a.at(1)); }), Py_NewRef(Py_None);
          if (command == "append")
            return unlocked([&] { k->append(a.at(0), a.at(1)); }), Py_NewRef(Py_None);
          if (command == "get") {
            auto value = unlocked([&] { return k->get(a.at(0), until()); });
            return value ? to_bytes(*value) : Py_NewRef(Py_None);
          }
          if (command == "add")
            return PyLong_FromLongLong(
                unlocked([&] { return k->add(a.at(0), std::atoll(a.at(1).c_str())); }));
          if (command == "compare_set")
            return to_bytes(unlocked([&] { return k->compare_set(a.at(0), a.at(1), a.at(2)); }));
          if (command == "wait")
            return PyBool_FromLong(unlocked([&] { return k->wait(a, until()); }));
          if (command == "check") return PyBool_FromLong(unlocked([&] { return k->has(a); }));
          if (command == "delete")
            return PyBool_FromLong(unlocked([&] { return k->remove(a.at(0)); }));
          if (command == "push")
            return unlocked([&] { k->push(a.at(0), a.at(1)); }), Py_NewRef(Py_None);
          if (command == "pop") {
            auto value = unlocked([&] { return k->pop(a.at(0), until()); });
            return value ? to_bytes(*value) : Py_NewRef(Py_None);
          }
          if (command == "length")
            return PyLong_FromLongLong(unlocked([&] { return k->length(a.at(0)); }));
          if (command == "size") return PyLong_FromLongLong(unlocked([&] { return k->size(); }));
          if (command == "address") {
            if constexpr (local)
              return Py_NewRef(Py_None);
            else
              return PyUnicode_FromString(k->address().c_str());
          }
          if (command == "descriptor") {
            if constexpr (local)
              return Py_NewRef(Py_None);
            else
              return PyLong_FromLong(k->descriptor());
          }
          if (command == "keys") {
            Object list = checked(PyList_New(0));
            for (auto& key : unlocked([&] { return k->keys(); }))
              checked(PyList_Append(list.get(), checked(to_bytes(key)).get()));
            return list.release();
          }
          fail(Kind::Value, "_dist_ask(): unknown command ", command);
        },
        *keys);
  });
}

// --- the world ---

// _dist_begin(library, rank, size, name, mapping, host, port, secret, timeout)
PyObject* begin_world(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char *library, *name, *mapping, *host;
    int rank, size, port;
    PyObject* object;
    double timeout;
    if (!PyArg_ParseTuple(args, "siisssiOd:_dist_begin", &library, &rank, &size, &name, &mapping,
                          &host, &port, &object, &timeout))
      return nullptr;
    std::string secret = bytes_of(object);
    unlocked(
        [&] { begin(library, World{rank, size, name, mapping}, host, port, secret, timeout); });
    Py_RETURN_NONE;
  });
}
// _dist_comm(ranks, timeout)
PyObject* new_comm(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* object;
    double timeout;
    if (!PyArg_ParseTuple(args, "Od:_dist_comm", &object, &timeout)) return nullptr;
    Object list = checked(PySequence_Fast(object, "_dist_comm(): expected a list of ranks"));
    std::vector<int> ranks;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i)
      ranks.push_back(int(int_of(PySequence_Fast_GET_ITEM(list.get(), i))));
    return PyLong_FromLong(unlocked([&] { return make_comm(ranks, timeout); }));
  });
}

std::vector<Buffer> buffers_of(PyObject* o, std::optional<Dtype>& dtype) {
  Object list = checked(PySequence_Fast(o, "_dist_start(): expected a list of tensors"));
  std::vector<Buffer> out;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(list.get(), i);
    check(is_tensor(item), Kind::Type, "_dist_start(): expected tensors");
    const Tensor& t = tensor_of(item);
    check(t.device().is_cpu() && t.is_contiguous(), Kind::Value,
          "_dist_start(): expected contiguous tensors of the CPU");
    dtype = t.dtype();
    out.push_back({t.numel() ? static_cast<char*>(t.data()) : nullptr, t.numel() * t.item_size()});
  }
  return out;
}

// _dist_start(what, name, comm, root, tag, reduction, in, out, timeout)
PyObject* start_work(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int what, comm, root, tag, reduction;
    const char* name;
    PyObject *in, *out;
    double timeout;
    if (!PyArg_ParseTuple(args, "isiiiiOOd:_dist_start", &what, &name, &comm, &root, &tag,
                          &reduction, &in, &out, &timeout))
      return nullptr;
    auto work = std::make_shared<Work>();
    work->what = What(what);
    work->name = name;
    work->comm = comm, work->root = root, work->tag = tag, work->timeout = timeout;
    work->reduction = Reduction(reduction);
    std::optional<Dtype> dtype;
    work->out = buffers_of(out, dtype);
    work->in = buffers_of(in, dtype);
    if (dtype) work->dtype = *dtype;
    unlocked([&] { start(work); });
    return capsule(std::move(work), kWork);
  });
}
// _dist_wait(work, timeout) -> None as long as it runs, then its error, "" if there is none
PyObject* wait_work(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* object;
    double timeout;
    if (!PyArg_ParseTuple(args, "Od:_dist_wait", &object, &timeout)) return nullptr;
    WorkRef work = held<Work>(object, kWork);
    Deadline deadline = after(timeout);
    while (!unlocked([&] { return wait(work, std::clamp(seconds_until(deadline), 0.0, 0.1)); })) {
      checked(PyErr_CheckSignals());
      if (Clock::now() >= deadline) Py_RETURN_NONE;
    }
    return PyUnicode_FromString(work->error.c_str());
  });
}
PyObject* work_source(PyObject*, PyObject* o) {
  return guarded([&] { return PyLong_FromLong(held<Work>(o, kWork)->status.source); });
}
PyObject* leave_world(PyObject*, PyObject*) {
  return guarded([&] { return unlocked([] { leave(); }), Py_NewRef(Py_None); });
}
PyObject* who_is_lost(PyObject*, PyObject*) {
  return guarded([&] { return PyUnicode_FromString(lost().c_str()); });
}
PyObject* has_begun(PyObject*, PyObject*) { return PyBool_FromLong(begun()); }

PyMethodDef functions[] = {
    {"_dist_table", hash_table, METH_NOARGS, "Keys and values of this process."},
    {"_dist_server", server, METH_VARARGS, "Keys and values that others reach by TCP."},
    {"_dist_server_port", server_port, METH_O, "Where a server listens."},
    {"_dist_client", client, METH_VARARGS, "A connection to a server."},
    {"_dist_ask", ask, METH_VARARGS, "Reads or changes keys."},
    {"_dist_begin", begin_world, METH_VARARGS, "Begins MPI."},
    {"_dist_begun", has_begun, METH_NOARGS, "Whether MPI has begun."},
    {"_dist_comm", new_comm, METH_VARARGS, "A communicator of ranks of the world."},
    {"_dist_start", start_work, METH_VARARGS, "Begins a collective."},
    {"_dist_wait", wait_work, METH_VARARGS, "Waits for a collective."},
    {"_dist_source", work_source, METH_O, "Who sent what was received."},
    {"_dist_leave", leave_world, METH_NOARGS, "Says goodbye to the other ranks."},
    {"_dist_lost", who_is_lost, METH_NOARGS, "Which rank died, or an empty string."},
    {}};

}  // namespace

void add_distributed(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace ember::python
