// Complex tensors from real parts.
#include "ops/create.h"
#include "ops/pointwise.h"

namespace ember {

Tensor complex(const Tensor& re, const Tensor& im, Dest dest) {
  auto usable = [](Dtype d) { return is_floating(d) && d != Dtype::BFloat16; };
  check(usable(re.dtype()) && usable(im.dtype()), Kind::Runtime,
        "complex(): Expected both inputs to be Half, Float or Double tensors but got ",
        type_name(re.dtype()), " and ", type_name(im.dtype()));
  check(re.dtype() == im.dtype(), Kind::Runtime, "complex(): Expected object of scalar type ",
        type_name(re.dtype()), " but got scalar type ", type_name(im.dtype()),
        " for second argument");
  check(!dest.tensor || dest.tensor->dtype() == complex_of(re.dtype()), Kind::Runtime,
        "complex(): Expected object of scalar type ", type_name(complex_of(re.dtype())),
        " but got scalar type ", type_name(dest.tensor ? dest.tensor->dtype() : re.dtype()),
        " for argument 'out'");
  const Operand parts[2] = {re, im};
  const auto met = pointwise::meet("complex", {&parts[0], &parts[1]});
  Tensor out = pointwise::result_tensor("complex", dest, met, complex_of(re.dtype()));
  {
    NoGrad guard;
    copy_(real(out), re);
    copy_(imag(out), im);
  }
  if (!grad_needed(re, im)) return out;
  return tape(out, "complex", wrt(re, [](const Tensor& g) { return real(g); }),
              wrt(im, [](const Tensor& g) { return imag(g); }));
}
EMBER_OP("complex(Tensor real, Tensor imag) -> Tensor", &complex,
         Function | Out | Aligned | Pointwise,
         "A complex tensor with the given real and imaginary parts.");

EMBER_OP("polar(Tensor abs, Tensor angle) -> Tensor",
         ([](const Tensor& abs, const Tensor& angle, Dest dest) {
           if (is_reduced(abs.dtype())) fail_dtype("polar", abs.dtype());
           check(is_floating(abs.dtype()) && is_floating(angle.dtype()), Kind::Runtime,
                 "polar(): Expected both inputs to be Half, Float or Double tensors but got ",
                 type_name(abs.dtype()), " and ", type_name(angle.dtype()));
           check(abs.dtype() == angle.dtype(), Kind::Runtime,
                 "polar(): Expected object of scalar type ", type_name(abs.dtype()),
                 " but got scalar type ", type_name(angle.dtype()), " for second argument");
           return complex(abs * cos(angle), abs * sin(angle), dest);
         }),
         Function | Out | Aligned | Pointwise | Float32,
         "A complex tensor with the given absolute values and angles.");

}  // namespace ember
