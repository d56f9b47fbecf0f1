// What is read from and assigned to a tensor: shape, dtype, grad, T ...
#include "autograd/engine.h"
#include "autograd/tape.h"
#include "ops/ops.h"
#include "python/overrides.h"
#include "python/python.h"
#include "python/tape.h"
#include "tensor/sparse.h"

namespace ember::python {

namespace {

// `name` is the closure of the getter, set by tensor_attributes().
template <class F>
PyObject* attribute(PyObject* self, void* name, F&& f) {
  return guarded([&] {
    if (__builtin_expect(self_overrides(self) && name, 0))
      return property_override(static_cast<const char*>(name), self);
    return f(tensor_of(self));
  });
}

#define GET(id, body)                                                          \
  PyObject* get_##id(PyObject* self, void* name) {                             \
    return attribute(self, name, [&](const Tensor& t) -> PyObject* { body; }); \
  }

GET(shape, return wrap_shape(t.shape()))
GET(dtype, return wrap_dtype(t.dtype()))
GET(device, return wrap_device(t.device()))
GET(ndim, return PyLong_FromLong(t.dim()))
GET(itemsize, return PyLong_FromLongLong(t.item_size()))
GET(nbytes, return PyLong_FromLongLong(byte_count(t.shape(), t.numel(), t.dtype())))
GET(requires_grad, return PyBool_FromLong(t.requires_grad()))
GET(is_leaf, return PyBool_FromLong(t.is_leaf()))
GET(version,
    check(!t.impl()->inference, Kind::Runtime, "Inference tensors do not track version counter.");
    return PyLong_FromUnsignedLong(t.version()))
GET(output_nr,
    return PyLong_FromUnsignedLong(t.impl()->autograd ? t.impl()->autograd->output_nr : 0))
GET(base, return t.is_view() ? wrap(Tensor(t.impl()->base)) : Py_NewRef(Py_None))
GET(retains_grad, return PyBool_FromLong(t.impl()->autograd && t.impl()->autograd->retains_grad))
GET(layout, (void)t; static PyObject* const strided = imported("ember._C", "strided");
    return Py_NewRef(strided))
GET(false, (void)t; Py_RETURN_FALSE)
GET(is_cpu, return PyBool_FromLong(t.device().is_cpu()))
GET(is_meta, return PyBool_FromLong(t.device().is_meta()))
GET(is_cuda, return PyBool_FromLong(device_kind_name(t.device().kind) == "cuda"))
GET(data, return wrap(data_of(t)))
GET(grad_fn, return wrap_node(grad_fn_of(t)))
GET(T, return wrap(numpy_T(t)))
GET(mT, return wrap(matrix_transpose(t)))
GET(H, return wrap(matrix_adjoint(t, "H")))
GET(mH, return wrap(matrix_adjoint(t, "mH")))
GET(real, return wrap(real(t)))
GET(imag, return wrap(imag(t)))
PyObject* get_names(PyObject* self, void*) {
  PyObject* names = PyTuple_New(tensor_of(self).dim());
  for (int i = 0; names && i < tensor_of(self).dim(); i++)
    PyTuple_SET_ITEM(names, i, Py_NewRef(Py_None));
  return names;
}

PyObject* get_grad(PyObject* self, void* name) {
  return attribute(self, name, [&](const Tensor& t) -> PyObject* {
    Autograd* a = t.impl()->autograd;
    if (a && a->grad) return wrap(a->grad);
    if (!t.is_leaf() && !(a && a->retains_grad) && t.requires_grad()) {
      if (PyErr_WarnEx(
              PyExc_UserWarning,
              "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
              ".grad "
              "attribute won't be populated during autograd.backward(). If you indeed want the "
              ".grad field to "
              "be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor.",
              1) < 0)
        return nullptr;
    }
    Py_RETURN_NONE;
  });
}

int set_grad(PyObject* self, PyObject* value, void*) {
  return guarded(-1, [&] {
    const Tensor& t = tensor_of(self);
    if (!value || value == Py_None) {
      if (t.impl()->autograd) t.impl()->autograd->grad = Tensor();
      return 0;
    }
    check(is_tensor(value), Kind::Type,
          "assigned grad expected to be a Tensor or None but got grad of type ",
          Py_TYPE(value)->tp_name);
    const Tensor& g = tensor_of(value);
    check(!g.same(t), Kind::Runtime, "can't assign Variable as its own grad");
    check(g.dtype() == t.dtype(), Kind::Runtime, "attempting to assign a gradient with dtype '",
          g.dtype(), "' to a tensor with dtype '", t.dtype(), "'");
    check(g.device().kind == t.device().kind || is_sparse(g), Kind::Runtime,
          "attempting to assign a gradient located on device ", g.device(),
          " to a tensor located on device ", t.device());
    check(g.shape() == t.shape(), Kind::Runtime, "attempting to assign a gradient of size '",
          g.shape(), "' to a tensor of size '", t.shape(),
          "'. Please ensure that the gradient and the tensor are the same size");
    ensure_autograd(t).grad = g;
    return 0;
  });
}

int set_requires_grad_attribute(PyObject* self, PyObject* value, void*) {
  return guarded(-1, [&] {
    check(value && PyBool_Check(value), Kind::Runtime, "requires_grad must be a bool");
    set_requires_grad(tensor_of(self), value == Py_True);
    return 0;
  });
}

int set_data_attribute(PyObject* self, PyObject* value, void*) {
  return guarded(-1, [&] {
    check(value, Kind::Runtime, "Deleting tensor data is not allowed. Delete tensor instead!");
    check(is_tensor(value), Kind::Type, "Variable data has to be a tensor, but got ",
          Py_TYPE(value)->tp_name);
    check(!tensor_of(self).requires_grad() || is_differentiable(tensor_of(value).dtype()),
          Kind::Runtime,
          "data set to a tensor that requires gradients must be floating point or complex dtype");
    check(!is_sparse(tensor_of(self)) && !is_sparse(tensor_of(value)), Kind::NotImplemented,
          "data: assigning is not implemented for sparse tensors");
    set_data(tensor_of(self), tensor_of(value));
    return 0;
  });
}

int set_part(PyObject* value, PyObject* part) {
  Object to = checked(part);
  check(value, Kind::Runtime, "real and imag can't be deleted");
  checked(PyObject_CallMethodOneArg(to.get(), checked(PyUnicode_FromString("copy_")).get(), value));
  return 0;
}
int set_real(PyObject* self, PyObject* value, void*) {
  return guarded(-1, [&] { return set_part(value, get_real(self, nullptr)); });
}
int set_imag(PyObject* self, PyObject* value, void*) {
  return guarded(-1, [&] { return set_part(value, get_imag(self, nullptr)); });
}

constexpr const char* kNever = "Always False: there are no such tensors here.";

PyGetSetDef attributes[] = {
    {"shape", get_shape, nullptr, R"(The size of each dimension.

Example:

    >>> ember.zeros(2, 3).shape
    torch.Size([2, 3])
)",
     nullptr},
    {"dtype", get_dtype, nullptr, R"(The type of the elements.

Example:

    >>> ember.zeros(2).dtype
    torch.float32
)",
     nullptr},
    {"device", get_device, nullptr, R"(Where the elements live.

Example:

    >>> ember.zeros(2).device
    device(type='cpu')
)",
     nullptr},
    {"ndim", get_ndim, nullptr, R"(The number of dimensions.

Example:

    >>> ember.zeros(2, 3).ndim
    2
)",
     nullptr},
    {"itemsize", get_itemsize, nullptr, R"(How many bytes an element takes.

Example:

    >>> ember.zeros(2).itemsize
    4
)",
     nullptr},
    {"nbytes", get_nbytes, nullptr, R"(How many bytes all elements take.

Example:

    >>> ember.zeros(2, 3).nbytes
    24
)",
     nullptr},
    {"requires_grad", get_requires_grad, set_requires_grad_attribute,
     R"(Whether gradients are computed.

Example:

    >>> x = ember.ones(1)
    >>> x.requires_grad = True
    >>> (x * 2).requires_grad
    True
)",
     nullptr},
    {"is_leaf", get_is_leaf, nullptr, R"(Whether no recorded op made this tensor.

Example:

    >>> x = ember.ones(1, requires_grad=True)
    >>> x.is_leaf, (x * 2).is_leaf
    (True, False)
)",
     nullptr},
    {"grad", get_grad, set_grad, R"(The gradient that `backward()` has added up, or None.

Example:

    >>> x = ember.ones(1, requires_grad=True)
    >>> (x * 2).backward()
    >>> x.grad
    tensor([2.])
)",
     nullptr},
    {"_grad", get_grad, set_grad, "The same as grad.", nullptr},
    {"grad_fn", get_grad_fn, nullptr, R"(The node of the tape that made this tensor, or None.

Example:

    >>> (ember.ones(1, requires_grad=True) * 2).grad_fn.name()
    'MulBackward0'
)",
     nullptr},
    {"retains_grad", get_retains_grad, nullptr,
     R"(Whether a tensor that is no leaf keeps its gradient.

Example:

    >>> y = ember.ones(1, requires_grad=True) * 2
    >>> y.retains_grad
    False
)",
     nullptr},
    {"data", get_data, set_data_attribute, R"(The same elements without history or version checks.

Example:

    >>> x = ember.ones(1, requires_grad=True)
    >>> x.data
    tensor([1.])
)",
     nullptr},
    {"output_nr", get_output_nr, nullptr, R"(Which output of `grad_fn` this tensor is.

Example:

    >>> ember.ones(2, requires_grad=True).unbind()[1].output_nr
    1
)",
     nullptr},
    {"_version", get_version, nullptr, "Number of in-place changes so far.", nullptr},
    {"_base", get_base, nullptr, "The tensor this is a view of, or None.", nullptr},
    {"layout", get_layout, nullptr, R"(How elements are stored: `ember.strided`, or a sparse layout.

Example:

    >>> ember.zeros(2).layout
    torch.strided
)",
     nullptr},
    {"is_cpu", get_is_cpu, nullptr, R"(Whether the elements live in host memory.

Example:

    >>> ember.zeros(2).is_cpu
    True
)",
     nullptr},
    {"is_meta", get_is_meta, nullptr,
     R"(Whether the tensor has a shape and a dtype, but no elements.

Example:

    >>> ember.zeros(2, device="meta").is_meta
    True
)",
     nullptr},
    {"is_cuda", get_is_cuda, nullptr,
     R"(Whether the tensor lives on what a program takes for a CUDA device.

Example:

    >>> ember.zeros(2).is_cuda
    False
)",
     nullptr},
    {"is_sparse", get_false, nullptr,
     R"(Whether only the elements that are not zero are stored, with their indices.

Example:

    >>> ember.eye(2).to_sparse().is_sparse
    True
)",
     nullptr},
    {"is_sparse_csr", get_false, nullptr, R"(Whether the tensor is stored by compressed rows.

Example:

    >>> ember.eye(2).to_sparse_csr().is_sparse_csr
    True
)",
     nullptr},
    {"is_mkldnn", get_false, nullptr, kNever, nullptr},
    {"is_quantized", get_false, nullptr, kNever, nullptr},
    {"is_nested", get_false, nullptr, R"(Whether the tensor holds tensors of different sizes.

Example:

    >>> ember.zeros(2).is_nested
    False
)",
     nullptr},
    {"is_mps", get_false, nullptr, kNever, nullptr},
    {"is_xpu", get_false, nullptr, kNever, nullptr},
    {"is_ipu", get_false, nullptr, kNever, nullptr},
    {"is_xla", get_false, nullptr, kNever, nullptr},
    {"is_maia", get_false, nullptr, kNever, nullptr},
    {"is_mtia", get_false, nullptr, kNever, nullptr},
    {"is_vulkan", get_false, nullptr, kNever, nullptr},
    {"T", get_T, nullptr, R"(The tensor with its dimensions reversed.

Example:

    >>> ember.tensor([[1, 2], [3, 4]]).T
    tensor([[1, 3],
            [2, 4]])
)",
     nullptr},
    {"mT", get_mT, nullptr, R"(The tensor with its last two dimensions swapped.

Example:

    >>> ember.zeros(5, 2, 3).mT.shape
    torch.Size([5, 3, 2])
)",
     nullptr},
    {"H", get_H, nullptr, R"(The conjugate transpose of a matrix.

Example:

    >>> ember.tensor([[1 + 1j, 2j]]).H
    tensor([[1.-1.j],
            [0.-2.j]])
)",
     nullptr},
    {"mH", get_mH, nullptr, R"(The conjugate transpose of a batch of matrices.

Example:

    >>> ember.zeros(5, 2, 3).mH.shape
    torch.Size([5, 3, 2])
)",
     nullptr},
    {"real", get_real, set_real, R"(The real part, a view.

Example:

    >>> x = ember.tensor([1 + 2j])
    >>> x.real = 5.0
    >>> x
    tensor([5.+2.j])
)",
     nullptr},
    {"imag", get_imag, set_imag, R"(The imaginary part, a view.

Example:

    >>> ember.tensor([1 + 2j]).imag
    tensor([2.])
)",
     nullptr},
    {"names", get_names, nullptr, R"(The names of dimensions: always None.

Example:

    >>> ember.zeros(2, 3).names
    (None, None)
)",
     nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {}};

}  // namespace

PyGetSetDef* tensor_attributes() {
  for (PyGetSetDef& a : attributes)
    if (a.name && a.name[0] != '_') a.closure = const_cast<char*>(a.name);
  return attributes;
}

}  // namespace ember::python
