// Arrays in and out without a copy. Everything goes through the buffer protocol, so NumPy's headers
// are not needed and NumPy itself is imported only by numpy().
#include "ops/ops.h"
#include "python/python.h"

namespace ember::python {

namespace {

// --- dtypes and their codes in buffers -----------------------------------------------------------

constexpr const char* kFormats[kDtypes] = {"?", "B", "b",  "h",  "i", "l", "e", nullptr,
                                           "f", "d", "Zf", "Zd", "H", "I", "L"};  // else none

// The dtype of a buffer's elements; nothing if there is none. `swapped` tells of a foreign byte
// order.
std::optional<Dtype> dtype_of_format(const char* format, Py_ssize_t item, bool* swapped) {
  *swapped = false;
  if (!format) return Dtype::UInt8;
  if (*format == '>' || *format == '!') *swapped = item > 1;
  if (std::strchr("@=<>!", *format)) format++;
  bool is_complex = *format == 'Z';
  if (is_complex) format++;
  if (!*format || format[1]) return std::nullopt;
  if (is_complex)
    return *format == 'f'   ? std::optional(Dtype::Complex64)
           : *format == 'd' ? std::optional(Dtype::Complex128)
                            : std::nullopt;
  switch (*format) {
    case '?': return Dtype::Bool;
    case 'e': return Dtype::Float16;
    case 'f': return Dtype::Float32;
    case 'd': return Dtype::Float64;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n':
      return item == 1   ? Dtype::Int8
             : item == 2 ? Dtype::Int16
             : item == 4 ? Dtype::Int32
                         : Dtype::Int64;
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N':
      return item == 1   ? Dtype::UInt8
             : item == 2 ? Dtype::UInt16
             : item == 4 ? Dtype::UInt32
                         : Dtype::UInt64;
    default: return std::nullopt;
  }
}

// --- tensors over foreign buffers ----------------------------------------------------------------

void release_buffer(Storage* s) {
  if (!Py_IsInitialized()) return;  // the interpreter is gone, and its objects with it
  PyGILState_STATE gil = PyGILState_Ensure();
  auto* view = static_cast<Py_buffer*>(s->context);
  PyBuffer_Release(view);
  delete view;
  PyGILState_Release(gil);
}

// A buffer that is given back unless a storage takes it over.
struct Buffer {
  Py_buffer* view = new Py_buffer;
  bool open;
  Buffer(PyObject* o, int flags) : open(PyObject_GetBuffer(o, view, flags) == 0) {}
  ~Buffer() {
    if (open) PyBuffer_Release(view);
    delete view;
  }
  Buffer(const Buffer&) = delete;
  Ref<Storage> hand_over(void* data, int64_t bytes) {
    Ref<Storage> s = wrap_memory(data, bytes, Device(), release_buffer, view);
    open = false;
    view = nullptr;
    return s;
  }
};

void warn_read_only(const char* what) {
  static bool warned = false;
  if (std::exchange(warned, true)) {
    Object always =
        checked(PyObject_CallNoArgs(imported("ember._runtime", "is_warn_always_enabled")));
    if (always.get() != Py_True) return;
  }
  std::string text = std::string("The given ") + what +
                     " is not writable, and ember does not support non-writable tensors. This "
                     "means writing to this "
                     "tensor will result in undefined behavior. You may want to copy the data to "
                     "protect it or make it "
                     "writable before converting it to a tensor.";
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw PythonError{};
}

[[noreturn]] void fail_dtype(PyObject* array) {
  Object dtype = checked(PyObject_GetAttrString(array, "dtype"));
  Object type = checked(PyObject_GetAttrString(dtype.get(), "type"));
  fail(Kind::Type, "can't convert np.ndarray of type ",
       reinterpret_cast<PyTypeObject*>(type.get())->tp_name,
       ". The only supported types are: float64, float32, float16, complex64, complex128, int64, "
       "int32, int16, int8, "
       "uint64, uint32, uint16, uint8, and bool.");
}

}  // namespace

bool is_array(PyObject* o) {
  static PyTypeObject* array_type = nullptr;
  for (PyTypeObject* t = Py_TYPE(o); t; t = t->tp_base) {
    if (array_type ? t == array_type : !std::strcmp(t->tp_name, "numpy.ndarray")) {
      array_type = t;
      return true;
    }
  }
  return false;
}

Tensor tensor_over_array(PyObject* array, bool stays) {
  Buffer buffer(array, PyBUF_STRIDED_RO | PyBUF_FORMAT);
  if (!buffer.open) {
    PyErr_Clear();
    fail_dtype(array);  // dates and the like have no buffers
  }
  const Py_buffer& view = *buffer.view;
  bool swapped;
  std::optional<Dtype> dtype = dtype_of_format(view.format, view.itemsize, &swapped);
  if (!dtype) fail_dtype(array);
  check(!swapped, Kind::Value,
        "given numpy array has byte order different from the native byte order. Conversion between "
        "byte orders is currently not supported.");
  Shape shape, strides;
  int64_t last = 0;
  bool empty = false;
  for (int i = 0; i < view.ndim; i++) {
    int64_t n = view.shape[i], step = view.strides[i];
    check(step >= 0 || n <= 1, Kind::Value,
          "At least one stride in the given numpy array is negative, and tensors with "
          "negative strides are not currently supported. (You can probably work around this by "
          "making a copy of your "
          "array  with array.copy().) ");
    step = std::max<int64_t>(step, 0);
    check(step % view.itemsize == 0 || n <= 1, Kind::Value,
          "given numpy array strides not a multiple of the element "
          "byte size. Copy the numpy array to reallocate the memory.");
    shape.push_back(n);
    strides.push_back(step / view.itemsize);
    empty = empty || n == 0;
    last += (n - 1) * (step / view.itemsize);
  }
  int64_t aligned = std::min<int64_t>(view.itemsize, 8);
  check(
      reinterpret_cast<uintptr_t>(view.buf) % uintptr_t(aligned) == 0, Kind::Value,
      "given numpy array is not aligned in memory. Copy the numpy array to reallocate the memory.");
  if (view.readonly && stays) warn_read_only("NumPy array");
  int64_t bytes = empty ? 0 : (last + 1) * view.itemsize;
  return from_storage(buffer.hand_over(view.buf, bytes), *dtype, shape, strides, 0);
}

std::optional<Dtype> dtype_of_buffer(PyObject* o, char* value) {
  Buffer buffer(o, PyBUF_FORMAT);
  if (!buffer.open || buffer.view->itemsize > 16) {
    PyErr_Clear();
    return std::nullopt;
  }
  bool swapped;
  std::optional<Dtype> dtype =
      dtype_of_format(buffer.view->format, buffer.view->itemsize, &swapped);
  if (swapped) return std::nullopt;
  if (dtype && value) std::memcpy(value, buffer.view->buf, size_t(buffer.view->itemsize));
  return dtype;
}

Tensor tensor_over_buffer(PyObject* o, Dtype dtype, int64_t count, int64_t offset) {
  Buffer buffer(o, PyBUF_WRITABLE);
  if (!buffer.open) {
    PyErr_Clear();
    if (PyObject_GetBuffer(o, buffer.view, PyBUF_SIMPLE) < 0) {
      PyErr_Clear();
      fail(Kind::Value, "object does not implement Python buffer protocol.");
    }
    buffer.open = true;
    warn_read_only("buffer");
  }
  int64_t length = buffer.view->len, item = item_size(dtype);
  check(length > 0 && count != 0, Kind::Value, "both buffer length (", length, ") and count (",
        count, ") must not be 0");
  check(offset >= 0 && offset < length, Kind::Value, "offset (", offset,
        " bytes) must be non-negative and no greater than buffer length (", length,
        " bytes) minus 1");
  check(count > 0 || (length - offset) % item == 0, Kind::Value, "buffer length (", length - offset,
        " bytes) after offset (", offset, " bytes) must be a multiple of element size (", item,
        ")");
  if (count < 0) count = (length - offset) / item;
  check(count <= (length - offset) / item, Kind::Value, "requested buffer length (", count, " * ",
        item, " bytes) after offset (", offset,
        " bytes) must not be greater than actual buffer length (", length, " bytes)");
  char* data = static_cast<char*>(buffer.view->buf) + offset;
  check(reinterpret_cast<uintptr_t>(data) % uintptr_t(std::min<int64_t>(item, 8)) == 0, Kind::Value,
        "frombuffer(): the buffer at offset ", offset, " is not aligned for ", dtype,
        "; copy it first");
  return from_storage(buffer.hand_over(data, count * item), dtype, {count}, {1}, 0);
}

namespace {

PyObject* from_numpy(PyObject*, PyObject* o) {
  return guarded([&] {
    check(is_array(o), Kind::Type, "expected np.ndarray (got ", Py_TYPE(o)->tp_name, ")");
    return wrap(tensor_over_array(o, true));
  });
}
PyMethodDef functions[] = {{"from_numpy", from_numpy, METH_O,
                            R"(from_numpy(ndarray, /)
--

A tensor that shares the memory of a NumPy array.

Args:
    ndarray (numpy.ndarray): the array; one that cannot be written to gives a warning.

Example:

    >>> import numpy
    >>> array = numpy.zeros(2)
    >>> x = ember.from_numpy(array)
    >>> array[0] = 5
    >>> x
    tensor([5., 0.], dtype=torch.float64)
)"},
                           {}};

EMBER_OP(
    "frombuffer(Any buffer, *, Dtype dtype, int count=-1, int offset=0, bool requires_grad=False) "
    "-> Tensor",
    ([](void* o, Dtype dtype, int64_t count, int64_t offset, bool requires_grad) {
      Tensor t = tensor_over_buffer(static_cast<PyObject*>(o), dtype, count, offset);
      if (requires_grad) set_requires_grad(t, true);
      return t;
    }),
    Function | Factory,
    "A 1-D tensor that shares the memory of an object with the buffer protocol.");

// --- buffers over tensors ------------------------------------------------------------------------

void check_readable(const Tensor& t) {
  check(!t.requires_grad() || !grad_enabled(), Kind::Runtime,
        "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
  check(t.device().is_cpu(), Kind::Type, "can't convert ", t.device(),
        " device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.");
  check(kFormats[int(t.dtype())] != nullptr, Kind::Type, "Got unsupported ScalarType ",
        type_name(t.dtype()));
  if (t.numel()) t.data();  // an error that NumPy would take for "no buffer": a storage too small
}

// A step that is never taken may be of any length, and times the bytes of an element not be an int.
Shape byte_strides(const Tensor& t) {
  Shape out;
  for (int64_t step : t.strides()) {
    int64_t bytes;
    out.push_back(__builtin_mul_overflow(step, t.item_size(), &bytes) ? 0 : bytes);
  }
  return out;
}

// What a buffer keeps: the storage, since the tensor may get another one.
struct Exported {
  Pin pin;
  Shape shape, strides;  // in bytes
};

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return guarded(-1, [&] {
    const Tensor& t = tensor_of(self);
    check_readable(t);
    if (!t.is_contiguous() && (flags & PyBUF_STRIDES) != PyBUF_STRIDES) {
      PyErr_SetString(PyExc_BufferError, "the tensor is not contiguous");
      throw PythonError{};
    }
    static char nothing[16];
    static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
    void* data = t.numel() ? t.data() : nothing;
    const int64_t bytes = byte_count(t.shape(), t.numel(), t.dtype());
    auto* exported = new Exported{Pin(t.storage()), t.shape(), byte_strides(t)};
    view->obj = Py_NewRef(self);
    view->buf = data;
    view->len = bytes;
    view->itemsize = t.item_size();
    view->readonly = 0;
    view->ndim = t.dim();
    view->format = flags & PyBUF_FORMAT ? const_cast<char*>(kFormats[int(t.dtype())]) : nullptr;
    view->shape =
        flags & PyBUF_ND ? reinterpret_cast<Py_ssize_t*>(exported->shape.data()) : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES
                        ? reinterpret_cast<Py_ssize_t*>(exported->strides.data())
                        : nullptr;
    view->suboffsets = nullptr;
    view->internal = exported;
    return 0;
  });
}
void release_exported(PyObject*, Py_buffer* view) { delete static_cast<Exported*>(view->internal); }

PyObject* numpy(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"force", nullptr};
    int force = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$p:numpy", const_cast<char**>(names), &force))
      return nullptr;
    const Tensor& t = tensor_of(self);
    if (force && (t.requires_grad() || !t.device().is_cpu())) {
      Object plain = checked(wrap(to(detach(t), Device(), std::nullopt)));
      return numpy(plain.get(), args, nullptr);
    }
    check_readable(t);
    pin_storage(t.storage());  // for ever, as in torch: the array's pointer may have been passed on
    return as_array(self).release();
  });
}

// __array__(dtype=None, copy=None)
PyObject* array(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"dtype", "copy", nullptr};
    PyObject *dtype = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", const_cast<char**>(names),
                                     &dtype, &copy))
      return nullptr;
    check_readable(tensor_of(self));
    pin_storage(tensor_of(self).storage());
    Object plain = as_array(self);
    bool copies = copy != Py_None && checked(PyObject_IsTrue(copy));
    if (dtype == Py_None)
      return copies ? PyObject_CallMethod(plain.get(), "copy", nullptr) : plain.release();
    Object astype = checked(PyObject_GetAttrString(plain.get(), "astype"));
    Object positional = checked(PyTuple_Pack(1, dtype));
    Object named = checked(Py_BuildValue("{s:O}", "copy", copies ? Py_True : Py_False));
    return PyObject_Call(astype.get(), positional.get(), named.get());
  });
}

// What NumPy's functions of tensors return: np.sin(t) is a tensor. Comparisons give uint8, as in
// torch.
PyObject* array_wrap(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *result, *context = Py_None, *scalar = Py_False;
    if (!PyArg_ParseTuple(args, "O|OO:__array_wrap__", &result, &context, &scalar)) return nullptr;
    if (!is_array(result)) return Py_NewRef(result);
    Tensor t = tensor_over_array(result);
    return wrap(t.dtype() == Dtype::Bool ? to(t, Dtype::UInt8) : t);
  });
}

PyMethodDef methods[] = {
    {"numpy", (PyCFunction)(void (*)())numpy, METH_VARARGS | METH_KEYWORDS,
     R"(numpy($self, *, force=False)
--

A NumPy array over the same memory.

Args:
    force (bool, default False): whether a tensor that requires grad or lives on another device is
        detached and copied first.

Example:

    >>> x = ember.zeros(2)
    >>> x.numpy()[0] = 1
    >>> x
    tensor([1., 0.])
)"},
    {"__array__", (PyCFunction)(void (*)())array, METH_VARARGS | METH_KEYWORDS, nullptr},
    {"__array_wrap__", array_wrap, METH_VARARGS, nullptr},
    {}};

}  // namespace

Object as_array(PyObject* o) {
  static PyObject* asarray = nullptr;
  if (!asarray) {
    PyObject* module = PyImport_ImportModule("numpy");
    if (!module && PyErr_ExceptionMatches(PyExc_ModuleNotFoundError)) {
      PyErr_Clear();
      fail(Kind::Runtime, "Numpy is not available: pip install numpy");
    }
    asarray = checked(PyObject_GetAttrString(checked(module).get(), "asarray")).release();
  }
  return checked(PyObject_CallOneArg(asarray, o));
}

PyBufferProcs buffer_methods = {get_buffer, release_exported};

void add_numpy(PyObject* module) {
  checked(PyModule_AddFunctions(module, functions));
  add_tensor_methods(methods);
  Object priority = checked(PyLong_FromLong(1000));  // NumPy's operators leave the work to ours
  checked(PyObject_SetAttrString((PyObject*)tensor_type, "__array_priority__", priority.get()));
}

}  // namespace ember::python
