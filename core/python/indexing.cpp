// x[...] and x[...] = v. Ints, slices, None and Ellipsis make views; masks, lists and integer tensors go to the
// index ops.
#include "ops/ops.h"
#include "python/python.h"

namespace ember::python {

namespace {

int64_t bound_of(PyObject* o, int64_t missing) {
  if (o == Py_None) return missing;
  if (is_int(o) || PyBool_Check(o)) return int_of(o);
  fail(Kind::Type, "slice indices must be integers or None or have an __index__ method, not ", Py_TYPE(o)->tp_name);
}

Tensor apply_slice(const Tensor& t, int dim, PyObject* s) {
  auto* slice_object = reinterpret_cast<PySliceObject*>(s);
  int64_t step = bound_of(slice_object->step, 1);
  check(step > 0, Kind::Value, "step must be greater than zero, got ", step);
  std::optional<int64_t> start, stop;
  if (slice_object->start != Py_None) start = bound_of(slice_object->start, 0);
  if (slice_object->stop != Py_None) stop = bound_of(slice_object->stop, 0);
  return slice(t, dim, start, stop, step);
}

// Number of dimensions that an index consumes.
int consumed(PyObject* item) {
  if (item == Py_None || item == Py_Ellipsis || PyBool_Check(item)) return 0;
  if (is_tensor(item) && (tensor_of(item).dtype() == Dtype::Bool || tensor_of(item).dtype() == Dtype::UInt8))
    return tensor_of(item).dim();
  return 1;
}

Tensor index(const Tensor& self, PyObject* key) {
  if (PyLong_CheckExact(key)) return select(self, 0, int_of(key));
  if (PySlice_Check(key)) return apply_slice(self, 0, key);
  Object items = PyTuple_Check(key) ? Object::borrow(key) : checked(PyTuple_Pack(1, key));
  int used = 0;
  Py_ssize_t n = PyTuple_GET_SIZE(items.get());
  for (Py_ssize_t i = 0; i < n; i++) used += consumed(PyTuple_GET_ITEM(items.get(), i));
  check(used <= self.dim(), Kind::Index, "too many indices for tensor of dimension ", self.dim());
  Tensor out = self;
  int dim = 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), i);
    if (item == Py_None) {
      out = unsqueeze(out, dim++);
    } else if (item == Py_Ellipsis) {
      dim += self.dim() - used;
    } else if (PySlice_Check(item)) {
      out = apply_slice(out, dim++, item);
    } else if (is_int(item)) {
      out = select(out, dim, int_of(item));
    } else {
      fail(Kind::NotImplemented, "index of type ", Py_TYPE(item)->tp_name);
    }
  }
  return out.same(self) ? view_alias(self) : out;
}

}  // namespace

PyObject* tensor_subscript(PyObject* self, PyObject* key) {
  return guarded([&] { return wrap(index(tensor_of(self), key)); });
}

int tensor_assign_subscript(PyObject* self, PyObject* key, PyObject* value) {
  return guarded(-1, [&] {
    check(value != nullptr, Kind::Type, "Tensor does not support deleting items");
    Tensor part = index(tensor_of(self), key);
    if (is_tensor(value)) copy_(part, tensor_of(value));
    else copy_(part, scalar_tensor(scalar_of(value), part.dtype(), part.device()));
    return 0;
  });
}

}  // namespace ember::python
