"""Which arguments ops take for numbers, and which values they refuse."""

import operator

import pytest

import ember


def test_integers_come_from_tensors_without_dimensions():
    x = ember.arange(9).reshape(3, 3)
    assert x.narrow(0, ember.tensor(1), 1).tolist() == [[3, 4, 5]]
    for bad in (ember.tensor([1]), ember.tensor(1.0), ember.tensor([0, 1])):
        with pytest.raises(RuntimeError, match="0-dim integral"):
            x.narrow(0, bad, 1)
    with pytest.raises(TypeError):
        x.sum(ember.tensor([1]))
    parts = ember.tensor_split(x, ember.tensor([1]))  # places, not a number of parts
    assert [len(p) for p in parts] == [1, 2]


def test_numbers_alone_make_a_tensor():
    for made, expected in (
        (ember.add(True, True), ember.tensor(True)),
        (ember.add(1, 2), ember.tensor(3)),
        (ember.mul(2, 1.5), ember.tensor(3.0)),
        (ember.sub(5, 7), ember.tensor(-2)),
    ):
        assert made.dtype == expected.dtype and made.item() == expected.item()
    for name in "pow remainder maximum eq bitwise_and xlogy special.zeta".split():
        function = operator.attrgetter(name)(ember)
        with pytest.raises(TypeError):
            function(1, 2)


@pytest.mark.parametrize("dtype", [ember.float16, ember.float64, ember.complex64])
def test_only_integers_and_booleans_are_inverted(dtype):
    with pytest.raises(TypeError, match=r"operator\.invert"):
        operator.invert(ember.ones(2, dtype=dtype))
    assert (~ember.tensor([1])).item() == -2
    assert (~ember.tensor([True])).item() is False


def test_boolean_factors_are_for_boolean_results():
    x, v = ember.ones(2, 2), ember.ones(2)
    for name in ("beta", "alpha"):
        with pytest.raises(RuntimeError, match=f"Boolean {name} only supported"):
            ember.addr(x, v, v, **{name: True})
    ember.addr(x.bool(), v.bool(), v.bool(), beta=True, alpha=True)


def test_shapes_are_told_before_dtypes():
    x = ember.arange(4)
    with pytest.raises(RuntimeError, match="shape mismatch"):
        x[x > -1] = ember.tensor([])


def test_singular_matrices():
    zero = ember.zeros(2, 2)
    for p in ("nuc", "fro", 1, -1):
        batch = ember.stack([ember.eye(2), zero])
        assert ember.isinf(ember.linalg.cond(batch, p)).tolist() == [False, True]
    factor = ember.tensor([[1.0, 0.0], [1.0, 0.0]])
    with pytest.raises(ember.linalg.LinAlgError, match="diagonal element 2 is zero"):
        ember.cholesky_inverse(factor)
    with pytest.raises(ember.linalg.LinAlgError, match=r"\(Batch element 1\)"):
        ember.cholesky_inverse(ember.stack([ember.eye(2), factor]))


def test_pivots_fit_their_factors():
    lu, pivots = ember.linalg.lu_factor(ember.rand(2, 3, 3))
    for bad in (pivots[..., :-1], pivots[0], ember.empty(0, dtype=ember.int32)):
        with pytest.raises(ValueError, match="Expected LU_pivots to have shape"):
            ember.lu_unpack(lu, bad)
    with pytest.raises(RuntimeError, match="greater or equal to 1"):
        ember.linalg.lu_solve(lu, pivots * 0, ember.rand(2, 3, 1))


def test_nuclear_norm_into_a_tensor():
    out = ember.empty(0)
    assert ember.nuclear_norm(ember.eye(3), out=out) is out and out.item() == 3


def test_copies_by_reshape_are_no_views():
    x = ember.rand(2, 3, requires_grad=True)
    for copy in (x.t().reshape(-1), x.t().flatten()):
        assert not copy._is_view() and copy._base is None
        copy.mul_(2).square().sum().backward()
        assert ember.allclose(x.grad, 8 * x)
        x.grad = None
    assert x.reshape(-1)._base is x and x.flatten(1, 1) is x


def test_names_of_numpy_for_arguments():
    x = ember.ones(2, 3)
    assert ember.sum(a=x, axis=0, keepdims=True).shape == (1, 3)
    assert ember.exp(x=x).shape == ember.exp(a=x).shape == (2, 3)
    assert ember.add(x1=x, x2=x).sum().item() == 12
    assert len(ember.split(tensor=x, split_size_or_sections=1)) == 2
    assert len(ember.split(tensor=x, split_size_or_sections=[1, 2], dim=1)) == 2
