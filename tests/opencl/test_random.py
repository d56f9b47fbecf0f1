"""Random numbers of the device: Philox, seeds and states, and the distributions."""

import math

import numpy as np
import pytest

import ember
from ember import nn
from ember.testing import assert_close

MASK = np.uint64(0xFFFFFFFF)


def philox(block, key):
    """Philox 4x32-10 of the counters `block`, in plain NumPy."""
    a, b = block & MASK, block >> np.uint64(32)
    c, d = np.zeros_like(block), np.zeros_like(block)
    key0, key1 = np.uint64(key & 0xFFFFFFFF), np.uint64(key >> 32)
    for _ in range(10):
        p, q = np.uint64(0xD2511F53) * a, np.uint64(0xCD9E8D57) * c
        high0, low0 = p >> np.uint64(32), p & MASK
        high1, low1 = q >> np.uint64(32), q & MASK
        a, b, c, d = high1 ^ b ^ key0, low1, high0 ^ d ^ key1, low0
        key0 = (key0 + np.uint64(0x9E3779B9)) & MASK
        key1 = (key1 + np.uint64(0xBB67AE85)) & MASK
    return np.stack([a, b, c, d], 1)


def test_philox_is_the_published_one():
    # the known answer that comes with the authors' code
    words = philox(np.zeros(1, np.uint64), 0)[0]
    assert [hex(w) for w in words] == [
        "0x6627e8d5",
        "0xe169c58d",
        "0xbc57ac4c",
        "0x9b00dbd8",
    ]


@pytest.mark.parametrize("n", [1, 7, 1000])
def test_the_device_draws_philox(n):
    generator = ember.Generator(device="opencl").manual_seed(5)
    x = ember.empty(n, dtype=ember.int64, device="opencl").random_(generator=generator)
    # two words of the Mersenne twister are the key, the first one on top
    high, low = np.random.RandomState(5)._bit_generator.random_raw(2).tolist()
    words = philox(np.arange((n + 1) // 2, dtype=np.uint64), high << 32 | low)
    words = words.reshape(-1, 2)
    expected = ((words[:, 0] << np.uint64(32)) | words[:, 1]) % np.uint64(2**63)
    assert x.tolist() == expected[:n].tolist()


def test_seeds_and_states():
    ember.manual_seed(3)
    first = ember.rand(5, device="opencl")
    second = ember.rand(5, device="opencl")
    assert not ember.equal(first, second)
    ember.manual_seed(3)
    assert ember.equal(ember.rand(5, device="opencl"), first)
    state = ember.opencl.get_rng_state()
    assert ember.equal(ember.rand(5, device="opencl"), second)
    ember.opencl.set_rng_state(state)
    assert ember.equal(ember.rand(5, device="opencl"), second)
    ember.opencl.manual_seed(3)
    assert ember.opencl.initial_seed() == 3
    assert ember.equal(ember.rand(5, device="opencl"), first)


def test_the_streams_of_host_and_device_are_apart():
    ember.manual_seed(3)
    expected = ember.rand(5)
    ember.manual_seed(3)
    ember.rand(100, device="opencl")
    assert ember.equal(ember.rand(5), expected)


def test_generators_know_their_device():
    generator = ember.Generator(device="opencl")
    assert generator.device.type == "opencl"
    assert ember.Generator().device.type == "cpu"
    generator.manual_seed(1)
    a = ember.randn(4, device="opencl", generator=generator)
    b = ember.randn(4, device="opencl", generator=generator.manual_seed(1))
    assert ember.equal(a, b)


def test_a_prefix_does_not_depend_on_the_size():
    # as element i takes what its place gives, whatever the work-groups are
    draws = []
    for n in (10, 1000, 4097):
        ember.opencl.manual_seed(0)
        draws.append(ember.randn(n, device="opencl").cpu()[:10])
    assert ember.equal(draws[0], draws[1])
    assert ember.equal(draws[0], draws[2])


def kolmogorov(x, cdf):
    """The largest distance of the sample's distribution from `cdf`, times sqrt(n)."""
    x = np.sort(x.double().cpu().numpy().ravel())
    n = len(x)
    f = cdf(x)
    steps = np.arange(n + 1) / n
    distance = max(np.max(f - steps[:-1]), np.max(steps[1:] - f))
    return distance * math.sqrt(n)


def normal_cdf(x):
    return np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x])


N = 20000


@pytest.mark.parametrize("dtype", [ember.float32, ember.float64], ids=str)
@pytest.mark.parametrize(
    "fill, cdf",
    [
        (lambda x: x.uniform_(-1, 3), lambda x: (x + 1) / 4),
        (lambda x: x.normal_(1, 2), lambda x: normal_cdf((x - 1) / 2)),
        (lambda x: x.exponential_(3), lambda x: 1 - np.exp(-3 * x)),
        (lambda x: x.cauchy_(1, 2), lambda x: 0.5 + np.arctan((x - 1) / 2) / np.pi),
        (lambda x: x.log_normal_(0, 1), lambda x: normal_cdf(np.log(x))),
    ],
    ids=["uniform", "normal", "exponential", "cauchy", "log_normal"],
)
def test_continuous_distributions(dtype, fill, cdf):
    ember.opencl.manual_seed(11)
    x = fill(ember.empty(N, dtype=dtype, device="opencl"))
    # beyond this in one of 100 000 seeds
    assert kolmogorov(x, cdf) < 2.5
    # neighbours, and elements of one block, have nothing to do with each other
    ranks = np.argsort(np.argsort(x.cpu().numpy())) / N - 0.5
    for lag in (1, 2, 4, 64):
        correlation = 12 * np.mean(ranks[lag:] * ranks[:-lag])
        assert abs(correlation) < 5 / math.sqrt(N)


def test_bounds():
    ember.opencl.manual_seed(0)
    for dtype in (ember.float32, ember.float16, ember.bfloat16):
        x = ember.rand(N, dtype=dtype, device="opencl")
        assert x.min().item() >= 0 and x.max().item() < 1
    assert ember.empty(N, device="opencl").exponential_().min().item() > 0
    assert ember.randn(N, device="opencl").isfinite().all().item()


def chi_square(counts, expected):
    return float((((counts - expected) ** 2) / expected).sum())


def test_integers():
    ember.opencl.manual_seed(1)
    x = ember.randint(-3, 7, (N,), device="opencl")
    counts = ember.bincount(x + 3, minlength=10).double().cpu()
    assert len(counts) == 10
    assert chi_square(counts, N / 10) < 40  # 9 degrees of freedom
    big = ember.randint(0, 2**62, (1000,), device="opencl").double().mean().item()
    assert abs(big / 2**61 - 1) < 0.1
    for dtype in (ember.uint8, ember.int32, ember.float32, ember.bool):
        x = ember.empty(1000, dtype=dtype, device="opencl").random_()
        assert (x >= 0).all().item()


def test_bernoulli_geometric_dropout():
    ember.opencl.manual_seed(2)
    sigma = math.sqrt(0.3 * 0.7 / N)
    x = ember.empty(N, device="opencl").bernoulli_(0.3)
    assert abs(x.mean().item() - 0.3) < 5 * sigma
    p = ember.full((N,), 0.3, device="opencl")
    assert abs(ember.bernoulli(p).mean().item() - 0.3) < 5 * sigma
    with pytest.raises(RuntimeError, match="p_in >= 0 && p_in <= 1"):
        ember.bernoulli(p + 1)
    y = nn.functional.dropout(ember.ones(N, device="opencl"), 0.3)
    assert abs((y == 0).float().mean().item() - 0.3) < 5 * sigma
    assert_close(y.max().cpu(), ember.tensor(1 / 0.7))
    x = ember.empty(N, device="opencl").geometric_(0.3)
    assert x.min().item() == 1
    assert abs(x.mean().item() - 1 / 0.3) < 5 * math.sqrt(0.7) / 0.3 / math.sqrt(N)
    assert (ember.empty(N, device="opencl").bernoulli_(1.0) == 1).all().item()


@pytest.mark.parametrize("n", [1, 100, 5000])
def test_permutations(n):
    ember.opencl.manual_seed(4)
    x = ember.randperm(n, device="opencl")
    assert ember.equal(x.sort()[0].cpu(), ember.arange(n))
    if n > 1:
        assert not ember.equal(x, ember.randperm(n, device="opencl"))


@pytest.mark.parametrize("replacement", [False, True])
def test_multinomial(replacement):
    ember.opencl.manual_seed(6)
    weights = ember.tensor([1.0, 0.0, 3.0, 4.0], device="opencl")
    rows = weights.expand(2000, 4)
    first = ember.multinomial(rows, 3, replacement)[:, 0].cpu()
    counts = ember.bincount(first, minlength=4).double()
    assert counts[1] == 0
    expected = ember.tensor([250.0, 750.0, 1000.0]).double()
    assert chi_square(counts[[0, 2, 3]], expected) < 25  # 2 degrees of freedom
    if not replacement:
        drawn = ember.multinomial(rows, 3).sort(-1)[0].cpu()
        assert ember.equal(drawn, ember.tensor([0, 2, 3]).expand(2000, 3))
    with pytest.raises(RuntimeError, match="inf"):
        ember.multinomial(weights - 2, 1)
    with pytest.raises(RuntimeError, match="sum of probabilities"):
        ember.multinomial(weights * 0, 1)


def test_strided_and_complex():
    ember.opencl.manual_seed(7)
    x = ember.zeros(50, 40, device="opencl")
    x[:, ::2].normal_()
    assert (x[:, 1::2] == 0).all().item()
    assert (x[:, ::2] != 0).all().item()
    z = ember.randn(N, dtype=ember.complex64, device="opencl")
    assert abs(z.abs().square().mean().item() - 1) < 0.05


def test_checkpoint_repeats_what_was_drawn():
    ember.opencl.manual_seed(8)
    x = ember.ones(1000, device="opencl", requires_grad=True)
    y = ember.utils.checkpoint.checkpoint(
        lambda x: nn.functional.dropout(x * x, 0.5), x, use_reentrant=False
    )
    y.sum().backward()
    assert_close(x.grad, y.detach() * 2)
    with ember.random.fork_rng():
        inside = ember.rand(3, device="opencl")
    assert ember.equal(ember.rand(3, device="opencl"), inside)


def full(value):
    return ember.full((N,), float(value), device="opencl")


@pytest.mark.parametrize(
    "x, mean, variance",
    [
        (lambda: ember.poisson(full(3.5)), 3.5, 3.5),
        (lambda: ember.poisson(full(300)), 300, 300),
        (lambda: ember.binomial(full(20), full(0.2)), 4, 3.2),
        (lambda: ember.binomial(full(400), full(0.8)), 320, 64),
        (lambda: ember._standard_gamma(full(0.5)), 0.5, 0.5),
        (lambda: ember._standard_gamma(full(30)), 30, 30),
        (lambda: ember._sample_dirichlet(full(2).reshape(-1, 2))[:, 0], 0.5, 0.05),
    ],
    ids="poisson poisson+ binomial binomial+ gamma gamma+ dirichlet".split(),
)
def test_draws_with_parameters(x, mean, variance):
    ember.opencl.manual_seed(9)
    drawn = x()
    assert drawn.device.type == "opencl"
    drawn = drawn.double().cpu()
    n = drawn.numel()
    assert abs(drawn.mean().item() - mean) < 5 * math.sqrt(variance / n)
    assert abs(drawn.var().item() / variance - 1) < 20 / math.sqrt(n)
