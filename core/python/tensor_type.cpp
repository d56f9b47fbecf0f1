// The Tensor type: a hand-written heap type, because `a + b` costs 40 ns through a raw slot and
// three times that through a binder. Here: life and death of the object; its attributes are in
// tensor_attributes.cpp, operators in operators.cpp, indexing in indexing.cpp, methods come from
// the op schemas (op_type.cpp).
//
// Note [Identity]
// Python owns the TensorImpl while the Python object lives, and the impl knows the object, so that
// the same tensor always comes back as the same object. If the object dies while C++ still holds
// the impl (a gradient, a saved tensor), a plain one is simply dropped and made anew when asked
// for; one that carries state (attributes, a subclass, weak references) is kept: ownership turns
// round and the impl owns the object. It turns round again when the object is asked for, and when
// the impl has no other owner: a weak reference may have been followed meanwhile, so that the
// object must outlive it.
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
  clear_slots(self, tensor_type);
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
  note_dispatch_type(reinterpret_cast<PyTypeObject*>(cls));
  Py_RETURN_NONE;
}

int tensor_setattr(PyObject* self, PyObject* name, PyObject* value) {
  int status = PyObject_GenericSetAttr(self, name, value);
  if (as_py(self)->dict && !PyObject_GC_IsTracked(self)) PyObject_GC_Track(self);
  return status;
}

}  // namespace

void clear_slots(PyObject* self, PyTypeObject* base) {
  for (PyTypeObject* t = Py_TYPE(self); t && t != base; t = t->tp_base) {
    if (!Py_SIZE(t)) continue;
    auto* member = (PyMemberDef*)((char*)t + Py_TYPE(t)->tp_basicsize);
    for (Py_ssize_t i = 0; i < Py_SIZE(t); i++, member++)
      if (member->type == T_OBJECT_EX && !(member->flags & READONLY))
        Py_CLEAR(*(PyObject**)((char*)self + member->offset));
  }
}

static inline PyObject* new_object(Tensor&& t) {
  TensorImpl* impl = t.impl();
  PyObject* o = allocate(tensor_type);
  as_py(o)->impl = std::move(t).take().detach();
  impl->host_object = o;
  if (__builtin_expect(tape_is_visible(*impl), 0)) PyObject_GC_Track(o);
  return o;
}

PyObject* wrap(Tensor t) {
  if (!t) Py_RETURN_NONE;
  TensorImpl* impl = t.impl();
  if (auto* o = static_cast<PyObject*>(impl->host_object)) {
    if (!impl->host_owned) return Py_NewRef(o);
    impl->host_owned = false;  // Note [Identity]: Python takes over again
    std::move(t).take().detach();
    return o;
  }
  if (__builtin_expect(impl->device.kind == wrapper_kind, 0) && !override_state.dispatch_off)
    return surfaced(t);
  return new_object(std::move(t));
}

PyObject* wrap_bare(Tensor t) {
  return t.impl()->host_object ? wrap(std::move(t)) : new_object(std::move(t));
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

// --- protocol methods written by hand ------------------------------------------------------------

namespace {

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

void check_is_tensor_class(const char* op, PyObject* cls) {
  if (PyType_Check(cls) && PyType_IsSubtype((PyTypeObject*)cls, tensor_type)) return;
  Object shown = checked(PyObject_Repr(cls));
  fail(Kind::Type, op,
       "(): Creating a Tensor subclass from a class that does not inherit from Tensor is not "
       "possible. It has to be a subclass of Tensor, got ",
       PyUnicode_AsUTF8(shown.get()));
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
    check_is_tensor_class("_make_subclass", cls);
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
    check_is_tensor_class("as_subclass", cls);
    check_has_elements("as_subclass", tensor_of(self));
    return wrap_as((PyTypeObject*)cls, view_alias(tensor_of(self)));
  });
}

PyMethodDef methods[] = {{"__init_subclass__", (PyCFunction)(void (*)())init_subclass,
                          METH_CLASS | METH_VARARGS | METH_KEYWORDS, nullptr},
                         {"_make_subclass", (PyCFunction)(void (*)())make_subclass,
                          METH_STATIC | METH_VARARGS | METH_KEYWORDS, nullptr},
                         {"as_subclass", as_subclass, METH_O, R"(as_subclass($self, cls, /)
--

The same tensor as an instance of a subclass.

Args:
    cls (type): the subclass.

Example:

    >>> class Weight(ember.Tensor):
    ...     pass
    >>> type(ember.zeros(1).as_subclass(Weight)).__name__
    'Weight'
)"},
                         {}};
PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(PyTensor, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weakrefs), READONLY, nullptr},
    {}};

int no_init(PyObject*, PyObject*, PyObject*) { return 0; }

}  // namespace

void add_tensor_type(PyObject* module) {
  const PyNumberMethods& n = number_methods;
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
      {Py_tp_getset, tensor_attributes()},
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
      {Py_tp_doc, (void*)R"(An n-dimensional array that remembers how it was computed.

Made by `ember.tensor`, `ember.zeros` and others; `Tensor(2, 3)` is the old way.

Example:

    >>> x = ember.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([[2., 4.],
            [6., 8.]])
)"},
      {0, nullptr}};
  PyType_Spec spec = {"ember.Tensor", sizeof(PyTensor), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  tensor_type = (PyTypeObject*)checked(PyType_FromSpec(&spec)).release();
  checked(PyModule_AddObjectRef(module, "Tensor", (PyObject*)tensor_type));
  give_back_to_host = [](TensorImpl* impl) {
    PyGILState_STATE gil = PyGILState_Ensure();
    impl->refs.store(1);
    impl->host_owned = false;
    Py_DECREF(static_cast<PyObject*>(impl->host_object));
    PyGILState_Release(gil);
  };
}

}  // namespace ember::python
