"""Corners in which results, exceptions or warnings have to be those of PyTorch: writing
to expanded tensors, words of errors, scalers, complex spacing, dual tensors that change
in place, hooks."""

import copy
import pickle
import warnings

import pytest

import ember
from ember.autograd import forward_ad

# --- tensors some elements of which lie at one place ----------------------------------


def expanded() -> ember.Tensor:
    return ember.zeros(1).expand(6)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.fill_(1.0),
        lambda x: x.zero_().fill_(1),
        lambda x: ember.zeros(1).expand(3, 3).fill_diagonal_(1.0)[0].repeat(2),
    ],
)
def test_a_number_may_be_written_to_an_expanded_tensor(write):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert write(expanded()).tolist() == [1.0] * 6


@pytest.mark.parametrize(
    "name, write",
    [
        ("index_fill_", lambda x: x.index_fill_(0, ember.tensor([1]), 1.0)),
        (
            "index_put_",
            lambda x: x.index_put_((ember.tensor([1]),), ember.tensor(1.0)),
        ),
        ("masked_fill_", lambda x: x.masked_fill_(ember.ones(6).bool(), 1.0)),
        ("masked_fill_", lambda x: x.__setitem__(ember.ones(6).bool(), 1.0)),
    ],
)
def test_parts_of_an_expanded_tensor_are_written_with_a_warning(name, write):
    x = expanded()
    with pytest.warns(UserWarning, match=f"{name} on expanded tensors"):
        write(x)
    assert x.tolist() == [1.0] * 6


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.fill_(ember.tensor(1.0)),
        lambda x: x.copy_(ember.ones(6)),
        lambda x: x.add_(1),
        lambda x: x.index_add_(0, ember.tensor([1]), ember.ones(1)),
        lambda x: x.masked_scatter_(ember.ones(6).bool(), ember.ones(6)),
        lambda x: x.put_(ember.tensor([1]), ember.ones(1)),
    ],
)
def test_other_ops_refuse_an_expanded_tensor(write):
    with pytest.raises(RuntimeError, match="unsupported operation: more than one"):
        write(expanded())


# --- exceptions -----------------------------------------------------------------------


@pytest.mark.parametrize("kind, call, message", [
    (RuntimeError, lambda: ember.ones(0, 3).index_select(0, ember.tensor([0])),
     "axis dim should be positive"),
    (RuntimeError, lambda: ember.ones(4, 3).index_select(1, ember.tensor([5])),
     "INDICES element is out of DATA bounds"),
    (IndexError, lambda: ember.ones(4).index_select(0, ember.tensor([5])), "5 is out"),
    (RuntimeError,
     lambda: ember.ones(3, 4).index_add_(0, ember.tensor([5]), ember.ones(1, 4)),
     "index 5 is out of bounds"),
    (RuntimeError,
     lambda: ember.ones(()).index_add(0, ember.tensor([0]), ember.ones(1, 1, 1)),
     "source tensor shape must match self tensor shape"),
    (TypeError, lambda: ember.ones(1).unflatten("A", (1, 1)), r"'dim' \(position 1\)"),
    (TypeError, lambda: ember.unsqueeze(ember.ones(1), "A"), r"'dim' \(position 2\)"),
    (TypeError, lambda: ember.arange(3).apply_(lambda k: "x"), "return a number"),
    (TypeError, lambda: ember.Size([1]) + range(3), r"tuple \(not range\) to torch.S"),
    (TypeError, lambda: ember.use_deterministic_algorithms(1), "must be bool, not int"),
    (RuntimeError, lambda: ember.set_num_interop_threads(2**65), "positive integer"),
    (RuntimeError, lambda: ember.ones(3).set_(ember.ones(3).double().storage()),
     "Expected a Storage of type Float"),
    (RuntimeError, lambda: ember.ones(2, 2, 1, 2).dim_order(ambiguity_check=True),
     "unique dim order"),
    (RuntimeError, lambda: ember.linalg.vector_norm(ember.ones(0, 0), -1, dim=0),
     "cannot compute"),
    (RuntimeError, lambda: ember.zeros(-2), "zeros: Dimension size"),
    (ValueError, lambda: complex(ember.empty(0)), "only one element"),
    (ValueError, lambda: ember.einsum("", []), "at least one operand"),
    (RuntimeError, lambda: ember.Tensor(ember.ones(1), device="cpu"), "as_tensor"),
    (AssertionError, lambda: ember.ones(1).__dlpack__(stream=0), "should be None"),
    (TypeError, lambda: ember.ones(1).__dlpack__(stream=object()), "stream must be"),
    (RuntimeError, lambda: ember.nn.functional.softshrink(ember.ones(2).half(), 65507),
     r"range \[0, 65504\] for input dtype Half, but found 65507"),
    (RuntimeError, lambda: ember.nn.functional.rrelu(ember.ones(2), float("nan"), 0.3),
     "lower bound must be finite, got nan"),
    (RuntimeError, lambda: ember.nn.functional.cosine_similarity(
        ember.ones(2), ember.ones(2), dim=0, eps=-1.0), "eps must be non-negative"),
])  # fmt: skip
def test_exceptions(kind, call, message):
    with pytest.raises(kind, match=message):
        call()


def test_what_an_empty_tensor_is_set_to():
    x = ember.ones(2)
    assert x.is_set_to(x.detach())
    assert not ember.tensor([]).is_set_to(ember.tensor([]))


def test_order_of_dimensions_where_there_is_one():
    x = ember.ones(2, 3, 4, 5)
    assert x.dim_order(ambiguity_check=True) == (0, 1, 2, 3)
    formats = [ember.contiguous_format, ember.channels_last]
    last = x.to(memory_format=ember.channels_last)
    assert last.dim_order(ambiguity_check=formats) == (0, 2, 3, 1)


# --- numbers --------------------------------------------------------------------------


@pytest.mark.parametrize("edge_order", [1, 2])
def test_gradient_by_a_complex_distance(edge_order):
    y = ember.arange(5.0) ** 2
    by = 2 + 1j
    (found,) = ember.gradient(y, spacing=by, edge_order=edge_order)
    (plain,) = ember.gradient(y, edge_order=edge_order)
    assert found.dtype == ember.complex64
    assert ember.allclose(found, plain / by)


def test_a_list_of_floats_takes_no_complex_numbers():
    with pytest.raises(TypeError, match="gradient"):
        ember.gradient(ember.ones(3, 3), spacing=[1j, 2.0])


def test_log_prob_of_a_binomial_is_smooth_at_zero():
    logits = ember.zeros((), requires_grad=True)
    ember.distributions.Binomial(1.0, logits=logits).log_prob(
        ember.tensor(0.0)
    ).backward()
    assert logits.grad.item() == -0.5


def test_make_tensor_cuts_its_range_to_the_dtype():
    x = ember.testing.make_tensor(
        (50,), dtype=ember.uint8, device="cpu", low=-2, high=2
    )
    assert x.min() >= 0 and x.max() < 2


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_is_laid_out_by_columns(upper):
    a = ember.eye(3) * 4
    assert ember.linalg.cholesky(a, upper=upper).mT.is_contiguous()
    assert ember.cholesky(a, upper=upper).mT.is_contiguous()


# --- dual tensors ---------------------------------------------------------------------


def test_a_dual_tensor_changed_in_place():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(ember.ones(3), ember.tensor([1.0, 2.0, 3.0]))
        assert forward_ad.unpack_dual(x).tangent.tolist() == [1.0, 2.0, 3.0]
        x.mul_(2)
        assert forward_ad.unpack_dual(x).tangent.tolist() == [2.0, 4.0, 6.0]
        x[0] = 5.0
        assert forward_ad.unpack_dual(x).tangent.tolist() == [0.0, 4.0, 6.0]


def test_a_dual_tensor_is_the_memory_of_its_primal():
    primal = ember.ones(2)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(primal, ember.ones(2))
        dual.mul_(3)
    assert primal.tolist() == [3.0, 3.0]


# --- scalers --------------------------------------------------------------------------


def test_scaler_keeps_tensors_and_can_be_pickled():
    scaler = ember.amp.GradScaler("cpu", init_scale=8.0)
    assert scaler.scale(ember.ones(())).item() == 8.0
    assert isinstance(scaler._scale, ember.FloatTensor)
    again = pickle.loads(pickle.dumps(scaler))
    assert again.get_scale() == 8.0 and copy.deepcopy(scaler).get_scale() == 8.0
    state = scaler.state_dict()
    other = ember.amp.GradScaler("cpu")
    other.load_state_dict(state)
    assert other.scale(ember.ones(())).item() == 8.0


def test_scaler_steps_down_after_an_overflow_and_up_after_good_steps():
    w = ember.nn.Parameter(ember.ones(2))
    optimizer = ember.optim.SGD([w], lr=1.0)
    scaler = ember.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    for factor, scale in ((1.0, 4.0), (1.0, 8.0), (float("inf"), 4.0)):
        optimizer.zero_grad()
        scaler.scale((w * factor).sum()).backward()
        before = w.tolist()
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == scale
        moved = [b - 1.0 for b in before]
        assert w.tolist() == (before if factor == float("inf") else moved)


def test_an_optimizer_that_scales_by_itself_gets_what_it_needs():
    seen = []

    class Own(ember.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self, closure=None):
            seen.append((self.grad_scale.item(), self.found_inf.item()))

    w = ember.nn.Parameter(ember.ones(2))
    optimizer = Own([w], lr=1.0)
    scaler = ember.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale(w.sum()).backward()
    scaler.step(optimizer)
    assert seen == [(4.0, 0.0)] and w.grad.tolist() == [4.0, 4.0]
    assert not hasattr(optimizer, "found_inf")


# --- hooks ----------------------------------------------------------------------------


def test_hooks_that_see_no_inputs_say_so():
    layer = ember.nn.Linear(2, 3)
    layer.register_full_backward_hook(lambda *args: None)
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        layer(ember.ones(1, 2)).sum().backward()


def test_hooks_of_a_module_that_returns_a_dictionary_say_that_they_are_not_called():
    class Named(ember.nn.Module):
        def forward(self, x):
            return {"x": x}

    module = Named()
    module.register_full_backward_hook(lambda *args: None)
    with pytest.warns(UserWarning, match="a Tensor or a tuple of Tensors"):
        module(ember.ones(1, requires_grad=True))


def test_what_was_saved_without_memory_may_have_several_dtypes(tmp_path):
    empty = ember.tensor([])
    other = ember.TypedStorage(wrap_storage=empty.untyped_storage(), dtype=ember.int64)
    ember.save([empty, other], tmp_path / "empty.pt")
    loaded, storage = ember.load(tmp_path / "empty.pt")
    assert loaded.dtype == ember.float32 and storage.dtype == ember.int64


def test_the_direction_of_what_does_not_change_is_zero():
    other = ember.ones(2, requires_grad=True) * 2
    with forward_ad.dual_level():
        x = forward_ad.make_dual(ember.ones(2) / 2, ember.ones(2))
        for made in (x.bernoulli(), x.sign(), x.clone().uniform_()):
            assert forward_ad.unpack_dual(made).tangent.tolist() == [0.0, 0.0]
        assert forward_ad.unpack_dual(other).tangent is None


# --- changes in place -----------------------------------------------------------------


def test_resizing_is_a_change():
    x = ember.ones(1)
    x.resize_(1, 2).resize_as_(ember.ones(3))
    assert x._version == 2


def test_a_function_may_not_change_a_view_of_a_leaf():
    class Double(ember.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    leaf = ember.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires"):
        Double.apply(leaf.view_as(leaf))
    assert Double.apply(ember.ones(2)).tolist() == [2.0, 2.0]


def test_backward_with_a_graph_warns_once():
    from ember import _runtime

    _runtime._state.pop("told", None)
    x = ember.ones(2, requires_grad=True)
    for expected in (1, 0):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            (x * x).sum().backward(create_graph=True)
        assert len(found) == expected
    x.grad = None


@pytest.mark.parametrize("layout", [ember.sparse_bsr, ember.sparse_bsc])
def test_gradcheck_of_blocks(layout):
    x = ember.rand(4, 6, dtype=ember.float64)
    blocks = x.to_sparse(layout=layout, blocksize=(2, 3)).requires_grad_()
    assert ember.autograd.gradcheck(lambda s: s.to_dense(), blocks, masked=False)
    assert x.to_sparse(layout=layout, blocksize=2).values().shape[-2:] == (2, 2)
    deep = ember.rand(2, 4, 6, 3, dtype=ember.float64)
    blocks = deep.to_sparse(layout=layout, blocksize=(2, 3), dense_dim=1)
    blocks.requires_grad_()
    assert ember.autograd.gradcheck(lambda s: s.to_dense(), blocks, masked=False)


def test_hooks_of_a_tensor_can_be_seen():
    x = ember.ones(2, requires_grad=True)
    assert x._backward_hooks is None
    handle = x.register_hook(print)
    y = x * 2
    y.register_hook(repr)
    assert list(x._backward_hooks.values()) == [print]
    assert list(y._backward_hooks.values()) == [repr]
    handle.remove()
    assert not x._backward_hooks


def test_a_subset_with_half_of_its_methods():
    class Twice(ember.utils.data.Subset):
        def __getitem__(self, index):
            return 2 * self.dataset[self.indices[index]]

    with pytest.raises(NotImplementedError, match="Twice overrides __getitem__"):
        Twice(range(4), [0, 1])


def test_text_of_numpy_is_collated_as_text():
    import numpy as np

    words = np.array(["a", "b"])
    assert list(ember.utils.data.default_collate(words)) == ["a", "b"]
    with pytest.raises(TypeError, match="U1"):
        ember.utils.data.default_collate(words[None])


def test_a_global_hook_with_keywords_gets_them():
    from ember.nn.modules.module import register_module_forward_hook

    class Plus(ember.nn.Module):
        def forward(self, x, *, bias):
            return x + bias

    seen = []
    handle = register_module_forward_hook(
        lambda module, args, kwargs, out: seen.append(kwargs), with_kwargs=True
    )
    with handle:
        Plus()(ember.ones(1), bias=2)
    Plus()(ember.ones(1), bias=3)
    assert seen == [{"bias": 2}]


def test_a_hook_without_inputs_may_return_none_for_each():
    layer = ember.nn.Linear(2, 3)
    layer.register_full_backward_hook(lambda module, grad_in, grad_out: grad_in)
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        layer(ember.ones(1, 2)).sum().backward()


def test_out_of_polar_has_its_dtype():
    with pytest.raises(RuntimeError, match="ComplexFloat but got scalar type Float"):
        ember.polar(ember.ones(2), ember.ones(2), out=ember.ones(2))


def test_loading_with_another_module_for_pickles(tmp_path):
    class Refusing:
        class Unpickler(pickle.Unpickler):
            def load(self):
                raise RuntimeError("not today")

    for old in (False, True):
        path = tmp_path / f"{old}.pt"
        ember.save(ember.eye(2), path, _use_new_zipfile_serialization=not old)
        with pytest.raises(RuntimeError, match="not today"):
            ember.load(path, pickle_module=Refusing, weights_only=False)
        assert ember.equal(ember.load(path), ember.eye(2))
        plain = ember.load(path, pickle_module=pickle, weights_only=False)
        assert ember.equal(plain, ember.eye(2))
