// Shared storages as Python sees them, and messages over sockets that carry the descriptors of
// their files with them (SCM_RIGHTS). ember/multiprocessing makes queues and pipes of these.
#include "tensor/shared_memory.h"

#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "ops/ops.h"
#include "python/python.h"
#include "runtime.h"

namespace ember::python {

namespace {

constexpr size_t kMostDescriptors = 253;  // that Linux takes in one message

// The storage that owns the memory; x.data has one that only borrows it.
Storage& owner_of(const Tensor& t) { return t.storage()->root ? *t.storage()->root : *t.storage(); }

PyObject* share_tensor(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    if (!t.device().is_cpu()) return Py_NewRef(self);  // as in torch, nothing to do
    share_storage(owner_of(t));
    return Py_NewRef(self);
  });
}
PyMethodDef tensor_methods[] = {{"share_memory_", share_tensor, METH_NOARGS,
                                 R"(share_memory_($self)
--

Moves the memory to where other processes can map it; views and tensors of the same memory move
too.

Example:

    >>> ember.zeros(2).share_memory_().is_shared()
    True
)"},
                                {}};

// _shared_storage(bytes, warm=False)
PyObject* shared_storage(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    long long bytes;
    int warm = 0;
    if (!PyArg_ParseTuple(args, "L|p:_shared_storage", &bytes, &warm)) return nullptr;
    return wrap_storage(new_shared_storage(bytes, warm));
  });
}
// _storage_from_descriptor(descriptor, bytes, warm=False): takes over the descriptor.
PyObject* from_descriptor(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int fd, warm = 0;
    long long bytes;
    if (!PyArg_ParseTuple(args, "iL|p:_storage_from_descriptor", &fd, &bytes, &warm))
      return nullptr;
    return wrap_storage(map_shared_storage(fd, bytes, warm));
  });
}
// _storage_descriptor(tensor) -> (descriptor, whether the caller has to close it)
PyObject* descriptor_of(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    check(is_tensor(tensor), Kind::Type, "_storage_descriptor(): expected a Tensor");
    Storage& s = owner_of(tensor_of(tensor));
    check(s.shared && s.bytes, Kind::Runtime, "_storage_descriptor(): the tensor is not shared");
    bool temporary;
    int fd = shared_descriptor(s, &temporary);
    return Py_BuildValue("iO", fd, temporary ? Py_True : Py_False);
  });
}
// _storage_state(tensor): who else sees its memory? 0: others in this process; 1: nobody; 2: nobody
// here, but processes that got it from this one may.
PyObject* storage_state(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    check(is_tensor(tensor), Kind::Type, "_storage_state(): expected a Tensor");
    const Storage& s = *tensor_of(tensor).storage();
    return PyLong_FromLong(s.refs.load() != 1 ? 0 : was_passed_on(s) ? 2 : 1);
  });
}

// _tensor_bytes(tensor), _tensor_of_bytes(bytes, dtype, shape): small tensors by value.
PyObject* tensor_bytes(PyObject*, PyObject* tensor) {
  return guarded([&]() -> PyObject* {
    check(is_tensor(tensor), Kind::Type, "_tensor_bytes(): expected a Tensor");
    Tensor t = contiguous(detach(tensor_of(tensor)));
    return PyBytes_FromStringAndSize(t.numel() ? static_cast<const char*>(t.data()) : "",
                                     t.numel() * t.item_size());
  });
}
PyObject* tensor_of_bytes(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *bytes, *dtype, *shape;
    if (!PyArg_ParseTuple(args, "SOO:_tensor_of_bytes", &bytes, &dtype, &shape)) return nullptr;
    Tensor t = empty(shape_of(shape), dtype_of_object(dtype), Device());
    check(t.numel() * t.item_size() == PyBytes_GET_SIZE(bytes), Kind::Value,
          "_tensor_of_bytes(): ", PyBytes_GET_SIZE(bytes), " bytes do not make shape ", t.shape());
    if (t.numel()) std::memcpy(t.data(), PyBytes_AS_STRING(bytes), size_t(PyBytes_GET_SIZE(bytes)));
    return wrap(std::move(t));
  });
}

// --- messages ------------------------------------------------------------------------------------

union Control {
  char space[CMSG_SPACE(kMostDescriptors * sizeof(int))];
  cmsghdr aligned;
};

[[noreturn]] void fail_errno() {
  PyErr_SetFromErrno(PyExc_OSError);
  throw PythonError{};
}

// One sendmsg, repeated after signals; the bytes sent, or -1 if the socket is full.
ssize_t send_once(int fd, const char* data, size_t size, const int* fds, size_t count, bool wait) {
  Control control;
  iovec part{const_cast<char*>(data), size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (count) {
    message.msg_control = control.space;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::copy_n(fds, count, reinterpret_cast<int*>(CMSG_DATA(c)));
  }
  while (true) {
    ssize_t sent;
    {
      Unlocked others(true);
      sent = sendmsg(fd, &message, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT));
    }
    if (sent >= 0) return sent;
    if ((errno == EAGAIN || errno == EWOULDBLOCK) && !wait) return -1;
    if (errno != EINTR) fail_errno();
    checked(PyErr_CheckSignals());
  }
}

// _send_message(socket, data, descriptors=(), wait=True) -> bytes sent. Waiting, that is all. More
// descriptors than one message takes go with the first bytes, one group with each.
PyObject* send_message(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int fd, wait = 1;
    PyObject *data, *list = nullptr;
    if (!PyArg_ParseTuple(args, "iO|Op:_send_message", &fd, &data, &list, &wait)) return nullptr;
    std::vector<int> fds;
    if (list) {
      Object items = checked(PySequence_Fast(list, "_send_message(): expected descriptors"));
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); i++)
        fds.push_back(int(int_of(PySequence_Fast_GET_ITEM(items.get(), i))));
    }
    Py_buffer view;
    checked(PyObject_GetBuffer(data, &view, PyBUF_SIMPLE));
    struct Release {
      Py_buffer* view;
      ~Release() { PyBuffer_Release(view); }
    } release{&view};
    auto* bytes = static_cast<const char*>(view.buf);
    size_t at = 0, size = size_t(view.len), done = 0;
    check(fds.size() <= size * kMostDescriptors, Kind::Value, "a message of ", size,
          " bytes cannot carry ", fds.size(), " descriptors");
    while (at < size) {
      size_t group = std::min(fds.size() - done, kMostDescriptors);
      bool last = done + group == fds.size();
      ssize_t n =
          send_once(fd, bytes + at, last ? size - at : 1, fds.data() + done, group, wait != 0);
      if (n < 0) break;
      at += size_t(n);
      done += group;
    }
    return PyLong_FromSize_t(at);
  });
}

void take_descriptors(msghdr& message, PyObject* into) {
  int highest = 0;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    auto* fds = reinterpret_cast<const int*>(CMSG_DATA(c));
    for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
      highest = std::max(highest, fds[i]);
      checked(PyList_Append(into, checked(PyLong_FromLong(fds[i])).get()));
    }
  }
  rlimit limit;
  if (highest > 256 && getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
      rlim_t(highest) > limit.rlim_cur / 2 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;  // see Note [Descriptors]
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  if (!(message.msg_flags & MSG_CTRUNC)) return;
  fail(Kind::Runtime,
       "shared memory: a message came with more file descriptors than this process may open (the "
       "limit is ",
       limit.rlim_cur, "); keep fewer shared tensors, or raise it with `ulimit -n`");
}

// _receive_message(socket, size) -> (bytes, descriptors): exactly `size` bytes, or EOFError.
PyObject* receive_message(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int fd;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "in:_receive_message", &fd, &size)) return nullptr;
    check(size >= 0, Kind::Value, "_receive_message(): a size of ", size);
    Object data = checked(PyBytes_FromStringAndSize(nullptr, size));
    Object fds = checked(PyList_New(0));
    struct Close {  // what came with a message that did not come whole
      PyObject* fds;
      ~Close() {
        for (Py_ssize_t i = 0; fds && i < PyList_GET_SIZE(fds); i++)
          close(int(PyLong_AsLong(PyList_GET_ITEM(fds, i))));
      }
    } unused{fds.get()};
    Control control;
    for (Py_ssize_t at = 0; at < size;) {
      iovec part{PyBytes_AS_STRING(data.get()) + at, size_t(size - at)};
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      message.msg_control = control.space;
      message.msg_controllen = sizeof control.space;
      ssize_t n;
      {
        Unlocked others(true);
        n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
      }
      if (n < 0) {
        if (errno != EINTR) fail_errno();
        checked(PyErr_CheckSignals());
        continue;
      }
      if (message.msg_controllen) take_descriptors(message, fds.get());
      if (n == 0) {
        PyErr_SetNone(PyExc_EOFError);
        throw PythonError{};
      }
      at += n;
    }
    unused.fds = nullptr;
    return Py_BuildValue("OO", data.get(), fds.get());
  });
}

// _keep_heap(): what is freed is kept for the next request instead of going back to the system, for
// processes that make many samples of one size.
PyObject* keep_heap(PyObject*, PyObject*) {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  mallopt(M_TOP_PAD, 1 << 20);
  Py_RETURN_NONE;
}

// _die_with_parent(signal): which the system sends when the parent ends, however it ends.
PyObject* die_with_parent(PyObject*, PyObject* number) {
  return guarded([&]() -> PyObject* {
    if (prctl(PR_SET_PDEATHSIG, int_of(number)) < 0) fail_errno();
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {{"_shared_storage", shared_storage, METH_VARARGS, nullptr},
                           {"_storage_from_descriptor", from_descriptor, METH_VARARGS, nullptr},
                           {"_storage_descriptor", descriptor_of, METH_O, nullptr},
                           {"_storage_state", storage_state, METH_O, nullptr},
                           {"_tensor_bytes", tensor_bytes, METH_O, nullptr},
                           {"_tensor_of_bytes", tensor_of_bytes, METH_VARARGS, nullptr},
                           {"_send_message", send_message, METH_VARARGS, nullptr},
                           {"_receive_message", receive_message, METH_VARARGS, nullptr},
                           {"_keep_heap", keep_heap, METH_NOARGS, nullptr},
                           {"_die_with_parent", die_with_parent, METH_O, nullptr},
                           {}};

}  // namespace

void add_shared_memory(PyObject* module) {
  checked(PyModule_AddFunctions(module, functions));
  add_tensor_methods(tensor_methods);
}

}  // namespace ember::python
