// The contract between ops and devices: the primitives a device provides.                 Read this
// first.
//
// Every op ends in calls of these methods; a backend never sees a gradient, a type promotion or a
// Python object. Outputs come allocated, with their final shape and dtype; operands are already
// broadcast to the output's shape (stride 0 where repeated). A primitive converts operands to
// `compute` as it reads them and to the output's dtype as it writes. Methods marked (required) must
// be there; the others have defaults that decompose into them, and a device overrides what it can
// fuse.
#pragma once

#include <optional>
#include <string>

#include "functions.h"
#include "random/draw.h"
#include "tensor/tensor.h"

namespace ember {

enum class Reduction : uint8_t { Sum, Mean, Prod, Min, Max, Any, All, CountNonzero, Norm, NanSum };
enum class Scan : uint8_t { Sum, Prod, LogSumExp, Max, Min };
enum class Rank : uint8_t { Kth, Median, NanMedian, Mode };
enum class ScatterMode : uint8_t { Set, Add, Mul, Max, Min };

// An operand of a pointwise primitive: a tensor broadcast to the output's shape, or a number.
struct Input {
  const Tensor* tensor = nullptr;
  const Shape* strides =
      nullptr;  // broadcast strides in elements, if they differ from the tensor's own
  Scalar scalar;
};

// Positions picked out of a tensor: index tensors (int64, all of one shape I) for its dimensions
// first, first + 1 ... The result has I in the place of these dimensions.
struct Indexing {
  TensorList indices;
  int first = 0;
  Shape dims;        // what to call the dimensions in error messages, if not first, first + 1 ...
  bool wrap = true;  // negative positions count from the end
};

// Fused work that a few ops each need, as interfaces of their own: core/families/<name>.h.
class AttentionKernels;
class ConvKernels;
class FftKernels;
class LinalgKernels;
class LossKernels;
class NormKernels;
class OptimKernels;
class PoolKernels;
class RecurrentKernels;
class SegmentKernels;

class Backend {
 public:
  virtual ~Backend() = default;

  // --- memory ---------------------------------------------------------------------------------
  virtual void* allocate(int64_t bytes) = 0;                               // (required)
  virtual void deallocate(void* data, int64_t bytes) = 0;                  // (required)
  virtual void copy_bytes(void* to, const void* from, int64_t bytes) = 0;  // (required)
  virtual void copy_from_host(const Tensor& to,
                              const void* from) = 0;            // (required) `to` is contiguous
  virtual void copy_to_host(void* to, const Tensor& from) = 0;  // (required) `from` is contiguous
  // As these two, but may return before the copy is done; it comes in order with other work of the
  // device. `host` is contiguous, nobody changes it meanwhile, and the backend keeps it that long.
  virtual void send(const Tensor& to, const Tensor& host) { copy_from_host(to, host.data()); }
  virtual void receive(const Tensor& host, const Tensor& from) { copy_to_host(host.data(), from); }
  virtual void synchronize() {}

  // --- several devices of one kind --------------------------------------------------------------
  virtual int current_index() { return -1; }  // this thread's; -1: there is one device only
  // The calls that follow in this thread are for this device; backend_of() says so.
  virtual void select(int /*index*/) {}

  // --- pointwise (required) -------------------------------------------------------------------
  virtual void copy(const Tensor& out,
                    const Tensor& x) = 0;  // same device, any strides and dtypes, same shape
  virtual void fill(const Tensor& out, const Scalar& value) = 0;
  virtual void unary(Unary f, Dtype compute, const Tensor& out, const Input& x,
                     const Params& params) = 0;
  virtual void binary(Binary f, Dtype compute, const Tensor& out, const Input& a,
                      const Input& b) = 0;
  virtual void predicate(Predicate f, Dtype compute, const Tensor& out, const Input& x) = 0;
  virtual void compare(Compare f, Dtype compute, const Tensor& out, const Input& a, const Input& b,
                       const Params& params) = 0;
  virtual void ternary(Ternary f, Dtype compute, const Tensor& out, const Input& a, const Input& b,
                       const Input& c, const Params& params) = 0;
  // out = g * conj(derivative of f), from what the row keeps (x or y). False: the op must do it in
  // several steps.
  virtual bool unary_grad(Unary f, Dtype compute, const Tensor& out, const Input& g,
                          const Input& keep, const Params& params) = 0;

  // --- reductions (required) ------------------------------------------------------------------
  // `out` has size 1 along the reduced dimensions.
  // `p` is the order of Norm. Min and Max have something to reduce, and let NaN win.
  virtual void reduce(Reduction f, const Tensor& out, const Tensor& x, const Shape& dims,
                      double p = 2) = 0;
  // The largest (or smallest) element along `dim` and its place, the first on ties; either output
  // may be undefined.
  virtual void extremes(const Tensor& values, const Tensor& indices, const Tensor& x, int dim,
                        bool most) = 0;
  // Variance of real floats, divided by count - correction; its root if wanted; and the mean.
  virtual void variance(const Tensor& out, const Tensor& mean, const Tensor& x, const Shape& dims,
                        double correction, bool root) = 0;

  // --- indexing (required) --------------------------------------------------------------------
  // A position out of bounds is an IndexError, in gather and scatter a RuntimeError: "index 5 is
  // out of bounds for dimension 0 with size 3". Where positions repeat, later ones win or add up,
  // in order.
  virtual void index_get(const Tensor& out, const Tensor& x,
                         const Indexing& at);  // out is contiguous
  virtual void index_put(const Tensor& self, const Indexing& at, const Tensor& values,
                         ScatterMode mode);
  // out and index (int64) have one shape, no larger than x's but along `dim`.
  virtual void gather(const Tensor& out, const Tensor& x, int dim, const Tensor& index);
  virtual void scatter(const Tensor& self, int dim, const Tensor& index, const Tensor& src,
                       ScatterMode mode);
  virtual Tensor nonzero(const Tensor& x);  // int64, (elements, dimensions)

  // --- moves with a default -------------------------------------------------------------------
  virtual Tensor masked_select(const Tensor& x, const Tensor& mask);  // operands have one shape
  virtual void masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& src);
  virtual void flip(const Tensor& out, const Tensor& x, const Shape& dims);
  virtual Tensor repeated_positions(const Tensor& counts);  // i, counts[i] times, for each i
  virtual void join(const Tensor& out, const TensorList& parts, int dim);  // cat

  // --- sequences and triangles, with a default --------------------------------------------------
  virtual void arange(const Tensor& out, const Scalar& start,
                      const Scalar& step);  // out (n): start + i * step
  // out and x (..., M, N): x on and below (or above) a diagonal, 0 elsewhere.
  virtual void triangle(const Tensor& out, const Tensor& x, int64_t diagonal, bool upper);

  // --- matrix products (required) -------------------------------------------------------------
  // out = beta * out + alpha * (a @ b): out (..., M, N), a (..., M, K), b (..., K, N), any strides;
  // the batch dimensions agree (stride 0 where a matrix is repeated).
  virtual void matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha,
                      const Scalar& beta) = 0;

  // --- along one dimension --------------------------------------------------------------------
  // What lies up to each element, folded; computed in the dtype of `out`. Max and Min also give its
  // place (`indices`; the latest of equals), and NaN stays.
  virtual void scan(Scan f, const Tensor& out, const Tensor& indices, const Tensor& x, int dim);
  // Stable; NaN counts as the largest. Here and in topk, either output may be undefined.
  virtual void sort(const Tensor& values, const Tensor& indices, const Tensor& x, int dim,
                    bool descending);
  // As many of the largest (or smallest) as the outputs have room for; if not `sorted`, in any
  // order.
  virtual void topk(const Tensor& values, const Tensor& indices, const Tensor& x, int dim,
                    bool largest, bool sorted);
  // The element of rank k (from 0) along `dim`, the lower median (of all, where one NaN decides, or
  // of what is not NaN), or the most frequent element.
  virtual void pick(const Tensor& values, const Tensor& indices, const Tensor& x, int dim,
                    Rank rank, int64_t k);
  // How many elements of a sorted line are less than each value (`right`: not greater). `sorted`
  // has one line, or one for each line of `values`; it may be sorted only when read in the order of
  // `sorter`.
  virtual void search(const Tensor& out, const Tensor& sorted, const Tensor& values,
                      const Tensor& sorter, bool right);
  // These have defaults. `y` is the softmax; logsumexp's output has size 1 along `dim`.
  virtual void softmax(const Tensor& out, const Tensor& x, int dim, bool log);
  virtual void softmax_grad(const Tensor& out, const Tensor& g, const Tensor& y, int dim, bool log);
  virtual void logsumexp(const Tensor& out, const Tensor& x, int dim);

  // --- linear algebra: batches of contiguous matrices, changed in place ------------------------
  // The lower triangle becomes the Cholesky factor; info (int32) is 0, or the order of the minor
  // that fails.
  virtual void cholesky(const Tensor& matrices, const Tensor& info);
  // b becomes the solution x of a x = b (or x a = b), a being triangular.
  virtual void solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left, bool unit);

  // --- random numbers -------------------------------------------------------------------------
  // Fills `out` in the order of its memory. The default draws on the host and copies, so that a
  // seed gives the same numbers on every device.
  virtual void random(const Tensor& out, Generator& g, const Draw& draw);

  // --- families (optional) --------------------------------------------------------------------
  // nullptr: the device has none of this family, and an op decomposes into the methods above or
  // says that it cannot.
  virtual AttentionKernels* attention() { return nullptr; }
  virtual ConvKernels* conv() { return nullptr; }
  virtual FftKernels* fft() { return nullptr; }
  virtual LinalgKernels* linalg() { return nullptr; }
  virtual LossKernels* loss() { return nullptr; }
  virtual NormKernels* norm() { return nullptr; }
  virtual OptimKernels* optim() { return nullptr; }
  virtual PoolKernels* pool() { return nullptr; }
  virtual RecurrentKernels* recurrent() { return nullptr; }
  virtual SegmentKernels* segment() { return nullptr; }

  const std::string& name() const { return name_; }
  uint8_t kind() const { return kind_; }

 private:
  friend void register_backend(const std::string& name, Backend* backend);
  std::string name_;
  uint8_t kind_ = 0;
};

// Makes `backend` the device named `name`; it lives for ever.
void register_backend(const std::string& name, Backend* backend);
inline Backend* backends[256] = {};
// Raises what says why nothing can be done on this device, and what to do.
[[noreturn]] void refuse_device(Device device);
inline Backend& backend_of(Device device) {
  Backend* b = backends[device.kind];
  if (__builtin_expect(!b, 0)) refuse_device(device);
  if (device.index >= 0) b->select(device.index);
  return *b;
}
// The device with its index: that of the current device if it has none.
Device with_index(Device device);
inline Backend& backend_of(const Tensor& t) { return backend_of(t.device()); }

}  // namespace ember
