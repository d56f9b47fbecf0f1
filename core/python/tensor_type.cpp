// The Tensor type: a hand-written heap type, because `a + b` costs 40 ns through a raw slot and
// three times that through a binder. Here: life and death of the object and its attributes;
// operators are in operators.cpp, indexing in indexing.cpp, methods come from the op schemas
// (op_type.cpp).
//
// Note [Identity]
// Python owns the TensorImpl while the Python object lives, and the impl knows the object, so that
// the same tensor always comes back as the same object. If the object dies while C++ still holds
// the impl (a gradient, a saved tensor), a plain one is simply dropped and made anew when asked
// for; one that carries state (attributes, a subclass, weak references) is kept: ownership turns
// round and the impl owns the object.
#include "autograd/engine.h"
#include "autograd/tape.h"
#include "ops/ops.h"
#include "python/overrides.h"
#include "python/python.h"
#include "python/tape.h"
#include "structmember.h"
#include "tensor/sparse.h"

namespace ember::python {

PyTypeObject* tensor_type;

namespace {

constexpr int kMostFree = 256;
PyTensor* free_list[kMostFree];
int free_count = 0;

PyTensor* as_py(PyObject* o) { return reinterpret_cast<PyTensor*>(o); }

void prepare_subclass(PyTypeObject* type);

PyObject* allocate(PyTypeObject* type) {
  if (type == tensor_type && free_count) {
    PyTensor* o = free_list[--free_count];
    return PyObject_Init((PyObject*)o, type);
  }
  if (type == tensor_type) {
    // Not tracked by the collector until it has a __dict__: only then can it be part of a cycle.
    auto* o = PyObject_GC_New(PyTensor, type);
    if (!o) throw PythonError{};
    o->impl = nullptr;
    o->dict = o->weakrefs = nullptr;
    return (PyObject*)o;
  }
  prepare_subclass(type);
  PyObject* o = type->tp_alloc(type, 0);
  if (!o) throw PythonError{};
  return o;
}

bool carries_state(PyObject* self) {
  return Py_TYPE(self) != tensor_type ||
         (as_py(self)->dict && PyDict_GET_SIZE(as_py(self)->dict)) || as_py(self)->weakrefs;
}

// If C++ still needs the object's state, gives the object to the impl; true if it lives on.
bool keep_alive(PyObject* self) {
  TensorImpl* impl = as_py(self)->impl;
  if (!impl || impl->host_owned || impl->refs.load() == 1 || !carries_state(self)) return false;
  Py_SET_REFCNT(self, 1);
  impl->host_owned = true;
  impl->refs.fetch_sub(1);  // our reference to the impl; others remain
  return true;
}

void drop_impl(PyObject* self) {
  TensorImpl* impl = std::exchange(as_py(self)->impl, nullptr);
  if (!impl) return;
  impl->host_object = nullptr;
  auto dropped = Ref<TensorImpl>::adopt(impl);
}

void tensor_dealloc(PyObject* self) {
  if (keep_alive(self)) return;
  PyTensor* o = as_py(self);
  if (PyObject_GC_IsTracked(self)) PyObject_GC_UnTrack(self);
  if (o->weakrefs) PyObject_ClearWeakRefs(self);
  drop_impl(self);
  Py_CLEAR(o->dict);
  PyTypeObject* type = Py_TYPE(self);
  if (type == tensor_type && free_count < kMostFree)
    free_list[free_count++] = o;
  else
    type->tp_free(self);
  Py_DECREF(type);
}

// Subclasses made in Python get this instead of subtype_dealloc, so that Note [Identity] holds for
// them.
void subclass_dealloc(PyObject* self) {
  if (keep_alive(self)) return;
  PyTypeObject* type = Py_TYPE(self);
  if (type->tp_finalize && PyObject_CallFinalizerFromDealloc(self) < 0) return;  // it lives again
  PyObject_GC_UnTrack(self);
  if (as_py(self)->weakrefs) PyObject_ClearWeakRefs(self);
  for (PyTypeObject* t = type; t && t != tensor_type; t = t->tp_base) {  // __slots__
    if (!Py_SIZE(t)) continue;
    auto* member = (PyMemberDef*)((char*)t + Py_TYPE(t)->tp_basicsize);
    for (Py_ssize_t i = 0; i < Py_SIZE(t); i++, member++)
      if (member->type == T_OBJECT_EX && !(member->flags & READONLY))
        Py_CLEAR(*(PyObject**)((char*)self + member->offset));
  }
  drop_impl(self);
  Py_CLEAR(as_py(self)->dict);
  type->tp_free(self);
  Py_DECREF(type);
}

int tensor_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(as_py(self)->dict);
  Py_VISIT(Py_TYPE(self));
  TensorImpl* impl = as_py(self)->impl;
  return impl && !impl->host_owned ? visit_tape(*impl, visit, arg) : 0;
}
int tensor_clear(PyObject* self) {
  TensorImpl* impl = as_py(self)->impl;
  if (impl && !impl->host_owned) clear_tape(*impl);
  Py_CLEAR(as_py(self)->dict);
  return 0;
}

// Every class gets here before it has an instance: when it is made, or, if its own
// __init_subclass__ hides ours, when the first instance is.
void prepare_subclass(PyTypeObject* type) {
  if (type != tensor_type) type->tp_dealloc = subclass_dealloc;
}
PyObject* init_subclass(PyObject* cls, PyObject*, PyObject*) {
  prepare_subclass(reinterpret_cast<PyTypeObject*>(cls));
  Py_RETURN_NONE;
}

int tensor_setattr(PyObject* self, PyObject* name, PyObject* value) {
  int status = PyObject_GenericSetAttr(self, name, value);
  if (as_py(self)->dict && !PyObject_GC_IsTracked(self)) PyObject_GC_Track(self);
  return status;
}

}  // namespace

PyObject* wrap(Tensor t) {
  if (!t) Py_RETURN_NONE;
  TensorImpl* impl = t.impl();
  if (auto* o = static_cast<PyObject*>(impl->host_object)) {
    if (!impl->host_owned) return Py_NewRef(o);
    impl->host_owned = false;  // Note [Identity]: Python takes over again
    std::move(t).take().detach();
    return o;
  }
  PyObject* o = allocate(tensor_type);
  as_py(o)->impl = std::move(t).take().detach();
  impl->host_object = o;
  if (__builtin_expect(tape_is_visible(*impl), 0)) PyObject_GC_Track(o);
  return o;
}

PyObject* wrap_as(PyTypeObject* type, Tensor t) {
  if (type == tensor_type) return wrap(std::move(t));
  if (t.impl()->host_object) t = alias(t);
  PyObject* o = allocate(type);
  TensorImpl* impl = std::move(t).take().detach();
  as_py(o)->impl = impl;
  impl->host_object = o;
  return o;
}

// --- attributes
// -----------------------------------------------------------------------------------

namespace {

// `name` is the closure of the getter, set by add_tensor_type.
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
GET(nbytes, return PyLong_FromLongLong(t.item_size() * t.numel()))
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
    check(value && is_tensor(value), Kind::Type, "Variable data has to be a tensor, but got ",
          value ? Py_TYPE(value)->tp_name : "nothing");
    check(!is_sparse(tensor_of(self)) && !is_sparse(tensor_of(value)), Kind::NotImplemented,
          "data: assigning is not implemented for sparse tensors");
    set_data(tensor_of(self), tensor_of(value));
    return 0;
  });
}

int set_real(PyObject* self, PyObject* value, void*) {
  return guarded(-1, [&] {
    checked(PyObject_CallMethod(checked(get_real(self, nullptr)).get(), "copy_", "O", value));
    return 0;
  });
}
int set_imag(PyObject* self, PyObject* value, void*) {
  return guarded(-1, [&] {
    checked(PyObject_CallMethod(checked(get_imag(self, nullptr)).get(), "copy_", "O", value));
    return 0;
  });
}

PyGetSetDef attributes[] = {
    {"shape", get_shape, nullptr, "The size of each dimension.", nullptr},
    {"dtype", get_dtype, nullptr, "The type of the elements.", nullptr},
    {"device", get_device, nullptr, "Where the elements live.", nullptr},
    {"ndim", get_ndim, nullptr, "Number of dimensions.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes per element.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of all elements.", nullptr},
    {"requires_grad", get_requires_grad, set_requires_grad_attribute,
     "Whether gradients are computed.", nullptr},
    {"is_leaf", get_is_leaf, nullptr, "Whether no recorded op made this tensor.", nullptr},
    {"grad", get_grad, set_grad, "The gradient accumulated by backward(), or None.", nullptr},
    {"grad_fn", get_grad_fn, nullptr, "The node of the tape that made this tensor, or None.",
     nullptr},
    {"retains_grad", get_retains_grad, nullptr, "Whether a non-leaf keeps its gradient.", nullptr},
    {"data", get_data, set_data_attribute, "The same elements without history or version checks.",
     nullptr},
    {"output_nr", get_output_nr, nullptr, "Which output of grad_fn this tensor is.", nullptr},
    {"_version", get_version, nullptr, "Number of in-place changes so far.", nullptr},
    {"_base", get_base, nullptr, "The tensor this is a view of, or None.", nullptr},
    {"layout", get_layout, nullptr, "Always ember.strided here.", nullptr},
    {"is_cpu", get_is_cpu, nullptr, nullptr, nullptr},
    {"is_meta", get_is_meta, nullptr, nullptr, nullptr},
    {"is_cuda", get_false, nullptr, nullptr, nullptr},
    {"is_sparse", get_false, nullptr, nullptr, nullptr},
    {"is_sparse_csr", get_false, nullptr, nullptr, nullptr},
    {"is_mkldnn", get_false, nullptr, nullptr, nullptr},
    {"is_quantized", get_false, nullptr, nullptr, nullptr},
    {"is_nested", get_false, nullptr, nullptr, nullptr},
    {"is_mps", get_false, nullptr, nullptr, nullptr},
    {"is_xpu", get_false, nullptr, nullptr, nullptr},
    {"is_ipu", get_false, nullptr, nullptr, nullptr},
    {"is_xla", get_false, nullptr, nullptr, nullptr},
    {"is_maia", get_false, nullptr, nullptr, nullptr},
    {"is_mtia", get_false, nullptr, nullptr, nullptr},
    {"is_vulkan", get_false, nullptr, nullptr, nullptr},
    {"T", get_T, nullptr, "The tensor with its dimensions reversed.", nullptr},
    {"mT", get_mT, nullptr, "The tensor with its last two dimensions swapped.", nullptr},
    {"H", get_H, nullptr, "The conjugate transpose of a matrix.", nullptr},
    {"mH", get_mH, nullptr, "The conjugate transpose of a batch of matrices.", nullptr},
    {"real", get_real, set_real, "The real part, a view.", nullptr},
    {"imag", get_imag, set_imag, "The imaginary part, a view.", nullptr},
    {"names", get_names, nullptr, "Names of dimensions: always None here.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {}};

// --- protocol methods written by hand
// ------------------------------------------------------------------

PyObject* tensor_repr(PyObject* self) {
  return guarded([&] {
    if (__builtin_expect(self_overrides(self), 0)) return method_override("__repr__", {self});
    return PyObject_CallOneArg(imported("ember._tensor_str", "tensor_str"), self);
  });
}
Py_ssize_t tensor_len(PyObject* self) {
  return guarded<Py_ssize_t>(-1, [&]() -> Py_ssize_t {
    if (__builtin_expect(self_overrides(self), 0))
      return PyLong_AsSsize_t(checked(method_override("__len__", {self})).get());
    const Tensor& t = tensor_of(self);
    check(t.dim() > 0, Kind::Type, "len() of a 0-d tensor");
    return t.size(0);
  });
}
Py_hash_t tensor_hash(PyObject* self) { return Py_hash_t(reinterpret_cast<uintptr_t>(self) >> 4); }

PyObject* tensor_iter(PyObject* self) {
  return guarded([&]() -> PyObject* {
    check(tensor_of(self).dim() > 0, Kind::Type, "iteration over a 0-d tensor");
    Object parts = checked(PyObject_CallMethod(self, "unbind", "i", 0));
    return PyObject_GetIter(parts.get());
  });
}

// Tensor(), Tensor(2, 3), Tensor([1, 2]) and Tensor(tensor), in the default dtype; legacy but much
// used.
PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    Object made =
        checked(PyObject_Call(imported("ember._tensor", "legacy_constructor"), args, kwargs));
    check(is_tensor(made.get()), Kind::Type, "Tensor(): expected a tensor");
    return wrap_as(type, alias(tensor_of(made.get())));
  });
}

// The memory of a sparse tensor cannot be shared: it is not the core's.
void check_has_elements(const char* op, const Tensor& t) {
  check(!is_sparse(t), Kind::NotImplemented, op, "(): not implemented for sparse tensors");
}

// Tensor._make_subclass(cls, data, require_grad=False): how Parameter is made.
PyObject* make_subclass(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"cls", "data", "require_grad", nullptr};
    PyObject *cls, *data;
    int requires_grad = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|p:_make_subclass", const_cast<char**>(names),
                                     &cls, &data, &requires_grad))
      return nullptr;
    check(PyType_Check(cls) && PyType_IsSubtype((PyTypeObject*)cls, tensor_type), Kind::Type,
          "_make_subclass(): cls must be a subclass of Tensor");
    check(is_tensor(data), Kind::Type, "_make_subclass(): data must be a Tensor, got ",
          Py_TYPE(data)->tp_name);
    check_has_elements("_make_subclass", tensor_of(data));
    Object made = checked(wrap_as((PyTypeObject*)cls, alias(tensor_of(data))));
    if (requires_grad) set_requires_grad(tensor_of(made.get()), true);
    return made.release();
  });
}

PyObject* as_subclass(PyObject* self, PyObject* cls) {
  return guarded([&]() -> PyObject* {
    check(PyType_Check(cls) && PyType_IsSubtype((PyTypeObject*)cls, tensor_type), Kind::Type,
          "as_subclass(): cls must be a subclass of Tensor");
    check_has_elements("as_subclass", tensor_of(self));
    return wrap_as((PyTypeObject*)cls, view_alias(tensor_of(self)));
  });
}

PyMethodDef methods[] = {
    {"__init_subclass__", (PyCFunction)(void (*)())init_subclass,
     METH_CLASS | METH_VARARGS | METH_KEYWORDS, nullptr},
    {"_make_subclass", (PyCFunction)(void (*)())make_subclass,
     METH_STATIC | METH_VARARGS | METH_KEYWORDS, nullptr},
    {"as_subclass", as_subclass, METH_O, "The same tensor as an instance of a subclass."},
    {}};
PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(PyTensor, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weakrefs), READONLY, nullptr},
    {}};

int no_init(PyObject*, PyObject*, PyObject*) { return 0; }

}  // namespace

void add_tensor_type(PyObject* module) {
  const PyNumberMethods& n = number_methods;
  for (PyGetSetDef& a : attributes)
    if (a.name && a.name[0] != '_') a.closure = const_cast<char*>(a.name);
  PyType_Slot slots[] = {
      {Py_tp_new, (void*)tensor_new},
      {Py_tp_init, (void*)no_init},
      {Py_tp_dealloc, (void*)tensor_dealloc},
      {Py_tp_traverse, (void*)tensor_traverse},
      {Py_tp_clear, (void*)tensor_clear},
      {Py_tp_setattro, (void*)tensor_setattr},
      {Py_tp_repr, (void*)tensor_repr},
      {Py_tp_hash, (void*)tensor_hash},
      {Py_tp_iter, (void*)tensor_iter},
      {Py_tp_richcompare, (void*)tensor_compare},
      {Py_tp_getset, attributes},
      {Py_tp_methods, methods},
      {Py_tp_members, members},
      {Py_mp_length, (void*)tensor_len},
      {Py_mp_subscript, (void*)tensor_subscript},
      {Py_mp_ass_subscript, (void*)tensor_assign_subscript},
      {Py_nb_add, (void*)n.nb_add},
      {Py_nb_subtract, (void*)n.nb_subtract},
      {Py_nb_multiply, (void*)n.nb_multiply},
      {Py_nb_true_divide, (void*)n.nb_true_divide},
      {Py_nb_floor_divide, (void*)n.nb_floor_divide},
      {Py_nb_remainder, (void*)n.nb_remainder},
      {Py_nb_power, (void*)n.nb_power},
      {Py_nb_matrix_multiply, (void*)n.nb_matrix_multiply},
      {Py_nb_negative, (void*)n.nb_negative},
      {Py_nb_positive, (void*)n.nb_positive},
      {Py_nb_absolute, (void*)n.nb_absolute},
      {Py_nb_invert, (void*)n.nb_invert},
      {Py_nb_and, (void*)n.nb_and},
      {Py_nb_or, (void*)n.nb_or},
      {Py_nb_xor, (void*)n.nb_xor},
      {Py_nb_lshift, (void*)n.nb_lshift},
      {Py_nb_rshift, (void*)n.nb_rshift},
      {Py_nb_bool, (void*)n.nb_bool},
      {Py_nb_int, (void*)n.nb_int},
      {Py_nb_float, (void*)n.nb_float},
      {Py_nb_index, (void*)n.nb_index},
      {Py_nb_inplace_add, (void*)n.nb_inplace_add},
      {Py_nb_inplace_subtract, (void*)n.nb_inplace_subtract},
      {Py_nb_inplace_multiply, (void*)n.nb_inplace_multiply},
      {Py_nb_inplace_true_divide, (void*)n.nb_inplace_true_divide},
      {Py_nb_inplace_floor_divide, (void*)n.nb_inplace_floor_divide},
      {Py_nb_inplace_remainder, (void*)n.nb_inplace_remainder},
      {Py_nb_inplace_power, (void*)n.nb_inplace_power},
      {Py_nb_inplace_and, (void*)n.nb_inplace_and},
      {Py_nb_inplace_or, (void*)n.nb_inplace_or},
      {Py_nb_inplace_xor, (void*)n.nb_inplace_xor},
      {Py_nb_inplace_lshift, (void*)n.nb_inplace_lshift},
      {Py_nb_inplace_rshift, (void*)n.nb_inplace_rshift},
      {Py_bf_getbuffer, (void*)buffer_methods.bf_getbuffer},
      {Py_bf_releasebuffer, (void*)buffer_methods.bf_releasebuffer},
      {Py_tp_doc, (void*)"An n-dimensional array that remembers how it was computed."},
      {0, nullptr}};
  PyType_Spec spec = {"ember.Tensor", sizeof(PyTensor), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  tensor_type = (PyTypeObject*)checked(PyType_FromSpec(&spec)).release();
  checked(PyModule_AddObjectRef(module, "Tensor", (PyObject*)tensor_type));
  drop_host_object = [](TensorImpl* impl) {
    auto* o = static_cast<PyObject*>(std::exchange(impl->host_object, nullptr));
    PyGILState_STATE gil = PyGILState_Ensure();
    as_py(o)->impl = nullptr;
    impl->host_owned = false;
    Py_DECREF(o);
    PyGILState_Release(gil);
  };
}

}  // namespace ember::python
