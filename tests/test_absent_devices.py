"""Devices that are not there: they can be named, and using them says what to do."""

import subprocess
import sys

import pytest

import ember


@pytest.mark.parametrize("name", ["cuda", "cuda:1", "mps", "xpu", "hpu", "mtia", "xla"])
def test_devices_of_pytorch_can_be_named(name):
    device = ember.device(name)
    assert str(device) == name and device.type == name.partition(":")[0]
    assert device == ember.device(name) and device != ember.device("cpu")


@pytest.mark.parametrize(
    "use",
    [
        lambda: ember.ones(2, device="cuda"),
        lambda: ember.ones(2).to("cuda:0"),
        lambda: ember.ones(2).cuda(),
        lambda: ember.nn.Linear(2, 2).to("cuda"),
        lambda: ember.nn.Linear(2, 2).cuda(),
        lambda: ember.cuda.current_device(),
        lambda: ember.cuda.synchronize(),
    ],
)
def test_using_cuda_says_what_is_missing(use):
    with pytest.raises(
        AssertionError, match=r"ember is not compiled with CUDA.*opencl"
    ):
        use()


def test_other_devices_say_so_too():
    with pytest.raises(NotImplementedError, match="not linked with support for mps"):
        ember.ones(2, device="mps")
    with pytest.raises(AssertionError, match="XPU"):
        ember.ones(2).to("xpu")
    with pytest.raises(RuntimeError, match=r"Expected one of cpu, .*cuda.*opencl.*xla"):
        ember.device("warp")
    with pytest.raises(AssertionError, match=r"ember is not compiled with XPU.*opencl"):
        ember.ones(2).xpu()


def test_devices_that_there_are_none_of_do_not_speak_of_another_library():
    asked = [
        lambda: ember.ones(2, device="cuda"),
        lambda: ember.ones(2).untyped_storage().cuda(),
        lambda: ember.ones(2).ipu(),
        lambda: ember.ones(2, device="mps"),
        lambda: ember.xpu.current_device(),
        lambda: ember.cuda.FloatTensor(2),
        lambda: ember.cuda.init(),
    ]
    for use in asked:
        with pytest.raises((AssertionError, NotImplementedError, TypeError)) as error:
            use()
        assert "ember is not" in str(error.value) and "Torch" not in str(error.value)


def test_programs_that_ask_get_no():
    for module in (ember.cuda, ember.mps, ember.xpu, ember.mtia):
        assert not module.is_available() and module.device_count() == 0
        module.manual_seed(1)
        module.empty_cache()
    assert not ember.backends.mps.is_built() and not ember.backends.cuda.is_built()
    assert ember.cuda.get_rng_state_all() == [] and ember.cuda.memory_allocated() == 0
    with ember.cuda.stream(None), ember.cuda.device(-1):
        pass
    with pytest.raises(RuntimeError, match="CUDA"):
        ember.cuda.Stream()
    with pytest.raises(TypeError, match="CUDA"):
        ember.cuda.FloatTensor(2)
    assert not isinstance(ember.ones(1), ember.cuda.FloatTensor)


def run(code, *options, **environment):
    import os

    return subprocess.run(
        [sys.executable, *options, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )


CODE = """
import ember
d = ember.device("cuda")
x = ember.ones(2, device="cuda:0")
assert x.is_cuda and x.device.type == "cuda" and d.type == "cuda", x.device
assert (x + 1).sum().item() == 4 and ember.ones(1).cuda().is_cuda
assert ember.cuda.is_available() and ember.cuda.device_count() >= 1
assert ember.device("opencl:0") == x.device
assert str(x) == "tensor([1., 1.], device='cuda:0')"
ember.cuda.synchronize()
with ember.cuda.device(0), ember.autocast("cuda", dtype=ember.float16):
    y = ember.nn.Linear(2, 2).cuda()(x)
print(y.shape, ember.cuda.get_device_name(), ember.cuda.current_device())
"""


def test_cuda_can_mean_the_opencl_device():
    if not ember.opencl.is_available():
        pytest.skip("there is no OpenCL device")
    done = run(CODE, EMBER_CUDA="opencl")
    assert done.returncode == 0, done.stderr
    done = run(CODE, "-m", "ember.as_torch", "--cuda", "opencl")
    assert done.returncode == 0, done.stderr


def test_other_meanings_of_cuda_are_refused():
    done = run("import ember", EMBER_CUDA="vulkan")
    assert done.returncode != 0 and "EMBER_CUDA=vulkan" in done.stderr
