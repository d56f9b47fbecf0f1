"""Helpers and modules that libraries import by PyTorch's names."""

import copy
import gc
import importlib
import sys

import pytest

import ember
from ember import as_torch, nn
from ember._compat import attention, functorch, gaussians, layers, loaders
from ember.utils.weak import TensorWeakRef, WeakTensorKeyDictionary


@pytest.fixture
def torch():
    if "torch" in sys.modules:
        pytest.skip("a test of this process has imported the real torch")
    as_torch.install()
    yield importlib.import_module("torch")
    as_torch.uninstall()


@pytest.mark.parametrize(
    "name",
    [
        "torch._VF",
        "torch._weights_only_unpickler",
        "torch._C._nn",
        "torch._C._functorch",
        "torch.functional",
        "torch.cuda.amp.grad_scaler",
        "torch.cpu.amp.autocast_mode",
        "torch.utils.weak",
        "functorch",
    ],
)
def test_modules_that_are_names_of_others_can_be_imported(torch, name):
    module = importlib.import_module(name)
    assert importlib.import_module(name) is module
    parent, _, last = name.rpartition(".")
    if parent:
        assert getattr(importlib.import_module(parent), last) is module
    assert ember._C.__spec__.name == "ember._C"  # which aliases leave alone


def test_bases_of_layers_by_their_names():
    from ember.nn import modules

    for base, layer in (
        (modules.dropout._DropoutNd, nn.Dropout2d()),
        (modules.pooling._AvgPoolNd, nn.AvgPool2d(2)),
        (modules.pooling._AdaptiveMaxPoolNd, nn.AdaptiveMaxPool1d(2)),
        (modules.padding._ConstantPadNd, nn.ZeroPad2d(1)),
        (modules.conv._ConvTransposeNd, nn.ConvTranspose1d(1, 1, 1)),
        (modules.rnn.RNNCellBase, nn.LSTMCell(1, 1)),
        (modules.container.ParameterList, nn.ParameterList()),
        (modules.activation.MultiheadAttention, nn.MultiheadAttention(2, 1)),
    ):
        assert isinstance(layer, base)
    with pytest.raises(AttributeError, match="_NoSuchPool"):
        modules.pooling._NoSuchPool


def test_indices_of_lists_as_subclasses_look_them_up():
    layers_ = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    assert layers_._get_abs_string_index(-1) == "1"
    assert nn.ParameterList([ember.ones(1)])._get_abs_string_index(0) == "0"
    with pytest.raises(IndexError):
        layers_._get_abs_string_index(2)
    sequence = nn.Sequential(nn.ReLU(), nn.Tanh())
    assert sequence._get_item_by_idx(sequence._modules.keys(), -1) == "1"


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_projections_of_attention(same, bias):
    q = ember.randn(2, 3, 4)
    k, v = (q, q) if same else (ember.randn(2, 5, 4), ember.randn(2, 5, 4))
    w, b = ember.randn(12, 4), ember.randn(12) if bias else None
    packed = attention._in_projection_packed(q, k, v, w, b)
    biases = b.chunk(3) if bias else (None,) * 3
    apart = attention._in_projection(q, k, v, *w.chunk(3), *biases)
    for x, y in zip(packed, apart, strict=True):
        ember.testing.assert_close(x, y)


def test_masks_of_attention():
    causal = attention._generate_square_subsequent_mask(3)
    assert causal.isinf().tolist() == ember.ones(3, 3).triu(1).bool().tolist()
    assert attention._detect_is_causal_mask(causal)
    assert not attention._detect_is_causal_mask(causal.t())
    assert not attention._detect_is_causal_mask(None)
    mask = attention._canonical_mask(
        ember.tensor([True, False]), "mask", None, "", ember.float32
    )
    assert mask.tolist() == [float("-inf"), 0.0]
    with pytest.raises(AssertionError, match="only bool and floating"):
        attention._canonical_mask(ember.ones(1).long(), "m", None, "", ember.float32)


def test_gaussians_by_cholesky_factors():
    ember.manual_seed(0)
    a = ember.randn(2, 3, 3, dtype=ember.float64)
    m = a @ a.mT + 3 * ember.eye(3, dtype=ember.float64)
    x = ember.randn(2, 3, dtype=ember.float64)
    expected = (x * ember.linalg.solve(m, x)).sum(-1)
    factor = ember.linalg.cholesky(m)
    ember.testing.assert_close(gaussians._batch_mahalanobis(factor, x), expected)
    tril = gaussians._precision_to_scale_tril(m)
    ember.testing.assert_close(tril @ tril.mT, ember.linalg.inv(m))
    ember.testing.assert_close(gaussians._batch_mv(m, x), (m @ x[..., None])[..., 0])


def test_batched_tensors_as_functorch_sees_them():
    seen = []

    def look(x):
        inner = functorch.get_unwrapped(x)
        seen.append((functorch.is_batchedtensor(x), inner.shape, x.shape))
        assert functorch.are_transforms_active()
        level = functorch.maybe_get_level(x)
        again = functorch.add_batch_dim(
            functorch.remove_batch_dim(x, level, 2, 1), 1, level
        )
        return again + x

    x = ember.arange(6.0).reshape(2, 3)
    assert ember.equal(ember.vmap(look)(x), 2 * x)
    assert seen == [(True, (2, 3), (3,))]
    assert not functorch.are_transforms_active()
    assert functorch.maybe_get_level(x) == -1 and not functorch.is_batchedtensor(x)
    with pytest.raises(RuntimeError, match="No wrappers"):
        functorch.get_unwrapped(x)


def test_dictionaries_of_tensors_do_not_keep_them():
    x, y = ember.ones(2), ember.ones(2)
    table = WeakTensorKeyDictionary({x: 1})
    table[y] = 2
    assert (
        table[x] == 1 and y in table and ember.ones(2) not in table and len(table) == 2
    )
    assert 3 not in table
    clone, ref = copy.copy(table), TensorWeakRef(x)
    assert clone[x] == 1 and ref() is x
    del x
    gc.collect()
    assert list(table.values()) == [2] and len(clone) == 1 and ref() is None
    del table[y]
    assert not table and y in clone


def test_functions_written_in_python_are_steps_of_graphs():
    graph = ember.fx.Graph()
    x = ember.fx.Proxy(graph.placeholder("x"))
    found = [
        ember.einsum("ij->ji", x),
        ember.einsum("ij->ji", [x]),
        ember.tensordot(x, x),
        ember.cartesian_prod(x, x),
    ]
    ember._assert(x.shape[0] == 2, "two rows")
    assert all(isinstance(p, ember.fx.Proxy) for p in found)
    names = [node.target.__name__ for node in graph.nodes if node.op == "call_function"]
    assert names[:4] == ["einsum", "einsum", "tensordot", "cartesian_prod"]
    assert "_assert" in names


def test_attributes_of_functions():
    function = nn.functional.relu
    function.of_test = 3
    assert function.of_test == 3
    del function.of_test
    with pytest.raises(AttributeError):
        function.of_test


def test_older_places_of_autocast(torch):
    with pytest.warns(FutureWarning, match="torch.cpu.amp.autocast"):
        context = torch.cpu.amp.autocast(True, ember.bfloat16)
    with context:
        assert (ember.ones(2, 2) @ ember.ones(2, 2)).dtype == ember.bfloat16
    with pytest.warns(FutureWarning, match="custom_fwd"):
        forward = torch.cuda.amp.custom_fwd(lambda ctx, x: x)
    assert callable(forward)
    with pytest.warns(FutureWarning):
        assert not torch.cuda.amp.GradScaler().is_enabled()


def test_seeds_of_workers_and_other_small_things():
    assert loaders.generate_state(5, 3) == [
        3746004709,
        2279815838,
        826849902,
        1775407231,
    ]
    assert layers._addindent("a\nb", 2) == "a\n  b"
    assert layers.apply_permutation(
        ember.arange(4).view(2, 2), ember.tensor([1, 0])
    ).tolist() == [
        [1, 0],
        [3, 2],
    ]
    with pytest.raises(ValueError, match="more than 1 value"):
        layers._verify_batch_size([1, 3, 1])
    utils = importlib.import_module("ember._utils")
    assert utils._import_dotted_name("os.path.join").__name__ == "join"
    assert utils.try_import("no_such_module_here") is None
    a, b = ember.ones(1), ember.ones(1).long()
    assert utils._reorder_tensors_as([a, b], [b, a]) == (b, a)
    made = utils._rebuild_meta_tensor_no_storage(ember.int8, (2, 3), (3, 1), False)
    assert made.is_meta and made.shape == (2, 3)
    with pytest.raises(RuntimeError, match="does not have a corresponding module"):
        utils._get_device_module("no_such")
