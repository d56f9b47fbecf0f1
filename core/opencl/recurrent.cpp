// Recurrent layers: two launches a step, the product with the recurrent weights and the gates. The
// states have one row for each sequence; a step changes the first of them, as many as it has.

#include "opencl/device.h"
#include "opencl/launch.h"
#include "opencl/opencl_backend.h"
#include "opencl/sources.h"
#include "opencl/text.h"

namespace ember::opencl {

namespace {

constexpr int64_t kItems = 64;

// Rows first ... first + n - 1 of a matrix.
Tensor rows_of(const Tensor& t, int64_t first, int64_t n) {
  if (!t) return t;
  return alias(t, {n, t.size(1)}, {t.size(1), 1}, t.offset() + first * t.size(1));
}
Tensor transposed(const Tensor& t) {
  return alias(t, {t.size(1), t.size(0)}, {1, t.size(1)}, t.offset());
}

// Calls body(first row, rows) for each step, in order or against it.
template <class F>
void each_step(const Steps& steps, bool backwards, F body) {
  const bool down = steps.reverse != backwards;
  const int64_t count = int64_t(steps.sizes.size());
  int64_t at = 0;
  for (int64_t n : steps.sizes) at += down ? n : 0;
  for (int64_t i = 0; i < count; i++) {
    const int64_t n = steps.sizes[size_t(down ? count - 1 - i : i)];
    if (down) at -= n;
    if (n > 0) body(at, n);
    if (!down) at += n;
  }
}

struct Call {
  Launch launch;
  Call(const char* name, Dtype dtype)
      : launch(std::string("recurrent:") + name + std::to_string(int(dtype)), name,
               [&] { return define("T", memory_type(dtype)) + sources::recurrent; }) {}
  Call& at(const Tensor& t) {
    launch.tensor(t).value(t ? t.offset() : int64_t(0));
    return *this;
  }
  Call& flag(bool on) {
    launch.value(int32_t(on));
    return *this;
  }
  Call& size(int64_t rows, int64_t units) {
    launch.value(rows).value(units);
    return *this;
  }
};

void forward_steps(const Steps& steps, const RecurrentForward& f) {
  const Dtype dtype = f.gates.dtype();
  const int64_t wide = f.weight.size(0), units = wide / gates_of(steps.cell);
  const Tensor weight = transposed(f.weight);
  Tensor sums;
  if (steps.cell == Cell::Gru) sums = empty({f.h.size(0), wide}, dtype, f.h.device());
  each_step(steps, false, [&](int64_t first, int64_t n) {
    const Tensor gates = rows_of(f.gates, first, n), y = rows_of(f.y, first, n);
    const Tensor h = rows_of(f.h, 0, n), hidden = rows_of(f.hidden, first, n);
    if (f.before_h) own().copy(rows_of(f.before_h, first, n), h);
    if (sums)
      own().matmul(rows_of(sums, 0, n), h, weight, Scalar(1.0), Scalar(0.0));
    else
      own().matmul(gates, h, weight, Scalar(1.0), Scalar(1.0));
    const Tensor before = rows_of(f.before, first, n), c = rows_of(f.c, 0, n);
    switch (steps.cell) {
      case Cell::Lstm: {
        Call call("lstm", dtype);
        call.at(gates).at(f.bias).at(c).at(before).at(f.projection ? hidden : h).at(y);
        call.size(n, units).flag(f.bias.defined()).flag(before.defined()).flag(!f.projection);
        call.launch.run(n * units, kItems);
        break;
      }
      case Cell::Gru: {
        Call call("gru", dtype);
        call.at(gates).at(f.bias).at(f.bias_h).launch.tensor(sums);
        call.at(h).at(hidden).at(y).size(n, units).flag(f.bias.defined());
        call.flag(f.bias_h.defined()).flag(hidden.defined()).launch.run(n * units, kItems);
        break;
      }
      default: {
        Call call("plain", dtype);
        call.at(gates).at(f.bias).at(h).at(y).size(n, units).flag(f.bias.defined());
        call.flag(steps.cell == Cell::Relu).launch.run(n * units, kItems);
      }
    }
    if (!f.projection) return;
    own().matmul(y, hidden, transposed(f.projection), Scalar(1.0), Scalar(0.0));
    own().copy(h, y);
  });
}

void backward_steps(const Steps& steps, const RecurrentBackward& b) {
  const Dtype dtype = b.dgates.dtype();
  const int64_t units = b.weight.size(0) / gates_of(steps.cell);
  Tensor unprojected;
  if (b.projection) unprojected = empty({b.dh.size(0), units}, dtype, b.dh.device());
  each_step(steps, true, [&](int64_t first, int64_t n) {
    const Tensor dh = rows_of(b.dh, 0, n), dy = rows_of(b.dy, first, n);
    const Tensor dgates = rows_of(b.dgates, first, n), gates = rows_of(b.gates, first, n);
    const Tensor dsums = rows_of(b.dgates_h, first, n), above = rows_of(unprojected, 0, n);
    if (b.projection) {
      {
        Call call("add_rows", dtype);
        call.at(dh).at(dy).at(rows_of(b.dprojected, first, n)).size(n, dh.size(1));
        call.launch.run(dh.numel(), kItems);
      }
      own().matmul(above, dh, b.projection, Scalar(1.0), Scalar(0.0));
    }
    switch (steps.cell) {
      case Cell::Lstm: {
        Call call("lstm_grad", dtype);
        call.at(gates).at(rows_of(b.before, first, n)).at(b.projection ? above : dh).at(dy);
        call.at(rows_of(b.dc, 0, n)).at(dgates).size(n, units).flag(!b.projection);
        call.launch.run(n * units, kItems);
        break;
      }
      case Cell::Gru: {
        Call call("gru_grad", dtype);
        call.at(gates).at(rows_of(b.before_h, first, n)).at(rows_of(b.hidden, first, n));
        call.at(dh).at(dy).at(dgates).at(dsums).size(n, units).launch.run(n * units, kItems);
        break;
      }
      default: {
        Call call("plain_grad", dtype);
        call.at(rows_of(b.y, first, n)).at(dh).at(dy).at(dgates).size(n, units);
        call.flag(steps.cell == Cell::Relu).launch.run(n * units, kItems);
      }
    }
    const bool gru = steps.cell == Cell::Gru;
    own().matmul(dh, gru ? dsums : dgates, b.weight, Scalar(1.0), Scalar(gru ? 1.0 : 0.0));
  });
  if (b.dbias) own().reduce(Reduction::sum, b.dbias, b.dgates, Shape{0}, 0);
  if (b.dbias_h) own().reduce(Reduction::sum, b.dbias_h, b.dgates_h, Shape{0}, 0);
}

}  // namespace

void OpenClBackend::recurrent(const Steps& steps, const RecurrentForward& r) {
  forward_steps(steps, r);
}
void OpenClBackend::recurrent_grad(const Steps& steps, const RecurrentBackward& r) {
  backward_steps(steps, r);
}

}  // namespace ember::opencl
