"""Dictionaries of tensors, modules that read and write them."""

import tempfile

import torch
from tensordict import TensorDict, tensorclass
from tensordict.nn import (
    TensorDictModule,
    TensorDictSequential,
)

torch.manual_seed(0)
td = TensorDict(
    {"a": torch.randn(4, 3), "nested": {"b": torch.ones(4, 2)}}, batch_size=[4]
)
print(f"sum {td.sum().get('a').item():.6g}")
print(f"shape {next(iter(td[1:3]['a'].shape))}")
print(f"stack {torch.stack([td, td], 0).shape[0]}")
print(f"cat {torch.cat([td, td], 0).shape[0]}")
print(f"double {(td * 2)['nested', 'b'].sum().item():.6g}")
flat = td.flatten_keys(".")
print(f"keys {len(list(flat.keys()))}")
net = TensorDictSequential(
    TensorDictModule(torch.nn.Linear(3, 4), in_keys=["a"], out_keys=["h"]),
    TensorDictModule(
        lambda h: (h.tanh(), h.exp()), in_keys=["h"], out_keys=["loc", "scale"]
    ),
)
opt = torch.optim.Adam(net.parameters(), 1e-2)
for step in range(3):
    out = net(td.clone())
    loss = (out["loc"] - 1).square().mean() + out["scale"].mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"loss {step} {loss.item():.6g}")
params = TensorDict.from_module(net)
print(f"params {len(list(params.keys(True, True)))}")
with params.to_module(net):
    print(f"again {net(td.clone())['loc'].sum().item():.6g}")


@tensorclass
class Data:
    x: torch.Tensor
    y: torch.Tensor


d = Data(x=torch.ones(3, 2), y=torch.zeros(3), batch_size=[3])
print(f"class {d[0].x.sum().item():.6g}")

m = td.memmap(tempfile.mkdtemp())
print(f"memmap {m['a'].abs().sum().item():.6g}")
batched = torch.vmap(lambda p: p["a"].sum())(td)
print(f"vmap {batched.sum().item():.6g}")
