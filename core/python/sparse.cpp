// Sparse tensors on their way between the core and ember/sparse: making the object, and what the
// engine does with a sparse gradient.
#include "tensor/sparse.h"

#include "python/python.h"

namespace ember::python {

namespace {

Tensor call(const char* name, const Tensor& a, const Tensor& b, bool in_place) {
  Object x = checked(wrap(a)), y = checked(wrap(b));
  Object result =
      checked(PyObject_CallFunctionObjArgs(imported("ember.sparse._engine", name), x.get(), y.get(),
                                           in_place ? Py_True : Py_False, nullptr));
  check(is_tensor(result.get()), Kind::Type, "sparse gradient: expected a Tensor, got ",
        Py_TYPE(result.get())->tp_name);
  return tensor_of(result.get());
}

// _new_sparse(cls, size, dtype): an instance of `cls` without indices and values.
PyObject* new_sparse(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *cls, *size, *dtype;
    if (!PyArg_ParseTuple(args, "OOO:_new_sparse", &cls, &size, &dtype)) return nullptr;
    check(PyType_Check(cls) && PyType_IsSubtype((PyTypeObject*)cls, tensor_type), Kind::Type,
          "_new_sparse(): cls must be a subclass of Tensor");
    return wrap_as((PyTypeObject*)cls, empty_sparse(shape_of(size), dtype_of_object(dtype)));
  });
}
// _resize_sparse(tensor, size, dtype): for what changes a sparse tensor in place.
PyObject* resize_sparse(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *tensor, *size, *dtype;
    if (!PyArg_ParseTuple(args, "OOO:_resize_sparse", &tensor, &size, &dtype)) return nullptr;
    check(is_tensor(tensor) && is_sparse(tensor_of(tensor)), Kind::Type,
          "_resize_sparse(): expected a sparse tensor");
    Tensor like = empty_sparse(shape_of(size), dtype_of_object(dtype));
    const Tensor& t = tensor_of(tensor);
    set_geometry(t, like.shape(), like.strides(), 0);
    t.impl()->dtype = like.dtype();
    Py_RETURN_NONE;
  });
}
PyObject* sparse_exists(PyObject*, PyObject*) { return PyBool_FromLong(sparse_kind != 255); }

PyMethodDef functions[] = {{"_new_sparse", new_sparse, METH_VARARGS, nullptr},
                           {"_resize_sparse", resize_sparse, METH_VARARGS, nullptr},
                           {"_sparse_exists", sparse_exists, METH_NOARGS,
                            "Whether a sparse tensor has been made in this process."},
                           {}};

}  // namespace

void add_sparse(PyObject* module) {
  checked(PyModule_AddFunctions(module, functions));
  sparse_add = [](const Tensor& a, const Tensor& b, bool in_place) {
    return call("add", a, b, in_place);
  };
  sparse_to_dense = [](const Tensor& t) { return call("dense", t, Tensor(), false); };
}

}  // namespace ember::python
