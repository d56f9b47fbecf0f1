"""What gradcheck finds: each kind of wrong derivative, and that right ones pass."""

import pytest

import ember
from ember.autograd import Function, forward_ad, gradcheck, gradgradcheck
from ember.autograd.gradcheck import GradcheckError

both_modes = pytest.mark.parametrize("fast", [False, True])


def doubles(*shape):
    return ember.rand(*shape, dtype=ember.float64, requires_grad=True)


class Jittered(Function):
    """The identity, whose gradient is a little random."""

    @staticmethod
    def forward(ctx, x, jitter):
        ctx.jitter = jitter
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad * (1 + ctx.jitter * ember.rand_like(grad)), None


@both_modes
def test_a_gradient_that_differs_between_two_runs(fast):
    x = doubles(3)
    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradcheck(lambda t: Jittered.apply(t, 1e-6), x, fast_mode=fast)
    assert gradcheck(
        lambda t: Jittered.apply(t, 1e-6), x, fast_mode=fast, nondet_tol=1e-5
    )
    assert gradcheck(lambda t: Jittered.apply(t, 0.0), x, fast_mode=fast)


@both_modes
def test_a_gradient_that_does_not_arrive(fast):
    def needy(x):
        def hook(grad):
            if grad is None:
                raise RuntimeError("it is missing")

        y = x.clone()
        y.register_hook(hook)
        return y

    options = {"fast_mode": fast}
    with (
        pytest.warns(UserWarning, match="undefined gradient support"),
        pytest.raises(GradcheckError, match="handle undefined output grads"),
    ):
        gradcheck(needy, doubles(2), **options)
    assert gradcheck(needy, doubles(2), check_undefined_grad=False, **options)


@both_modes
def test_a_gradient_that_is_not_linear(fast):
    def shifted(x):
        y = x.clone()
        y.register_hook(lambda g: g + 1e-2)
        return y

    with pytest.raises(GradcheckError, match="backward not multiplied by grad_output"):
        gradcheck(shifted, doubles(1), atol=1e-1, fast_mode=fast)


@pytest.mark.parametrize("part", ["real", "imaginary"])
def test_a_complex_gradient_tells_which_part_is_wrong(part):
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return ember.complex(x, x)

        @staticmethod
        def backward(ctx, grad):
            wrong = grad.real if part == "real" else grad.imag
            return grad.real + grad.imag + 0.1 * wrong

    with pytest.raises(GradcheckError, match=f"the {part} part of complex outputs"):
        gradcheck(Wrong.apply, doubles(2))


@both_modes
@pytest.mark.parametrize("what", ["shape", "dtype"])
def test_outputs_must_keep_their_form(fast, what):
    def changing(x):
        if (x >= 1).all():
            return ember.cat([x, x]) if what == "shape" else x.float()
        return x

    x = ember.ones(1, dtype=ember.float64, requires_grad=True)
    with pytest.raises(AssertionError, match=f"outputs with the same {what}"):
        gradcheck(changing, x, fast_mode=fast)


def test_the_fast_mode_is_as_tolerant_as_the_full_one():
    class Off(Function):
        """Every element of the Jacobian is wrong by 0.9 of the tolerance."""

        @staticmethod
        def forward(ctx, x):
            return x.sum() * ember.ones(3, dtype=x.dtype)

        @staticmethod
        def backward(ctx, grad):
            return grad.sum().expand(40) + 9e-4 * grad.sum()

    for seed in range(5):
        ember.manual_seed(seed)
        for fast in (False, True):
            assert gradcheck(Off.apply, doubles(40), atol=1e-3, rtol=0, fast_mode=fast)


class ByHand(Function):
    """2 x + y, with a jvp that forgets y when `forgets`."""

    @staticmethod
    def forward(ctx, x, y, forgets):
        ctx.forgets = forgets
        return 2 * x + y

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad, grad, None

    @staticmethod
    def jvp(ctx, dx, dy, _):
        return 2 * dx if ctx.forgets else 2 * dx + dy


@both_modes
def test_forward_mode_with_several_inputs(fast):
    options = {"check_forward_ad": True, "fast_mode": fast}
    x, y = doubles(2), doubles(2)
    assert gradcheck(lambda a, b: ByHand.apply(a, b, False), (x, y), **options)
    with pytest.raises(GradcheckError, match="computed with forward mode mismatch"):
        gradcheck(lambda a, b: ByHand.apply(a, b, True), (x, y), **options)
    assert gradgradcheck(lambda a, b: a * b, (x, y), check_fwd_over_rev=True)


def test_an_input_without_a_direction_counts_as_still():
    def uneven(x, y):
        dy = forward_ad.unpack_dual(y).tangent
        inside = forward_ad._current_level >= 0
        return x * 2 if inside and dy is None else x + y

    with pytest.raises(GradcheckError, match="when it is undefined"):
        gradcheck(
            uneven,
            (doubles(2), doubles(2)),
            check_forward_ad=True,
            check_backward_ad=False,
        )


def test_directions_in_batches():
    options = {"check_forward_ad": True, "check_batched_forward_grad": True}
    assert gradcheck(lambda a, n: (a.exp(), a + n), (doubles(3), 1), **options)
    assert gradcheck(lambda a, b: a * 2, (doubles(2), doubles(2)), **options)
    with pytest.raises(RuntimeError, match="no directions inside of vmap"):
        gradcheck(lambda a: ByHand.apply(a, a, False), doubles(2), **options)


def test_the_number_of_the_level_that_is_entered():
    assert forward_ad._current_level == -1
    with forward_ad.dual_level():
        assert forward_ad._current_level == 0
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        forward_ad.nothing
