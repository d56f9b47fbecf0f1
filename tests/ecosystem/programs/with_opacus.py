"""opacus: gradients per sample, clipped and with noise."""

import torch
from opacus import GradSampleModule, PrivacyEngine
from opacus.accountants import RDPAccountant
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(32, 1, 8, 8)
y = (x.mean((1, 2, 3)) > 0).long()


def network():
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.GroupNorm(2, 4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(144, 2),
    )


model = GradSampleModule(network())
nn.functional.cross_entropy(model(x), y).backward()
for i, p in enumerate(model.parameters()):
    norms = p.grad_sample.flatten(1).norm(dim=1)
    print(f"samples {i} {norms.sum().item():.6g} {p.grad.abs().sum().item():.6g}")
accountant = RDPAccountant()
for _ in range(10):
    accountant.step(noise_multiplier=1.1, sample_rate=0.1)
print(f"epsilon {accountant.get_epsilon(1e-5):.6g}")
model = network()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(x, y), batch_size=8)
engine = PrivacyEngine()
model, optimizer, loader = engine.make_private(
    module=model,
    optimizer=optimizer,
    data_loader=loader,
    noise_multiplier=0.0,
    max_grad_norm=1.0,
    poisson_sampling=False,
)
for step, (inputs, labels) in enumerate(loader):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
    print(f"loss {step} {loss.item():.6g}")
print(f"weights {sum(p.detach().abs().sum().item() for p in model.parameters()):.6g}")
