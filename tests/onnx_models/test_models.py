"""Models written in ONNX and run by onnxruntime compute what ember computes."""

import pytest

import ember
from ember import nn
from ember.nn import functional as F

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


class Residual(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a, self.na = nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c)
        self.b, self.nb = nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c)

    def forward(self, x):
        return F.relu(x + self.nb(self.b(F.relu(self.na(self.a(x))))))


def cnn():
    head = [nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    return nn.Sequential(*head, nn.Linear(8 * 7 * 7, 4))


def resnet():
    tail = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)]
    return nn.Sequential(nn.Conv2d(3, 8, 3), Residual(8), Residual(8), *tail)


def mobilenet():
    return nn.Sequential(
        nn.Conv2d(3, 8, 1), nn.BatchNorm2d(8), nn.ReLU6(),
        nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8), nn.BatchNorm2d(8),
        nn.Hardswish(), nn.Conv2d(8, 4, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
    )  # fmt: skip


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.rnn = kind(5, 6, num_layers=2, bidirectional=True, batch_first=True)
        self.out = nn.Linear(12, 3)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1])


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(20, 8), nn.Embedding(16, 8)
        self.norm, self.qkv = nn.LayerNorm(8), nn.Linear(8, 24)
        self.up, self.down = nn.Linear(8, 32), nn.Linear(32, 8)
        self.head = nn.Linear(8, 20, bias=False)

    def forward(self, i):
        b, t = i.shape
        x = self.tokens(i) + self.places(ember.arange(t))
        q, k, v = self.qkv(self.norm(x)).split(8, dim=2)
        q, k, v = (z.view(b, t, 2, 4).transpose(1, 2) for z in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + y.transpose(1, 2).reshape(b, t, 8)
        return self.head(x + self.down(F.gelu(self.up(self.norm(x)))))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)
        self.up, self.c = nn.ConvTranspose2d(8, 4, 2, stride=2), nn.Conv2d(8, 2, 1)
        self.norm = nn.GroupNorm(2, 4)

    def forward(self, x):
        a = F.silu(self.norm(self.a(x)))
        b = F.relu(self.b(F.avg_pool2d(a, 2)))
        wide = F.interpolate(b, scale_factor=2, mode="bilinear")[:, :4]
        return self.c(ember.cat([a, self.up(b) + wide], dim=1))


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(10, 8), nn.Linear(4, 10)

    def forward(self, x, noise):
        mean, logvar = self.enc(x).chunk(2, dim=1)
        z = mean + ember.exp(0.5 * logvar) * noise
        return ember.sigmoid(self.dec(z)), mean, logvar


class Detection(nn.Module):
    def __init__(self):
        super().__init__()
        self.boxes, self.scores = nn.Conv2d(3, 8, 1), nn.Conv2d(3, 4, 1)

    def forward(self, x):
        n = x.shape[0]
        boxes = self.boxes(x).permute(0, 2, 3, 1).reshape(n, -1, 4)
        scores = self.scores(x).permute(0, 2, 3, 1).reshape(n, -1, 2).softmax(-1)
        best, label = scores.max(-1)
        top, where = best.topk(5, dim=1)
        index = where.unsqueeze(-1).expand(n, 5, 4)
        return ember.gather(boxes.clamp(min=0), 1, index), top, label


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag, self.out = nn.EmbeddingBag(20, 6, mode="sum"), nn.Linear(6, 2)

    def forward(self, i):
        return F.log_softmax(self.out(self.bag(i)), dim=-1)


def encoder():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def image(n):
    return (ember.randn(n, 3, 16, 16),)


def tokens(n):
    return (ember.randint(0, 20, (n, 7)),)


def series(n):
    return (ember.randn(n, 7, 5),)


MODELS = {
    "mlp": (
        lambda: nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3)),
        lambda n: (ember.randn(n, 5),),
    ),
    "cnn": (cnn, image),
    "resnet": (resnet, image),
    "mobilenet": (mobilenet, image),
    "lstm": (lambda: Recurrent(nn.LSTM), series),
    "gru": (lambda: Recurrent(nn.GRU), series),
    "encoder": (encoder, lambda n: (ember.randn(n, 7, 8),)),
    "gpt": (GPT, tokens),
    "unet": (UNet, image),
    "vae": (VAE, lambda n: (ember.randn(n, 10), ember.randn(n, 4))),
    "detection": (Detection, image),
    "bag": (Bag, tokens),
}


def run(path, inputs):
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    feed = {n: x.numpy() for n, x in zip(names, inputs, strict=True)}
    return [ember.tensor(y) for y in session.run(None, feed)]


@pytest.mark.parametrize("vary", [False, True], ids=["fixed", "batch"])
@pytest.mark.parametrize("name", MODELS)
def test_onnxruntime_agrees(name, vary, tmp_path):
    ember.manual_seed(0)
    make, inputs = MODELS[name]
    net, given = make().eval(), inputs(2)
    shapes = [{0: ember.export.Dim("batch")} for _ in given] if vary else None
    path = tmp_path / "model.onnx"
    ember.onnx.export(net, given, path, dynamic_shapes=shapes)
    for n in (2, 5) if vary else (2,):
        x = inputs(n)
        with ember.no_grad():
            expected = net(*x)
        expected = expected if isinstance(expected, tuple) else (expected,)
        got = run(path, x)
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            assert a.shape == b.shape and ember.allclose(a, b, atol=1e-4)


def test_names_axes_and_errors(tmp_path):
    path = tmp_path / "model.onnx"
    net = nn.Linear(3, 2)
    axes = {"in": {0: "batch"}}
    program = ember.onnx.export(
        net, (ember.ones(1, 3),), path, input_names=["in"], output_names=["out"],
        dynamic_axes=axes,
    )  # fmt: skip
    assert program.model_proto.graph.input[0].name == "in"
    assert program.model_proto.graph.output[0].name == "out"
    x = ember.randn(4, 3)
    assert ember.allclose(run(path, (x,))[0], net(x), atol=1e-5)

    class Odd(nn.Module):
        def forward(self, x):
            return ember.linalg.svdvals(x)

    with pytest.raises(RuntimeError, match="svdvals"):
        ember.onnx.export(Odd(), (ember.ones(2, 2),))
    with pytest.raises(ValueError, match="opset_version 9"):
        ember.onnx.export(net, (x,), opset_version=9)
    program.save(tmp_path / "big.onnx", external_data=True)
    assert (tmp_path / "big.onnx.data").exists()
    assert ember.allclose(run(tmp_path / "big.onnx", (x,))[0], net(x), atol=1e-5)
