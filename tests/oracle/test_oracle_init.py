"""Initial values and dropout masks: the same seeds give torch's numbers."""

import numpy as np
import pytest

import ember

torch = pytest.importorskip("torch")

LAYERS = {
    "Linear": (5, 7),
    "Bilinear": (3, 4, 5),
    "Embedding": (6, 5),
    "LayerNorm": (8,),
    "PReLU": (3,),
}
FUNCTIONS = {
    "xavier_uniform_": {},
    "xavier_normal_": {"gain": 2.0},
    "kaiming_uniform_": {"nonlinearity": "relu"},
    "kaiming_normal_": {"mode": "fan_out"},
    "trunc_normal_": {"std": 2.0},
    "orthogonal_": {},
    "sparse_": {"sparsity": 0.3},
}


def same(a, b, tolerance=2e-6):
    return np.allclose(np.array(a.tolist()), np.array(b.tolist()), atol=tolerance)


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    made = []
    for lib in (torch, ember):
        lib.manual_seed(3)
        made.append(getattr(lib.nn, name)(*LAYERS[name]).state_dict())
    assert list(made[0]) == list(made[1])
    assert all(same(made[0][key], made[1][key]) for key in made[0])


@pytest.mark.parametrize("shape", [(6, 9), (9, 6)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, shape):
    made = []
    for lib in (torch, ember):
        lib.manual_seed(3)
        made.append(getattr(lib.nn.init, name)(lib.empty(shape), **FUNCTIONS[name]))
    assert same(*made, tolerance=1e-5)


def test_trunc_normal_in_the_tail():
    made = []
    for lib in (torch, ember):
        lib.manual_seed(3)
        made.append(lib.nn.init.trunc_normal_(lib.empty(4, 30), a=1.0, b=1.5))
    assert same(*made)


@pytest.mark.parametrize(
    "name", ["dropout", "dropout2d", "alpha_dropout", "feature_alpha_dropout"]
)
def test_dropout(name):
    made = []
    for lib in (torch, ember):
        lib.manual_seed(3)
        x = lib.ones(4, 5, 3, 2)
        made.append(getattr(lib.nn.functional, name)(x, 0.4, training=True))
    assert same(*made)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1 << 20, (1 << 20) + 7, 2_100_003])
def test_many_normal_numbers_in_pieces(n, dtype):
    torch.manual_seed(3)
    ember.manual_seed(3)
    expected = torch.empty(n, dtype=getattr(torch, dtype)).normal_(1.0, 0.5)
    got = ember.empty(n, dtype=getattr(ember, dtype)).normal_(1.0, 0.5)
    assert torch.equal(torch.from_dlpack(got), expected) or dtype == "float64"
    assert torch.allclose(torch.from_dlpack(got), expected, rtol=1e-12, atol=1e-12)
    assert ember.rand(1).item() == torch.rand(1).item()  # as many were drawn
