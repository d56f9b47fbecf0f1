// ember.Size: a tuple of ints that knows its product.
#include "python/python.h"

namespace ember::python {

PyTypeObject* size_type;

PyObject* wrap_shape(const Shape& shape) {
  Object tuple = checked(size_type->tp_alloc(size_type, shape.size()));
  for (int i = 0; i < shape.size(); i++) {
    PyObject* item = PyLong_FromLongLong(shape[i]);
    if (!item) throw PythonError{};
    PyTuple_SET_ITEM(tuple.get(), i, item);
  }
  return tuple.release();
}

namespace {

PyObject* size_new(PyTypeObject*, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject* items = nullptr;
    if (!PyArg_ParseTuple(args, "|O:Size", &items)) return nullptr;
    if (!items) return wrap_shape({});
    Object list = checked(PySequence_Fast(items, "Size() takes a sequence of ints"));
    return wrap_shape(shape_of(list.get()));
  });
}
PyObject* size_repr(PyObject* self) {
  Object text = Object::steal(PyUnicode_FromString("torch.Size(["));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self) && text; i++)
    text = Object::steal(
        PyUnicode_FromFormat(i ? "%U, %S" : "%U%S", text.get(), PyTuple_GET_ITEM(self, i)));
  return text ? PyUnicode_FromFormat("%U])", text.get()) : nullptr;
}
PyObject* size_numel(PyObject* self, PyObject*) {
  Object n = Object::steal(PyLong_FromLong(1));  // a size need not be that of a tensor
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self) && n; i++)
    n = Object::steal(PyNumber_Multiply(n.get(), PyTuple_GET_ITEM(self, i)));
  return n.release();
}
PyObject* as_size(PyObject* result) {  // slices and sums of sizes are sizes
  if (!result || !PyTuple_CheckExact(result)) return result;
  Object r = Object::steal(result);
  return guarded([&] { return wrap_shape(shape_of(r.get())); });
}
PyObject* size_subscript(PyObject* self, PyObject* index) {
  return as_size(PyTuple_Type.tp_as_mapping->mp_subscript(self, index));
}
PyObject* size_add(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a) || !PyTuple_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  return as_size(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
}
// What neither side adds, as Python's sequences say it.
PyObject* size_concat(PyObject* a, PyObject* b) {
  if (PyTuple_Check(b)) return as_size(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
  PyErr_Format(PyExc_TypeError, "can only concatenate tuple (not %s) to torch.Size",
               Py_TYPE(b)->tp_name);
  return nullptr;
}
PyObject* size_repeat(PyObject* self, Py_ssize_t times) {
  return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(self, times));
}
PyObject* size_reduce(PyObject* self, PyObject*) {
  Object plain = Object::steal(PyTuple_GetSlice(self, 0, PyTuple_GET_SIZE(self)));
  return plain ? Py_BuildValue("O(O)", size_type, plain.get()) : nullptr;
}
PyMethodDef size_methods[] = {
    {"numel", size_numel, METH_NOARGS, "Number of elements of a tensor of this size."},
    {"__reduce__", size_reduce, METH_NOARGS, nullptr},
    {}};
PyType_Slot size_slots[] = {{Py_tp_new, (void*)size_new},
                            {Py_tp_repr, (void*)size_repr},
                            {Py_mp_subscript, (void*)size_subscript},
                            {Py_nb_add, (void*)size_add},  // also for a tuple on the left
                            {Py_sq_concat, (void*)size_concat},
                            {Py_sq_repeat, (void*)size_repeat},
                            {Py_tp_methods, size_methods},
                            {Py_tp_doc, (void*)R"(The size of a tensor: a tuple of ints.

Example:

    >>> size = ember.zeros(2, 3).shape
    >>> size, size[0], size.numel()
    (torch.Size([2, 3]), 2, 6)
)"},
                            {0, nullptr}};
PyType_Spec size_spec = {"ember.Size", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_TUPLE_SUBCLASS,
                         size_slots};

}  // namespace

void add_size_type(PyObject* module) {
  Object bases = checked(PyTuple_Pack(1, &PyTuple_Type));
  size_type = (PyTypeObject*)checked(PyType_FromSpecWithBases(&size_spec, bases.get())).release();
  checked(PyModule_AddObjectRef(module, "Size", (PyObject*)size_type));
}

}  // namespace ember::python
