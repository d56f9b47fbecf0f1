// What holds for the whole process: default dtype and device, threads, memory statistics; and type
// promotion as functions.
#include "cpu/conv.h"
#include "cpu/dispatch.h"
#include "cpu/parallel.h"
#include "ops/create.h"
#include "ops/ops.h"
#include "python/python.h"
#include "tensor/allocator.h"

namespace ember::python {

namespace {

// --- defaults ------------------------------------------------------------------------------------

PyObject* py_set_default_dtype(PyObject*, PyObject* d) {
  return guarded([&]() -> PyObject* {
    check(is_dtype(d), Kind::Type, "invalid dtype object");
    Dtype dtype = dtype_of_object(d);
    check(is_floating(dtype), Kind::Type,
          "only floating-point types are supported as the default type, got ", dtype);
    set_default_dtype(dtype);
    Py_RETURN_NONE;
  });
}
PyObject* py_get_default_dtype(PyObject*, PyObject*) { return wrap_dtype(default_dtype()); }

PyObject* py_call_device_kind(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char *name, *shown;
    if (!PyArg_ParseTuple(args, "ss:_call_device_kind", &name, &shown)) return nullptr;
    call_device_kind(name, shown);
    Py_RETURN_NONE;
  });
}
PyObject* py_means_device_kind(PyObject*, PyObject* args) {
  const char *text, *name;
  if (!PyArg_ParseTuple(args, "ss:_means_device_kind", &text, &name)) return nullptr;
  return PyBool_FromLong(means_device_kind(text, name));
}
PyObject* py_set_default_device(PyObject*, PyObject* d) {
  return guarded([&]() -> PyObject* {
    set_default_device(d == Py_None ? Device() : device_of_object(d));
    Py_RETURN_NONE;
  });
}
PyObject* py_get_default_device(PyObject*, PyObject*) {
  return guarded([] { return wrap_device(default_device()); });
}

// --- promotion -----------------------------------------------------------------------------------

PyObject* py_result_type(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    check(n == 2, Kind::Type, "result_type() takes 2 arguments, got ", n);
    Promotion p;
    for (Py_ssize_t i = 0; i < 2; i++) {
      bool tensor = is_tensor(args[i]);
      check(tensor || is_number(args[i]), Kind::Type, "result_type(): argument ", i + 1,
            " must be Tensor or Number, not ", Py_TYPE(args[i])->tp_name);
      if (tensor)
        p.add(tensor_of(args[i]));
      else
        p.add(scalar_of(args[i]));
    }
    return wrap_dtype(p.result());
  });
}

template <class F>
PyObject* with_dtypes(const char* name, PyObject* const* args, Py_ssize_t n, F f) {
  return guarded([&]() -> PyObject* {
    check(n == 2, Kind::Type, name, "() takes 2 arguments, got ", n);
    for (Py_ssize_t i = 0; i < 2; i++)
      check(is_dtype(args[i]), Kind::Type, name, "(): argument ", i + 1,
            " must be torch.dtype, not ", Py_TYPE(args[i])->tp_name);
    return f(dtype_of_object(args[0]), dtype_of_object(args[1]));
  });
}
PyObject* py_promote_types(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return with_dtypes("promote_types", args, n,
                     [](Dtype a, Dtype b) { return wrap_dtype(promote(a, b)); });
}
PyObject* py_can_cast(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return with_dtypes("can_cast", args, n,
                     [](Dtype a, Dtype b) { return PyBool_FromLong(can_cast(a, b)); });
}

// --- threads -------------------------------------------------------------------------------------

PyObject* py_set_num_threads(PyObject*, PyObject* n) {
  return guarded([&]() -> PyObject* {
    check(is_int(n), Kind::Type, "set_num_threads expects an int, but got ", Py_TYPE(n)->tp_name);
    int64_t count = int_of(n);
    check(count > 0 && count < (1 << 20), Kind::Runtime,
          "set_num_threads expects a positive integer, got ", count);
    cpu::set_num_threads(int(count));
    Py_RETURN_NONE;
  });
}
PyObject* py_get_num_threads(PyObject*, PyObject*) { return PyLong_FromLong(cpu::num_threads()); }

// --- memory --------------------------------------------------------------------------------------

PyObject* py_memory_stats(PyObject*, PyObject*) {
  AllocatorStats s = memory_stats();
  return Py_BuildValue(
      "{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "allocated", (long long)s.allocated,
      "allocated_peak", (long long)s.allocated_peak, "reserved", (long long)s.reserved,
      "reserved_peak", (long long)s.reserved_peak, "system_allocations",
      (long long)s.system_allocations, "system_frees", (long long)s.system_frees, "large_hits",
      (long long)s.large_hits, "large_misses", (long long)s.large_misses, "small_refills",
      (long long)s.small_refills, "small_flushes", (long long)s.small_flushes);
}
PyObject* py_reset_peak(PyObject*, PyObject*) {
  reset_peak_memory_stats();
  Py_RETURN_NONE;
}
PyObject* py_empty_cache(PyObject*, PyObject*) {
  empty_cache();
  Py_RETURN_NONE;
}

template <class F>
constexpr PyCFunction as_function(F f) {
  return (PyCFunction)(void (*)())f;
}

PyObject* py_cpu_level(PyObject*, PyObject*) {
  return guarded([] { return PyUnicode_FromString(cpu::name_of(cpu::cpu_level())); });
}

PyObject* py_has_onednn(PyObject*, PyObject*) { return PyBool_FromLong(cpu::has_onednn()); }

PyObject* py_fill_uninitialised(PyObject*, PyObject* o) {
  const int on = PyObject_IsTrue(o);
  if (on < 0) return nullptr;
  create::fills_uninitialised = on == 1;
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"_fill_uninitialised", py_fill_uninitialised, METH_O, nullptr},
    {"_cpu_level", py_cpu_level, METH_NOARGS, nullptr},
    {"_has_onednn", py_has_onednn, METH_NOARGS, nullptr},
    {"set_default_dtype", py_set_default_dtype, METH_O,
     R"(set_default_dtype(d, /)
--

Sets the dtype of floating point results that name none.

Args:
    d (dtype): float32, which it is at first, or another floating point dtype.

Example:

    >>> ember.set_default_dtype(ember.float64)
    >>> ember.tensor([1.5])
    tensor([1.5000])
    >>> ember.set_default_dtype(ember.float32)
)"},
    {"get_default_dtype", py_get_default_dtype, METH_NOARGS,
     R"(get_default_dtype()
--

The dtype of floating point results that name none.

Example:

    >>> ember.get_default_dtype()
    torch.float32
)"},
    {"_set_default_device", py_set_default_device, METH_O, nullptr},
    {"_call_device_kind", py_call_device_kind, METH_VARARGS,
     "_call_device_kind(name, shown)\n\nLet a kind of device go by another name, too."},
    {"_means_device_kind", py_means_device_kind, METH_VARARGS,
     "_means_device_kind(text, name)\n\nWhether a device's text means the kind of a name."},
    {"get_default_device", py_get_default_device, METH_NOARGS,
     R"(get_default_device()
--

The device of new tensors that name none.

Example:

    >>> ember.get_default_device()
    device(type='cpu')
)"},
    {"result_type", as_function(py_result_type), METH_FASTCALL,
     R"(result_type(tensor1, tensor2, /)
--

The dtype in which two tensors or numbers meet.

Args:
    tensor1 (Tensor or number): the first operand.
    tensor2 (Tensor or number): the second operand; a number does not widen a tensor of its kind.

Example:

    >>> ember.result_type(ember.tensor([1, 2]), 1.0)
    torch.float32
)"},
    {"promote_types", as_function(py_promote_types), METH_FASTCALL,
     R"(promote_types(type1, type2, /)
--

The smallest dtype that both dtypes fit.

Args:
    type1 (dtype): the one.
    type2 (dtype): the other.

Example:

    >>> ember.promote_types(ember.int32, ember.float16)
    torch.float16
)"},
    {"can_cast", as_function(py_can_cast), METH_FASTCALL,
     R"(can_cast(from_, to, /)
--

Whether results may be written to an output of another dtype.

Args:
    from_ (dtype): that of the result.
    to (dtype): that of the output.

Example:

    >>> ember.can_cast(ember.float64, ember.float32), ember.can_cast(ember.float32, ember.int64)
    (True, False)
)"},
    {"set_num_threads", py_set_num_threads, METH_O, R"(set_num_threads(num, /)
--

Sets the number of threads that one op uses.

Args:
    num (int): how many, at least 1.

Example:

    >>> before = ember.get_num_threads()
    >>> ember.set_num_threads(1)
    >>> ember.get_num_threads()
    1
    >>> ember.set_num_threads(before)
)"},
    {"get_num_threads", py_get_num_threads, METH_NOARGS, R"(get_num_threads()
--

The number of threads that one op uses.

Example:

    >>> ember.get_num_threads() >= 1
    True
)"},
    {"_memory_stats", py_memory_stats, METH_NOARGS, nullptr},
    {"_reset_peak_memory_stats", py_reset_peak, METH_NOARGS, nullptr},
    {"_empty_cache", py_empty_cache, METH_NOARGS, nullptr},
    {}};

}  // namespace

void add_runtime(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace ember::python
