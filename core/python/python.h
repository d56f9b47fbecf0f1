// What the files of this directory share. Nothing outside core/python sees Python.h.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef Py_GIL_DISABLED
#error "ember needs a Python with the GIL: this one is free-threaded (docs/building.md)"
#endif

#include <string>
#include <utility>

#include "autograd/node.h"
#include "ops/schema.h"
#include "runtime.h"
#include "tensor/tensor.h"

namespace ember::python {

// An owned reference.
class Object {
 public:
  Object() = default;
  Object(Object&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Object(const Object& o) : p_(Py_XNewRef(o.p_)) {}
  Object& operator=(Object o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Object() { Py_XDECREF(p_); }
  static Object steal(PyObject* p) {
    Object o;
    o.p_ = p;
    return o;
  }
  static Object borrow(PyObject* p) { return steal(Py_XNewRef(p)); }
  PyObject* get() const { return p_; }
  PyObject* release() { return std::exchange(p_, nullptr); }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  PyObject* p_ = nullptr;
};

// Thrown where a Python exception is already set.
struct PythonError {};
// Wraps a call of the C API that returns a new reference or null.
inline Object checked(PyObject* p) {
  if (!p) throw PythonError{};
  return Object::steal(p);
}
inline int checked(int status) {
  if (status < 0) throw PythonError{};
  return status;
}
// Turns the C++ exception being handled into a Python one.
void set_python_error();

// Runs `body` and turns exceptions into Python's; `failed` is what the slot returns then.
template <class R, class F>
R guarded(R failed, F&& body) {
  HostCall call;
  try {
    return body();
  } catch (...) {
    set_python_error();
    return failed;
  }
}
template <class F>
PyObject* guarded(F&& body) {
  return guarded<PyObject*>(nullptr, std::forward<F>(body));
}

// --- the Tensor type (tensor_type.cpp) ---

struct PyTensor {
  PyObject_HEAD TensorImpl*
      impl;  // owned, unless impl->host_owned (then the impl owns this object)
  PyObject* dict;
  PyObject* weakrefs;
};
extern PyTypeObject* tensor_type;

inline bool is_tensor(PyObject* o) {
  return Py_TYPE(o) == tensor_type || PyType_IsSubtype(Py_TYPE(o), tensor_type);
}
// A Tensor is one pointer to its impl, and PyTensor keeps just that, so the field can be read as a
// Tensor.
static_assert(sizeof(Tensor) == sizeof(TensorImpl*));
inline const Tensor& tensor_of(PyObject* o) {
  return *reinterpret_cast<const Tensor*>(&reinterpret_cast<PyTensor*>(o)->impl);
}
PyObject* wrap(Tensor t);                         // None for an undefined tensor
PyObject* wrap_as(PyTypeObject* type, Tensor t);  // an instance of a subclass
// Of a tensor that holds another object in place of memory (wrappers.cpp), `wrap` gives that
// object; this gives the tensor.
PyObject* wrap_bare(Tensor t);
PyGetSetDef* tensor_attributes();  // tensor_attributes.cpp
void add_tensor_type(PyObject* module);
void add_tensor_methods(PyMethodDef* methods);  // which live for ever
PyObject* wrap_item(const Tensor& t);           // the one element, as a number
PyObject* list_of(const Tensor& t);             // nested lists of numbers

// --- values (values.cpp, size_type.cpp, numbers.cpp) ---

extern PyTypeObject *dtype_type, *device_type, *layout_type, *format_type;
PyObject* wrap_dtype(Dtype d);
PyObject* wrap_device(Device d);
Dtype dtype_of_object(PyObject* o);  // ember.float32, or float, int, bool, complex
bool is_dtype(PyObject* o);
Device device_of_object(PyObject* o);
bool is_device(PyObject* o);
MemoryFormat format_of_object(PyObject* o);
void add_value_types(PyObject* module);

extern PyTypeObject* size_type;
PyObject* wrap_shape(const Shape& shape);  // ember.Size
void add_size_type(PyObject* module);

PyObject* wrap_scalar(const Scalar& s);
bool is_number(PyObject* o);  // bool, int, float, complex, NumPy scalars
Scalar scalar_of(PyObject* o);
bool is_int(PyObject* o);  // has __index__, is not a bool
int64_t int_of(PyObject* o);
int64_t part_of(PyObject* o, Py_ssize_t i);  // int_of(), the i-th in a list of sizes
double real_of(PyObject* o);                 // any number; an int may be larger than a Scalar holds
Shape shape_of(PyObject* o, Py_ssize_t most = kMaxDims);  // an int or a sequence of ints

// --- ops (op_type.cpp, arguments.cpp) ---

constexpr int kMostArgs = 24;
bool is_generator(PyObject* o);  // generator_type.cpp
Generator* generator_of(PyObject* o);
void add_generator_type(PyObject* module);
bool fits(const Param& p, PyObject* o);  // could `o` be the value of `p`?
void add_ops(PyObject* module);

// --- the rest ---
PyObject* tensor_subscript(PyObject* self, PyObject* index);
int tensor_assign_subscript(PyObject* self, PyObject* index, PyObject* value);
extern PyNumberMethods number_methods;
// For what makes a Python number of a tensor that requires a gradient, while one is recorded.
void warn_of_lost_gradient(const Tensor& t);
PyObject* tensor_compare(PyObject* a, PyObject* b, int op);
void add_autograd(PyObject* module);       // autograd.cpp; it calls the next three
void add_node_type(PyObject* module);      // node_type.cpp
void add_function_type(PyObject* module);  // function.cpp
void add_saved_hooks(PyObject* module);    // saved_hooks.cpp
void add_hook_methods();                   // hooks.cpp
void add_methods();
void add_storage_type(PyObject* module);
PyObject* wrap_storage(Ref<Storage> storage);
// Drops what the __slots__ of a subclass of `base` hold.
void clear_slots(PyObject* self, PyTypeObject* base);
void add_shared_memory(PyObject* module);
Tensor tensor_from_data(PyObject* data, std::optional<Dtype> dtype,
                        std::optional<Device> device);  // always a copy
void add_numpy(PyObject* module);
bool is_array(PyObject* o);    // an ndarray
Object as_array(PyObject* o);  // numpy.asarray(o)
// Shares its memory. Of one that `stays` with the user, the read-only is warned of.
Tensor tensor_over_array(PyObject* array, bool stays = false);
Tensor tensor_over_buffer(PyObject* o, Dtype dtype, int64_t count, int64_t offset);
// Dtype of an object with a one-element buffer (a NumPy scalar), and its bytes if `value` is given.
std::optional<Dtype> dtype_of_buffer(PyObject* o, char* value);
extern PyBufferProcs buffer_methods;
void add_dlpack(PyObject* module);
void add_runtime(PyObject* module);
void add_compiler(PyObject* module);
void add_lazy(PyObject* module);
// Code that can be run, as Python holds it (a capsule of this name): nothing else may be called.
constexpr const char* kKernel = "ember.compiler.kernel";
void add_profile(PyObject* module);
void add_backends(PyObject* module);
void add_wrappers(PyObject* module);
void add_sparse(PyObject* module);
void add_module_base(PyObject* module);

// Attributes of ember modules, imported on first use and cached.
PyObject* imported(const char* module, const char* name);  // borrowed

}  // namespace ember::python
