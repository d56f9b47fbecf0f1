"""Zuko: flows by name, trained on samples."""

import torch
import zuko

for name in ("MAF", "NSF", "NICE"):
    if not hasattr(zuko.flows, name):
        continue
    torch.manual_seed(0)
    flow = getattr(zuko.flows, name)(
        3, 2, transforms=2, **({} if name in ("GF",) else {"hidden_features": (16, 16)})
    )
    x, c = torch.randn(32, 3) * 0.5, torch.randn(32, 2)
    optimizer = torch.optim.AdamW(flow.parameters(), lr=1e-3)
    for _step in range(3):
        loss = -flow(c).log_prob(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{name.lower()} loss {loss.item():.6g}")
    torch.manual_seed(1)
    with torch.no_grad():
        s = flow(c[0]).sample((4,))
    print(f"{name.lower()} sample {s.abs().sum().item():.4g}")
