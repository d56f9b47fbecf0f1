"""torch_optimizer, written for PyTorch 1.x: 18 optimizers."""

import warnings

import torch
import torch_optimizer
from torch import nn

warnings.simplefilter("ignore")
NAMES = (
    "AccSGD AdaBound AdaMod Adahessian AggMo Apollo DiffGrad Lamb NovoGrad PID QHAdam "
    "RAdam Ranger RangerQH SGDW SWATS Shampoo Yogi"
)
for name in NAMES.split():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))
    x = torch.randn(16, 5)
    optimizer = getattr(torch_optimizer, name)(model.parameters(), lr=1e-3)
    for _ in range(4):
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward(create_graph=name == "Adahessian")
        optimizer.step()
    weight = model[0].weight.detach()
    print(f"{name.lower()} {loss.item():.6g} {weight.abs().sum().item():.6g}")
