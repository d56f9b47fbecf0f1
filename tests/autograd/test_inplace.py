"""In-place changes: which are recorded, which are refused, what views see of them."""

import pytest

import ember


def leaf(*values):
    return ember.tensor(list(values or (1.0, 2.0, 3.0)), requires_grad=True)


def test_a_change_of_a_view_enters_the_history_of_its_base():
    x = leaf()
    base = x * 2
    view = base[1:]
    view.mul_(10)
    assert base.tolist() == [2, 40, 60]
    assert base.grad_fn.name() == "CopySlices"
    base.sum().backward()
    assert x.grad.tolist() == [2, 20, 20]


def test_other_views_see_the_change():
    x = leaf()
    base = x * 2
    a, b = base[:2], base[1:]
    a.mul_(10)
    (g,) = ember.autograd.grad(b.sum(), x)
    assert g.tolist() == [0, 20, 2]


def test_assigning_elements_of_a_constant_records():
    x = leaf()
    y = ember.zeros(5)
    y[1:4] = x * x
    assert y.requires_grad and not y.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [2, 4, 6]


def test_a_view_may_reach_outside_its_base():
    memory = ember.zeros(8)
    base = memory[2:5].detach()
    x = leaf()
    base.copy_(x)
    wide = base.as_strided((6,), (1,), 1)
    wide.mul_(3)
    (base.sum() + wide.sum()).backward()
    assert memory.tolist() == [0, 0, 3, 6, 9, 0, 0, 0]
    assert x.grad.tolist() == [6, 6, 6]


def test_windows_that_overlap_sum_their_gradients():
    x = ember.ones(6, requires_grad=True)
    x.as_strided((4, 3), (1, 1)).sum().backward()
    assert x.grad.tolist() == [1, 2, 3, 3, 2, 1]


def test_a_real_view_of_a_complex_tensor():
    x = ember.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    base = x * 1
    ember.view_as_real(base)[:, 0] *= 5
    assert base.tolist() == [5 + 2j, 15 - 1j]
    ember.view_as_real(base).sum().backward()
    assert x.grad.tolist() == [5 + 1j, 5 + 1j]


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda x: x.add_(1), "a leaf Variable that requires grad"),
        (lambda x: x[0].add_(1), "a view of a leaf Variable that requires grad"),
        (lambda x: (x * 1).expand(2, 3).add_(1), "more than one element"),
    ],
)
def test_changes_that_are_refused(change, message):
    with pytest.raises(RuntimeError, match=message):
        change(leaf())


def test_a_leaf_may_be_changed_without_recording():
    x = leaf()
    with ember.no_grad():
        x.add_(1)
        x[0] = 7
    assert x.tolist() == [7, 3, 4] and x.requires_grad and x.is_leaf


def test_a_saved_tensor_must_not_change():
    x = leaf()
    y = x * 2
    z = y.sin()
    y.add_(1)
    with pytest.raises(
        RuntimeError, match=r"output 0 of .* is at version 1; expected version 0"
    ):
        z.sum().backward()


def test_ops_that_keep_nothing_allow_changes():
    x = leaf()
    y = x * 2
    z = y + 1
    y.mul_(0)
    z.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_data_has_no_version():
    x = leaf()
    y = x.exp()
    y.data.zero_() if hasattr(y.data, "zero_") else y.data.mul_(0)
    assert y._version == 0
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 0]


def test_second_derivatives_through_changed_views():
    x = leaf()
    base = x * x
    base[1:].mul_(x[:2])
    (g,) = ember.autograd.grad(base.sum(), x, create_graph=True)
    (h,) = ember.autograd.grad(g.sum(), x)
    # base = [x0^2, x1^2 x0, x2^2 x1]
    assert g.tolist() == [2 + 4, 4 + 9, 12]
    assert h.tolist() == [2 + 4, 2 + 4 + 6, 6 + 4]


def test_detach_in_place():
    x = leaf()
    y = x * 2
    assert y.detach_() is y
    assert not y.requires_grad and y.is_leaf and y.grad_fn is None
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        (x * 2)[1:].detach_()


def test_loops_over_slices_cost_no_more_than_the_slices():
    """While nobody else needs the gradient, only the part under a view is copied."""
    x = ember.ones(2000, requires_grad=True)
    y = x * 1
    for i in range(2000):
        y[i : i + 1] = 2.0
    y.sum().backward()
    assert x.grad.tolist() == [0] * 2000


OVERLAPPING = {
    "expanded": (lambda x: x.expand(3, 5), (3, 5), (0, 1)),
    "a part of it": (lambda x: x.expand(3, 5), (2, 2), (1, 2)),
    "windows": (lambda x: x.unfold(0, 3, 1), (2, 4), (1, 1)),
    "of windows": (lambda x: x.unfold(0, 3, 1), (3, 3), (0, 2)),
}


@pytest.mark.parametrize(
    ("before", "size", "stride"), OVERLAPPING.values(), ids=OVERLAPPING
)
def test_as_strided_of_what_has_its_elements_several_times(before, size, stride):
    """Directions and second gradients too: the parts of a gradient are shared once."""
    x = ember.randn(5, dtype=ember.float64, requires_grad=True)

    def view(x):
        return before(x).as_strided(size, stride, 0)

    assert ember.autograd.gradcheck(view, x, check_forward_ad=True)
    assert ember.autograd.gradgradcheck(lambda x: view(x) * view(x).exp(), x)


# --- views that cannot be followed ----------------------------------------------------


class ViewOf(ember.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g


class Doubled(ember.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return 2 * g


def in_no_grad(x):
    with ember.no_grad():
        return x[:]


@pytest.mark.parametrize(
    ("view", "why"),
    [
        (lambda x: x.split(1)[0], "output of a function that returns multiple views"),
        (lambda x: x.unbind()[0], "output of a function that returns multiple views"),
        (in_no_grad, "A view was created in no_grad mode"),
        (lambda x: in_no_grad(x).view(-1), "was created in no_grad mode"),
    ],
)
@pytest.mark.parametrize("change", [lambda v: v.mul_(2), Doubled.apply])
def test_what_is_wrong_with_a_view_comes_before_its_base_being_a_leaf(
    view, why, change
):
    with pytest.raises(RuntimeError, match=why):
        change(view(leaf()))
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        change(leaf()[:])


@pytest.mark.parametrize("change", [lambda v, b: v.add_(b), lambda v, b: v.copy_(b)])
def test_views_made_by_functions_of_what_needs_no_gradient(change):
    view = ViewOf.apply(ember.ones(3))
    with pytest.raises(RuntimeError, match="created inside a custom Function"):
        change(view, leaf())
    with ember.no_grad():
        change(ViewOf.apply(ember.ones(3)), leaf())


def test_a_view_of_an_intermediate_is_not_dirty():
    class Wrong(ember.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x.clone().view_as(x)
            ctx.mark_dirty(out)
            return out

    with pytest.raises(RuntimeError, match="received a tensor that was not an input"):
        Wrong.apply(leaf() * 1)


@pytest.mark.parametrize(
    "pieces",
    [
        lambda t: t.unsafe_split(1),
        lambda t: t.unsafe_split_with_sizes((1, 2)),
        lambda t: t.unsafe_chunk(3),
    ],
)
def test_unsafe_pieces_can_be_changed_one_by_one(pieces):
    x = leaf(2.0, 3.0, 5.0)
    first, second, *_ = pieces(x * 1)
    assert not first._is_view()
    first.mul_(second[:1])
    first.sum().backward()
    assert x.grad.tolist() == [3, 2, 0]


# --- set_ and inference mode ----------------------------------------------------------


def test_set_makes_a_leaf_another_one():
    x = leaf()
    edge = ember.autograd.graph.get_gradient_edge(x)
    before = x.clone()
    with ember.no_grad():
        x.set_(ember.ones(2))
    with pytest.raises(RuntimeError, match="to not have been used in the graph"):
        ember.autograd.grad(before.sum(), x)
    assert ember.autograd.grad(before.sum(), edge)[0].tolist() == [1, 1, 1]
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]
    x.grad = None
    old = leaf()
    sum_ = old.sum()
    with ember.no_grad():
        old.set_(ember.ones(2))
    with pytest.raises(RuntimeError, match=r"shape \[3\] arrived at a leaf"):
        sum_.backward()


def test_tensors_of_inference_mode_are_not_written_or_recorded_outside():
    with ember.inference_mode():
        plain, wants = ember.ones(2), ember.ones(2, requires_grad=True)
    for call in (
        lambda: ember.mul(ember.ones(2), 2, out=plain),
        lambda: ember.sum(ember.ones(2, 2), 0, out=plain),
        lambda: plain.add_(1),
    ):
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            call()
    view = wants.view(-1)
    assert view.is_inference() and view.is_leaf
    assert not view.requires_grad and not view._is_view()
    with ember.inference_mode():
        assert ember.mul(ember.ones(2), 2, out=plain).tolist() == [2, 2]
