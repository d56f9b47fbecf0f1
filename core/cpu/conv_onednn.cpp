// float32 convolutions by oneDNN. Contiguous tensors are reordered to the blocked layouts that its
// kernels want, and back; channels-last ones are read as they are, and only the weights change.
#include <algorithm>
#include <optional>

#include "cpu/conv.h"
#include "cpu/onednn.h"
#include "cpu/parallel.h"
#include "tensor/allocator.h"

namespace ember::cpu::onednn_conv {
namespace {

constexpr Dtype kType = Dtype::Float32;
enum Role : int64_t { kPrimitive, kSource, kWeights, kResult };

class Buffer {
 public:
  explicit Buffer(const_dnnl_memory_desc_t layout)
      : bytes_(layout_bytes(layout)), data_(allocate(bytes_)) {}
  ~Buffer() { deallocate(data_, bytes_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data() const { return data_; }

 private:
  size_t bytes_;
  void* data_;
};

// A primitive is made for a number of threads; with more than there are (after a fork) it hangs.
PrimitiveKey key_of(const ConvSizes& s, dnnl_prop_kind_t kind, bool bias) {
  PrimitiveKey key(dnnl_convolution, kType);
  key << kind << num_threads() << s.axes << s.n << s.c << s.o << s.groups;
  key << s.channels_last << s.weights_last << bias;
  for (const int64_t* row : {s.in, s.kernel, s.out, s.stride, s.pad, s.dilation}) key.add(row, 3);
  return key;
}
PrimitiveKey with(PrimitiveKey key, Role role) { return key << int64_t(role); }

// Sizes as oneDNN takes them. One axis becomes two: it has kernels for two and three only.
struct Dims {
  int axes, first, dims, weight_dims;
  dnnl_dims_t x, y, w, x_strides, y_strides, w_strides;
  dnnl_dims_t stride, dilation, pad, pad_after;
  int64_t bias[1];

  explicit Dims(const ConvSizes& s) : axes(s.axes == 3 ? 3 : 2), first(3 - axes), dims(axes + 2) {
    int at = 0;
    if (s.groups > 1) w[at++] = s.groups;
    w[at++] = s.o / s.groups;
    w[at++] = s.c / s.groups;
    x[0] = y[0] = s.n;
    x[1] = s.c;
    y[1] = bias[0] = s.o;
    for (int i = 0; i < axes; i++) {
      const int from = first + i;
      x[2 + i] = s.in[from];
      y[2 + i] = s.out[from];
      w[at++] = s.kernel[from];
      stride[i] = s.stride[from];
      dilation[i] = s.dilation[from] - 1;
      pad[i] = s.pad[from];
      pad_after[i] = std::max<int64_t>(s.pad_after(from), 0);
    }
    weight_dims = at;
    lay_out(x, x_strides, dims, s.channels_last);
    lay_out(y, y_strides, dims, s.channels_last);
    const int split = s.groups > 1;  // the first axis as two
    lay_out(w + split, w_strides + split, axes + 2, s.weights_last);
    w_strides[0] = split ? w_strides[1] * w[1] : w_strides[0];
  }
  static void lay_out(const int64_t* sizes, int64_t* strides, int n, bool channels_last) {
    int64_t step = 1;
    if (channels_last) strides[1] = step, step *= sizes[1];
    for (int i = n - 1; i >= 0; i--)
      if (!channels_last || i != 1) strides[i] = step, step *= sizes[i];
  }
};

// The layouts of one convolution: as the tensors are, and as the primitive may choose.
struct Layouts {
  Dims d;
  Layout x, y, w, bias;
  std::optional<Layout> any_x, any_y;
  Layout any_w;

  explicit Layouts(const ConvSizes& s)
      : d(s),
        x(kType, d.dims, d.x, d.x_strides),
        y(kType, d.dims, d.y, d.y_strides),
        w(kType, d.weight_dims, d.w, d.w_strides),
        bias(kType, 1, d.bias, kOne),
        any_w(kType, d.weight_dims, d.w) {
    if (s.channels_last) return;
    any_x.emplace(kType, d.dims, d.x);
    any_y.emplace(kType, d.dims, d.y);
  }
  const_dnnl_memory_desc_t chosen_x() const { return any_x ? *any_x : x; }
  const_dnnl_memory_desc_t chosen_y() const { return any_y ? *any_y : y; }
  static constexpr int64_t kOne[1] = {1};
};

void reorder(const PrimitiveKey& key, const_dnnl_memory_desc_t from, const void* x,
             const_dnnl_memory_desc_t to, void* y) {
  PrimitivePtr move = cached_primitive(key, [&] {
    dnnl_primitive_desc_t desc;
    const OneDnn& f = onednn();
    onednn_check(
        f.reorder_primitive_desc_create(&desc, from, f.engine, to, f.engine, onednn_attributes()),
        "describing a reorder");
    return desc;
  });
  move->run({{DNNL_ARG_FROM, from, x}, {DNNL_ARG_TO, to, y}});
}

// An operand in the layout that a primitive wants: the memory itself, or a reordered copy.
class Operand {
 public:
  Operand(const PrimitiveKey& key, Role role, const_dnnl_memory_desc_t given, const void* data,
          const_dnnl_memory_desc_t wanted)
      : layout(wanted), data(data) {
    if (same_layout(given, wanted)) return;
    copy_.emplace(wanted);
    reorder(with(key, role), given, data, wanted, copy_->data());
    this->data = copy_->data();
  }
  const_dnnl_memory_desc_t layout;
  const void* data;

 private:
  std::optional<Buffer> copy_;
};

// A result in the layout of a primitive, on its way to that of the tensor.
class Result {
 public:
  Result(const PrimitiveKey& key, const_dnnl_memory_desc_t made, const_dnnl_memory_desc_t wanted,
         void* data)
      : layout(made), data(data), key_(key), wanted_(wanted), out_(data) {
    if (same_layout(made, wanted)) return;
    buffer_.emplace(made);
    this->data = buffer_->data();
  }
  void store() {
    if (buffer_) reorder(with(key_, kResult), layout, data, wanted_, out_);
  }
  const_dnnl_memory_desc_t layout;
  void* data;

 private:
  const PrimitiveKey& key_;
  const_dnnl_memory_desc_t wanted_;
  void* out_;
  std::optional<Buffer> buffer_;
};

// Reordered copies of a large batch would double its memory: such a batch is taken some images at a
// time.
constexpr int64_t kCopiedBytes = 16 << 20;

struct Slices {
  int64_t x_size = 1, y_size = 1, each;  // elements of an image; images

  explicit Slices(const ConvSizes& s) : each(s.n) {
    for (int i = 0; i < 3; i++) x_size *= s.in[i], y_size *= s.out[i];
    x_size *= s.c, y_size *= s.o;
    const int64_t bytes = (x_size + y_size) * s.n * int64_t(sizeof(float));
    if (s.channels_last || bytes <= kCopiedBytes) return;
    const int64_t count = std::min(s.n, (bytes + kCopiedBytes - 1) / kCopiedBytes);
    each = (s.n + count - 1) / count;
  }
  // Calls work(sizes, first image) for each slice.
  template <class Work>
  void run(const ConvSizes& s, Work work) const {
    for (int64_t i = 0; i < s.n; i += each) {
      ConvSizes part = s;
      part.n = std::min(each, s.n - i);
      work(part, i);
    }
  }
};

void add(size_t bytes, const void* x, void* y) {
  const float* from = static_cast<const float*>(x);
  float* to = static_cast<float*>(y);
  for (size_t i = 0; i < bytes / sizeof(float); i++) to[i] += from[i];
}

void forward_slice(const ConvSizes& s, const float* x, const float* w, const float* bias,
                   float* y) {
  const Layouts l(s);
  const PrimitiveKey key = key_of(s, dnnl_forward_inference, bias != nullptr);
  PrimitivePtr conv = cached_primitive(with(key, kPrimitive), [&] {
    dnnl_primitive_desc_t desc;
    const OneDnn& f = onednn();
    onednn_check(f.convolution_forward_primitive_desc_create(
                     &desc, f.engine, dnnl_forward_inference, dnnl_convolution_direct, l.chosen_x(),
                     l.any_w, bias ? const_dnnl_memory_desc_t(l.bias) : nullptr, l.chosen_y(),
                     l.d.stride, l.d.dilation, l.d.pad, l.d.pad_after, onednn_attributes()),
                 "describing a convolution");
    return desc;
  });
  Operand source(key, kSource, l.x, x, conv->layout(DNNL_ARG_SRC));
  Operand weights(key, kWeights, l.w, w, conv->layout(DNNL_ARG_WEIGHTS));
  Result result(key, conv->layout(DNNL_ARG_DST), l.y, y);
  if (bias)
    conv->run({{DNNL_ARG_SRC, source.layout, source.data},
               {DNNL_ARG_WEIGHTS, weights.layout, weights.data},
               {DNNL_ARG_BIAS, l.bias, bias},
               {DNNL_ARG_DST, result.layout, result.data}});
  else
    conv->run({{DNNL_ARG_SRC, source.layout, source.data},
               {DNNL_ARG_WEIGHTS, weights.layout, weights.data},
               {DNNL_ARG_DST, result.layout, result.data}});
  result.store();
}

void backward_slice(const ConvSizes& s, const float* g, const float* x, const float* w,
                    ConvGrads to) {
  const Layouts l(s);
  const OneDnn& f = onednn();
  const PrimitiveKey data_key = key_of(s, dnnl_backward_data, false);
  const PrimitiveKey weights_key = key_of(s, dnnl_backward_weights, to.dbias != nullptr);
  std::optional<Operand> grad;  // often both primitives want it alike, and it is reordered once
  if (to.dx) {
    PrimitivePtr conv = cached_primitive(with(data_key, kPrimitive), [&] {
      dnnl_primitive_desc_t desc;
      onednn_check(
          f.convolution_backward_data_primitive_desc_create(
              &desc, f.engine, dnnl_convolution_direct, l.chosen_x(), l.any_w, l.chosen_y(),
              l.d.stride, l.d.dilation, l.d.pad, l.d.pad_after, nullptr, onednn_attributes()),
          "describing a convolution's gradient");
      return desc;
    });
    grad.emplace(data_key, kSource, l.y, g, conv->layout(DNNL_ARG_DIFF_DST));
    Operand weights(data_key, kWeights, l.w, w, conv->layout(DNNL_ARG_WEIGHTS));
    Result result(data_key, conv->layout(DNNL_ARG_DIFF_SRC), l.x, to.dx);
    conv->run({{DNNL_ARG_DIFF_DST, grad->layout, grad->data},
               {DNNL_ARG_WEIGHTS, weights.layout, weights.data},
               {DNNL_ARG_DIFF_SRC, result.layout, result.data}});
    result.store();
  }
  if (!to.dw) return;
  PrimitivePtr conv = cached_primitive(with(weights_key, kPrimitive), [&] {
    dnnl_primitive_desc_t desc;
    onednn_check(
        f.convolution_backward_weights_primitive_desc_create(
            &desc, f.engine, dnnl_convolution_direct, l.chosen_x(), l.any_w,
            to.dbias ? const_dnnl_memory_desc_t(l.bias) : nullptr, l.chosen_y(), l.d.stride,
            l.d.dilation, l.d.pad, l.d.pad_after, nullptr, onednn_attributes()),
        "describing a convolution's gradient");
    return desc;
  });
  const_dnnl_memory_desc_t wanted = conv->layout(DNNL_ARG_DIFF_DST);
  if (!grad || !same_layout(grad->layout, wanted)) {
    grad.reset();
    grad.emplace(weights_key, kSource, l.y, g, wanted);
  }
  Operand source(weights_key, kWeights, l.x, x, conv->layout(DNNL_ARG_SRC));
  Result result(weights_key, conv->layout(DNNL_ARG_DIFF_WEIGHTS), l.w, to.dw);
  if (to.dbias)
    conv->run({{DNNL_ARG_SRC, source.layout, source.data},
               {DNNL_ARG_DIFF_DST, grad->layout, grad->data},
               {DNNL_ARG_DIFF_WEIGHTS, result.layout, result.data},
               {DNNL_ARG_DIFF_BIAS, l.bias, to.dbias}});
  else
    conv->run({{DNNL_ARG_SRC, source.layout, source.data},
               {DNNL_ARG_DIFF_DST, grad->layout, grad->data},
               {DNNL_ARG_DIFF_WEIGHTS, result.layout, result.data}});
  result.store();
}

}  // namespace

void forward(const ConvSizes& s, const float* x, const float* w, const float* bias, float* y) {
  const Slices slices(s);
  slices.run(s, [&](const ConvSizes& part, int64_t i) {
    forward_slice(part, x + i * slices.x_size, w, bias, y + i * slices.y_size);
  });
}

void backward(const ConvSizes& s, const float* g, const float* x, const float* w, ConvGrads to) {
  const Slices slices(s);
  const Layouts l(s);
  std::optional<Buffer> weights, biases;  // gradients of the slices after the first
  if (to.dw && slices.each < s.n) weights.emplace(l.w);
  if (to.dbias && slices.each < s.n) biases.emplace(l.bias);
  slices.run(s, [&](const ConvSizes& part, int64_t i) {
    ConvGrads at = to;
    if (to.dx) at.dx = static_cast<float*>(to.dx) + i * slices.x_size;
    if (i > 0 && weights) at.dw = weights->data();
    if (i > 0 && biases) at.dbias = biases->data();
    backward_slice(part, g + i * slices.y_size, x + i * slices.x_size, w, at);
    if (at.dw != to.dw) add(layout_bytes(l.w), at.dw, to.dw);
    if (at.dbias != to.dbias) add(layout_bytes(l.bias), at.dbias, to.dbias);
  });
}

}  // namespace ember::cpu::onednn_conv
