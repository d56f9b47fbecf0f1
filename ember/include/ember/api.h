// What the compiled core hands to extensions: one function that describes a tensor. It is C, so
// that an extension and the core may come from different compilers. Everything else goes through
// Python.
#pragma once

#include <stdint.h>

typedef struct _object PyObject;

// Valid while the tensor lives and keeps its shape and memory.
struct EmberTensorView {
  void* data;  // null without elements, or without memory that the processor can read
  const int64_t* sizes;
  const int64_t* strides;  // in elements
  int64_t numel;
  int32_t dim;
  int32_t contiguous;
  int32_t requires_grad;
  int32_t on_cpu;
  const char* dtype;  // "Float", "Long": as in torch::kFloat
};

struct EmberApi {
  int32_t version;
  int32_t (*is_tensor)(PyObject* object);
  // Takes a Tensor, with Python's lock held.
  void (*describe)(PyObject* tensor, struct EmberTensorView* view);
};

#define EMBER_API_VERSION 1
#define EMBER_API_CAPSULE "ember._C._extension_api"
