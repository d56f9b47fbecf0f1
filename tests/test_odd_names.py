"""Functions by their numbered choices, futures, files, dual numbers, old names."""

import threading

import pytest

import ember
import ember.nn.functional as F
from ember.autograd import forward_ad


@pytest.fixture
def x():
    ember.manual_seed(0)
    return ember.randn(3, 4)


@pytest.mark.parametrize("number, name", [*enumerate(["none", "mean", "sum"])])
def test_reductions_by_number(x, number, name):
    y = ember.rand(3, 4)
    numbered = ember.binary_cross_entropy_with_logits(x, y, reduction=number)
    named = F.binary_cross_entropy_with_logits(x, y, reduction=name)
    assert ember.equal(numbered, named)
    numbered = ember.triplet_margin_loss(x, y, y + 1, reduction=number)
    assert ember.equal(numbered, F.triplet_margin_loss(x, y, y + 1, reduction=name))
    numbered = ember.poisson_nll_loss(x, y, True, False, 1e-8, number)
    assert ember.equal(numbered, F.poisson_nll_loss(x, y, reduction=name))


def test_reductions_have_three_numbers(x):
    with pytest.raises(ValueError, match="valid value"):
        ember.kl_div(x, x, reduction=3)


def test_layers_of_the_top_level(x):
    rows = ember.tensor([2, 0])
    assert ember.equal(ember.embedding(x, rows), x[rows])
    image, weight = ember.randn(1, 2, 5, 5), ember.randn(3, 2, 3, 3)
    options = ((1, 1), (1, 1), (1, 1), False, (0, 0), 1)
    made = ember.convolution(image, weight, None, *options)
    assert ember.equal(made, F.conv2d(image, weight, padding=1))
    assert ember.constant_pad_nd(x, (1, 1), 2.0)[0, 0] == 2
    assert ember.allclose(ember.frobenius_norm(x, (0, 1)), x.norm())
    table = ember.ones(3, 4) * 5
    ember.embedding_renorm_(table, ember.tensor([1, 1]), 1.0, 2.0)
    assert table[1].norm().item() == pytest.approx(1.0) and table[0, 0] == 5


def test_functions_in_place(x):
    y = x.clone()
    assert ember.clamp_min_(y, 0.0) is y and (y >= 0).all()
    assert ember.xlogy_(y, 2.0) is y


def test_files(tmp_path):
    path = tmp_path / "numbers"
    t = ember.from_file(path, shared=True, size=4)
    t.copy_(ember.arange(4.0))
    again = ember.from_file(path, shared=False, size=4)
    assert again.tolist() == [0, 1, 2, 3]
    again.zero_()
    assert ember.from_file(path, size=4).sum() == 6
    with pytest.raises(RuntimeError, match="bytes"):
        ember.from_file(path, size=5)


def test_futures():
    future = ember.futures.Future()
    seen = []
    future.add_done_callback(lambda f: seen.append(f.value()))
    thread = threading.Timer(0.01, future.set_result, (3,))
    thread.start()
    assert future.wait() == 3 and future.done()
    thread.join()
    assert seen == [3]
    with pytest.raises(RuntimeError, match="once"):
        future.set_result(4)
    failed = ember.fork(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        ember.wait(failed)
    with pytest.raises(ZeroDivisionError):
        failed.then(lambda f: f.value()).wait()
    assert ember.futures.wait_all([ember.fork(int, "7"), future]) == [7, 3]


def test_dual_numbers(x):
    direction = ember.ones_like(x)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, direction)
        primal, tangent = forward_ad.unpack_dual(dual.sin() * 2)
        assert ember.allclose(tangent, 2 * x.cos())
        assert ember.allclose(primal, 2 * x.sin()) and not primal.requires_grad
        assert forward_ad.unpack_dual(x).tangent is None
        with pytest.raises(RuntimeError, match="Nested"):
            forward_ad.enter_dual_level()
    with pytest.raises(RuntimeError, match="no level"):
        forward_ad.make_dual(x, direction)


def test_events_and_streams():
    start, end = ember.Event(enable_timing=True), ember.Event(enable_timing=True)
    with pytest.raises(RuntimeError, match="recorded"):
        start.elapsed_time(end)
    with ember.Stream() as stream:
        start.record(stream)
        stream.record_event(end)
    assert start.elapsed_time(end) >= 0 and stream.query()


def test_old_names(x):
    assert ember.equal(x.resize(4, 3), x.reshape(4, 3))
    assert x.name is None and not x.volatile and x.grad_dtype == ember.float32
    assert ember.equal(x.__div__(2), x / 2) and not x.is_distributed()
    with pytest.raises(AssertionError, match="XPU"):
        x.xpu()
    with pytest.raises(RuntimeError, match="removed"):
        x.reinforce(1)


def test_sizes_add_and_repeat(x):
    size = x.shape
    for made in ((1,) + size, size + (1,), size * 2, 2 * size):
        assert type(made) is ember.Size
    assert (1,) + size == (1, 3, 4) and size * 2 == (3, 4, 3, 4)
    with pytest.raises(TypeError):
        size + [1]


def test_sizes_are_numbers():
    assert (ember.sym_max(3, 2.5), ember.sym_min(1, 2)) == (3.0, 1)
    assert isinstance(ember.sym_max(3, 2.5), float)
    assert (ember.sym_int(-2.5), ember.sym_float(2)) == (-2, 2.0)
    assert ember.sym_sum([1, 2, 3]) == ember.sym_sum(1, 2, 3) == 6
    assert ember.sym_sqrt(9) == 3.0
    assert ember.sym_ite(ember.sym_not(False), "a", "b") == "a"


def test_branches_are_taken():
    x = ember.tensor([2.0], requires_grad=True)
    for pred in (True, ember.tensor([True]), x > 1):
        assert ember.cond(pred, ember.exp, ember.neg, (x,)).grad_fn is not None
        assert ember.cond(pred, lambda: 1, lambda: 2) == 1
    with pytest.raises(RuntimeError, match="one element"):
        ember.cond(ember.ones(2), ember.exp, ember.neg, (x,))
    with pytest.raises(RuntimeError, match="tuple"):
        ember.cond(True, ember.exp, ember.neg, x)


def test_loops_carry_on():
    i, x = ember.tensor(0), ember.tensor(1.0, requires_grad=True)
    n, y = ember.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * 2), (i, x))
    assert (n.item(), y.item()) == (5, 32)
    y.backward()
    assert x.grad.item() == 32
    assert ember.while_loop(lambda v: False, lambda v: v, (x,)) == (x,)
    with pytest.raises(RuntimeError, match="2 values"):
        ember.while_loop(lambda i, y: i < 5, lambda i, y: i + 1, (i, x))


def test_streams_of_the_cpu():
    default = ember.cpu.current_stream()
    queue = ember.cpu.Stream(priority=-2)
    with ember.cpu.stream(queue), ember.cpu.stream():
        assert ember.cpu.current_stream() is queue
        assert queue.query() and queue.record_event().query()
    assert ember.cpu.current_stream() is default
    assert ember.cpu.is_initialized()


def test_modules_of_devices():
    assert ember.get_device_module("cpu") is ember.cpu
    if ember.opencl.is_available():
        assert ember.get_device_module(ember.device("opencl")) is ember.opencl
    assert ember.get_device_module() in (ember.cpu, ember.opencl)
    with pytest.raises(RuntimeError, match="does not have a corresponding module"):
        ember.get_device_module("meta")
    with pytest.raises(RuntimeError, match="Invalid value of device"):
        ember.get_device_module(3)


@pytest.mark.parametrize("name", ["eig", "lstsq", "solve", "symeig"])
def test_methods_that_are_gone_say_so(x, name):
    with pytest.raises(RuntimeError, match=r"removed.*torch\.linalg"):
        getattr(x, name)()


def test_ranges_of_sizes():
    ember.sym_constrain_range(3, min=1, max=3)
    with pytest.raises(RuntimeError, match=r"range for 9 between \[1, 5\]"):
        ember.sym_constrain_range(9, min=1, max=5)
    with pytest.raises(RuntimeError):
        ember.sym_constrain_range_for_size(-1)
    assert ember.sym_fresh_size(3) == 3


def test_statistics_of_batches(x):
    mean, var = ember.zeros(4), ember.ones(4)
    got = ember.batch_norm_update_stats(x, mean, var, 0.1)
    assert ember.allclose(got[0], x.mean(0))
    assert ember.allclose(got[1], x.var(0, unbiased=False))
    other_mean, other_var = ember.zeros(4), ember.ones(4)
    F.batch_norm(x, other_mean, other_var, training=True, momentum=0.1)
    assert ember.allclose(mean, other_mean) and ember.allclose(var, other_var)
    with pytest.raises(IndexError):
        ember.batch_norm_update_stats(x[0], None, None, 0.1)
    with pytest.raises(NotImplementedError):
        ember.batch_norm_update_stats(x.int(), None, None, 0.1)


def test_short_names_of_dtypes():
    names = {"float32": "f32", "bfloat16": "bf16", "bool": "b8", "uint16": "u16"}
    names |= {"int8": "i8", "complex128": "c128"}
    assert {n: getattr(ember, n).abbr for n in names} == names


def test_the_generator_of_this_thread():
    assert ember.random.thread_safe_generator() is None


def test_modules_that_are_there_twice():
    layer = ember.nn.Linear(1, 1)
    model = ember.nn.Sequential(layer, layer)
    assert len([*model.modules()]) == 2
    assert len([*model.modules(remove_duplicate=False)]) == 3


def test_the_accelerator_tells_its_dtypes():
    if not ember.accelerator.is_available():
        with pytest.raises(RuntimeError):
            ember.accelerator.get_device_capability()
        return
    found = ember.accelerator.get_device_capability()["supported_dtypes"]
    assert {ember.float32, ember.int64} <= found
    ember.accelerator.empty_host_cache()


def test_the_processor():
    found = ember.cpu.get_capabilities()
    assert found["num_logical_cores"] >= 1 and found["num_physical_cores"] >= 1
    assert found is ember.cpu.get_capabilities()
    with pytest.raises(TypeError):
        found["avx2"] = True
    if ember.backends.cpu.get_cpu_capability().startswith("AVX") and "sse" in found:
        assert found["sse2"] and found["avx2"]


def test_what_is_no_type_of_tensors_is_refused():
    with pytest.raises(TypeError, match="must be a type, str, or dtype object"):
        ember.ones(2).type(3)
    with pytest.raises(TypeError, match="invalid type object"):
        ember.set_default_tensor_type(ember.ones(2))


@pytest.mark.parametrize("cls", [ember.ones(2), 3, None, "Function"])
def test_apply_of_what_is_no_class(cls):
    with pytest.raises(TypeError, match="takes a class"):
        ember._C._function_apply(cls, ())
