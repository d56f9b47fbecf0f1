// How a row of the pointwise table runs: promote, broadcast, call the primitive, put the gradient
// on the tape.
#include "ops/pointwise.h"

#include <array>

#include "ops/create.h"

namespace ember::pointwise {

Dtype row_dtype(const char* op, Types types, Dtype d) {
  static constexpr auto kNeeds = [] {
    std::array<Types, kDtypes> needs{};
    for (int i = 0; i < kDtypes; i++) {
      const Dtype d = Dtype(i);
      needs[size_t(i)] = d == Dtype::Bool        ? kHasBool
                         : is_wide_unsigned(d)   ? kHasWideUnsigned
                         : is_integral(d)        ? kHasInt
                         : d == Dtype::Complex32 ? kHasComplex32
                         : is_complex(d)         ? kHasComplex
                         : is_float8(d)          ? kHasFloat8
                         : is_reduced(d)         ? kHasHalf
                                                 : kHasFloat;
    }
    return needs;
  }();
  if (types & kNeeds[size_t(d)]) return d;
  if ((types & kPromotes) && is_integral(d, true)) return default_dtype();
  refuse_stored_only(op, d);
  fail(Kind::NotImplemented, op, "(): not implemented for dtype ", d);
}

Scalar rounded(const Scalar& s, Dtype dtype) {
  alignas(16) char element[16];
  s.store(dtype, element);
  return Scalar::load(dtype, element);
}

static const Tensor* first_of(std::initializer_list<const Operand*> operands) {
  for (const Operand* o : operands)
    if (o->is_tensor()) return &o->tensor();
  return nullptr;
}

// The strides of a result where operands that repeat (stride 0), or that are smaller than it, leave
// the order of some axes to the operands after them.
static Shape merged_strides(const Shape& shape, std::initializer_list<const Operand*> operands) {
  const int n = shape.size();
  int order[kMaxDims];  // innermost first
  for (int i = 0; i < n; i++) order[i] = n - 1 - i;
  auto outside = [&](int a, int b) {  // does axis a lie outside b? 0: nobody says
    for (const Operand* o : operands) {
      if (!o->is_tensor()) continue;
      const Tensor& t = o->tensor();
      const int lead = n - t.dim();
      auto step = [&](int axis) {
        const bool repeats = axis < lead || (t.shape()[axis - lead] == 1 && shape[axis] != 1);
        return repeats ? 0 : t.strides()[axis - lead];
      };
      const int64_t of_a = step(a), of_b = step(b);
      if (of_a == 0 || of_b == 0) continue;
      if (of_a != of_b) return of_a > of_b ? 1 : -1;
      if (shape[a] > shape[b]) return 1;
    }
    return 0;
  };
  for (int i = 1; i < n; i++) {  // insertion: `outside` is no strict order
    int at = i;
    for (int j = i - 1; j >= 0; j--) {
      const int side = outside(order[j], order[at]);
      if (side < 0) break;
      if (side > 0) std::swap(order[j], order[at]), at = j;
    }
  }
  Shape strides = Shape::filled(n, 1);
  int64_t step = 1;
  for (int k = 0; k < n; k++) {
    strides[order[k]] = step;
    step *= std::max<int64_t>(shape[order[k]], 1);
  }
  return strides;
}

Meeting meet(const char* op, std::initializer_list<const Operand*> operands) {
  Meeting m;
  bool first = true, have_device = false;
  bool strided = false;
  bool host_scalar = true;  // every tensor so far is a 0-d one on the host
  for (const Operand* o : operands) {
    if (!o->is_tensor()) continue;
    const Tensor& t = o->tensor();
    if (first)
      m.shape = t.shape();
    else if (!(m.shape == t.shape()))
      m.shape = broadcast_shapes(op, m.shape, t.shape());
    first = false;
    if (!have_device || (host_scalar && !on_host(t))) {
      m.device = t.device();
    } else if (t.device().kind != m.device.kind) {
      check(is_host_number(t), Kind::Runtime, op,
            "(): Expected all tensors to be on the same device, but found at least two devices, ",
            m.device, " and ", t.device(), "!");
    }
    host_scalar = host_scalar && is_host_number(t);
    have_device = true;
    strided = strided || !t.is_contiguous();
  }
  for (const Operand* o : operands)
    if (o->is_tensor() && o->tensor().shape() == m.shape) {
      m.like = &o->tensor();
      break;
    }
  if (strided &&
      !(m.like && m.like == first_of(operands) && is_dense(m.shape, m.like->strides()))) {
    numel_of(m.shape);  // refuses what is too large
    m.strides = merged_strides(m.shape, operands);
    m.like = nullptr;
  }
  return m;
}

Tensor result_tensor(const char* op, Dest dest, const Meeting& m, Dtype dtype) {
  if (!dest.tensor && m.strides.size()) return empty_strided(m.shape, m.strides, dtype, m.device);
  if (!dest.tensor && m.like && !m.like->is_contiguous())
    return empty_strided(m.shape, preserved_strides(m.shape, m.like->strides()), dtype, m.device);
  return output_for(op, dest, m.shape, dtype, m.device);
}

namespace {

// An operand as kernels should see it. A tensor without dimensions on the host becomes a number
// where tensors of another device meet it; and where it is of a wider integer type than the result,
// for kernels may compute in wider integers than that, and must not see more of it than the
// result's type holds. For the same reason, where the result is of float16 or bfloat16, what is of
// another type `rounds` to it, but for a few (Note [Exact operands]).
class Local {
 public:
  Local(const Operand& o, Device device, Dtype compute, bool rounds) : operand(o) {
    if (o.is_tensor() && is_host_number(o.tensor())) {
      const Dtype own = o.tensor().dtype();
      const bool wider =
          is_integral(compute) && is_integral(own) &&
          (item_size(own) > item_size(compute) ||
           (item_size(own) == item_size(compute) && is_signed(own) < is_signed(compute)));
      if (wider || device.kind != o.tensor().device().kind)
        operand = Operand(keeps_values(device) ? item(o.tensor()) : Scalar(0));
    }
    if (__builtin_expect(rounds, 0)) round_to(compute);
  }
  Local(const Local&) = delete;
  Operand operand;

 private:
  void round_to(Dtype compute) {
    if (!operand.is_tensor()) {
      operand = Operand(rounded(operand.scalar(), compute));
    } else if (operand.tensor().dtype() > Dtype::Int8 && operand.tensor().dtype() != compute) {
      NoGrad guard;  // rules see the operand that was given
      rounded_ = to(operand.tensor(), compute);
      operand = Operand(rounded_);
    }
  }

  Tensor rounded_;
};

// Note [Exact operands]: as in PyTorch, x * 0.1 and x / 0.1 take the float32 nearest to 0.1 even
// where x is float16 or bfloat16; x + 0.1 and all others take the number that x's type has for it.
// A tensor of one element is such a number too. An integer exponent need not fit the type at all.
bool is_exact(Binary f, const Operand& b) {
  const Types facts = types_of(f);
  return (facts & kExact) || ((facts & kExactNumber) && is_single(b));
}

Saved saved(const Operand& o, Dtype dtype, Device device) {
  return o.is_tensor() ? Saved(o.tensor())
                       : Saved::constant(scalar_tensor(o.scalar(), dtype, device));
}

[[noreturn]] void no_derivative(const char* name) {
  fail(Kind::NotImplemented, "derivative for ", name, " is not implemented");
}

// The conjugate and the sign of a complex number have gradients but no complex derivative, which is
// all that a row could hold.
bool is_not_holomorphic(Unary f, Dtype d) {
  return f == Unary::conj_physical || (f == Unary::sgn && is_complex(d));
}
Tensor not_holomorphic_grad(Unary f, const Tensor& g, const Tensor& x) {
  if (f == Unary::conj_physical) return conj(g);
  Tensor y = sgn(x);
  return where(x == Scalar(0), Scalar(0), (g - y * y * conj(g)) / (abs(x) * Scalar(2)));
}

}  // namespace

Tensor unary(const UnaryRow& row, const Tensor& self, const Params& params, Dest dest) {
  Dtype dtype = row_dtype(row.name, types_of(row.f), self.dtype());
  bool to_real = (types_of(row.f) & kToReal) && is_complex(dtype);
  check(!(to_real && dest.in_place), Kind::Runtime, "In-place ", row.name,
        " is not supported for complex tensors.");
  bool record = grad_needed(self);
  Operand x(self);
  Meeting m{self.shape(), self.device(), &self};
  const bool wirtinger = is_not_holomorphic(row.f, dtype);
  Tensor before =
      record && dest.in_place && (row.keep == Keep::x || wirtinger) ? clone(self) : self;
  Tensor out = result_tensor(row.name, dest, m, to_real ? real_of(dtype) : dtype);
  Backend& backend = backend_of(out);
  backend.unary(row.f, dtype, out, Broadcast(x, out.shape()).input, params);
  if (dest.tensor) bump_version(out);
  if (!record) return out;
  if (__builtin_expect(wirtinger, 0)) {
    auto rule = [f = row.f, x = Saved(before)](const Tensor& g) {
      return not_holomorphic_grad(f, g, x.get());
    };
    if (!dest.in_place) return tape(out, row.name, wrt(self, rule));
    tape_inplace(self, row.name, wrt(self, rule));
    return out;
  }
  if (row.keep == Keep::none || row.keep == Keep::never) {
    auto rule = [row = &row, params](const Tensor& g) {
      if (row->keep == Keep::never) no_derivative(row->name);
      return row->rule(g, g, params);
    };
    if (!dest.in_place) return tape(out, row.name, wrt(self, rule));
    tape_inplace(self, row.name, wrt(self, rule));
    return out;
  }
  auto rule = [row = &row, params,
               kept = row.keep == Keep::x ? Saved(before) : Saved::output(out)](const Tensor& g) {
    Tensor k = kept.get();
    // Inputs that were promoted (integers cannot require a gradient) never get here, so g and k
    // agree.
    Backend& backend = backend_of(g);
    if (grad_enabled() || !backend.has(Primitive::unary_grad)) return row->rule(g, k, params);
    Dtype dtype = k.dtype() == g.dtype() ? k.dtype() : promote(k.dtype(), g.dtype());
    Operand go(g), ko(k);
    Tensor dx = result_tensor(row->name, {}, meet(row->name, {&go, &ko}), dtype);
    backend.unary_grad(row->f, dtype, dx, Broadcast(go, dx.shape()).input,
                       Broadcast(ko, dx.shape()).input, params);
    return dx;
  };
  if (!dest.in_place) return tape(out, row.name, wrt(self, std::move(rule)));
  tape_inplace(self, row.name, wrt(self, std::move(rule)));
  return out;
}

Tensor predicate(Predicate f, const Tensor& self, Dest dest) {
  Dtype dtype = row_dtype(name_of(f), types_of(f), self.dtype());
  Operand x(self);
  Tensor out = result_tensor(name_of(f), dest, {self.shape(), self.device(), &self}, Dtype::Bool);
  backend_of(out).predicate(f, dtype, out, Broadcast(x, out.shape()).input);
  if (dest.tensor) bump_version(out);
  return out;
}

Tensor compare(Compare f, const Operand& a, const Operand& b, const Params& params, Dest dest) {
  const char* name = name_of(f);
  Dtype dtype = row_dtype(name, types_of(f), result_type(a, b));
  Meeting m = meet(name, {&a, &b});
  const bool half = is_narrow(dtype);
  const Local x(a, m.device, dtype, half), y(b, m.device, dtype, half);
  Tensor out = result_tensor(name, dest, m, Dtype::Bool);
  Broadcast p(x.operand, out.shape()), q(y.operand, out.shape());
  backend_of(out).compare(f, dtype, out, p.input, q.input, params);
  if (dest.tensor) bump_version(out);
  return out;
}

namespace {

// x ** 2 and the like, which have cheaper functions; undefined if there is none.
Tensor simple_power(const Operand& a, const Operand& b, Dest dest) {
  if (a.is_tensor() && !b.is_tensor() && !b.scalar().is_complex()) {
    const Tensor& x = a.tensor();
    const double e = b.scalar().real();
    check(!(is_integral(x.dtype(), true) && b.scalar().is_int() && e < 0), Kind::Runtime,
          "Integers to negative integer powers are not allowed.");
    if (is_integral(x.dtype()) && b.scalar().is_int()) create::check_fits(b.scalar(), x.dtype());
    if (x.dtype() == Dtype::Bool && b.scalar().is_bool()) {  // no kernel computes in bool
      Tensor y = e == 0 ? ones_like(x) : clone(x);
      if (dest.tensor) copy_to_out("pow", *dest.tensor, y);
      return dest.tensor ? *dest.tensor : y;
    }
    if (result_type(a, b) != x.dtype() || x.dtype() == Dtype::Bool) return {};
    if (e == 2) return square(x, dest);
    if (!is_differentiable(x.dtype())) return {};
    if (e == 0.5) return sqrt(x, dest);
    if (e == -0.5) return rsqrt(x, dest);
    if (e == -1) return reciprocal(x, dest);
    return pow_scalar(x, Params{is_reduced(x.dtype()) ? rounded(e, x.dtype()).real() : e}, dest);
  }
  if (b.is_tensor() && !a.is_tensor() && a.scalar().equal(2) &&
      is_differentiable(b.tensor().dtype()) && result_type(a, b) == b.tensor().dtype())
    return exp2(b.tensor(), dest);
  // The derivative by a complex exponent takes the logarithm of the base, which may be negative.
  if (a.is_tensor() && b.is_tensor() && is_complex(b.tensor().dtype()) &&
      !is_complex(a.tensor().dtype()) && !dest.in_place && grad_needed(b.tensor()))
    return pow(to(a.tensor(), b.tensor().dtype()), b, dest);
  return {};
}

}  // namespace

// A bound, or what is chosen, must be a number of the result's type. Sums and products wrap round.
static void check_number(const Operand& o, Dtype dtype, bool halves) {
  if (!o.is_tensor()) create::check_fits(o.scalar(), dtype, halves);
}

static void check_no_mask(const char* op, const Operand& a, const Operand& b) {
  auto is_bool = [](const Operand& o) {
    return o.is_tensor() ? o.tensor().dtype() == Dtype::Bool : o.scalar().is_bool();
  };
  check(!is_bool(a) && !is_bool(b), Kind::Runtime, op,
        "(): Subtraction, the `-` operator, with a bool tensor is not "
        "supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator "
        "instead.");
}

Tensor binary(const BinaryRow& row, const Operand& a, const Operand& b, Dest dest) {
  const Types facts = types_of(row.f);
  if (facts & kNoMask) check_no_mask(row.name, a, b);
  if (facts & kPowers)
    if (Tensor y = simple_power(a, b, dest)) return y;
  if (__builtin_expect(!a.is_tensor() && !b.is_tensor(), 0)) {  // add(1, 2) is a tensor, too
    check((facts & kTakesOnlyNumbers) == kTakesOnlyNumbers, Kind::Type, row.name,
          "(): one of the operands must be a Tensor");
    return binary(row, scalar_tensor(a.scalar(), dtype_of_scalar(a.scalar()), Device()), b, dest);
  }
  Dtype dtype;
  Tensor out;
  bool alike = a.is_tensor() && b.is_tensor() && a.tensor().dtype() == b.tensor().dtype() &&
               a.tensor().shape() == b.tensor().shape() && a.tensor().is_contiguous() &&
               b.tensor().is_contiguous() && a.tensor().device() == b.tensor().device();
  bool record = grad_needed(a, b);
  const bool for_a = record && grad_needed(a), for_b = record && grad_needed(b);
  const bool keep_a = (for_a && row.wrt_a.a) || (for_b && row.wrt_b.a);
  const bool keep_b = (for_a && row.wrt_a.b) || (for_b && row.wrt_b.b);
  const bool keep_y = (for_a && row.wrt_a.y) || (for_b && row.wrt_b.y);
  Tensor ta, tb;  // of operands that an in-place op is about to change
  if (keep_a && a.is_tensor() && dest.in_place) ta = clone(a.tensor());
  if (keep_b && b.is_tensor() && dest.in_place && b.tensor().storage() == dest.tensor->storage())
    tb = clone(b.tensor());
  if (__builtin_expect(alike && !dest.tensor, 1)) {
    dtype = row_dtype(row.name, facts, a.tensor().dtype());
    out = empty(a.tensor().shape(), dtype, a.tensor().device());
    Input x{&a.tensor(), nullptr, {}}, y{&b.tensor(), nullptr, {}};
    backend_of(out).binary(row.f, dtype, out, x, y);
  } else {
    dtype = row_dtype(row.name, facts, result_type(a, b));
    if (facts & kBounds) {
      check_number(a, dtype, true);
      check_number(b, dtype, true);
    }
    Meeting m = meet(row.name, {&a, &b});
    const bool half = is_narrow(dtype);
    const Local x(a, m.device, dtype, half), y(b, m.device, dtype, half && !is_exact(row.f, b));
    out = result_tensor(row.name, dest, m, dtype);
    Broadcast p(x.operand, out.shape()), q(y.operand, out.shape());
    backend_of(out).binary(row.f, dtype, out, p.input, q.input);
    if (dest.tensor) bump_version(out);
  }
  if (!record) return out;
  // What is commonest of all, by a number, keeps the number itself instead of a tensor.
  if (!b.is_tensor() && row.by_number) {
    auto scale = [rule = row.by_number, by = b.scalar()](const Tensor& g) { return rule(g, by); };
    if (!dest.in_place) return tape(out, row.name, wrt(a, scale), wrt(b, scale));
    tape_inplace(out, row.name, wrt(a, scale), wrt(b, scale));
    return out;
  }
  Saved saved_a, saved_b, saved_y;
  if (keep_a) saved_a = ta ? Saved(ta) : saved(a, dtype, out.device());
  if (keep_b) saved_b = tb ? Saved(tb) : saved(b, dtype, out.device());
  if (keep_y) saved_y = Saved::output(out);
  auto rule = [&](const Formula<BinaryRule>& f) {
    return [name = row.name, f = &f, a = f.a ? saved_a : Saved(), b = f.b ? saved_b : Saved(),
            y = f.y ? saved_y : Saved()](const Tensor& g) {
      if (!f->exists) no_derivative(name);
      return f->rule(g, a.get(), b.get(), y.get());
    };
  };
  if (!dest.in_place) return tape(out, row.name, wrt(a, rule(row.wrt_a)), wrt(b, rule(row.wrt_b)));
  tape_inplace(out, row.name, wrt(a, rule(row.wrt_a)), wrt(b, rule(row.wrt_b)));
  return out;
}

Tensor ternary(const TernaryRow& row, const Operand& a, const Operand& b, const Operand& c,
               const Params& p, Dest dest) {
  Promotion promotion;
  bool chooses = types_of(row.f) & kChooses;  // the condition does not take part in promotion
  if (!chooses) promotion.add(a);
  promotion.add(b);
  promotion.add(c);
  Dtype dtype = row_dtype(row.name, types_of(row.f), promotion.result());
  if (chooses) {
    check_number(b, dtype, false);
    check_number(c, dtype, false);
  }
  Meeting m = meet(row.name, {&a, &b, &c});
  const bool half = is_narrow(dtype), exact = (types_of(row.f) & kExactNumber) && !c.is_tensor();
  const Local x(a, m.device, dtype, half), y(b, m.device, dtype, half),
      z(c, m.device, dtype, half && !exact);
  bool record = grad_needed(a, b) || grad_needed(c);
  auto before = [&](const Operand& o) -> Tensor {
    if (!record || !o.is_tensor() || !dest.in_place ||
        !(o.tensor().storage() == dest.tensor->storage()))
      return o.is_tensor() ? o.tensor() : Tensor();
    return clone(o.tensor());
  };
  Tensor ta = before(a), tb = before(b), tc = before(c);
  Tensor out = result_tensor(row.name, dest, m, dtype);
  Broadcast i(x.operand, out.shape()), j(y.operand, out.shape()), k(z.operand, out.shape());
  backend_of(out).ternary(row.f, dtype, out, i.input, j.input, k.input, p);
  if (dest.tensor) bump_version(out);
  if (!record) return out;
  auto rule = [&](const Formula<TernaryRule>& f) {
    auto keep = [&](bool named, const Tensor& t, const Operand& o) {
      return !named ? Saved() : t ? Saved(t) : saved(o, dtype, out.device());
    };
    return [name = row.name, f = &f, a = keep(f.a, ta, a), b = keep(f.b, tb, b),
            c = keep(f.c, tc, c), p](const Tensor& g) {
      if (!f->exists) no_derivative(name);
      return f->rule(g, a.get(), b.get(), c.get(), p);
    };
  };
  if (!dest.in_place)
    return tape(out, row.name, wrt(a, rule(row.wrt_a)), wrt(b, rule(row.wrt_b)),
                wrt(c, rule(row.wrt_c)));
  tape_inplace(out, row.name, wrt(a, rule(row.wrt_a)), wrt(b, rule(row.wrt_b)),
               wrt(c, rule(row.wrt_c)));
  return out;
}

}  // namespace ember::pointwise
