// Tensor methods that are called so often, or need Python so much, that they are written by hand:
// geometry, addresses, tolist, type. The others come from the op schemas.
#include "ops/ops.h"
#include "python/overrides.h"
#include "python/python.h"

namespace ember::python {

namespace {

#define OVERRIDABLE(...) \
  if (__builtin_expect(self_overrides(self), 0)) return method_override(__VA_ARGS__)

// The one optional argument of size() and stride(), by position or as dim=.
PyObject* dim_argument(const char* op, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  Py_ssize_t keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  check(n + keywords <= 1, Kind::Type, op, "() takes at most 1 argument (", n + keywords,
        " given)");
  if (keywords) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, 0);
    check(!PyUnicode_CompareWithASCIIString(name, "dim"), Kind::Type, op,
          "() got an unexpected keyword argument '", PyUnicode_AsUTF8(name), "'");
  }
  if (n + keywords == 0 || args[0] == Py_None) return nullptr;
  check(is_int(args[0]), Kind::Type, op, "(): argument 'dim' must be int, not ",
        Py_TYPE(args[0])->tp_name);
  return args[0];
}

int64_t entry(const char* op, const Shape& values, PyObject* dim) {
  int64_t d = int_of(dim);
  int n = values.size();
  check(n > 0 || d == 0 || d == -1 ? n > 0 : true, Kind::Index, "Dimension specified as ", d,
        " but tensor has no dimensions");
  return values[wrap_dim(op, d, n)];
}

PyObject* size(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    OVERRIDABLE("size", self, args, n, kwnames);
    PyObject* dim = dim_argument("size", args, n, kwnames);
    const Tensor& t = tensor_of(self);
    return dim ? PyLong_FromLongLong(entry("size", t.shape(), dim)) : wrap_shape(t.shape());
  });
}

PyObject* stride(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    OVERRIDABLE("stride", self, args, n, kwnames);
    PyObject* dim = dim_argument("stride", args, n, kwnames);
    const Shape& strides = tensor_of(self).strides();
    if (dim) return PyLong_FromLongLong(entry("stride", strides, dim));
    Object tuple = checked(PyTuple_New(strides.size()));
    for (int i = 0; i < strides.size(); i++)
      PyTuple_SET_ITEM(tuple.get(), i, checked(PyLong_FromLongLong(strides[i])).release());
    return tuple.release();
  });
}

#define SIMPLE(name, value)                   \
  PyObject* name(PyObject* self, PyObject*) { \
    return guarded([&]() -> PyObject* {       \
      OVERRIDABLE(#name, {self});             \
      const Tensor& t = tensor_of(self);      \
      (void)t;                                \
      return value;                           \
    });                                       \
  }
SIMPLE(dim, PyLong_FromLong(t.dim()))
SIMPLE(numel, PyLong_FromLongLong(t.numel()))
SIMPLE(element_size, PyLong_FromLongLong(t.item_size()))
SIMPLE(storage_offset, PyLong_FromLongLong(t.offset()))
SIMPLE(data_ptr, PyLong_FromVoidPtr(t.numel() && t.storage()->expose() ? t.address() : nullptr))
SIMPLE(get_device, PyLong_FromLong(t.device().is_cpu() ? -1 : std::max<int>(t.device().index, 0)))
SIMPLE(is_shared, PyBool_FromLong((t.storage()->root ? t.storage()->root : t.storage())->shared))
SIMPLE(is_pinned, PyBool_FromLong(false))
SIMPLE(is_inference, PyBool_FromLong(t.impl()->inference))
SIMPLE(has_names, PyBool_FromLong(false))
#undef SIMPLE
PyObject* size_in_bytes(PyObject* self, PyObject*) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    return PyLong_FromLongLong(byte_count(t.shape(), t.numel(), t.dtype()));
  });
}

// Refuses a tensor for which several orders of dimensions are right: `check` is a bool, or a list
// of memory formats, of which the tensor may have exactly one.
void check_one_order(PyObject* self, PyObject* check_for) {
  const Tensor& t = tensor_of(self);
  check(PyBool_Check(check_for) || PyList_Check(check_for), Kind::Type,
        "dim_order(): ambiguity_check must be a bool or a list of memory formats, not ",
        Py_TYPE(check_for)->tp_name);
  if (check_for == Py_False) return;
  bool several = false;
  for (int i = 0; i < t.dim(); i++)
    several = several || t.size(i) == 1 || (i && t.stride(i) == t.stride(i - 1));
  int fitting = 0;
  Object method = checked(PyObject_GetAttrString(self, "is_contiguous"));
  Object name = checked(Py_BuildValue("(s)", "memory_format"));
  for (Py_ssize_t i = 0; PyList_Check(check_for) && i < PyList_GET_SIZE(check_for); i++) {
    PyObject* format = PyList_GET_ITEM(check_for, i);
    Object fits = checked(PyObject_Vectorcall(method.get(), &format, 0, name.get()));
    fitting += fits.get() == Py_True;
  }
  check(!several || fitting == 1, Kind::Runtime,
        "The tensor does not have unique dim order, or cannot map to exact one of the given memory "
        "formats.");
}

// The dimensions from the outermost in memory to the innermost.
PyObject* dim_order(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"ambiguity_check", nullptr};
    PyObject* ambiguity = Py_False;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$O:dim_order", const_cast<char**>(names),
                                     &ambiguity))
      return nullptr;
    const Tensor& t = tensor_of(self);
    check_one_order(self, ambiguity);
    int order[kMaxDims];
    for (int i = 0; i < t.dim(); i++) order[i] = i;
    std::stable_sort(order, order + t.dim(),
                     [&](int a, int b) { return t.strides()[a] > t.strides()[b]; });
    Object tuple = checked(PyTuple_New(t.dim()));
    for (int i = 0; i < t.dim(); i++)
      PyTuple_SET_ITEM(tuple.get(), i, checked(PyLong_FromLong(order[i])).release());
    return tuple.release();
  });
}

PyObject* requires_grad_(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    OVERRIDABLE("requires_grad_", self, args, n, kwnames);
    Py_ssize_t keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    check(n + keywords <= 1, Kind::Type, "requires_grad_() takes at most 1 argument (",
          n + keywords, " given)");
    check(!keywords ||
              !PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "requires_grad"),
          Kind::Type, "requires_grad_() got an unexpected keyword argument");
    bool on = true;
    if (n + keywords) {
      check(PyBool_Check(args[0]), Kind::Type,
            "requires_grad_(): argument 'requires_grad' must be bool, not ",
            Py_TYPE(args[0])->tp_name);
      on = args[0] == Py_True;
    }
    set_requires_grad(tensor_of(self), on);
    return Py_NewRef(self);
  });
}

PyObject* is_set_to(PyObject* self, PyObject* other) {
  return guarded([&]() -> PyObject* {
    check(is_tensor(other), Kind::Type, "is_set_to(): argument 'tensor' must be Tensor, not ",
          Py_TYPE(other)->tp_name);
    const Tensor &a = tensor_of(self), &b = tensor_of(other);
    const bool same =
        a.storage() == b.storage() || (a.storage()->data && a.storage()->data == b.storage()->data);
    return PyBool_FromLong(same && a.offset() == b.offset() && a.shape() == b.shape() &&
                           a.strides() == b.strides());
  });
}

// --- tolist --------------------------------------------------------------------------------------

PyObject* element(Dtype d, const char* at) {
  switch (d) {
    case Dtype::Bool: return PyBool_FromLong(*at != 0);
    case Dtype::Float32: return PyFloat_FromDouble(*reinterpret_cast<const float*>(at));
    case Dtype::Float64: return PyFloat_FromDouble(*reinterpret_cast<const double*>(at));
    case Dtype::Int64: return PyLong_FromLongLong(*reinterpret_cast<const int64_t*>(at));
    case Dtype::UInt64: return PyLong_FromUnsignedLongLong(*reinterpret_cast<const uint64_t*>(at));
    default: return wrap_scalar(Scalar::load(d, at));
  }
}

Object nested(const Tensor& t, const char* at, int dim) {
  if (dim == t.dim()) return checked(element(t.dtype(), at));
  // The stride of an axis that is not walked may be anything.
  int64_t n = t.shape()[dim], step = n > 1 ? t.strides()[dim] * t.item_size() : 0;
  Object list = checked(PyList_New(n));
  for (int64_t i = 0; i < n; i++)
    PyList_SET_ITEM(list.get(), i, nested(t, at + i * step, dim + 1).release());
  return list;
}

PyObject* py_item(PyObject* self, PyObject*) {
  return guarded([&] {
    OVERRIDABLE("item", {self});
    return wrap_item(tensor_of(self));
  });
}

PyObject* tolist(PyObject* self, PyObject*) {
  return guarded([&] {
    OVERRIDABLE("tolist", {self});
    return list_of(tensor_of(self));
  });
}

// --- type() and its legacy names -----------------------------------------------------------------

std::string legacy_name(Dtype d, Device device) {
  std::string where = device.is_cpu() ? "" : device_kind_name(device.kind) + ".";
  return "torch." + where + kTypeNames[int(d)] + "Tensor";
}

std::pair<Device, Dtype> parse_legacy_name(const std::string& text) {
  std::string_view rest = text;
  size_t first = rest.find('.'), last = rest.rfind('.');
  if (first != std::string_view::npos &&
      (rest.substr(0, first) == "torch" || rest.substr(0, first) == "ember")) {
    Device device =
        last > first ? parse_device(rest.substr(first + 1, last - first - 1)) : Device();
    for (int i = 0; i < kDtypes; i++)
      if (rest.substr(last + 1) == std::string(kTypeNames[i]) + "Tensor") return {device, Dtype(i)};
    if (rest.substr(last + 1) == "Tensor") return {device, default_dtype()};
  }
  fail(Kind::Value, "invalid type: '", text, "'");
}

PyObject* type(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    if (__builtin_expect(self_overrides(self), 0)) {
      Object all = checked(PySequence_List(args));
      checked(PyList_Insert(all.get(), 0, self));
      Object tuple = checked(PyList_AsTuple(all.get()));
      Object method = checked(PyObject_GetAttrString((PyObject*)tensor_type, "type"));
      return call_override(method.get(), tuple.get(), kwargs);
    }
    static const char* names[] = {"dtype", "non_blocking", nullptr};
    PyObject* wanted = Py_None;
    int non_blocking = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Op:type", const_cast<char**>(names), &wanted,
                                     &non_blocking))
      return nullptr;
    const Tensor& t = tensor_of(self);
    if (wanted == Py_None) return PyUnicode_FromString(legacy_name(t.dtype(), t.device()).c_str());
    if (is_dtype(wanted)) return wrap(to(t, dtype_of_object(wanted)));
    if (wanted == (PyObject*)tensor_type) return wrap(to(t, Device{}, default_dtype()));
    Object text;
    if (!PyUnicode_Check(wanted)) {  // a legacy class: ember.FloatTensor
      check(PyType_Check(wanted) && PyObject_HasAttrString(wanted, "_legacy_name"), Kind::Type,
            "type(): dtype must be a type, str, or dtype object, not ", Py_TYPE(wanted)->tp_name);
      text = checked(PyObject_GetAttrString(wanted, "_legacy_name"));
      wanted = text.get();
    }
    const char* utf8 = PyUnicode_AsUTF8(wanted);
    if (!utf8) throw PythonError{};
    auto [device, dtype] = parse_legacy_name(utf8);
    return wrap(to(t, device, dtype));
  });
}

PyObject* complex_value(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    check(tensor_of(self).numel() == 1, Kind::Value,
          "only one element tensors can be converted to Python scalars, this one has ",
          tensor_of(self).numel());
    warn_of_lost_gradient(tensor_of(self));
    complex128 c = item(tensor_of(self)).to<complex128>();
    return PyComplex_FromDoubles(c.real(), c.imag());
  });
}

// x.new(...) and Tensor(...) of the same kind: see ember/_tensor.py.

PyObject* contains(PyObject* self, PyObject* value) {
  return guarded([&]() -> PyObject* {
    check(is_tensor(value) || is_number(value), Kind::Runtime,
          "Tensor.__contains__ only supports Tensor or scalar, but you passed in a <class '",
          Py_TYPE(value)->tp_name, "'>.");
    Object same = checked(PyObject_RichCompare(self, value, Py_EQ));
    Object any = checked(PyObject_CallMethod(same.get(), "any", nullptr));
    return PyBool_FromLong(checked(PyObject_IsTrue(any.get())));
  });
}

template <class F>
constexpr PyCFunction as_method(F f) {
  return (PyCFunction)(void (*)())f;
}

PyMethodDef methods[] = {
    {"size", as_method(size), METH_FASTCALL | METH_KEYWORDS,
     R"(size($self, dim=None)
--

The size of every dimension, or of one.

Args:
    dim (int, optional): the dimension; None for all, as an `ember.Size`.

Example:

    >>> x = ember.zeros(2, 3)
    >>> x.size(), x.size(1)
    (torch.Size([2, 3]), 3)
)"},
    {"stride", as_method(stride), METH_FASTCALL | METH_KEYWORDS,
     R"(stride($self, dim=None)
--

How many elements lie between neighbours along every dimension, or along one.

Args:
    dim (int, optional): the dimension; None for all.

Example:

    >>> ember.zeros(2, 3).stride()
    (3, 1)
)"},
    {"dim", dim, METH_NOARGS, R"(dim($self)
--

The number of dimensions.

Example:

    >>> ember.zeros(2, 3).dim()
    2
)"},
    {"ndimension", dim, METH_NOARGS, R"(ndimension($self)
--

The number of dimensions: the same as `dim()`.

Example:

    >>> ember.zeros(2, 3).ndimension()
    2
)"},
    {"numel", numel, METH_NOARGS, R"(numel($self)
--

The number of elements.

Example:

    >>> ember.zeros(2, 3).numel()
    6
)"},
    {"nelement", numel, METH_NOARGS, R"(nelement($self)
--

The number of elements: the same as `numel()`.

Example:

    >>> ember.zeros(2, 3).nelement()
    6
)"},
    {"element_size", element_size, METH_NOARGS, R"(element_size($self)
--

How many bytes an element takes.

Example:

    >>> ember.zeros(2, dtype=ember.float64).element_size()
    8
)"},
    {"storage_offset", storage_offset, METH_NOARGS,
     R"(storage_offset($self)
--

At which element of the storage the tensor begins.

Example:

    >>> ember.arange(5)[2:].storage_offset()
    2
)"},
    {"data_ptr", data_ptr, METH_NOARGS, R"(data_ptr($self)
--

The address of the first element.

Example:

    >>> x = ember.zeros(4)
    >>> x[1:].data_ptr() - x.data_ptr()
    4
)"},
    {"const_data_ptr", data_ptr, METH_NOARGS, R"(const_data_ptr($self)
--

The address of the first element, for those who only read it.

Example:

    >>> x = ember.zeros(4)
    >>> x.const_data_ptr() == x.data_ptr()
    True
)"},
    {"dim_order", as_method(dim_order), METH_VARARGS | METH_KEYWORDS,
     R"(dim_order($self, *, ambiguity_check=False)
--

The dimensions, from the outermost in memory to the innermost.

Args:
    ambiguity_check (bool or list of memory formats, default False): whether to raise an error
        where several orders are possible.

Example:

    >>> ember.zeros(2, 3).t().dim_order()
    (1, 0)
)"},
    {"get_device", get_device, METH_NOARGS, R"(get_device($self)
--

The index of the tensor's device; -1 for the CPU.

Example:

    >>> ember.zeros(2).get_device()
    -1
)"},
    {"is_shared", is_shared, METH_NOARGS, R"(is_shared($self)
--

Whether the memory is shared with other processes.

Example:

    >>> ember.zeros(2).is_shared()
    False
)"},
    {"is_pinned", as_method(is_pinned), METH_VARARGS, R"(is_pinned($self, device=None)
--

Always False: host memory is not pinned.

Args:
    device (device, optional): taken for PyTorch's sake.

Example:

    >>> ember.zeros(2).is_pinned()
    False
)"},
    {"is_inference", is_inference, METH_NOARGS, R"(is_inference($self)
--

Whether the tensor was made in inference mode.

Example:

    >>> with ember.inference_mode():
    ...     x = ember.zeros(2)
    >>> x.is_inference()
    True
)"},
    {"has_names", has_names, METH_NOARGS, R"(has_names($self)
--

Always False: dimensions have no names.

Example:

    >>> ember.zeros(2).has_names()
    False
)"},
    {"requires_grad_", as_method(requires_grad_), METH_FASTCALL | METH_KEYWORDS,
     R"(requires_grad_($self, requires_grad=True)
--

Says whether gradients of the tensor are wanted; returns it.

Args:
    requires_grad (bool, default True): whether they are.

Example:

    >>> ember.zeros(2).requires_grad_()
    tensor([0., 0.], requires_grad=True)
)"},
    {"is_set_to", is_set_to, METH_O, R"(is_set_to($self, tensor, /)
--

Whether both tensors are the same view of the same storage.

Args:
    tensor (Tensor): the other one.

Example:

    >>> x = ember.zeros(4)
    >>> x.is_set_to(x.view(4)), x.is_set_to(x[1:])
    (True, False)
)"},
    {"item", py_item, METH_NOARGS, R"(item($self)
--

The value of a tensor with one element, as a Python number.

Example:

    >>> ember.tensor([2.5]).item()
    2.5
)"},
    {"tolist", tolist, METH_NOARGS, R"(tolist($self)
--

The elements as nested lists of Python numbers.

Example:

    >>> ember.tensor([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
)"},
    {"type", as_method(type), METH_VARARGS | METH_KEYWORDS,
     R"(type($self, dtype=None, non_blocking=False)
--

The tensor in another dtype, or without one the name of its type.

Args:
    dtype (dtype or str, optional): the dtype, or the name of a type.
    non_blocking (bool, default False): whether a copy to another device may go on in the background.

Example:

    >>> ember.zeros(1).type()
    'torch.FloatTensor'
    >>> ember.zeros(1).type(ember.int64)
    tensor([0])
)"},
    {"__complex__", complex_value, METH_NOARGS, nullptr},
    {"__contains__", contains, METH_O, nullptr},
    {"__sizeof__", size_in_bytes, METH_NOARGS, nullptr},
    {}};

}  // namespace

PyObject* wrap_item(const Tensor& t) { return wrap_scalar(item(t)); }

PyObject* list_of(const Tensor& t) {
  check(!t.device().is_meta(), Kind::NotImplemented, "tolist(): a meta tensor has no data");
  Tensor host = t.device().is_cpu() ? t : to(detach(t), Device(), std::nullopt);
  return nested(host, static_cast<const char*>(host.numel() ? host.data() : nullptr), 0).release();
}

void add_tensor_methods(PyMethodDef* list) {
  for (PyMethodDef* m = list; m->ml_name; m++) {
    bool fixed = m->ml_flags & (METH_STATIC | METH_CLASS);
    internal_check(!fixed, m->ml_name, " must be an ordinary method");
    Object descriptor = checked(PyDescr_NewMethod(tensor_type, m));
    checked(PyObject_SetAttrString((PyObject*)tensor_type, m->ml_name, descriptor.get()));
  }
}

void add_methods() { add_tensor_methods(methods); }

}  // namespace ember::python
