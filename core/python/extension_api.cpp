// The capsule through which C++ extensions look at tensors: ember/include/ember/api.h, used by the
// headers beside it.
#include <ember/api.h>

#include "python/python.h"

namespace ember::python {

namespace {

int32_t is_tensor_object(PyObject* object) { return is_tensor(object); }

void describe(PyObject* object, EmberTensorView* view) {
  const Tensor& t = tensor_of(object);
  const bool readable = t.device().is_cpu() && t.numel() && t.storage() && t.storage()->expose();
  *view = {readable ? t.address() : nullptr,
           t.shape().begin(),
           t.strides().begin(),
           t.numel(),
           t.dim(),
           t.is_contiguous(),
           t.requires_grad(),
           t.device().is_cpu(),
           type_name(t.dtype())};
}

EmberApi api = {EMBER_API_VERSION, is_tensor_object, describe};

}  // namespace

void add_extension_api(PyObject* module) {
  Object capsule = checked(PyCapsule_New(&api, EMBER_API_CAPSULE, nullptr));
  checked(PyModule_AddObjectRef(module, "_extension_api", capsule.get()));
}

}  // namespace ember::python
