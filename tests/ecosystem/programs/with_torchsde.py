"""A stochastic differential equation: Ito and Stratonovich, the adjoint method."""

import torch
import torchsde
from torch import nn


class SDE(nn.Module):
    noise_type = "diagonal"

    def __init__(self, sde_type):
        super().__init__()
        self.sde_type = sde_type
        self.mu = nn.Linear(3, 3)
        self.sigma = nn.Linear(3, 3)

    def f(self, t, y):
        return self.mu(y)

    def g(self, t, y):
        return torch.sigmoid(self.sigma(y))


for kind, method in (
    ("ito", "euler"),
    ("ito", "srk"),
    ("stratonovich", "midpoint"),
    ("stratonovich", "heun"),
):
    torch.manual_seed(0)
    sde = SDE(kind)
    y0 = torch.full((4, 3), 0.1)
    ts = torch.linspace(0, 1, 5)
    bm = torchsde.BrownianInterval(
        t0=0.0, t1=1.0, size=(4, 3), entropy=7, levy_area_approximation="space-time"
    )
    ys = torchsde.sdeint(sde, y0, ts, bm=bm, method=method, dt=0.05)
    ys.square().mean().backward()
    print(f"{kind} {method} {ys.abs().sum().item():.6g}")
    print(f"{kind} {method} grad {sde.mu.weight.grad.abs().sum().item():.6g}")
torch.manual_seed(0)
sde = SDE("stratonovich")
bm = torchsde.BrownianInterval(
    t0=0.0, t1=1.0, size=(4, 3), entropy=7, levy_area_approximation="space-time"
)
ys = torchsde.sdeint_adjoint(
    sde,
    torch.full((4, 3), 0.1),
    torch.linspace(0, 1, 3),
    bm=bm,
    method="midpoint",
    dt=0.1,
    adjoint_method="midpoint",
)
ys[-1].sum().backward()
print(f"adjoint {ys.abs().sum().item():.6g}")
print(f"adjoint grad {sde.sigma.weight.grad.abs().sum().item():.6g}")
