"""Thirteen small libraries: attacks, flows, spikes, splines, wavelets, quality, ..."""

import julius
import normflows
import piq
import ptwt
import snntorch
import torch
import torchattacks
import torchcde
from egnn_pytorch import EGNN
from entmax import entmax15, sparsemax
from linformer import Linformer
from mlp_mixer_pytorch import MLPMixer
from siren_pytorch import SirenNet
from torch import nn
from torchcrf import CRF


def say(name, *values):
    shown = [
        f"{v.detach().double().abs().sum().item():.6g}"
        if isinstance(v, torch.Tensor)
        else f"{v:.6g}"
        for v in values
    ]
    print(name, *shown)


def fit(name, model, x):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    for step in range(2):
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        say(f"{name} {step}", loss.item())


torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3)
).eval()
images, labels = torch.rand(2, 3, 8, 8), torch.tensor([0, 2])
for attack in (
    torchattacks.FGSM(model),
    torchattacks.PGD(model, steps=3),
    torchattacks.CW(model, steps=3),
    torchattacks.MIFGSM(model, steps=2),
    torchattacks.DeepFool(model, steps=3),
):
    say(f"attack {type(attack).__name__.lower()}", attack(images, labels))

torch.manual_seed(1)
layers = []
for _ in range(3):
    net = normflows.nets.MLP([1, 16, 16, 2], init_zeros=True)
    layers += [
        normflows.flows.AffineCouplingBlock(net),
        normflows.flows.Permute(2, mode="swap"),
    ]
flow = normflows.NormalizingFlow(normflows.distributions.base.DiagGaussian(2), layers)
optimizer = torch.optim.Adam(flow.parameters(), lr=1e-3)
points = torch.randn(32, 2)
for step in range(3):
    loss = flow.forward_kld(points)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    say(f"flow {step}", loss.item())

torch.manual_seed(2)
cell, layer = snntorch.Leaky(beta=0.9), nn.Linear(4, 3)
membrane, total = cell.init_leaky(), 0
for x in torch.rand(5, 2, 4) * 2:
    spikes, membrane = cell(layer(x), membrane)
    total = total + spikes + membrane * 0.1
total.sum().backward()
say("spikes", total, layer.weight.grad)

path = torch.randn(2, 8, 3)
spline = torchcde.CubicSpline(torchcde.natural_cubic_coeffs(path))
say("spline", spline.evaluate(2.5), spline.derivative(2.5))

scores = torch.randn(4, 7, requires_grad=True)
for name, function in (("sparsemax", sparsemax), ("entmax", entmax15)):
    scores.grad = None
    out = function(scores, dim=-1)
    (out * torch.arange(7.0)).sum().backward()
    say(name, out, scores.grad)

tags = CRF(5, batch_first=True)
emissions = torch.randn(2, 6, 5, requires_grad=True)
loss = -tags(emissions, torch.randint(0, 5, (2, 6)))
loss.backward()
say("tags", loss, emissions.grad, sum(map(sum, tags.decode(emissions))))

a, b = torch.rand(1, 3, 96, 96), torch.rand(1, 3, 96, 96)
for measure in (piq.ssim, piq.psnr, piq.vif_p, piq.fsim, piq.gmsd, piq.haarpsi):
    say(f"quality {measure.__name__}", measure(a, b, data_range=1.0))

sound = torch.randn(1, 400)
say("sound", julius.resample_frac(sound, 3, 2), julius.lowpass_filter(sound, 0.1))
waves = ptwt.wavedec(sound, "db2", level=2)
say("wavelets", *waves, ptwt.waverec(waves, "db2"))

features, places = EGNN(dim=8)(torch.randn(1, 5, 8), torch.randn(1, 5, 3))
say("graph", features, places)
torch.manual_seed(3)
fit("siren", SirenNet(2, 16, 3, 3), torch.rand(10, 2))
fit("linformer", Linformer(16, 32, 2, k=8, heads=2), torch.randn(1, 32, 16))
mixer = MLPMixer(
    image_size=16, channels=3, patch_size=8, dim=16, depth=2, num_classes=4
)
fit("mixer", mixer, torch.randn(1, 3, 16, 16))
