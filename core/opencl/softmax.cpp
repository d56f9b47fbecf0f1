// Softmax and its gradient, one kernel each, in the form that the layout asks for.
#include <algorithm>

#include "opencl/device.h"
#include "opencl/lines.h"
#include "opencl/opencl_backend.h"
#include "opencl/sources.h"

namespace ember::opencl {

namespace {

// How kernels/softmax.cl goes about it.
struct Form {
  bool columns, unit = true;
  int group = 1, lanes = 1;
  int64_t groups, per = 1;

  Form(const Lines& lines, int operands) {
    const Properties& device = context().properties;
    const Geometry& g = lines.g;
    const int64_t side = g.ndim ? g.size[0] : 1;
    // Down neighbouring lines, if these are adjacent and the elements of one line are not.
    columns = g.ndim > 0 && side >= 8;
    for (int k = 0; k < operands; k++) columns &= g.stride[k][0] == 1 && lines.step[k] != 1;
    for (int k = 0; k < operands; k++) unit &= columns || lines.step[k] == 1;
    if (device.staged) {
      group = 64;
      unit &= !columns;  // neighbours of an item are the group's width apart
    } else {
      lanes = columns ? (side >= 512 ? 256 : 64) : 16;
      if (!columns) per = std::clamp<int64_t>(8192 / lines.n, 1, 256);
      const int64_t share = g.n / (8 * std::max<int64_t>(device.compute_units, 1));
      per = std::max<int64_t>(1, std::min(per, share));
    }
    const int64_t wide = int64_t(group) * lanes;
    groups = columns ? (side + wide - 1) / wide * (g.n / side) : (g.n + per - 1) / per;
  }
  std::string id() const {
    return (columns ? "c" : "r") + std::string(unit ? "u" : "") + std::to_string(lanes);
  }
  std::string text() const {
    return "#define GROUP " + std::to_string(group) + "\n#define LANES " + std::to_string(lanes) +
           (columns ? "\n#define COLUMNS 1" : "") + (unit ? "\n#define UNIT 1\n" : "\n");
  }
};

std::string text_of(const Form& form, Dtype in, Dtype y, Dtype out, bool log) {
  const Dtype acc = compute_of(out);
  return line_types(acc, in, out) + form.text() + "#define M_Y " + memory_type(y) +
         "\n#define LOAD_Y " + load_macro(y) + "\n#define LOG " + (log ? "1\n" : "0\n") +
         (out == acc && !log ? "#define KEEP 1\n" : "") + sources::fold + sources::softmax;
}

}  // namespace

void OpenClBackend::softmax(const Tensor& out, const Tensor& x, int dim, bool log) {
  if (x.numel() == 0) return;
  check_computes("softmax", x.dtype());
  const Lines lines(x, dim, {&out, &x});
  const Form form(lines, 2);
  Launch launch("softmax" + dtype_ids({x.dtype(), out.dtype()}) + (log ? "l" : "") + form.id(),
                "softmax", [&] { return text_of(form, x.dtype(), x.dtype(), out.dtype(), log); });
  launch.tensor(out).tensor(x).value(lines.g).value(lines.n).value(form.per);
  launch.value(lines.step[0]).value(lines.step[1]).run(form.groups * form.group, form.group);
}

void OpenClBackend::softmax_grad(const Tensor& out, const Tensor& g, const Tensor& y, int dim,
                                 bool log) {
  if (y.numel() == 0) return;
  check_computes("softmax_backward", y.dtype());
  const Lines lines(y, dim, {&out, &g, &y});
  const Form form(lines, 3);
  Launch launch("softmax_grad" + dtype_ids({g.dtype(), y.dtype(), out.dtype()}) + (log ? "l" : "") +
                    form.id(),
                "softmax_grad",
                [&] { return text_of(form, g.dtype(), y.dtype(), out.dtype(), log); });
  launch.tensor(out).tensor(g).tensor(y).value(lines.g).value(lines.n).value(form.per);
  launch.value(lines.step[0]).value(lines.step[1]).value(lines.step[2]);
  launch.run(form.groups * form.group, form.group);
}

}  // namespace ember::opencl
