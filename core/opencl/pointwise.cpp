// Pointwise primitives: a program per row, dtypes and layout, written from the row's formula.
#include <algorithm>

#include "opencl/complex.h"
#include "opencl/device.h"
#include "opencl/launch.h"
#include "opencl/opencl_backend.h"
#include "opencl/sources.h"
#include "opencl/text.h"

namespace ember::opencl {

namespace {

// The form of the kernel (see kernels/pointwise.cl) for where the operands lie.
struct Layout {
  enum Form { Flat, Rows, Any } form = Any;
  Geometry g;
  int operands, items = 1;
  int64_t group = 256, groups, part = 0, per = 1;

  Layout(const Geometry& geometry, int operands) : g(geometry), operands(operands) {
    const Properties& device = context().properties;
    while (size_t(group) > device.group_size) group /= 2;
    if (Walk::is_flat(g, operands)) {
      form = Flat;
      if (device.staged && g.n >= (1 << 16)) items = 4;  // enough groups all the same
      groups = (g.n + group * items - 1) / (group * items);
      return;
    }
    // The order of dimensions is free: where neighbours are few, and nothing depends on them being
    // read together, the longest one makes rows.
    int longest = 0;
    for (int d = 1; d < g.ndim; d++)
      if (g.size[d] > g.size[longest]) longest = d;
    if (!device.staged && g.size[0] < 32 && longest) {
      std::swap(g.size[0], g.size[longest]);
      for (auto& stride : g.stride) std::swap(stride[0], stride[longest]);
    }
    if (g.size[0] >= 32) {
      form = Rows;
      const int64_t rows = g.n / g.size[0];
      if (g.size[0] < 256 && group > 64) group = 64;
      part = 4 * group;
      if (!device.staged) {  // an item goes along the row by itself, in vectors
        group = 1;
        part = 8192;
        const int64_t share = g.n / (8 * std::max<int64_t>(device.compute_units, 1));
        per = std::clamp(std::min<int64_t>(part, share) / g.size[0], int64_t(1), rows);
      }
      groups = (g.size[0] + part - 1) / part * ((rows + per - 1) / per);
      return;
    }
    groups = (g.n + group - 1) / group;
  }
  bool narrow() const { return g.n < (int64_t(1) << 31); }
  bool one_for_row(int k) const { return form == Rows && g.stride[k][0] == 0; }
  // The steps along a row: none, from neighbour to neighbour, or others.
  char step(int k) const {
    const int64_t s = k < operands ? g.stride[k][0] : 0;
    return s == 0 ? '0' : s == 1 ? '1' : 's';
  }
  std::string id() const {
    if (form == Flat) return "c" + std::to_string(items);
    std::string text = (narrow() ? "w" : "W") + std::to_string(g.ndim <= 4 ? g.ndim : 0);
    for (int k = 0; form == Rows && k < kOperands; k++) text += step(k);
    return text;
  }
  std::string text() const {
    if (form == Flat) return "#define FLAT 1\n#define ITEMS " + std::to_string(items) + "\n";
    std::string text = std::string("#define INDEX ") + (narrow() ? "u32\n" : "i64\n");
    if (g.ndim <= 4) text += "#define NDIM " + std::to_string(g.ndim) + "\n";
    if (form != Rows) return text;
    text += "#define ROWS 1\n";
    for (int k = 0; k < kOperands; k++) {
      const std::string n = std::to_string(k);
      text += "#define STEP" + n + "(j) " +
              (step(k) == '0'   ? "0"
               : step(k) == '1' ? "(j)"
                                : "((j) * step" + n + ")") +
              "\n";
    }
    return text;
  }
};

struct Row {
  const char* kind;
  const char* name;
  std::string formula;
  const char* names[3];  // of the operands
  bool is_bool = false;  // the value is a truth
};

void run(const Row& row, Dtype compute, const Tensor& out, std::initializer_list<const Input*> ins,
         const Params* params) {
  if (out.numel() == 0) return;
  check_holds(row.name, compute);
  check_holds(row.name, out.dtype());
  const Dtype d = compute_of(compute);
  Walk walk(out.shape());
  walk.add(out);
  std::string key = std::string(row.kind) + row.name + ':' + std::to_string(int(d)) + '>' +
                    std::to_string(int(out.dtype()));
  int tensors = 1;
  for (const Input* in : ins) {
    if (!in->tensor) {
      key += ",s";
      continue;
    }
    check_holds(row.name, in->tensor->dtype());
    check(in->tensor->device().kind == out.device().kind, Kind::Runtime,
          "Expected all tensors to be on the same device, but found at least two devices, ",
          out.device(), " and ", in->tensor->device(), "!");
    walk.add(in->strides ? *in->strides : in->tensor->strides(), in->tensor->offset());
    key += ',' + std::to_string(int(in->tensor->dtype()));
    tensors++;
  }
  const Layout layout(walk.geometry(), tensors);
  const Geometry& g = layout.g;
  key += layout.id();
  key += params ? 'p' : '-';
  auto source = [&] {
    std::string text = functions_for(compute, row.formula);
    std::string buffers = std::string("GLOBAL ") + memory_type(out.dtype()) + "* b0,", scalars,
                read, read_row;
    int k = 1, i = 0;
    for (const Input* in : ins) {
      const std::string name = row.names[i++];
      if (in->tensor) {
        const Dtype from = in->tensor->dtype();
        const std::string n = std::to_string(k++);
        buffers += std::string(" GLOBAL const ") + memory_type(from) + "* b" + n + ",";
        std::string value = std::string(load_macro(from)) + "(b" + n + ", at" + n + ")";
        value = d == Dtype::Bool && !is_complex(from) ? "(" + value + ") != 0"
                                                      : stored(compute_of(from), d, value);
        (layout.one_for_row(k - 1) ? read_row : read) += "T " + name + " = " + value + "; ";
      } else {
        scalars += ", T " + name;
      }
    }
    if (params) scalars += ", T p0, T p1, T p2";
    const Dtype from = row.is_bool ? Dtype::Bool : d;
    text += "#define BUFFERS " + buffers + "\n#define SCALARS " + scalars + "\n#define READ_ROW " +
            read_row + "\n#define READ " + read + "\n#define WRITE " + (row.is_bool ? "u8" : "T") +
            " value_ = " + (is_complex(d) ? complex_formula(row.formula) : row.formula) + "; " +
            store_macro(out.dtype()) + "(b0, at0, " + stored(from, out.dtype(), "value_") + ");\n";
    return text + layout.text() + sources::pointwise;
  };
  Launch launch(key, "pointwise", source);
  launch.tensor(out);
  for (const Input* in : ins)
    if (in->tensor) launch.tensor(*in->tensor);
  if (layout.form == Layout::Flat) {
    launch.value(g.n);
    for (int64_t offset : g.offset) launch.value(offset);
  } else {
    launch.value(g);
    if (layout.form == Layout::Rows) launch.value(layout.part).value(layout.per);
  }
  for (const Input* in : ins)
    if (!in->tensor) launch.scalar(d, in->scalar);
  if (params)
    launch.scalar(d, Scalar(params->p0))
        .scalar(d, Scalar(params->p1))
        .scalar(d, Scalar(params->p2));
  launch.run(layout.groups * layout.group, layout.group);
}

// An operand of integer division that is the number 0.
void check_divisor(Binary f, Dtype compute, const Input& b) {
  if (b.tensor || !is_integral(compute) || !b.scalar.equal(0)) return;
  if (types_of(f) & kDivides) fail(Kind::Runtime, "ZeroDivisionError");
}

}  // namespace

void OpenClBackend::copy(const Tensor& out, const Tensor& x) {
  Input in;
  in.tensor = &x;
  run({"copy:", "copy", "x", {"x"}}, compute_of(x.dtype()), out, {&in}, nullptr);
}

void OpenClBackend::fill(const Tensor& out, const Scalar& value) {
  Input in;
  in.scalar = value;
  run({"fill:", "fill", "x", {"x"}}, compute_of(out.dtype()), out, {&in}, nullptr);
}

void OpenClBackend::unary(Unary f, Dtype compute, const Tensor& out, const Input& x,
                          const Params& p) {
  run({"unary:", name_of(f), formula_of(f), {"x"}}, compute, out, {&x}, &p);
}

void OpenClBackend::binary(Binary f, Dtype compute, const Tensor& out, const Input& a,
                           const Input& b) {
  check_divisor(f, compute, b);
  run({"binary:", name_of(f), formula_of(f), {"a", "b"}}, compute, out, {&a, &b}, nullptr);
}

void OpenClBackend::predicate(Predicate f, Dtype compute, const Tensor& out, const Input& x) {
  run({"predicate:", name_of(f), std::string("(") + formula_of(f) + ") != 0", {"x"}, true}, compute,
      out, {&x}, nullptr);
}

void OpenClBackend::compare(Compare f, Dtype compute, const Tensor& out, const Input& a,
                            const Input& b, const Params& p) {
  run({"compare:", name_of(f), std::string("(") + formula_of(f) + ") != 0", {"a", "b"}, true},
      compute, out, {&a, &b}, &p);
}

void OpenClBackend::ternary(Ternary f, Dtype compute, const Tensor& out, const Input& a,
                            const Input& b, const Input& c, const Params& p) {
  run({"ternary:", name_of(f), formula_of(f), {"a", "b", "c"}}, compute, out, {&a, &b, &c}, &p);
}

void OpenClBackend::unary_grad(Unary f, Dtype compute, const Tensor& out, const Input& g,
                               const Input& keep, const Params& p) {
  const Keep k = keep_of(f);
  const std::string derivative = derivative_of(f);
  std::string formula = (is_complex(compute) ? "g * conj(" : "g * (T)(") + derivative + ")";
  if (cuts(derivative)) formula = "where(" + derivative + " == 0, (T)0, " + formula + ")";
  const char* name = k == Keep::y ? "y" : "x";
  if (k == Keep::none)
    run({"grad:", name_of(f), formula, {"g"}}, compute, out, {&g}, &p);
  else
    run({"grad:", name_of(f), formula, {"g", name}}, compute, out, {&g, &keep}, &p);
}

}  // namespace ember::opencl
