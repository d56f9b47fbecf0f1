"""einops: rearrangements as functions and as layers of a model."""

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce

torch.manual_seed(0)
x = torch.randn(2, 3, 8, 8)
mixed = rearrange(x, "b c (h p) w -> b (c p) h w", p=2)
print(f"rearrange {mixed[0, 1].sum().item():.6g}")
pooled = reduce(x, "b c (h p) (w q) -> b c h w", "max", p=2, q=2)
print(f"reduce {pooled.sum().item():.6g}")
print(f"repeat {repeat(x, 'b c h w -> b c (h r) w', r=3).sum().item():.6g}")
print(f"einsum {einsum(x, x, 'b c h w, b d h w -> b c d').sum().item():.6g}")
packed, shapes = pack([x, x[:, :, 0]], "b c *")
print(f"pack {packed.shape[-1]} {unpack(packed, shapes, 'b c *')[1].sum().item():.6g}")
model = torch.nn.Sequential(
    Rearrange("b c (h p) (w q) -> b (h w) (c p q)", p=4, q=4),
    torch.nn.Linear(48, 16),
    EinMix("b n c -> b n d", weight_shape="c d", bias_shape="d", c=16, d=8),
    Reduce("b n c -> b c", "mean"),
    torch.nn.Linear(8, 2),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(4):
    loss = torch.nn.functional.cross_entropy(model(x), torch.tensor([0, 1]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {step} {loss.item():.6g}")
