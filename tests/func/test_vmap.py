"""`vmap`: dimensions, nesting, randomness, chunks, refusals. What each op gives is in
test_vmap_ops.py."""

import pytest

import ember
from ember import func, nn, vmap


@pytest.fixture(autouse=True)
def seed():
    ember.manual_seed(0)


def test_dimensions_and_trees():
    x, y = ember.randn(4, 3), ember.randn(3, 4)
    assert ember.allclose(vmap(ember.dot, in_dims=(1, 0))(x, y), (x.t() * y).sum(1))
    made = vmap(lambda a: (a, {"d": a * 2}), out_dims=(1, {"d": 0}))(y)
    assert made[0].shape == (4, 3) and made[1]["d"].shape == (3, 4)
    f = lambda d: d["a"] + d["b"]  # noqa: E731
    assert ember.equal(vmap(f, ({"a": 0, "b": None},))({"a": y, "b": y[0]}), y + y[0])
    assert vmap(lambda a: ember.ones(2))(y).shape == (3, 2)


def test_nested():
    x, y = ember.randn(3, 5), ember.randn(4, 5)
    outer = vmap(vmap(ember.dot, in_dims=(None, 0)), in_dims=(0, None))
    assert ember.allclose(outer(x, y), x @ y.t(), atol=1e-6)


def test_products_run_once_for_the_batch(monkeypatch):
    from ember.func import _batched

    def loop(*args):
        raise AssertionError(f"{args[1]} ran once for each sample")

    monkeypatch.setattr(_batched, "_loop", loop)
    x, w, b = ember.randn(3, 4), ember.randn(3, 2, 4), ember.randn(3, 2)
    vmap(nn.functional.linear)(x, w, b)
    image, kernel = ember.randn(3, 2, 5, 5), ember.randn(3, 4, 2, 3, 3)
    vmap(nn.functional.conv2d)(image, kernel)
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2))
    vmap(lambda a: nn.functional.cross_entropy(model(a), ember.tensor(1)))(x)
    vmap(lambda a: ember.einsum("i,j->ij", a, a).softmax(-1).mean())(x)


class _Tagger(nn.Module):
    """Classes of the words of a sentence."""

    def __init__(self, layers: nn.Module) -> None:
        super().__init__()
        self.words, self.layers = nn.Embedding(10, 6, padding_idx=0), layers
        self.norm, self.out = nn.LayerNorm(5), nn.Linear(5, 3)

    def forward(self, x):
        return self.out(self.norm(self.layers(self.words(x))[0]))


_IMAGES = nn.Sequential(
    nn.Conv2d(1, 4, 3),
    nn.BatchNorm2d(4, track_running_stats=False),
    nn.PReLU(4),
    nn.MaxPool2d(2),
    nn.Conv2d(4, 6, 3, padding="same"),
    nn.GroupNorm(2, 6),
    nn.Upsample(scale_factor=2),
    nn.ConvTranspose2d(6, 4, 2),
    nn.InstanceNorm2d(4, affine=True),
    nn.AvgPool2d(2),
    nn.AdaptiveMaxPool2d(1),
    nn.Flatten(),
    nn.Linear(4, 3),
)


@pytest.mark.parametrize(
    "model",
    [
        _IMAGES,
        _Tagger(nn.LSTM(6, 5, batch_first=True)),
        _Tagger(nn.GRU(6, 5, 2, batch_first=True)),
        _Tagger(nn.RNN(6, 5, batch_first=True)),
    ],
    ids=["images", "lstm", "gru", "rnn"],
)
def test_gradients_of_each_sample_run_once_for_the_batch(model, monkeypatch):
    images = model is _IMAGES
    x = ember.randn(4, 2, 1, 8, 8) if images else ember.randint(0, 10, (4, 2, 7))
    y = ember.randint(0, 3, (4, 2) if images else (4, 14))
    params = {k: p.detach() for k, p in model.named_parameters()}

    def loss(params, x, y):
        made = func.functional_call(model, params, (x,))
        return nn.functional.cross_entropy(made.reshape(-1, 3), y)

    rows = [func.grad(loss)(params, a, b) for a, b in zip(x, y)]

    def loop(*args):
        raise AssertionError(f"{args[1]} ran once for each sample")

    monkeypatch.setattr("ember.func._batched._loop", loop)
    made = vmap(func.grad(loss), in_dims=(None, 0, 0))(params, x, y)
    for name, got in made.items():
        want = ember.stack([row[name] for row in rows])
        assert ember.allclose(got, want, rtol=1e-4, atol=1e-5), name


def test_gradients_of_each_sample():
    model = nn.Linear(3, 1)
    params = {k: p.detach() for k, p in model.named_parameters()}
    x = ember.randn(5, 3)

    def loss(params, sample):
        return func.functional_call(model, params, (sample,)).sin().sum()

    made = vmap(func.grad(loss), in_dims=(None, 0))(params, x)
    assert made["weight"].shape == (5, 1, 3)
    for i in range(5):
        one = func.grad(loss)(params, x[i])
        assert ember.allclose(made["weight"][i], one["weight"], atol=1e-6)


def test_with_derivatives_in_any_order():
    x = ember.randn(3, 4)
    f = lambda a: (a.sin() * a.sum()).sum()  # noqa: E731
    rows = ember.stack([func.hessian(f)(row) for row in x])
    assert ember.allclose(vmap(func.hessian(f))(x), rows, atol=1e-5)
    made = func.grad(lambda a: vmap(f)(a).sum())(x)
    assert ember.allclose(made, vmap(func.grad(f))(x), atol=1e-6)
    _, pull = func.vjp(lambda a: a.sin(), x[0])
    assert ember.allclose(vmap(pull)(ember.eye(4))[0], x[0].cos().diag())
    leaf = x.clone().requires_grad_()
    vmap(f)(leaf).sum().backward()
    assert ember.allclose(leaf.grad, made, atol=1e-6)


def test_ensembles():
    models = [nn.Linear(3, 2) for _ in range(4)]
    params, buffers = func.stack_module_state(models)
    x = ember.randn(5, 3)
    call = lambda p, b: func.functional_call(models[0], (p, b), (x,))  # noqa: E731
    made = vmap(call)(params, buffers)
    wanted = ember.stack([m(x) for m in models])
    assert ember.allclose(made, wanted, atol=1e-6) and params["weight"].requires_grad


def test_chunks():
    x = ember.randn(7, 2)
    seen = []

    def f(a):
        seen.append(func._batched.levels[-1].size)
        return a * 2, a.sum()

    made = vmap(f, chunk_size=3, out_dims=(1, 0))(x)
    assert seen == [3, 3, 1]
    assert ember.equal(made[0], x.t() * 2) and made[1].shape == (7,)


def test_randomness():
    x = ember.zeros(3, 4)
    noisy = lambda a: a + ember.rand(4)  # noqa: E731
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(noisy)(x)
    same = vmap(noisy, randomness="same")(x)
    assert (same == same[0]).all()
    different = vmap(noisy, randomness="different")(x)
    assert not (different[0] == different[1]).any()
    for mode in ("same", "different"):
        made = vmap(lambda a: nn.functional.dropout(a + 1, 0.5), randomness=mode)(x)
        assert (made[0] == made[1]).all() == (mode == "same")
    vmap(lambda a: nn.functional.dropout(a, 0.5, training=False))(x)


def test_in_place():
    x = ember.zeros(3, 2)
    vmap(lambda a, b: a.add_(b))(x, ember.arange(3.0))
    assert x[:, 0].tolist() == [0, 1, 2]

    def assign(a):
        a[0] = a[1] + 1
        return a

    assert vmap(assign)(x)[:, 0].tolist() == [1, 2, 3]
    shared = ember.zeros(2)
    with pytest.raises(RuntimeError, match="out-of-place"):
        vmap(lambda a: shared.add_(a))(x)


@pytest.mark.parametrize(
    "f, text",
    [
        (lambda a: a.sum().item(), "item"),
        (lambda a: a if a.sum() > 0 else -a, "control flow"),
        (lambda a: a.numpy(), "numpy"),
        (lambda a: a[a > 0], "mask"),
        (lambda a: a.nonzero(), "nonzero"),
        (lambda a: a.resize_(1), "resize_"),
    ],
)
def test_what_a_sample_cannot_do(f, text):
    with pytest.raises(RuntimeError, match=text):
        vmap(f)(ember.randn(3, 2))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: vmap(lambda a: a)(),
        lambda x: vmap(lambda a: a)(3),
        lambda x: vmap(lambda a: a, in_dims=2)(x),
        lambda x: vmap(lambda a: a, in_dims=None)(x),
        lambda x: vmap(lambda a, b: a + b)(x, x[:2]),
        lambda x: vmap(lambda a, b: a + b, in_dims=(0,))(x, x),
        lambda x: vmap(lambda a: 3)(x),
        lambda x: vmap(lambda a: a, out_dims=None)(x),
        lambda x: vmap(lambda a: a, chunk_size=0)(x),
    ],
)
def test_wrong_calls(call):
    with pytest.raises(ValueError):
        call(ember.randn(3, 2))


def test_a_sample_does_not_outlive_its_vmap():
    kept = []
    vmap(lambda a: kept.append(a) or a)(ember.ones(2))
    with pytest.raises(RuntimeError, match="after the function"):
        kept[0] + 1


def test_functions_of_ones_own():
    class Cube(ember.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return 3 * g * ctx.saved_tensors[0] ** 2

    class Ruled(Cube):
        generate_vmap_rule = False

        @staticmethod
        def vmap(info, in_dims, x):
            assert info.batch_size == 3 and in_dims == (0,)
            return Ruled.apply(x), 0

    class Without(Cube):
        generate_vmap_rule = False

    x = ember.randn(3, 2)
    for cls in (Cube, Ruled):
        assert ember.allclose(vmap(cls.apply)(x), x**3)
        made = vmap(func.grad(lambda a, c=cls: c.apply(a).sum()))(x)
        assert ember.allclose(made, 3 * x**2)
    with pytest.raises(RuntimeError, match="vmap support"):
        vmap(Without.apply)(x)


def test_batched_gradients_of_autograd():
    x = ember.randn(3, requires_grad=True)
    (made,) = ember.autograd.grad(x**2, x, ember.eye(3), is_grads_batched=True)
    assert ember.allclose(made, (2 * x).diag())


class _Pair:
    """A collection of tensors that knows itself how to be mapped over."""

    def __init__(self, a, b):
        self.a, self.b = a, b

    def dim(self):
        return self.a.dim()

    @property
    def shape(self):
        return self.a.shape

    def clone(self, recurse=True):
        return _Pair(self.a, self.b)

    def _add_batch_dim(self, *, in_dim, vmap_level):
        add = ember._functorch.vmap._add_batch_dim
        return _Pair(add(self.a, in_dim, vmap_level), add(self.b, in_dim, vmap_level))

    def _maybe_remove_batch_dim(self, name, *, vmap_level, batch_size, out_dim):
        def remove(x):
            return ember._functorch.vmap._maybe_remove_batch_dim(
                name, x, vmap_level, batch_size, out_dim
            )

        return _Pair(remove(self.a), remove(self.b))


def test_collections_map_themselves():
    x = _Pair(ember.arange(6.0).reshape(2, 3), ember.ones(2, 3))

    def function(pair, other):
        assert pair.a.shape == (3,) and other.a.shape == (2, 3)
        other.a = pair.a  # of the function's own
        return _Pair(pair.a + pair.b, pair.b.sum())

    y = ember.vmap(function, (0, None))(x, x)
    assert ember.equal(y.a, x.a + 1) and ember.equal(y.b, ember.full((2,), 3.0))
    assert x.a.shape == (2, 3)
    with pytest.raises(ValueError, match="dimensionality 2"):
        ember.vmap(function, (2, None))(x, x)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_padding_of_samples(mode):
    x = ember.arange(24.0).view(2, 3, 4)
    pad = ember.nn.functional.pad
    each = ember.stack([pad(row, (1, 2), mode=mode) for row in x])
    assert ember.equal(ember.vmap(lambda row: pad(row, (1, 2), mode=mode))(x), each)


def test_only_ops_that_draw_numbers_are_watched():
    seen = []

    def one(x):
        seen.append(ember._C._len_torch_function_stack())
        shared = ember.dropout(ember.ones(2), 0.5, False)  # not batched
        return x + shared

    assert ember.vmap(one)(ember.zeros(3, 2)).equal(ember.ones(3, 2))
    assert seen == [0]
    for draw in (ember.rand, lambda n: ember.nn.functional.dropout(ember.ones(n))):
        with pytest.raises(RuntimeError, match="randomness error mode"):
            ember.vmap(lambda x, draw=draw: x + draw(2))(ember.zeros(3, 2))
    assert ember.rand(2).shape == (2,)  # nobody watches any more
