"""Custom Functions in forward mode: what their jvp may return, and what it sees."""

import pytest

import ember
from ember.autograd import Function, forward_ad


@pytest.fixture(autouse=True)
def level():
    with forward_ad.dual_level():
        yield


def dual(*values):
    x = ember.tensor(values or (1.0, 2.0))
    return forward_ad.make_dual(x, ember.ones_like(x))


def function(forward, jvp) -> type[Function]:
    """A Function of one tensor."""
    return type("Made", (Function,), {"forward": forward, "jvp": staticmethod(jvp)})


def doubled(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2)


@pytest.mark.parametrize(
    ("jvp", "fine"),
    [
        (lambda ctx, t: t.mul_(2), True),
        (lambda ctx, t: t * 2, False),
        (lambda ctx, t: t, False),
    ],
)
def test_a_change_in_place_changes_the_direction_in_place(jvp, fine):
    x = dual()
    tangent = forward_ad.unpack_dual(x).tangent
    apply = function(doubled, jvp).apply
    if not fine:
        with pytest.raises(RuntimeError, match="modify the corresponding gradient"):
            apply(x)
        return
    y = apply(x)
    assert y is x and forward_ad.unpack_dual(y).tangent is tangent
    assert tangent.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("forward", "same"),
    [(lambda ctx, x: x[:1], lambda t: t[:1]), (lambda ctx, x: x, lambda t: t.view(-1))],
)
def test_a_view_has_a_view_of_the_direction(forward, same):
    x = dual()
    tangent = forward_ad.unpack_dual(x).tangent
    y = function(forward, lambda ctx, t: same(t)).apply(x)
    assert forward_ad.unpack_dual(y).tangent._base is tangent
    with pytest.raises(RuntimeError, match="jvp is not returning a view"):
        function(forward, lambda ctx, t: same(t).clone()).apply(x)
    with pytest.raises(RuntimeError, match="a view of the given"):
        function(forward, lambda ctx, t: same(t.clone())).apply(x)


def test_no_direction_where_nothing_moves():
    def two(ctx, x):
        other = x.clone()
        ctx.mark_non_differentiable(other)
        return x.clone(), other

    _, other = function(two, lambda ctx, t: (t, None)).apply(dual())
    assert forward_ad.unpack_dual(other).tangent is None
    with pytest.raises(RuntimeError, match="You should return None at that position"):
        function(two, lambda ctx, t: (t, t.clone())).apply(dual())


def test_integers_have_no_direction():
    class Scaled(Function):
        @staticmethod
        def forward(ctx, x, n):
            return x * n

        @staticmethod
        def jvp(ctx, t, tn):
            seen.append(tn)
            return t * 3

    seen: list = []
    Scaled.apply(dual(), ember.tensor(3))
    assert seen == [None]


def test_jvp_sees_what_was_saved_for_it():
    def keeping(ctx, x):
        ctx.save_for_backward(x)
        return x * 1

    def keeping_for_both(ctx, x):
        ctx.save_for_forward(x)
        return keeping(ctx, x)

    def jvp(ctx, t):
        seen.append(len(ctx.saved_tensors))
        return t.clone()

    seen: list = []
    for forward in (keeping, keeping_for_both):
        function(forward, jvp).apply(dual())
    assert seen == [0, 1]


def test_the_text_of_a_dual_tensor_has_its_direction():
    x = dual(1.0)
    assert repr(x) == "tensor([1.], tangent=tensor([1.]))"
    assert repr(x * 3) == "tensor([3.], tangent=tensor([3.]))"
    assert repr(forward_ad.unpack_dual(x).primal) == "tensor([1.])"
    assert repr(ember.ones(1)) == "tensor([1.])"
