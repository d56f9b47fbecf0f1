// What ops ask of the host language, where there is none: in a program of C++ alone, which calls
// the functions of ops.h and no op by its schema. All of it is weak: core/python takes its place.
#include "ops/schema.h"

namespace ember {

#define EMBER_WITHOUT_HOST(result, signature)                                               \
  [[gnu::weak]] result signature {                                                          \
    fail(Kind::Runtime, "there is no host language that arguments or results could be of"); \
  }
#define EMBER_NO_ARGUMENT(result, name) EMBER_WITHOUT_HOST(result, Args::name(int) const)
#define EMBER_NO_RESULT(...) EMBER_WITHOUT_HOST(void*, to_host(__VA_ARGS__))

EMBER_NO_ARGUMENT(const Tensor&, tensor)
EMBER_NO_ARGUMENT(TensorList, tensors)
EMBER_NO_ARGUMENT(Operand, operand)
EMBER_NO_ARGUMENT(Scalar, scalar)
EMBER_NO_ARGUMENT(int64_t, integer)
EMBER_NO_ARGUMENT(double, real)
EMBER_NO_ARGUMENT(std::vector<double>, reals)
EMBER_NO_ARGUMENT(bool, boolean)
EMBER_NO_ARGUMENT(std::string, text)
EMBER_NO_ARGUMENT(Dims, dims)
EMBER_NO_ARGUMENT(Shape, size)
EMBER_NO_ARGUMENT(Dtype, dtype)
EMBER_NO_ARGUMENT(Device, device)
EMBER_NO_ARGUMENT(MemoryFormat, format)
EMBER_NO_ARGUMENT(Generator*, generator)
EMBER_NO_ARGUMENT(bool, is_none)

EMBER_NO_RESULT(Tensor)
EMBER_NO_RESULT(const Scalar&)
EMBER_NO_RESULT(bool)
EMBER_NO_RESULT(int64_t)
EMBER_NO_RESULT(double)
EMBER_NO_RESULT(const std::string&)
EMBER_NO_RESULT(const Shape&)
EMBER_NO_RESULT(std::vector<Tensor>)
EMBER_NO_RESULT(const OpInfo&, Tensor*, int)
EMBER_WITHOUT_HOST(void*, none_to_host())

}  // namespace ember
