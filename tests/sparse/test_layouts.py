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
