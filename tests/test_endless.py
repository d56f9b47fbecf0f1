"""Small input, huge request: refused at once, or done without the work.

Each call has a few seconds of processor time and little memory, in a child.
"""

import math
import os
import resource
import signal
import sys
import warnings

import pytest

import ember

F = ember.nn.functional
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")

REFUSED = {
    "tril_indices": lambda: ember.tril_indices(2**40, 2**40),
    "triu_indices": lambda: ember.triu_indices(2**40, 2**40, 5),
    "tril_indices of 2^61 elements": lambda: ember.tril_indices(2**31, 2**31),
    "combinations": lambda: ember.combinations(ember.arange(50), 25),
    "combinations with replacement": lambda: ember.combinations(
        ember.arange(40), 20, with_replacement=True
    ),
    "combinations, one row": lambda: ember.combinations(ember.ones(1), 2**40, True),
    "interpolate": lambda: F.interpolate(ember.ones(1, 1, 2, 2), size=(2**31, 2**31)),
    "interpolate a line": lambda: F.interpolate(ember.ones(1, 1, 2), size=2**31),
    "interpolate one axis": lambda: F.interpolate(ember.ones(1, 1, 2, 2), (2**31, 2)),
    "interpolate linearly": lambda: F.interpolate(
        ember.ones(1, 1, 2), size=2**40, mode="linear"
    ),
    "interpolate cubically": lambda: F.interpolate(
        ember.ones(1, 1, 2, 2), size=(2**33, 1), mode="bicubic"
    ),
    "interpolate by scale": lambda: F.interpolate(
        ember.ones(1, 1, 2), scale_factor=1e18
    ),
    "mvlgamma": lambda: ember.mvlgamma(ember.tensor([2.0**32]), 2**31 - 1),
    "multigammaln": lambda: ember.special.multigammaln(ember.tensor([2.0]), 2**62),
    "vander": lambda: ember.vander(ember.arange(3), N=2**40),
    "bincount": lambda: ember.bincount(ember.tensor([2**40])),
    "bincount, minlength": lambda: ember.bincount(ember.tensor([1]), minlength=2**62),
    "one_hot": lambda: F.one_hot(ember.tensor([2**40])),
    "repeat": lambda: ember.ones(3).repeat(2**40),
    "repeat_interleave": lambda: ember.ones(3).repeat_interleave(2**40),
    "linspace": lambda: ember.linspace(0, 1, 2**40),
    "arange": lambda: ember.arange(0, 1e18),
    "kaiser_window": lambda: ember.kaiser_window(2**40),
    "unfold": lambda: F.unfold(ember.ones(1, 1, 3, 3), 1, padding=2**31),
    "stft": lambda: ember.stft(ember.ones(10), n_fft=2**40, return_complex=True),
    "fft": lambda: ember.fft.fft(ember.ones(3), n=2**40),
    "multinomial": lambda: ember.multinomial(ember.ones(3), 2**40, replacement=True),
    "histc": lambda: ember.histc(ember.ones(3), bins=2**40),
    "cartesian_prod": lambda: ember.cartesian_prod(*[ember.arange(100)] * 10),
    "eye": lambda: ember.eye(2**31),
    "pad": lambda: F.pad(ember.ones(3), (2**40, 0)),
    "sum": lambda: ember.ones(1).expand(2**62).sum(),
    "jacobian": lambda: ember.autograd.functional.jacobian(
        lambda x: x.expand(2**40), ember.ones(1)
    ),
    "sum of truths": lambda: ember.ones(1, dtype=ember.bool).expand(2**62).sum(),
    "min": lambda: ember.ones(1).expand(2**62).min(),
    "max along": lambda: ember.ones(1).expand(2**62).max(0),
    "aminmax": lambda: ember.ones(1).expand(2**62).aminmax(),
    "argmax": lambda: ember.ones(1).expand(2**31, 2**31).argmax(1),
    "median": lambda: ember.ones(1).expand(2**62).median(),
    "std": lambda: ember.ones(1).expand(2**62).std(),
    "norm": lambda: ember.ones(1).expand(2**62).norm(),
    "logsumexp": lambda: ember.ones(1).expand(2**62).logsumexp(0),
    "bincount of many": lambda: ember.arange(1).expand(2**62).bincount(),
    "all": lambda: ember.ones(1).expand(2**62).all(),
}
DONE = {
    "tril_indices without elements": lambda: ember.tril_indices(2**40, 5, -(2**41)),
    "triu_indices of few": lambda: ember.triu_indices(2**40, 3, 0),
    "combinations of too many": lambda: ember.combinations(ember.arange(3), 2**40),
    "combinations of all": lambda: ember.combinations(ember.arange(5000), 5000),
    "matrix_power": lambda: ember.linalg.matrix_power(ember.eye(2), 2**62),
    "polygamma": lambda: ember.polygamma(2**31, ember.ones(2)),
    "hermite": lambda: ember.special.hermite_polynomial_h(ember.ones(2), 2**31),
    "laguerre": lambda: ember.special.laguerre_polynomial_l(ember.ones(2), 2**40),
    "legendre": lambda: ember.special.legendre_polynomial_p(ember.ones(2) / 2, 2**40),
    "chebyshev": lambda: ember.special.chebyshev_polynomial_t(ember.ones(2) * 3, 2**40),
    "repr": lambda: repr(ember.ones(1).expand(2**20, 2**20)),
    "roll": lambda: ember.roll(ember.ones(3), 2**62),
}


def in_child(call) -> str:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
        if not os.environ.get("ASAN_OPTIONS"):  # a sanitizer maps terabytes
            room = 8 << 30
            resource.setrlimit(resource.RLIMIT_AS, (room, room))
        try:
            call()
            text = "done"
        except (RuntimeError, MemoryError, ValueError) as error:
            text = f"refused: {error}"
        except BaseException as error:
            text = f"failed: {error!r}"
        os.write(write, text.encode()[:1000])
        os._exit(0)
    os.close(write)
    status = os.waitpid(child, 0)[1]
    with os.fdopen(read) as pipe:
        text = pipe.read()
    if os.WIFSIGNALED(status):
        return f"killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return text


@pytest.mark.parametrize("name", REFUSED)
def test_too_much_is_refused(name):
    assert in_child(REFUSED[name]).startswith("refused: ")


@pytest.mark.parametrize("name", DONE)
def test_little_is_done(name):
    assert in_child(DONE[name]) == "done"


@pytest.mark.parametrize("name", ["ExponentialLR", "StepLR", "MultiStepLR"])
def test_rates_of_an_integer_factor_after_many_epochs(name):
    optimizer = ember.optim.SGD([ember.nn.Parameter(ember.ones(2))], 0.1)
    first = {"ExponentialLR": [], "StepLR": [1], "MultiStepLR": [[1] * 10**6]}[name]
    scheduler = getattr(ember.optim.lr_scheduler, name)(optimizer, *first, gamma=10)
    with pytest.raises(OverflowError):
        scheduler.step(2**40)


@pytest.mark.parametrize("bound", [20.0, 1e20, -1e20])
def test_truncated_normal_far_from_the_mean(bound):
    low, high = min(bound, 1.5 * bound), max(bound, 1.5 * bound)
    end = in_child(lambda: check_truncated(low, high, bound))
    assert end == "done"


def check_truncated(low, high, peak):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = ember.nn.init.trunc_normal_(ember.empty(2000), 0, 1, low, high)
    assert low <= x.min() and x.max() <= high
    # What is beyond a bound far out is nearly exponential.
    assert (x - peak).abs().mean() == pytest.approx(1 / abs(peak), rel=0.2, abs=1e-6)


def test_zeta_far_below_zero():
    x = ember.tensor([2.0, 3.0, 1e300], dtype=ember.float64)
    q = ember.tensor([[-1e15 - 0.5], [-12345.25]], dtype=ember.float64)
    assert ember.special.zeta(x, q)[0, :2].allclose(
        ember.tensor([math.pi**2, 0.0], dtype=ember.float64)
    )
    direct = sum((12345.25 - k) ** -3 for k in range(12346))
    far = ember.special.zeta(x[1], q[1] + 12346.0) - direct
    assert ember.special.zeta(x[1], q[1]).item() == pytest.approx(far.item(), rel=1e-12)
