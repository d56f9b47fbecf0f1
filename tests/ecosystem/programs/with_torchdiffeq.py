"""A neural differential equation: solvers, the adjoint method."""

import torch
from torch import nn
from torchdiffeq import odeint, odeint_adjoint


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y**3)


torch.manual_seed(0)
start = torch.tensor([[2.0, 0.0]])
times = torch.linspace(0.0, 1.0, 8)
matrix = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
with torch.no_grad():
    truth = odeint(lambda t, y: y**3 @ matrix, start, times, method="dopri5")
print(f"truth {truth.abs().sum().item():.6g}")
for method in (
    "euler",
    "midpoint",
    "rk4",
    "heun3",
    "dopri8",
    "bosh3",
    "explicit_adams",
):
    end = odeint(lambda t, y: y @ matrix, start, times, method=method)
    print(f"{method} {end[-1].abs().sum().item():.6g}")
for name, solve in (("direct", odeint), ("adjoint", odeint_adjoint)):
    torch.manual_seed(0)
    field = Field()
    optimizer = torch.optim.RMSprop(field.parameters(), lr=1e-3)
    for step in range(4):
        optimizer.zero_grad()
        loss = (solve(field, start, times, rtol=1e-5, atol=1e-6) - truth).abs().mean()
        loss.backward()
        optimizer.step()
        print(f"{name} loss {step} {loss.item():.6g}")
