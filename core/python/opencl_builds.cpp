// What ember/opencl/builds.py and the process that compiles kernels (_build.py) need: the log, the
// process, programs and their binaries.
#include <cstring>

#include "check.h"
#include "disk.h"
#include "opencl/build_log.h"
#include "opencl/device.h"
#include "opencl/helper.h"
#include "opencl/program.h"
#include "python/python.h"
#include "runtime.h"

namespace ember::python {

namespace {

// One tuple for each kernel: name, device, driver, how it came, CPU seconds, seconds.
PyObject* build_log(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    Object list = checked(PyList_New(0));
    for (const opencl::BuildRecord& r : opencl::build_log()) {
      Object one = checked(Py_BuildValue("(ssssdd)", r.kernel.c_str(), r.device.c_str(),
                                         r.driver.c_str(), r.how.c_str(), r.cpu, r.wall));
      if (PyList_Append(list.get(), one.get())) return nullptr;
    }
    return list.release();
  });
}

// _opencl_helper(command, seconds, bytes): see helper.h.
PyObject* set_helper(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* words;
    double seconds;
    long long bytes;
    if (!PyArg_ParseTuple(args, "OdL:_opencl_helper", &words, &seconds, &bytes)) return nullptr;
    std::vector<std::string> command;
    Object list = checked(PySequence_Fast(words, "_opencl_helper(): expected a list"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); i++) {
      PyObject* bytes_of = nullptr;
      if (!PyUnicode_FSConverter(PySequence_Fast_GET_ITEM(list.get(), i), &bytes_of))
        return nullptr;
      command.emplace_back(PyBytes_AS_STRING(bytes_of));
      Py_DECREF(bytes_of);
    }
    opencl::set_helper(std::move(command), {seconds, bytes});
    Py_RETURN_NONE;
  });
}
PyObject* stop_helper(PyObject*, PyObject*) {
  opencl::stop_helper();
  Py_RETURN_NONE;
}

opencl::Handle device_at(int place) {
  std::string why;
  const auto all = opencl::devices(why);
  check(place >= 0 && size_t(place) < all.size(), Kind::Runtime, "there is no OpenCL device ",
        place, "; there are ", all.size());
  return all[size_t(place)];
}

// _opencl_identity(place) -> platform, vendor, name, version and driver, in lines.
PyObject* identity(PyObject*, PyObject* place) {
  return guarded([&]() -> PyObject* {
    const long i = PyLong_AsLong(place);
    if (i == -1 && PyErr_Occurred()) return nullptr;
    const std::string text =
        opencl::identity_of(opencl::properties_of(device_at(i < 0 || i > 1000 ? -1 : int(i))));
    return PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), "surrogateescape");
  });
}

constexpr const char* kProgram = "ember.opencl.program";

// _opencl_program(place, source, options) -> the program, built; raises what the compiler says.
PyObject* program(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int place;
    const char *source, *options;
    if (!PyArg_ParseTuple(args, "iss:_opencl_program", &place, &source, &options)) return nullptr;
    static opencl::Handle contexts[opencl::kMostDevices] = {};
    check(place < opencl::kMostDevices, Kind::Runtime, "there is no OpenCL device ", place);
    opencl::check_not_forked();
    opencl::Handle device = device_at(place), &context = contexts[place];
    opencl::Handle made = nullptr;
    {
      Unlocked free(true);
      int32_t code = opencl::kSuccess;
      if (!context)
        context = opencl::api().CreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
      opencl::checked(code, "clCreateContext");
      made = opencl::build_program(context, device, source, options);
    }
    PyObject* capsule = PyCapsule_New(made, kProgram, [](PyObject* o) {
      if (!opencl::forked()) opencl::api().ReleaseProgram(PyCapsule_GetPointer(o, kProgram));
    });
    if (!capsule) opencl::api().ReleaseProgram(made);
    return capsule;
  });
}

PyObject* binary(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    opencl::Handle made = PyCapsule_GetPointer(o, kProgram);
    if (!made) return nullptr;
    std::vector<char> bytes;
    {
      Unlocked free(true);
      bytes = opencl::binary_of(made);
    }
    return PyBytes_FromStringAndSize(bytes.data(), Py_ssize_t(bytes.size()));
  });
}

// _keyed_digest(key of 16 bytes, data): for tests.
PyObject* keyed_digest(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    Py_buffer key, data;
    if (!PyArg_ParseTuple(args, "y*y*:_keyed_digest", &key, &data)) return nullptr;
    Digest secret;
    const bool good = key.len == Py_ssize_t(sizeof secret);
    if (good) std::memcpy(&secret, key.buf, sizeof secret);
    const Digest d = Hasher(secret).add(data.buf, size_t(data.len)).digest();
    PyBuffer_Release(&key);
    PyBuffer_Release(&data);
    check(good, Kind::Value, "_keyed_digest(): expected a key of 16 bytes");
    return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(&d), sizeof d);
  });
}

PyMethodDef functions[] = {{"_opencl_build_log", build_log, METH_NOARGS, nullptr},
                           {"_opencl_helper", set_helper, METH_VARARGS, nullptr},
                           {"_opencl_stop_helper", stop_helper, METH_NOARGS, nullptr},
                           {"_opencl_identity", identity, METH_O, nullptr},
                           {"_opencl_program", program, METH_VARARGS, nullptr},
                           {"_opencl_program_binary", binary, METH_O, nullptr},
                           {"_keyed_digest", keyed_digest, METH_VARARGS, nullptr},
                           {}};

}  // namespace

void add_opencl_builds(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace ember::python
