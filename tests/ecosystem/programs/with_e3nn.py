"""Layers that turn with their inputs."""

import torch
from e3nn import nn as enn, o3

torch.manual_seed(0)
irreps = o3.Irreps("8x0e + 4x1o + 2x2e")
pos = torch.randn(10, 3)
sh = o3.spherical_harmonics("0e+1o+2e", pos, normalize=True, normalization="component")
print(f"harmonics {sh.abs().sum().item():.6g}")
tp = o3.FullyConnectedTensorProduct(irreps, "0e+1o+2e", irreps)
lin = o3.Linear(irreps, irreps)
x = irreps.randn(10, -1)
opt = torch.optim.Adam([*tp.parameters(), *lin.parameters()], 1e-2)
for step in range(3):
    y = lin(tp(x, sh))
    loss = (y - 1).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"loss {step} {loss.item():.6g}")
R = o3.rand_matrix()
D = irreps.D_from_matrix(R)
a = lin(
    tp(
        x @ D.T,
        o3.spherical_harmonics(
            "0e+1o+2e", pos @ R.T, normalize=True, normalization="component"
        ),
    )
)
b = lin(tp(x, sh)) @ D.T
print(f"equivariance {float((a - b).abs().max()) < 1e-3:d}")
print(f"wigner {o3.wigner_3j(1, 2, 1).abs().sum().item():.6g}")
gate = enn.Gate("8x0e", [torch.tanh], "4x0e", [torch.sigmoid], "4x1o")
print(f"gate {gate(torch.randn(3, gate.irreps_in.dim)).abs().sum().item():.6g}")
