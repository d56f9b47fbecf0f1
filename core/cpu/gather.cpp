// gather and scatter: an index for every element, along one dimension.
#include <algorithm>

#include "cpu/index.h"
#include "cpu/index_support.h"
#include "cpu/parallel.h"

namespace ember::cpu {

namespace {

// An index that is the same along all dimensions but `dim` moves whole rows: x[i] rather than
// x.gather(0, i).
bool is_row_index(const Tensor& index, int dim) {
  for (int d = 0; d < index.dim(); d++)
    if (d != dim && index.shape()[d] != 1 && index.strides()[d] != 0) return false;
  return index.dim() > 1;
}
Indexing row_indexing(const Tensor& index, int dim) {
  Tensor line = alias(index, {index.shape()[dim]}, {index.strides()[dim]}, index.offset());
  return {{line}, dim, {dim}, false};
}
// `t` cut to the sizes of `like` along all dimensions but `dim`.
Tensor cut(const Tensor& t, const Tensor& like, int dim) {
  Shape shape = like.shape();
  if (dim >= 0) shape[dim] = t.shape()[dim];
  return alias(t, shape, t.strides(), t.offset());
}

// The lines of all tensors along one dimension `inner`. Tasks are what threads may do
// independently: the places of the dimensions other than `inner` and the indexed one, times pieces
// of the line.
struct Lines {
  int inner, dim;
  int64_t length, piece, pieces = 1;  // of a line
  int64_t repeats;  // lines of a task: the indexed dimension, unless it is `inner`
  int outer[kMaxDims], outers = 0;
  int64_t tasks = 1;
  const Tensor &index, &x, &v;  // v: of the index's shape; x: the indexed tensor

  Lines(const Tensor& index_, const Tensor& x_, const Tensor& v_, int dim_)
      : dim(dim_), index(index_), x(x_), v(v_) {
    inner = index.dim() - 1;
    while (inner > 0 && index.shape()[inner] == 1) inner--;
    if (index.shape()[inner] < 16 && index.shape()[dim] > index.shape()[inner]) inner = dim;
    length = piece = index.shape()[inner];
    repeats = inner == dim ? 1 : index.shape()[dim];
    for (int d = index.dim() - 1; d >= 0; d--)
      if (d != inner && d != dim) outer[outers++] = d, tasks *= index.shape()[d];
    int64_t threads = num_threads();
    if (inner != dim && tasks < threads && length >= 128 && index.numel() > kGrain) {
      pieces = threads;
      piece = (length + pieces - 1) / pieces;
      tasks *= pieces;
    }
  }
  int64_t grain() const {
    return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, piece * repeats));
  }

  // line(picks, v, v_step, n) -> place of an index out of bounds, or -1
  template <class Line>
  void run(int64_t begin, int64_t end, Line&& line) const {
    const int64_t xs = x.item_size(), vs = v.item_size();
    for (int64_t t = begin; t < end; t++) {
      const int64_t first = t % pieces * piece, n = std::min(piece, length - first);
      int64_t rest = t / pieces;
      int64_t i_at = first * index.strides()[inner] * 8, v_at = first * v.strides()[inner] * vs;
      int64_t x_at = inner == dim ? 0 : first * x.strides()[inner] * xs;
      for (int k = 0; k < outers; k++) {
        int d = outer[k];
        int64_t j = rest % index.shape()[d];
        rest /= index.shape()[d];
        i_at += j * index.strides()[d] * 8, v_at += j * v.strides()[d] * vs,
            x_at += j * x.strides()[d] * xs;
      }
      for (int64_t r = 0; r < repeats && n > 0; r++) {
        Picks p{x.data<char>() + x_at,
                inner == dim ? 0 : x.strides()[inner] * xs,
                x.strides()[dim] * xs,
                x.shape()[dim],
                index.data<char>() + i_at + r * index.strides()[dim] * 8,
                index.strides()[inner] * 8};
        int64_t bad =
            line(p, v.data<char>() + v_at + r * v.strides()[dim] * vs, v.strides()[inner] * vs, n);
        if (__builtin_expect(bad >= 0, 0))
          fail(Kind::Runtime, "index ",
               *reinterpret_cast<const int64_t*>(p.index + bad * p.index_step),
               " is out of bounds for dimension ", dim, " with size ", p.size);
      }
    }
  }
};

// A 0-d tensor as a line of one element.
Tensor as_line(const Tensor& t) { return t.dim() ? t : alias(t, {1}, {1}, t.offset()); }

// Rows raise IndexError; gather and scatter want a RuntimeError of the same text.
template <class F>
void as_runtime_error(F&& body) {
  try {
    body();
  } catch (const Error& e) {
    if (e.kind() == Kind::Index) throw Error(Kind::Runtime, e.what());
    throw;
  }
}

}  // namespace

void gather(const Tensor& out_, const Tensor& x_, int dim, const Tensor& index_) {
  if (index_.numel() == 0) return;
  Tensor out = as_line(out_), x = as_line(x_), index = as_line(index_);
  if (is_row_index(index, dim))
    return as_runtime_error([&] { index_get(out, cut(x, index, dim), row_indexing(index, dim)); });
  auto kernel = index_kernels().gather[size_index(x.item_size())];
  const Lines lines(index, x, out, dim);
  parallel_for(lines.tasks, lines.grain(),
               [&](int64_t begin, int64_t end) { lines.run(begin, end, kernel); });
}

void scatter(const Tensor& self_, int dim, const Tensor& index_, const Tensor& src_,
             ScatterMode mode) {
  if (index_.numel() == 0) return;
  Tensor self = as_line(self_), index = as_line(index_), src = cut(as_line(src_), index, -1);
  if (is_row_index(index, dim))
    return as_runtime_error(
        [&] { index_put(cut(self, index, dim), row_indexing(index, dim), src, mode); });
  const IndexKernels& k = index_kernels();
  auto kernel = mode == ScatterMode::Set ? k.scatter[size_index(self.item_size())]
                                         : k.scatter_with[int(mode)][int(self.dtype())];
  const Lines lines(index, self, src, dim);
  parallel_for(lines.tasks, lines.grain(),
               [&](int64_t begin, int64_t end) { lines.run(begin, end, kernel); });
}

}  // namespace ember::cpu
