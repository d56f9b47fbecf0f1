"""backpack: more than the gradient of a backward pass; higher: through an optimizer."""

import higher
import torch
from backpack import backpack, extend
from backpack.extensions import (
    KFLR,
    BatchGrad,
    BatchL2Grad,
    DiagGGNExact,
    DiagHessian,
    SqrtGGNExact,
    SumGradSquared,
    Variance,
)
from torch import nn

torch.manual_seed(0)
layers = [nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
layers += [nn.Linear(27, 5), nn.Sigmoid(), nn.Linear(5, 3)]
model = extend(nn.Sequential(*layers))
loss_of = extend(nn.CrossEntropyLoss())
x, y = torch.randn(6, 1, 8, 8), torch.randint(0, 3, (6,))
for extension in (
    BatchGrad(),
    BatchL2Grad(),
    Variance(),
    SumGradSquared(),
    DiagGGNExact(),
    DiagHessian(),
    KFLR(),
    SqrtGGNExact(),
):
    model.zero_grad()
    loss = loss_of(model(x), y)
    with backpack(extension):
        loss.backward()
    for name, parameter in model.named_parameters():
        kept = getattr(parameter, extension.savefield)
        parts = kept if isinstance(kept, list | tuple) else [kept]
        norms = " ".join(f"{part.norm().item():.6g}" for part in parts)
        print(f"{extension.savefield} {name.split('.')[1]} {norms}")

learner = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
outer = torch.optim.Adam(learner.parameters(), 1e-2)
for _ in range(3):
    outer.zero_grad()
    x = torch.randn(10, 1)
    y = torch.sin(x * (1 + torch.rand(1)))
    inner = torch.optim.SGD(learner.parameters(), 0.1, momentum=0.9)
    with higher.innerloop_ctx(learner, inner, copy_initial_weights=False) as (f, steps):
        for _ in range(3):
            steps.step(nn.functional.mse_loss(f(x[:5]), y[:5]))
        loss = nn.functional.mse_loss(f(x[5:]), y[5:])
        loss.backward()
    outer.step()
    print(f"meta {loss.item():.6g}")
rate = torch.tensor(0.1, requires_grad=True)
inner = torch.optim.Adam(learner.parameters(), 0.1)
with higher.innerloop_ctx(learner, inner, override={"lr": [rate]}) as (f, steps):
    for _ in range(3):
        steps.step(f(torch.ones(2, 1)).pow(2).sum())
    f(torch.ones(2, 1)).sum().backward()
print(f"rate {rate.grad.item():.6g}")
