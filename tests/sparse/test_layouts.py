"""What makes tensors of a sparse layout, and which conversions PyTorch refuses."""

import pytest

import ember


@pytest.mark.parametrize("name", ["empty", "zeros"])
def test_empty_tensors_of_a_layout(name):
    function = getattr(ember, name)
    s = function((2, 3), layout=ember.sparse_coo, dtype=ember.float64)
    assert s.layout is ember.sparse_coo and s.dtype is ember.float64
    assert function(2, 3, layout=ember.sparse_coo, requires_grad=True).requires_grad
    for layout in (ember.sparse_csr, ember.sparse_csc):
        s = function(4, 2, 3, layout=layout)
        assert s.layout is layout and s.shape == (4, 2, 3)
        assert not s.to_dense().any()
    with pytest.raises(RuntimeError, match="two dimensions"):
        function(4, 4, layout=ember.sparse_bsr)
    made = getattr(ember.ones(1).double(), "new_" + name)((2,), layout=ember.sparse_coo)
    assert made.layout is ember.sparse_coo and made.dtype is ember.float64
    assert function(2, layout=ember.strided).layout is ember.strided


@pytest.mark.parametrize("name", ["ones", "rand", "randn"])
def test_others_are_dense(name):
    with pytest.raises(NotImplementedError, match="only dense tensors"):
        getattr(ember, name)(2, 2, layout=ember.sparse_coo)


def test_refused_conversions():
    deep = ember.ones(2, 2, 2).to_sparse()
    for method in ("to_sparse_csr", "to_sparse_csc"):
        with pytest.raises(RuntimeError, match=r"sparse_dim\(\)!=2 is not supported"):
            getattr(deep, method)()
    with pytest.raises(RuntimeError, match=r"!=self.sparse_dim\(\) is not supported"):
        deep.to_sparse(1)
    assert deep.to_sparse(3) is deep
    with pytest.raises(RuntimeError, match="for batched inputs is not supported"):
        ember.ones(2, 2, 2).to_sparse_csr().to_sparse_bsr((1, 1))
    for size in ((1,), (1, 1, 1)):
        with pytest.raises(RuntimeError, match=f"blocksize.*, but got {len(size)}"):
            ember.ones(2, 2).to_sparse(blocksize=size)


def test_a_sparse_tensor_keeps_its_parts():
    """Whatever becomes of the tensors that it was made of."""
    i, v = ember.tensor([[0], [1]]), ember.tensor([[3.0, 4.0, 5.0]])
    s = ember.sparse_coo_tensor(i, v, (1, 2, 3))
    i.resize_(2, 3)
    v.resize_(4, 5)
    assert s.coalesce().indices().shape == (2, 1)
    assert s.coalesce().values().shape == (1, 3)


def test_negative_indices_are_chosen_from_the_end():
    x = ember.arange(6.0).reshape(3, 2)
    index = ember.tensor([-1, 0])
    assert ember.equal(
        x.to_sparse().index_select(0, index).to_dense(), x[ember.tensor([2, 0])]
    )
    with pytest.raises(IndexError):
        x.to_sparse().index_select(0, ember.tensor([-4]))


def test_in_place_functions_need_sorted_elements():
    s = ember.sparse_coo_tensor([[0, 0]], [0.1, 0.2], (2,))
    for name in ("asin_", "log1p_", "sqrt_"):
        with pytest.raises(RuntimeError, match=f"{name} requires coalesced input"):
            getattr(s, name)()
        getattr(s.coalesce(), name)()


def test_assignment_is_refused():
    s = ember.eye(2).to_sparse()
    with pytest.raises(TypeError, match="Cannot assign to a sparse tensor"):
        s[0] = 1


@pytest.mark.parametrize("beta", [0, 1, 2])
@pytest.mark.parametrize("alpha", [1, 3])
def test_factors_of_sparse_sums(beta, alpha):
    t, x = (
        ember.tensor(v).to_sparse() for v in ([[0, 1.0], [2, 0]], [[1.0, 2], [3, 0]])
    )
    y, factors = ember.tensor([[1.0, 2], [3, 4]]), {"beta": beta, "alpha": alpha}
    expected = ember.addmm(t.to_dense(), x.to_dense(), y, **factors)
    for made in (
        ember.saddmm(t, x, y, **factors),
        ember.addmm(t, x, y, **factors),
        ember.addmm(t.to_dense(), x, y, **factors),
        ember.addmm(t, x, y.to_sparse(), **factors).to_dense(),
        ember.sspaddmm(t, x, y, **factors).to_dense(),
    ):
        assert ember.equal(made.to_dense(), expected)


def test_new_makes_tensors_of_the_same_kind():
    s = ember.eye(2, dtype=ember.float64).to_sparse()
    for made in (s.new(), s.new(2, 2), s.new((2, 2)), s.new(device="cpu")):
        assert made.layout is ember.sparse_coo and made.dtype is ember.float64
    assert ember.equal(s.new(s.indices(), s.values(), s.shape).to_dense(), s.to_dense())
    for bad in (([6],), (s.values(),), (s.values().untyped_storage(),)):
        with pytest.raises(TypeError):
            s.new(*bad)


def test_zeros_into_a_sparse_tensor():
    s = ember.eye(2).to_sparse()
    assert ember.zeros(3, 4, out=s) is s
    assert s.shape == (3, 4) and s._nnz() == 0
    with pytest.raises(RuntimeError, match="only supported by strided"):
        ember.zeros_like(s, memory_format=ember.contiguous_format)
    assert ember.zeros_like(ember.ones(2, 3), layout=ember.sparse_coo).shape == (2, 3)


def test_resizing_keeps_elements():
    s = ember.eye(2).to_sparse()
    grown = s.clone().resize_as_(ember.zeros(3, 4).to_sparse())
    assert grown.to_dense().tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    with pytest.raises(RuntimeError, match="shrinking the size of sparse dimensions"):
        s.resize_as_(ember.ones(1, 2).to_sparse())
    with pytest.raises(RuntimeError, match="number of sparse dimensions"):
        s.resize_as_(ember.ones(2, 2, 2).to_sparse())


def test_complex_numbers_and_their_parts():
    s = ember.tensor([[1 + 2j, 0], [0, 3j]]).to_sparse()
    parts = ember.view_as_real(s)
    assert parts.shape == (2, 2, 2) and parts.dense_dim() == 1
    assert ember.equal(parts.to_dense(), ember.view_as_real(s.to_dense()))
    assert ember.equal(ember.view_as_complex(parts).to_dense(), s.to_dense())
    with pytest.raises(RuntimeError, match="dense_dim > 0"):
        ember.view_as_complex(ember.ones(2, 2).to_sparse())


def test_empty_tensors_add_and_numbers_multiply():
    s = ember.ones(2, 2).to_sparse(1)
    none = ember.sparse_coo_tensor(size=(2, 2))
    for made in (s + none, none + s):
        assert ember.equal(made.to_dense(), ember.ones(2, 2))
    two = ember.tensor(2.0).to_sparse()
    assert ember.equal((s * two).to_dense(), (two * s).to_dense())
    x = ember.ones(3, 2, 2)
    assert ember.equal(x.mul_(ember.eye(2).to_sparse()), ember.eye(2).expand(3, 2, 2))


def test_refused_sums_norms_and_diagonals():
    s = ember.eye(2).to_sparse()
    with pytest.raises(RuntimeError, match="appears multiple times"):
        ember.sparse.sum(s, [0, 0])
    for options in ({"keepdim": True}, {"p": 0, "dtype": ember.float64}):
        with pytest.raises(RuntimeError, match="norm_sparse currently does not"):
            s.norm(**options)
    with pytest.raises(RuntimeError, match="Only output layouts"):
        ember.sparse.spdiags(
            ember.ones(1, 2), ember.tensor([0]), (2, 2), layout=ember.strided
        )
    with pytest.raises(RuntimeError, match="must have dtype Long"):
        ember.sparse.spdiags(ember.ones(1, 2), ember.tensor([0]).int(), (2, 2))


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t._nnz(),
        lambda t: t._indices(),
        lambda t: t._values(),
        lambda t: t.sparse_resize_((2, 2), 2, 0),
        lambda t: t.sparse_resize_and_clear_((2, 2), 2, 0),
        lambda t: t.resize_as_sparse_(ember.ones(2, 2).to_sparse()),
        lambda t: ember.hspmm(t, t),
        lambda t: t.smm(t),
        lambda t: t.sspaddmm(ember.ones(3, 3).to_sparse(), t),
    ],
)
def test_dense_tensors_are_refused_by_name(call):
    with pytest.raises(NotImplementedError, match=r"layout torch\.strided"):
        call(ember.ones(3, 3))


def test_sparse_functions_told_of_dense_matrices_only():
    a, b = ember.ones(2, 2), ember.arange(4.0).reshape(2, 2)
    assert ember.sparse.addmm(a, b, b, beta=2.0).equal(ember.addmm(a, b, b, beta=2.0))
    for flag in (True, False):
        with pytest.raises(RuntimeError, match=r"_coalesced_ expected sparse"):
            a._coalesced_(flag)
