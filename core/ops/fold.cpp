// nn.functional.unfold and fold: windows of images as columns, and columns added up again. Each is
// the gradient of the other.
#include "backend.h"
#include "ops/conv.h"

namespace ember {

Tensor unfold_windows(const Tensor& x, const Shape& kernel, const Shape& places,
                      const Moves& moves) {
  Backend& backend = backend_of(x);
  if (!backend.has(Primitive::unfold, Primitive::fold))
    return unfold_in_steps(x, kernel, places, moves);
  Tensor columns =
      empty({x.size(0), x.size(1) * numel_of(kernel), numel_of(places)}, x.dtype(), x.device());
  if (columns.numel()) backend.unfold(columns, x, kernel, places, moves);
  if (!grad_needed(x)) return columns;
  const Shape size(x.shape().data() + 2, places.size());
  return tape(columns, "im2col", wrt(x, [size, kernel, places, moves](const Tensor& g) {
                return fold_windows(g, size, kernel, places, moves);
              }));
}

Tensor fold_windows(const Tensor& columns, const Shape& size, const Shape& kernel,
                    const Shape& places, const Moves& moves) {
  Backend& backend = backend_of(columns);
  if (!backend.has(Primitive::unfold, Primitive::fold))
    return fold_in_steps(columns, size, kernel, places, moves);
  Shape shape{columns.size(0), columns.size(1) / numel_of(kernel)};
  for (int64_t n : size) shape.push_back(n);
  Tensor x = empty(shape, columns.dtype(), columns.device());
  if (x.numel()) backend.fold(x, columns, kernel, places, moves);
  if (!grad_needed(columns)) return x;
  return tape(x, "col2im", wrt(columns, [kernel, places, moves](const Tensor& u) {
                return unfold_windows(u, kernel, places, moves);
              }));
}

namespace {

constexpr int64_t kMost = (int64_t(1) << 31) - 1;

struct Window {
  Shape kernel;
  Moves moves;
  Shape places;  // how many windows there are along each axis, maybe fewer than 1
};

Window window_of(const char* op, const Shape& size, const Dims& kernel, const Dims& dilation,
                 const Dims& padding, const Dims& stride) {
  Window w{expanded(op, "kernel_size", kernel, 2),
           {expanded(op, "stride", stride, 2), expanded(op, "padding", padding, 2),
            expanded(op, "dilation", dilation, 2), 1},
           {}};
  for (int i = 0; i < 2; i++) {
    const int64_t k = w.kernel[i], s = w.moves.stride[i], d = w.moves.dilation[i];
    const int64_t p = w.moves.padding[i];
    check(k > 0, Kind::Runtime, op, "(): kernel_size should be greater than zero, but got ",
          w.kernel);
    check(d > 0, Kind::Runtime, op, "(): dilation should be greater than zero, but got ",
          w.moves.dilation);
    check(s > 0, Kind::Runtime, op, "(): stride should be greater than zero, but got ",
          w.moves.stride);
    check(p >= 0, Kind::Runtime, op, "(): padding should be non-negative, but got ",
          w.moves.padding);
    check(std::max({k, s, d, p}) <= kMost, Kind::Runtime, op, "(): kernel_size ", w.kernel,
          ", dilation ", w.moves.dilation, ", padding ", w.moves.padding, " and stride ",
          w.moves.stride, " must be less than 2^31");
    const int64_t room = size[i] + 2 * p - d * (k - 1) - 1;
    w.places.push_back(room < 0 ? 0 : room / s + 1);
  }
  return w;
}

Tensor unfold_op(const Tensor& input, const Dims& kernel, const Dims& dilation, const Dims& padding,
                 const Dims& stride) {
  const bool batched = input.dim() == 4;
  bool ok = batched || input.dim() == 3;
  for (int i = batched; i < input.dim(); i++) ok = ok && input.size(i) > 0;
  check(ok, Kind::Runtime,
        "unfold(): Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other "
        "non-zero dimensions for input, but got: ",
        input.shape());
  const Shape size{input.size(-2), input.size(-1)};
  const Window w = window_of("unfold", size, kernel, dilation, padding, stride);
  check(w.places[0] > 0 && w.places[1] > 0, Kind::Runtime,
        "unfold(): Given input with spatial size ", Product{size},
        ", kernel_size=", Product{w.kernel}, ", dilation=", Product{w.moves.dilation},
        ", padding=", Product{w.moves.padding},
        ", calculated shape of the array of sliding blocks as ", Product{w.places},
        ", but its components must be at least one.");
  if (batched) return unfold_windows(input, w.kernel, w.places, w.moves);
  return squeeze(unfold_windows(unsqueeze(input, 0), w.kernel, w.places, w.moves), Dims(0));
}

Tensor fold_op(const Tensor& input, const Dims& output_size, const Dims& kernel,
               const Dims& dilation, const Dims& padding, const Dims& stride) {
  const bool batched = input.dim() == 3;
  check(batched || input.dim() == 2, Kind::Runtime,
        "fold(): Expected 2D or 3D (batch mode) tensor for input, but got: ", input.shape());
  const Shape size = expanded("fold", "output_size", output_size, 2);
  check(size[0] > 0 && size[1] > 0 && std::max(size[0], size[1]) <= kMost, Kind::Runtime,
        "fold(): output_size should be greater than zero, but got ", size);
  const Window w = window_of("fold", size, kernel, dilation, padding, stride);
  check(input.size(-2) > 0 && input.size(-2) % numel_of(w.kernel) == 0, Kind::Runtime,
        "fold(): Expected size of input's dimension 1 to be divisible by the product of "
        "kernel_size, but got input.size(1)=",
        input.size(-2), " and kernel_size=", Product{w.kernel});
  const int64_t places = numel_of(w.places);
  check(w.places[0] > 0 && w.places[1] > 0, Kind::Runtime,
        "fold(): Given output_size=", Product{size}, ", kernel_size=", Product{w.kernel},
        ", dilation=", Product{w.moves.dilation}, ", padding=", Product{w.moves.padding},
        ", stride=", Product{w.moves.stride},
        ", calculated shape of the array of sliding blocks as ", Product{w.places},
        ", but its components must be at least one.");
  check(places == input.size(-1), Kind::Runtime, "fold(): Given output_size=", Product{size},
        ", kernel_size=", Product{w.kernel}, ", dilation=", Product{w.moves.dilation},
        ", padding=", Product{w.moves.padding}, ", stride=", Product{w.moves.stride},
        ", expected input's size at dimension 2 to match the calculated number of sliding blocks ",
        Product{w.places}, " = ", places, ", but got input.size(2)=", input.size(-1));
  // Sums of truth values are counts.
  Tensor x = input.dtype() == Dtype::Bool ? to(input, Dtype::Int32) : input;
  x = fold_windows(batched ? x : unsqueeze(x, 0), size, w.kernel, w.places, w.moves);
  if (!batched) x = squeeze(x, Dims(0));
  return input.dtype() == Dtype::Bool ? to(x, Dtype::Bool) : x;
}

}  // namespace

EMBER_OP(
    "nn.functional.unfold(Tensor input, Dims kernel_size, Dims dilation=1, Dims padding=0, "
    "Dims stride=1) -> Tensor",
    &unfold_op, Function | Entries,
    "Windows of (N, C, H, W) as columns, (N, C * elements of a window, windows).");
EMBER_OP(
    "nn.functional.fold(Tensor input, Dims output_size, Dims kernel_size, Dims dilation=1, "
    "Dims padding=0, Dims stride=1) -> Tensor",
    &fold_op, Function | Entries,
    "Columns (N, C * elements of a window, windows) added up to (N, C, H, W).");

}  // namespace ember
