// Matrix products: mm, bmm, matmul, addmm and their kin. All of them end in Backend::matmul.
#include "ops/create.h"
#include "ops/ops.h"

namespace ember {

namespace {

void check_types(const char* op, const Tensor& a, const Tensor& b) {
  check(a.dtype() == b.dtype(), Kind::Runtime, op,
        "(): expected m1 and m2 to have the same dtype, but got: ", a.dtype(), " != ", b.dtype());
  check(a.dtype() != Dtype::Bool && !is_wide_unsigned(a.dtype()), Kind::Runtime, op,
        "(): not implemented for dtype ", a.dtype());
  check(a.device().kind == b.device().kind, Kind::Runtime, op,
        "(): Expected all tensors to be on the same device, but found ", a.device(), " and ",
        b.device());
}

Tensor adjoint_of(const Tensor& t) { return conj(transpose(t, -2, -1)); }

Tensor product(const char* op, const Tensor& a, const Tensor& b, Dest dest = {});

// Into a tensor, at once if it is of the right form.
Tensor product_into(const char* op, const Tensor& out, const Shape& shape, const Tensor& a,
                    const Tensor& b) {
  const bool same_kind = out.dtype() == a.dtype() && out.device() == a.device();
  if (!same_kind || out.shape() != shape || !out.is_contiguous()) {
    copy_to_out(op, out, product(op, a, b));
    return out;
  }
  backend_of(a).matmul(out, a, b, Scalar(1.0), Scalar(0.0));
  bump_version(out);
  return out;
}

// a @ b for matrices, or batches of matrices of equal batch shape.
Tensor product(const char* op, const Tensor& a, const Tensor& b, Dest dest) {
  Shape shape = a.shape();
  shape.back() = b.size(-1);
  if (dest.tensor) return product_into(op, *dest.tensor, shape, a, b);
  Tensor out = empty(shape, a.dtype(), a.device());
  backend_of(a).matmul(out, a, b, Scalar(1.0), Scalar(0.0));
  if (!grad_needed(a, b)) return out;
  return tape(
      out, op,
      wrt(a, [b = Saved(b), op](const Tensor& g) { return product(op, g, adjoint_of(b.get())); }),
      wrt(b, [a = Saved(a), op](const Tensor& g) { return product(op, adjoint_of(a.get()), g); }));
}

}  // namespace

Tensor mm(const Tensor& self, const Tensor& mat2, Dest dest) {
  check(self.dim() == 2, Kind::Runtime, "mm(): self must be a matrix, got ", self.dim(), "-D");
  check(mat2.dim() == 2, Kind::Runtime, "mm(): mat2 must be a matrix, got ", mat2.dim(), "-D");
  check(self.size(1) == mat2.size(0), Kind::Runtime,
        "mm(): mat1 and mat2 shapes cannot be multiplied (", self.size(0), "x", self.size(1),
        " and ", mat2.size(0), "x", mat2.size(1), ")");
  check_types("mm", self, mat2);
  return product("mm", self, mat2, dest);
}
EMBER_OP("mm(Tensor self, Tensor mat2) -> Tensor", &mm, kForms | Out | Whole | Lower,
         "Product of two matrices.");

Tensor bmm(const Tensor& self, const Tensor& mat2, Dest dest) {
  check(self.dim() == 3 && mat2.dim() == 3, Kind::Runtime,
        "bmm(): batch1 and batch2 must be 3D tensors, got ", self.dim(), "-D and ", mat2.dim(),
        "-D");
  check(self.size(0) == mat2.size(0) && self.size(2) == mat2.size(1), Kind::Runtime,
        "bmm(): Expected size for first two dimensions of batch2 tensor to be: [", self.size(0),
        ", ", self.size(2), "] but got: [", mat2.size(0), ", ", mat2.size(1), "].");
  check_types("bmm", self, mat2);
  return product("bmm", self, mat2, dest);
}
EMBER_OP("bmm(Tensor self, Tensor mat2) -> Tensor", &bmm, kForms | Out | Whole | Lower,
         "Products of two batches of matrices.");

Tensor mv(const Tensor& self, const Tensor& vec) {
  check(self.dim() == 2 && vec.dim() == 1, Kind::Runtime,
        "mv(): vector + matrix @ vector expected, got ", self.dim(), "-D and ", vec.dim(), "-D");
  check(self.size(1) == vec.size(0), Kind::Runtime, "mv(): size mismatch, got input (",
        self.size(0), "), mat (", self.size(0), "x", self.size(1), "), vec (", vec.size(0), ")");
  check_types("mv", self, vec);
  return squeeze(product("mv", self, unsqueeze(vec, 1)), Dims(1));
}
EMBER_OP("mv(Tensor self, Tensor vec) -> Tensor", &mv, kForms | Out | Whole,
         "Product of a matrix and a vector.");

namespace {

Tensor dot_value(const Tensor& self, const Tensor& tensor) {
  check(self.dim() == 1 && tensor.dim() == 1, Kind::Runtime, "dot(): 1D tensors expected, but got ",
        self.dim(), "D and ", tensor.dim(), "D tensors");
  check(self.dtype() == tensor.dtype(), Kind::Runtime,
        "dot : expected both vectors to have same dtype, but found ", self.dtype(), " and ",
        tensor.dtype());
  check(self.size(0) == tensor.size(0), Kind::Runtime,
        "dot(): inconsistent tensor size, expected tensor [", self.size(0), "] and src [",
        tensor.size(0), "] to have the same number of elements");
  check_types("dot", self, tensor);
  Tensor out = empty({1, 1}, self.dtype(), self.device());
  NoGrad guard;
  backend_of(self).matmul(out, unsqueeze(self, 0), unsqueeze(tensor, 1), Scalar(1.0), Scalar(0.0));
  return alias(out, {}, {}, 0);
}

}  // namespace

Tensor dot(const Tensor& self, const Tensor& tensor) {
  Tensor out = dot_value(self, tensor);
  if (!grad_needed(self, tensor)) return out;
  return tape(out, "dot",
              wrt(self, [t = Saved(tensor)](const Tensor& g) { return g * conj(t.get()); }),
              wrt(tensor, [s = Saved(self)](const Tensor& g) { return g * conj(s.get()); }));
}
EMBER_OP("dot(Tensor self, Tensor tensor) -> Tensor", &dot, kForms | Out | Whole,
         "Dot product of two vectors.");
EMBER_OP("vdot(Tensor self, Tensor other) -> Tensor",
         ([](const Tensor& self, const Tensor& other) { return dot(conj(self), other); }),
         kForms | Out | Whole, "Dot product of the conjugate of a vector with another.");

Tensor matmul(const Tensor& self, const Tensor& other) {
  int p = self.dim(), q = other.dim();
  check(p > 0 && q > 0, Kind::Runtime,
        "matmul(): both arguments to matmul need to be at least 1D, but they are ", p, "D and ", q,
        "D");
  if (p == 2 && q == 2) return mm(self, other);
  if (p == 1 && q == 1) return dot(self, other);
  if (p == 2 && q == 1) return mv(self, other);
  if (p == 1) return squeeze(matmul(unsqueeze(self, 0), other), Dims(-2));
  if (q == 1) return squeeze(matmul(self, unsqueeze(other, 1)), Dims(-1));
  check(self.size(-1) == other.size(-2), Kind::Runtime, "matmul(): shapes ", self.shape(), " and ",
        other.shape(), " cannot be multiplied: ", self.size(-1), " columns and ", other.size(-2),
        " rows");
  check_types("matmul", self, other);
  if (q == 2 &&
      self.numel()) {  // the batch joins the rows: one large product instead of many small ones
    Shape shape = self.shape();
    shape.back() = other.size(1);
    return reshape(mm(reshape(self, {-1, self.size(-1)}), other), shape);
  }
  auto batch_of = [](const Tensor& t) { return Shape(t.shape().data(), t.dim() - 2); };
  Shape batch = broadcast_shapes("matmul", batch_of(self), batch_of(other));
  auto spread = [&](const Tensor& t) {
    Shape shape = batch;
    shape.push_back(t.size(-2));
    shape.push_back(t.size(-1));
    return shape == t.shape() ? t : expand(t, shape);
  };
  return product("matmul", spread(self), spread(other));
}
EMBER_OP("matmul(Tensor self, Tensor other) -> Tensor", &matmul, kForms | Out | Leading | Lower,
         "Matrix product of two tensors: vectors, matrices or batches, broadcast together.");

// --- products added to something: beta * input + alpha * (a @ b) ---------------------------------

namespace {

Scalar conj_of(const Scalar& s) {
  return s.is_complex() ? Scalar(std::conj(s.to<complex128>())) : s;
}

Tensor scaled(const Tensor& t, const Scalar& by) { return by.equal(1) ? t : t * by; }

bool is_whole(const Scalar& s) { return !s.is_float() && !s.is_complex(); }
// As a factor of integers, a number loses what is behind the point.
Scalar whole_part(const char* op, const Scalar& s) {
  check(!s.is_complex(), Kind::Runtime, op, "(): ", s, " is no factor for integers");
  return Scalar(s.to<int64_t>());
}

// A vector as a matrix of one column.
Tensor column(const Tensor& t) { return t.dim() == 1 ? unsqueeze(t, 1) : t; }

// May beta * input + alpha * (a @ b) be made in the memory of dest?
bool can_hold_sum(const Dest& dest, const Shape& shape, const Tensor& input, const Tensor& a) {
  const Tensor& out = *dest.tensor;
  if (out.dtype() != a.dtype() || out.device() != a.device()) return false;
  return out.impl() != input.impl() || dest.in_place || out.shape() == shape;
}

// beta * input + alpha * (a @ b) where a is a matrix and b a matrix or a vector, or both are
// batches of matrices; `input` broadcasts to the shape of the product.
Tensor add_product(const char* op, const Tensor& input, const Tensor& a, const Tensor& b,
                   const Scalar& beta, const Scalar& alpha, Dest dest) {
  check_types(op, a, b);
  check(a.dim() < 3 || input.dtype() == a.dtype(), Kind::Runtime, op,
        "(): Input dtypes must be the same, got: input ", input.dtype(), ", batch1: ", a.dtype(),
        ", batch2: ", b.dtype());
  check(input.dtype() == a.dtype(), Kind::Runtime, op,
        "(): self and mat2 must have the same dtype, but got ", input.dtype(), " and ", a.dtype());
  if (is_integral(a.dtype()) && (!is_whole(beta) || !is_whole(alpha)))
    return add_product(op, input, a, b, whole_part(op, beta), whole_part(op, alpha), dest);
  create::check_fits(beta, a.dtype());
  create::check_fits(alpha, a.dtype());
  Shape shape = a.shape();
  b.dim() < a.dim() ? shape.pop_back() : void(shape.back() = b.size(-1));
  if (dest.tensor && !can_hold_sum(dest, shape, input, a)) {
    Tensor sum = add_product(op, input, a, b, beta, alpha, {});
    (dest.in_place ? assign_in_place : copy_to_out)(op, *dest.tensor, sum);
    return *dest.tensor;
  }
  Tensor out;
  {
    NoGrad guard;
    Tensor spread = expand(input, shape);  // checks the shape
    out = output_for(op, dest, shape, a.dtype(), a.device());
    const bool use_input = !beta.equal(0);  // beta = 0 ignores `input`, even where it is NaN
    if (use_input && out.impl() != input.impl()) backend_of(out).copy(out, spread);
    backend_of(out).matmul(column(out), a, column(b), alpha, use_input ? beta : Scalar(0.0));
  }
  if (dest.tensor) bump_version(out);
  if (!grad_needed(input, a, b)) return out;
  auto for_input = [beta](const Tensor& g) { return scaled(g, conj_of(beta)); };
  auto for_a = [b = Saved(b), alpha](const Tensor& g) {
    return scaled(matmul(column(g), adjoint_of(column(b.get()))), conj_of(alpha));
  };
  auto for_b = [a = Saved(a), alpha](const Tensor& g) {
    return scaled(matmul(adjoint_of(a.get()), g), conj_of(alpha));
  };
  if (!dest.in_place)
    return tape(out, op, wrt(input, std::move(for_input)), wrt(a, std::move(for_a)),
                wrt(b, std::move(for_b)));
  tape_inplace(out, op, wrt(input, std::move(for_input)), wrt(a, std::move(for_a)),
               wrt(b, std::move(for_b)));
  return out;
}

}  // namespace

static Tensor addmm_into(const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                         const Scalar& beta, const Scalar& alpha, Dest dest) {
  check(mat1.dim() == 2 && mat2.dim() == 2, Kind::Runtime,
        "addmm(): mat1 and mat2 must be matrices, got ", mat1.dim(), "-D and ", mat2.dim(), "-D");
  check(mat1.size(1) == mat2.size(0), Kind::Runtime,
        "addmm(): mat1 and mat2 shapes cannot be multiplied (", mat1.size(0), "x", mat1.size(1),
        " and ", mat2.size(0), "x", mat2.size(1), ")");
  return add_product("addmm", self, mat1, mat2, beta, alpha, dest);
}
Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha) {
  return addmm_into(self, mat1, mat2, beta, alpha, {});
}
EMBER_OP("addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
         &addmm_into, kAllForms | Whole | Lower, "beta * self + alpha * (mat1 @ mat2).");

EMBER_OP(
    "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> "
    "Tensor",
    ([](const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
        const Scalar& alpha, Dest dest) {
      check(a.dim() == 3 && b.dim() == 3, Kind::Runtime,
            "baddbmm(): batch1 and batch2 must be 3D tensors, got ", a.dim(), "-D and ", b.dim(),
            "-D");
      check(a.size(0) == b.size(0) && a.size(2) == b.size(1), Kind::Runtime,
            "baddbmm(): Expected size for first two dimensions of batch2 tensor to be: [",
            a.size(0), ", ", a.size(2), "] but got: [", b.size(0), ", ", b.size(1), "].");
      return add_product("baddbmm", self, a, b, beta, alpha, dest);
    }),
    kAllForms | Whole | Lower, "beta * self + alpha * (batch1 @ batch2), batch by batch.");

EMBER_OP(
    "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    ([](const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
        const Scalar& alpha, Dest dest) {
      check(a.dim() == 3 && b.dim() == 3, Kind::Runtime,
            "addbmm(): batch1 and batch2 must be 3D tensors, got ", a.dim(), "-D and ", b.dim(),
            "-D");
      check(a.size(0) == b.size(0) && a.size(2) == b.size(1), Kind::Runtime,
            "addbmm(): Expected size for first two dimensions of batch2 tensor to be: [", a.size(0),
            ", ", a.size(2), "] but got: [", b.size(0), ", ", b.size(1), "].");
      // The sum over batches is one product: (M, B * K) @ (B * K, N).
      Tensor left = reshape(transpose(a, 0, 1), {a.size(1), a.size(0) * a.size(2)});
      Tensor right = reshape(b, {b.size(0) * b.size(1), b.size(2)});
      return add_product("addbmm", self, left, right, beta, alpha, dest);
    }),
    kAllForms | Whole | Lower, "beta * self + alpha * the sum of batch1 @ batch2 over the batch.");

EMBER_OP("addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
         ([](const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
             const Scalar& alpha, Dest dest) {
           check(mat.dim() == 2 && vec.dim() == 1, Kind::Runtime,
                 "addmv(): vector + matrix @ vector expected, got ", self.dim(), ", ", mat.dim(),
                 ", ", vec.dim());
           check(mat.size(1) == vec.size(0), Kind::Runtime, "addmv(): size mismatch, got mat (",
                 mat.size(0), "x", mat.size(1), "), vec (", vec.size(0), ")");
           return add_product("addmv", self, mat, vec, beta, alpha, dest);
         }),
         kAllForms | FunctionInPlace | Whole, "beta * self + alpha * (mat @ vec).");

EMBER_OP("addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
         ([](const Tensor& self, const Tensor& u, const Tensor& v, const Scalar& beta,
             const Scalar& alpha) {
           check(u.dim() == 1 && v.dim() == 1, Kind::Runtime,
                 "addr(): Expected 1-D argument vec1 and vec2, but got ", u.dim(), "-D and ",
                 v.dim(), "-D");
           const Dtype dtype = promote(self.dtype(), promote(u.dtype(), v.dtype()));
           const bool whole = is_integral(dtype, true);
           for (auto [name, factor] : {std::pair("beta", &beta), std::pair("alpha", &alpha)}) {
             check(!whole || !factor->is_float(), Kind::Runtime,
                   "addr(): For integral input tensors, argument ", name,
                   " must not be a floating point number.");
             check(dtype == Dtype::Bool || !factor->is_bool(), Kind::Runtime, "addr(): Boolean ",
                   name, " only supported for Boolean results.");
             check(is_complex(dtype) || !factor->is_complex(), Kind::Runtime,
                   "addr(): For non-complex input tensors, argument ", name,
                   " must not be a complex number.");
             create::check_fits(*factor, dtype, true);
           }
           if (self.dtype() == Dtype::Bool && u.dtype() == Dtype::Bool &&
               v.dtype() == Dtype::Bool) {
             Tensor both = bitwise_and(unsqueeze(u, 1), v);
             Tensor none = zeros({}, Dtype::Bool, self.device());
             return bitwise_or(beta.equal(0) ? none : self, alpha.equal(0) ? both & none : both);
           }
           Tensor outer = scaled(unsqueeze(u, 1) * v, alpha);
           expand(self, outer.shape());
           if (beta.equal(0)) return to(outer, promote(self.dtype(), outer.dtype()));
           return scaled(self, beta) + outer;
         }),
         kAllForms | Aligned | Whole, "beta * self + alpha * the outer product of vec1 and vec2.");

Tensor outer(const Tensor& self, const Tensor& vec2) {
  check(self.dim() == 1 && vec2.dim() == 1, Kind::Runtime,
        "outer(): Expected 1-D arguments, but got ", self.dim(), "-D and ", vec2.dim(), "-D");
  return unsqueeze(self, 1) * vec2;
}
EMBER_OP("outer(Tensor self, Tensor vec2) -> Tensor", &outer, kForms | Out | Apart | Whole,
         "Outer product of two vectors.");
EMBER_OP("ger(Tensor self, Tensor vec2) -> Tensor", &outer, kForms | Out | Apart | Whole,
         "Outer product of two vectors.");

EMBER_OP("inner(Tensor self, Tensor other) -> Tensor",
         ([](const Tensor& self, const Tensor& other) {
           if (self.dim() == 0 || other.dim() == 0) return self * other;
           check(self.size(-1) == other.size(-1), Kind::Runtime,
                 "inner() the last dimension must match on both input tensors but got shapes ",
                 self.shape(), " and ", other.shape());
           Shape shape(self.shape().data(), self.dim() - 1);
           for (int i = 0; i + 1 < other.dim(); i++) shape.push_back(other.shape()[i]);
           auto rows = [](const Tensor& t) {
             int64_t n = 1;
             for (int i = 0; i + 1 < t.dim(); i++) n *= t.shape()[i];
             return reshape(t, {n, t.size(-1)});
           };
           return reshape(mm(rows(self), transpose(rows(other), 0, 1)), shape);
         }),
         kForms | Out | Whole | Lower, "Sum of products over the last dimension of both tensors.");

// input @ weight.T + bias, the one product that every network makes: a node of its own.
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  check(weight.dim() == 2 || weight.dim() == 1, Kind::Runtime,
        "linear(): weight must be a matrix or a vector, got ", weight.dim(), "-D");
  if (weight.dim() == 1 || input.dim() == 0) {
    Tensor y = matmul(input, weight);
    return bias ? y + bias : y;
  }
  int64_t in = weight.size(1), out = weight.size(0);
  check(input.size(-1) == in, Kind::Runtime,
        "linear(): mat1 and mat2 shapes cannot be multiplied (", input.shape(),
        " and the transpose of ", weight.shape(), "): ", input.size(-1), " features in, ", in,
        " expected");
  check_types("linear", input, weight);
  bool flat = input.dim() == 2;
  int64_t rows = 1;
  for (int i = 0; i + 1 < input.dim(); i++) rows *= input.shape()[i];
  Tensor x = flat ? input : reshape(input, {rows, in});
  Shape shape = input.shape();
  shape.back() = out;
  Tensor y = empty({x.size(0), out}, x.dtype(), x.device());
  {
    NoGrad guard;
    Tensor wt = alias(weight, {in, out}, {weight.stride(1), weight.stride(0)}, weight.offset());
    if (bias) {
      check(bias.dtype() == x.dtype(), Kind::Runtime,
            "linear(): bias must have the dtype of input, ", x.dtype(), ", but has ", bias.dtype());
      backend_of(y).copy(y, expand(bias, y.shape()));
    }
    backend_of(y).matmul(y, detach(x), wt, Scalar(1.0), Scalar(bias ? 1.0 : 0.0));
  }
  if (grad_needed(x, weight, bias)) {
    Tensor no_bias;
    y = tape(y, "linear",
             wrt(x, [w = Saved(weight)](const Tensor& g) { return mm(g, conj(w.get())); }),
             wrt(weight,
                 [x = Saved(x)](const Tensor& g) { return mm(transpose(g, 0, 1), conj(x.get())); }),
             wrt(bias ? bias : no_bias, [](const Tensor& g) { return g; }));
  }
  return flat ? y : reshape(y, shape);
}
EMBER_OP("nn.functional.linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", &linear,
         Function | Out | Entries | Lower, "input @ weight.T + bias.");

}  // namespace ember
