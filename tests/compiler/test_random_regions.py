"""Programs made at random, of pointwise ops, views, changes in place, reductions and
values that are looked at: in regions they give what they give outside, bit for bit.
"""

import random

import pytest

import ember
from ember import _C
from ember.compiler._regions import region

PROGRAMS = 200
COMPILED = 12  # of these with machine code, which takes time to generate

UNARY = "exp sin tanh sigmoid abs neg square relu floor sign".split()
BINARY = "add sub mul maximum minimum".split()
DTYPES = [ember.float32] * 5 + [ember.float64, ember.int32, ember.bool, ember.bfloat16]


class Program:
    """Steps drawn from a seed: the same ones, in whatever way they run."""

    def __init__(self, seed):
        self.rng = seed if isinstance(seed, random.Random) else random.Random(seed)

    def run(self):
        rng = self.rng
        ember.manual_seed(rng.randrange(1000))
        rows, columns = rng.choice([(4, 6), (1, 24), (24, 1), (3, 40), (64, 48)])
        self.shape = (rows, columns)
        values = [ember.randn(rows, columns) for _ in range(3)]
        values.append(ember.randn(columns))
        values.append(ember.randn(rows, 1))
        seen = []
        for _ in range(rng.randrange(5, 30)):
            step = rng.choice(self.STEPS)
            try:
                made = step(self, values, seen)
            except (RuntimeError, IndexError) as error:  # shapes that don't fit
                made = seen.append(str(error))
            if made is not None:
                values.append(made)
            if len(values) > 8:
                values.pop(rng.randrange(len(values)))
        return [*values, *seen]

    def one(self, values, floating=False):
        found = [v for v in values if v.dtype.is_floating_point or not floating]
        return self.rng.choice(found) if found else ember.ones(self.shape)

    def unary(self, values, seen):
        x = self.one(values, floating=True)
        return getattr(ember, self.rng.choice(UNARY))(x)

    def binary(self, values, seen):
        a, b = self.one(values), self.one(values)
        if self.rng.random() < 0.3:
            b = self.rng.choice([2, 0.5, -1.25, 3.0])
        if self.rng.random() < 0.2:
            return self.rng.choice([ember.lt, ember.eq, ember.ge])(a, b)
        name = self.rng.choice(BINARY)
        if name in ("maximum", "minimum") and not isinstance(b, ember.Tensor):
            name = "mul"
        if name == "sub":
            a = a.float()
            b = b.float() if isinstance(b, ember.Tensor) else b
        return getattr(ember, name)(a, b)

    def choose(self, values, seen):
        c = self.one(values)
        return ember.where(c > 0, self.one(values), self.one(values))

    def cast(self, values, seen):
        x = self.one(values)
        if x.dtype.is_floating_point:
            x = ember.nan_to_num(x).clamp(-100, 100)
        return x.to(self.rng.choice(DTYPES))

    def view(self, values, seen):
        x = self.one(values)
        how = self.rng.randrange(5)
        if how == 0 and x.dim() == 2:
            return x.t()
        if how == 1 and x.shape[0] > 1:
            return x[: x.shape[0] // 2]
        if how == 2:
            return x[..., ::2]
        if how == 3:
            return x.detach()
        return x.contiguous().view(-1)

    def change(self, values, seen):
        x, y = self.one(values, floating=True), self.one(values)
        how = self.rng.randrange(5)
        if how == 0:
            x.mul_(0.5).add_(1)
        elif how == 1:
            x.add_(y)
        elif how == 2:
            x[..., 0] = 2.5
        elif how == 3:
            x.copy_(y)
        else:
            x[x > 1] = 0.25

    def shift(self, values, seen):
        x = self.one(values, floating=True)
        if x.shape[-1] > 1:
            x[..., 1:] = x[..., :-1] * 0.5

    def reduce(self, values, seen):
        x, how = self.one(values, floating=True).float(), self.rng.randrange(4)
        some = [d for d in range(x.dim()) if self.rng.random() < 0.5]
        dims, keep = some or list(range(x.dim())), self.rng.random() < 0.6
        if how < 2:  # eighths, of which sums are exact in any order
            x = (ember.nan_to_num(x).clamp(-32, 32) * 8).round() / 8
            return (x.sum if how else x.mean)(dims, keepdim=keep)
        # Of zeros of both signs, one or the other is the largest.
        return (x.amax if how == 2 else x.amin)(dims, keepdim=keep) + 0.0

    def frame(self, values, seen):
        """What is filled, and then written in the middle."""
        x = self.one(values, floating=True)
        made = self.rng.choice([ember.zeros_like, ember.ones_like, ember.clone])(x)
        made[..., 1:-1] = x[..., 2:] - x[..., :-2]
        if self.rng.random() < 0.3:
            made[..., :1].add_(made[..., -1:])
        return made

    def roll(self, values, seen):
        x = self.one(values)
        return x.roll(self.rng.choice([1, -2]), -1)

    def steps(self, values, seen):
        """Part of the program again and again, on what it has made."""
        x = self.one(values, floating=True)
        for _ in range(self.rng.randrange(2, 5)):
            if self.rng.random() < 0.2 and x.numel() and x.reshape(-1)[-1] > 0.5:
                x = x - 1
            x = x * 0.5 + x.flip(0) if self.rng.random() < 0.3 else x * 0.75 - 0.1
        return x

    def join(self, values, seen):
        x, y = self.one(values), self.one(values)
        return ember.cat([x.reshape(-1), y.reshape(-1)]) + 1

    def look(self, values, seen):
        x = self.one(values)
        if x.numel():
            seen.append(x.reshape(-1)[0].item())
        else:
            seen.append(str(x))

    def draw(self, values, seen):
        return ember.rand(self.shape)

    STEPS = [unary] * 4 + [binary] * 6 + [choose, cast, view, view, change, change]
    STEPS += [shift, reduce, reduce, reduce, frame, roll, steps, join, look, draw]


def bits(value):
    if not isinstance(value, ember.Tensor):
        return repr(value)
    whole = value.clone(memory_format=ember.contiguous_format)
    if whole.dtype.is_floating_point:
        whole = ember.where(whole.isnan(), ember.full_like(whole, float("nan")), whole)
    return value.shape, value.dtype, bytes(whole.untyped_storage())


@pytest.fixture
def everything():
    """Small results are put off, too."""
    _C._lazy_reset()
    least = _C._lazy_set_least(1)
    yield
    _C._lazy_set_least(least)


def run(seed, **options):
    with region(**options):
        out = Program(seed).run()
    return [bits(v) for v in out]


@pytest.mark.parametrize("first", range(0, PROGRAMS, 20))
def test_op_by_op(everything, first):
    hook = ember.compiler._regions._compile
    _C._lazy_compile_hook(None)
    try:
        for seed in range(first, first + 20):
            wanted = [bits(v) for v in Program(seed).run()]
            assert run(seed) == wanted, f"as written down, program {seed}"
            assert run(seed, wait=True) == wanted, f"in groups, program {seed}"
    finally:
        _C._lazy_compile_hook(hook)


@pytest.mark.parametrize("seed", range(1000, 1000 + COMPILED))
def test_compiled(everything, seed):
    wanted = [bits(v) for v in Program(seed).run()]
    for _ in range(2):
        assert run(seed, wait=True) == wanted


# --- gradients ------------------------------------------------------------------------


def loss_of(rng, leaves):
    """A value to differentiate, of a random graph over the leaves."""
    values = list(leaves)
    for _ in range(rng.randrange(4, 16)):
        a, b = rng.choice(values), rng.choice(values)
        how = rng.randrange(9)
        if how < 3:
            made = getattr(ember, rng.choice(["sin", "tanh", "sigmoid", "square"]))(a)
        elif how < 6:
            made = rng.choice([ember.add, ember.mul, ember.sub])(a, b)
        elif how == 6:
            made = ember.where(a.detach() > 0.1, a, b * 0.5)
        elif how == 7:
            made = (a * 1).mul_(0.7).add_(b)
        else:
            made = a - a.sum(-1, keepdim=True) * 0.01
        values.append(made)
        if rng.random() < 0.1:
            float(made.detach()[0, 0])
        if len(values) > 7:
            values.pop(rng.randrange(3, len(values)))
    return sum(v.mean() for v in values[-3:])


def gradients(seed, in_region):
    rng = random.Random(seed)
    ember.manual_seed(seed)
    leaves = [ember.randn(20, 24).requires_grad_() for _ in range(3)]
    for _ in range(rng.randrange(1, 3)):
        if in_region:
            with region(wait=True):
                loss = loss_of(rng, leaves)
        else:
            loss = loss_of(rng, leaves)
        how = rng.randrange(4)
        if how == 0:
            loss.backward(retain_graph=True)
        if how == 1:
            with ember.no_grad():
                ember.zeros(3) + leaves[0][0, :3]
        loss.backward()
    return [bits(v.grad) if v.grad is not None else None for v in leaves]


@pytest.mark.parametrize("first", range(0, PROGRAMS, 50))
def test_gradients_op_by_op(everything, first):
    hook = ember.compiler._regions._compile
    _C._lazy_compile_hook(None)
    try:
        for seed in range(first, first + 50):
            wanted = gradients(seed, False)
            for _ in range(3):  # what comes again runs in groups
                assert gradients(seed, True) == wanted, f"program {seed}"
    finally:
        _C._lazy_compile_hook(hook)
