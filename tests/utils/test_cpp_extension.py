"""C++ extensions, as tutorials for PyTorch write them, compiled and called."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ember
from ember.utils import cpp_extension

pytest.importorskip("pybind11")
COMPILER = cpp_extension.get_cxx_compiler()
if shutil.which(COMPILER) is None:
    pytest.skip(f"no compiler {COMPILER}", allow_module_level=True)

LLTM = """
#include <torch/extension.h>
#include <vector>

torch::Tensor d_elu(torch::Tensor z, torch::Scalar alpha = 1.0) {
  auto e = z.exp();
  auto mask = (alpha * (e - 1)) < 0;
  return (z > 0).type_as(z) + mask.type_as(z) * (alpha * e);
}

std::vector<torch::Tensor> lltm_forward(
    torch::Tensor input, torch::Tensor weights, torch::Tensor bias, torch::Tensor old_h,
    torch::Tensor old_cell) {
  auto X = torch::cat({old_h, input}, /*dim=*/1);
  auto gate_weights = torch::addmm(bias, X, weights.transpose(0, 1));
  auto gates = gate_weights.chunk(3, /*dim=*/1);
  auto input_gate = torch::sigmoid(gates[0]);
  auto output_gate = torch::sigmoid(gates[1]);
  auto candidate = torch::elu(gates[2], /*alpha=*/1.0);
  auto new_cell = old_cell + candidate * input_gate;
  auto new_h = torch::tanh(new_cell) * output_gate;
  return {new_h, new_cell};
}

torch::Tensor sums(torch::Tensor x) {  // reads and writes memory
  TORCH_CHECK(x.dim() == 2, "expected a matrix, got ", x.sizes());
  auto out = torch::zeros({x.size(0)}, x.options());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "sums", ([&] {
    auto rows = x.accessor<scalar_t, 2>();
    scalar_t* to = out.data_ptr<scalar_t>();
    at::parallel_for(0, x.size(0), 1, [&](int64_t from, int64_t end) {
      for (int64_t i = from; i < end; i++)
        for (int64_t j = 0; j < rows.size(1); j++) to[i] += rows[i][j];
    });
  }));
  return out;
}

torch::Tensor parts(const torch::Tensor& x, c10::optional<torch::Tensor> more,
                    std::vector<int64_t> shape, bool flip, const std::string& how) {
  using namespace torch::indexing;
  auto y = x.index({Slice(None, None, 2), "..."}).clone();
  if (more.has_value()) y = torch::add(y, *more, 2);
  if (flip) y = y.flip({0});
  auto [values, places] = torch::max(y, 1, true);
  y.index_put_({0}, -1.0);
  y = torch::div(y, 2, how).to(torch::kFloat64);
  return (y - values).reshape(shape) + places.sum();
}

std::tuple<torch::Tensor, int64_t, double, bool> facts(torch::Tensor x) {
  TORCH_CHECK_VALUE(x.is_contiguous(), "not contiguous");
  return {x.sum({0}, true), x.numel(), x.mean().item<double>(), x.requires_grad()};
}

torch::Tensor own(int64_t n) {
  auto* memory = new float[n];
  for (int64_t i = 0; i < n; i++) memory[i] = float(i);
  return torch::from_blob(memory, {n}, [](void* p) { delete[] static_cast<float*>(p); },
                          torch::TensorOptions().dtype(torch::kFloat32));
}

torch::Tensor unlocked(torch::Tensor x) {  // called without Python's lock
  torch::Tensor y = x;
  torch::NoGradGuard no_grad;
  return (2 - y) * torch::ones_like(x) / 4.0;
}

torch::Tensor undefined() { return torch::Tensor(); }
std::string kind(torch::Tensor x) { return c10::str(x.scalar_type(), " ", x.device()); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &lltm_forward, "LLTM forward");
  m.def("d_elu", &d_elu, py::arg("z"), py::arg("alpha") = torch::Scalar(1.0));
  m.def("sums", &sums);
  m.def("parts", &parts);
  m.def("facts", &facts);
  m.def("own", &own);
  m.def("unlocked", &unlocked, py::call_guard<py::gil_scoped_release>());
  m.def("undefined", &undefined);
  m.def("kind", &kind);
}
"""

OPERATORS = """
#include <torch/library.h>
#include <torch/torch.h>
at::Tensor muladd(const at::Tensor& a, const at::Tensor& b, double c) {
  TORCH_CHECK(a.sizes() == b.sizes());
  at::Tensor out = torch::empty(a.sizes(), a.options());
  const float *x = a.const_data_ptr<float>(), *y = b.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < out.numel(); i++) to[i] = x[i] * y[i] + float(c);
  return out;
}
at::Tensor twice(const at::Tensor& x, int64_t n) { return x * n; }
TORCH_LIBRARY(ember_test_cpp, m) {
  m.def("muladd(Tensor a, Tensor b, float c) -> Tensor");
  m.def("times", &twice);
}
TORCH_LIBRARY_IMPL(ember_test_cpp, CPU, m) { m.impl("muladd", &muladd); }
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lltm")
    source = folder / "lltm.cpp"
    source.write_text(LLTM)
    return cpp_extension.load("lltm_cpp", str(source), build_directory=str(folder))


def test_lltm_is_what_python_computes_and_has_gradients(module):
    ember.manual_seed(0)
    x, h, c = ember.randn(3, 4), ember.randn(3, 5), ember.randn(3, 5)
    w = ember.randn(15, 9, requires_grad=True)
    b = ember.randn(15, requires_grad=True)
    new_h, new_cell = module.forward(x, w, b, h, c)
    a, o, e = ember.addmm(b, ember.cat([h, x], 1), w.t()).chunk(3, 1)
    cell = c + ember.nn.functional.elu(e) * a.sigmoid()
    assert ember.equal(new_cell, cell)
    assert ember.equal(new_h, cell.tanh() * o.sigmoid())
    (ours,) = ember.autograd.grad(new_h.sum(), w)
    (expected,) = ember.autograd.grad((cell.tanh() * o.sigmoid()).sum(), w)
    assert ember.equal(ours, expected)


def test_numbers_before_tensors_and_defaults(module):
    z = ember.tensor([-1.0, 2.0])
    expected = ember.where(z > 0, ember.ones(2), z.exp())
    ember.testing.assert_close(module.d_elu(z), expected)
    assert module.d_elu(z, 2).shape == (2,)


@pytest.mark.parametrize("dtype", [ember.float32, ember.float64])
def test_memory_is_read_by_strides_and_written(module, dtype):
    x = ember.arange(6, dtype=dtype).reshape(2, 3)
    assert module.sums(x).tolist() == [3.0, 12.0]
    assert module.sums(x.t()).tolist() == [3.0, 5.0, 7.0]
    assert module.sums(x).dtype == dtype


def test_checks_are_exceptions(module):
    with pytest.raises(RuntimeError, match=r"expected a matrix, got \[3\]"):
        module.sums(ember.ones(3))
    with pytest.raises(NotImplementedError, match="\"sums\" not implemented for 'Int'"):
        module.sums(ember.ones(2, 2, dtype=ember.int32))
    with pytest.raises(ValueError, match="not contiguous"):
        module.facts(ember.ones(2, 3).t())
    with pytest.raises(TypeError, match="incompatible function arguments"):
        module.sums([1.0])


def test_indices_options_and_keyword_parameters(module):
    x = ember.arange(12.0).reshape(4, 3)
    y = x[::2] + 2 * ember.ones(2, 3)
    y = y.flip(0)
    values, places = y.max(1, True)
    y[0] = -1.0
    half = ember.div(y, 2, rounding_mode="floor").double()
    expected = (half - values).reshape(3, 2) + places.sum()
    got = module.parts(x, ember.ones(2, 3), [3, 2], True, "floor")
    assert got.dtype == ember.float64 and ember.equal(got, expected)
    assert module.parts(x, None, [6], False, "trunc").shape == (6,)


def test_results_of_several_kinds(module):
    total, count, mean, grad = module.facts(ember.ones(2, 3, requires_grad=True))
    assert (total.tolist(), count, mean, grad) == ([[2.0, 2.0, 2.0]], 6, 1.0, True)
    assert module.undefined() is None
    assert module.kind(ember.ones(1, dtype=ember.bool)) == "Bool cpu"


def test_memory_of_others_lives_as_long_as_the_tensor(module):
    x = module.own(5)
    part = x[2:]
    del x
    assert part.tolist() == [2.0, 3.0, 4.0]


def test_functions_without_pythons_lock(module):
    x = ember.ones(2, requires_grad=True)
    y = module.unlocked(x)
    assert y.tolist() == [0.25, 0.25] and not y.requires_grad
    assert ember.is_grad_enabled()


def test_operators_of_a_library(tmp_path):
    source = tmp_path / "operators.cpp"
    source.write_text(OPERATORS)
    path = cpp_extension.load(
        "ember_test_cpp", str(source), is_python_module=False, build_directory=tmp_path
    )
    assert Path(path).exists()
    a, b = ember.tensor([1.0, 2.0]), ember.tensor([3.0, 4.0])
    assert ember.ops.ember_test_cpp.muladd(a, b, 1.0).tolist() == [4.0, 9.0]
    assert ember.ops.ember_test_cpp.times(a, 3).tolist() == [3.0, 6.0]
    with pytest.raises(RuntimeError, match=r"a\.sizes"):
        ember.ops.ember_test_cpp.muladd(a, b[:1], 1.0)


def test_inline_sources_are_compiled_again_when_they_change(tmp_path):
    text = "torch::Tensor f(torch::Tensor x) {{ return x + {}; }}"
    for number in (1, 2, 1):
        made = cpp_extension.load_inline(
            "inline_test", text.format(number), functions="f", build_directory=tmp_path
        )
        assert made.f(ember.zeros(1)).tolist() == [number]


def test_errors_of_the_compiler_are_shown(tmp_path):
    with pytest.raises(RuntimeError, match=r"(?s)building extension 'broken'.*no_such"):
        cpp_extension.load_inline("broken", "no_such f();", build_directory=tmp_path)


def test_setuptools_builds_them(tmp_path):
    pytest.importorskip("setuptools")
    (tmp_path / "one.cpp").write_text(
        "#include <torch/extension.h>\n"
        "torch::Tensor f(torch::Tensor x) { return x.sin(); }\n"
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f); }\n'
    )
    (tmp_path / "setup.py").write_text(
        "from setuptools import setup\n"
        "from ember.utils.cpp_extension import BuildExtension, CppExtension\n"
        "setup(name='one', ext_modules=[CppExtension('one', ['one.cpp'])],\n"
        "      cmdclass={'build_ext': BuildExtension.with_options(use_ninja=False)})\n"
    )
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    code = "import sys; sys.path.insert(0, '.'); import ember, one\n"
    code += "print(one.f(ember.zeros(1)).tolist())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[0.0]", done.stderr


def test_cuda_is_refused(tmp_path):
    for refused in (
        lambda: cpp_extension.CUDAExtension("x", ["x.cu"]),
        lambda: cpp_extension.load("x", "x.cu", build_directory=tmp_path),
        lambda: cpp_extension.load_inline("x", "", cuda_sources="void f();"),
    ):
        with pytest.raises(NotImplementedError, match=r"C\+\+ only"):
            refused()
