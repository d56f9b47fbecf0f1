"""Exported programs: the same numbers, sizes that vary, files, clear errors."""

import io

import pytest

import ember
from ember import export, nn
from ember.nn import functional as F


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.out = nn.Linear(16, 5)
        self.rnn = nn.LSTM(5, 6, batch_first=True)
        self.bag = nn.EmbeddingBag(10, 6)

    def forward(self, x, i):
        y = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        y = F.adaptive_avg_pool2d(y, 2).view(x.shape[0], -1)
        z, _ = self.rnn(self.out(y)[:, None])
        return {"a": z[:, -1] * 2 + 1 - self.bag(i), "b": (1 - y).sum()}


def inputs(n):
    return ember.randn(n, 3, 8, 8), ember.randint(0, 10, (n, 3))


def test_programs_compute_the_same_for_other_sizes_and_from_files():
    net, batch = Mixed().eval(), export.Dim("batch")
    program = export.export(net, inputs(2), dynamic_shapes=({0: batch}, {0: batch}))
    file = io.BytesIO()
    export.save(program, file)
    for one in (program, export.load(file)):
        module = one.module()
        for n in (1, 2, 5):
            x, i = inputs(n)
            got, expected = module(x, i), net(x, i)
            for key in expected:
                assert ember.allclose(got[key], expected[key], atol=1e-5)
    assert program.range_constraints == {"batch": (0, float("inf"))}
    assert "p_conv_weight" in program.graph_signature.inputs_to_parameters
    assert program.graph_signature.user_inputs == ("x", "i")


def test_sizes_that_do_not_vary_are_checked():
    module = export.export(Mixed().eval(), inputs(2)).module()
    with pytest.raises(RuntimeError, match=r"Guard failed.*dim 0 is 3"):
        module(*inputs(3))


class Branch(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


class Wide(nn.Module):
    def forward(self, x):
        return x * 2 if x.shape[0] > 4 else x


def test_errors_say_what_cannot_be_exported():
    with pytest.raises(RuntimeError, match="data-dependent"):
        export.export(Branch(), (ember.ones(2),))
    with pytest.raises(RuntimeError, match="another branch"):
        export.export(Wide(), (ember.ones(4),), dynamic_shapes=({0: export.Dim("n")},))
    # a size that is only wished to vary becomes one that does not
    program = export.export(
        Wide(), (ember.ones(4),), dynamic_shapes=({0: export.Dim.AUTO},)
    )
    assert program.range_constraints == {}
    with pytest.raises(ValueError, match=r"torch\.nn\.Module"):
        export.export(lambda x: x, (ember.ones(1),))
    with pytest.raises(RuntimeError, match="no exported program"):
        export.load(io.BytesIO(b"nothing"))
    with pytest.raises(RuntimeError, match=r"module\(\)"):
        export.export(nn.ReLU(), (ember.ones(1),))(ember.ones(1))


def test_exporting_leaves_the_module_as_it_was():
    net = nn.BatchNorm1d(3)
    export.export(net, (ember.randn(4, 3),))
    assert net.running_mean.tolist() == [0, 0, 0] and int(net.num_batches_tracked) == 0


def test_saving_is_all_or_nothing(tmp_path):
    path = tmp_path / "program.pt2"
    export.save(
        export.export(nn.ReLU(), (ember.ones(1),)), path, extra_files={"a": "b"}
    )
    extra = {"a": ""}
    module = export.load(path, extra_files=extra).module()
    assert module(-ember.ones(1)).item() == 0 and extra == {"a": "b"}
    assert [p.name for p in tmp_path.iterdir()] == ["program.pt2"]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[:, 1:3, None] + x[0, 0],
        lambda x: x[:, [0, 2]],
        lambda x: x.reshape(x.size(0) * 2, -1).softmax(-1),
        lambda x: ember.cat([x, x.new_zeros(x.shape)], 1),
        lambda x: 1 / (2 + x) ** 2 - x.T.mT,
        lambda x: ember.stack(x.unbind(1)) @ x,
        lambda x: x.clone().add_(1).mul(x.shape[0]),
    ],
)
def test_steps_of_every_kind(function):
    class Net(nn.Module):
        def forward(self, x):
            return function(x)

    x = ember.rand(4, 4)
    module = export.export(Net(), (x,)).module()
    assert ember.allclose(module(x), function(x))


def slices(x):
    out = x.new_zeros(x.shape[0], 6)
    out[:, 1:5] = x
    return out


def constants(x):
    out = ember.zeros(3, 6)
    out[:, 1:5].copy_(x * 2)
    out[0].add_(1)
    return out + 1


def views(x):
    out = x.clone()
    out[0].add_(1)
    out[:, 0].mul_(3)
    out.view(-1)[2:5] = 7
    out.t()[1].zero_()
    return out


def outs(x):
    out = ember.empty(3, 8)
    ember.cat([x, x], 1, out=out)
    left, right = out.chunk(2, 1)
    left += 1
    right.sub_(2)
    return out


def positions(x):
    out = x * 1
    out[out > 0] = 0
    part = out.narrow(1, 0, 2)
    part.index_add_(0, ember.tensor([0, 1]), ember.ones(2, 2))
    return out, part


def pads(x):
    return F.pad(x, (1, 1)), F.pad(x[None, None], (1, 1, 2, 0), mode="reflect")


@pytest.mark.parametrize(
    "f", [slices, constants, views, outs, positions, pads], ids=lambda f: f.__name__
)
def test_what_changes_in_place(f):
    class Module(nn.Module):
        def forward(self, x):
            return f(x)

    program = export.export(Module(), (ember.randn(3, 4),))
    file = io.BytesIO()
    export.save(program, file)
    for one in (program.module(), export.load(file).module()):
        for _ in range(2):
            x = ember.randn(3, 4)
            got, expected = one(x), f(x)
            if isinstance(expected, ember.Tensor):
                got, expected = (got,), (expected,)
            for a, b in zip(got, expected, strict=True):
                assert ember.equal(a, b)
