"""Sinkhorn and kernel distances of samples."""

import torch
from geomloss import SamplesLoss

torch.manual_seed(0)
x = torch.randn(40, 2, requires_grad=True)
y = torch.randn(50, 2) * 0.5 + 1
for loss in ("sinkhorn", "gaussian", "energy", "laplacian"):
    for p in (1, 2) if loss == "sinkhorn" else (2,):
        value = SamplesLoss(loss, p=p, blur=0.5, backend="tensorized")(x, y)
        (g,) = torch.autograd.grad(value, x)
        print(f"{loss} {p} {value.item():.6g}")
        print(f"{loss} {p} grad {g.abs().sum().item():.6g}")
