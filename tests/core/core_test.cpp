// The core by itself, without Python: ops, their gradients, views, an optimizer's step, errors.
#include <algorithm>
#include <cmath>
#include <string>

#include "autograd/engine.h"
#include "ops/ops.h"
#include "testing.h"

using namespace ember;

namespace {

Tensor values(const Shape& shape, std::initializer_list<float> numbers) {
  Tensor t = empty(shape, Dtype::Float32);
  std::copy(numbers.begin(), numbers.end(), t.data<float>());
  return t;
}
bool equal(const Tensor& t, std::initializer_list<float> numbers) {
  const Tensor whole = contiguous(detach(t));
  if (whole.numel() != int64_t(numbers.size())) return false;
  const float* at = whole.data<float>();
  for (float number : numbers)
    if (std::fabs(*at++ - number) > 1e-6f) return false;
  return true;
}
Tensor leaf(const Shape& shape, std::initializer_list<float> numbers) {
  Tensor t = values(shape, numbers);
  set_requires_grad(t, true);
  return t;
}
void backward(const Tensor& y) {
  BackwardCall call;
  call.roots = {gradient_edge(y)};
  call.grads = {ones_like(detach(y))};
  run_backward(std::move(call));
}
Tensor& grad_of(const Tensor& t) { return ensure_autograd(t).grad; }

void test_ops() {
  const Tensor a = values({2, 2}, {1, 2, 3, 4});
  EXPECT(equal(matmul(a, a), {7, 10, 15, 22}));
  EXPECT(equal(a * Scalar(2) + a, {3, 6, 9, 12}));
  EXPECT(equal(sum(a, Dims(0)), {4, 6}));
  EXPECT(equal(exp(log(a)), {1, 2, 3, 4}));
  EXPECT(equal(softmax(zeros({1, 4}, Dtype::Float32), -1), {.25f, .25f, .25f, .25f}));
}

void test_gradients() {
  const Tensor w = leaf({2, 2}, {1, 2, 3, 4}), x = values({1, 2}, {5, 6});
  backward(sum(tanh(matmul(x, w) * Scalar(0.0))));
  EXPECT(equal(grad_of(w), {0, 0, 0, 0}));
  const Tensor v = leaf({3}, {1, 2, 3});
  backward(sum(select(reshape(v * v, {3, 1}), 0, 1)));
  EXPECT(equal(grad_of(v), {0, 4, 0}));
}

void test_views_share_memory() {
  const Tensor a = values({2, 2}, {1, 2, 3, 4});
  fill_(select(a, 0, 1), Scalar(9));
  EXPECT(equal(a, {1, 2, 9, 9}));
}

void test_a_step() {
  const Tensor p = leaf({2}, {1, 2});
  for (int i = 0; i < 10; i++) {
    backward(sum(p * p));
    NoGrad guard;
    add_scaled(p, grad_of(p), Scalar(-0.1), {&p, true});
    grad_of(p) = Tensor();
  }
  EXPECT(equal(p, {.10737418f, .21474836f}));
}

void test_errors() {
  std::string message;
  try {
    matmul(values({1, 2}, {1, 2}), values({1, 2}, {1, 2}));
  } catch (const Error& e) {
    message = e.what();
  }
  EXPECT(message.find("1x2") != std::string::npos);
}

}  // namespace

int main() {
  test_ops();
  test_gradients();
  test_views_share_memory();
  test_a_step();
  test_errors();
  return testing::finish();
}
