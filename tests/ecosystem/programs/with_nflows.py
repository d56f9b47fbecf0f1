"""Normalizing flows: autoregressive, coupling and spline transforms."""

import torch
from nflows import distributions, flows, transforms

torch.manual_seed(0)
base = distributions.StandardNormal(shape=[2])
layers = []
for _ in range(2):
    layers.append(transforms.ReversePermutation(features=2))
    layers.append(
        transforms.MaskedAffineAutoregressiveTransform(features=2, hidden_features=8)
    )
    layers.append(
        transforms.MaskedPiecewiseRationalQuadraticAutoregressiveTransform(
            features=2, hidden_features=8, num_bins=4, tails="linear", tail_bound=3.0
        )
    )
    layers.append(transforms.BatchNorm(features=2))
    layers.append(transforms.LULinear(2, identity_init=False))
flow = flows.Flow(transforms.CompositeTransform(layers), base)
optimizer = torch.optim.SGD(flow.parameters(), lr=1e-2)
x = torch.randn(64, 2) * 0.5 + 0.3
for step in range(4):
    optimizer.zero_grad()
    loss = -flow.log_prob(inputs=x).mean()
    loss.backward()
    optimizer.step()
    print(f"loss {step} {loss.item():.6g}")
flow.eval()
torch.manual_seed(1)
samples = flow.sample(5)
print(f"samples {samples.detach().abs().sum().item():.5g}")
print(f"log prob {flow.log_prob(x[:5]).sum().item():.6g}")
