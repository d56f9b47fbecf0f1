"""Optimizers of packages of their own."""

import schedulefree
import torch
from adabelief_pytorch import AdaBelief
from lion_pytorch import Lion
from madgrad import MADGRAD, MirrorMADGRAD
from muon import SingleDeviceMuonWithAuxAdam
from torch import nn


def train(name, make, extra=None):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    x, y = torch.randn(32, 8), torch.randn(32, 4)
    opt = make(model)
    if extra:
        extra(opt, "train")
    for _ in range(5):
        opt.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        opt.step()
    print(f"{name} loss {loss.item():.6g}")
    if extra:
        extra(opt, "eval")
    print(f"{name} weights {sum(p.abs().sum() for p in model.parameters()).item():.6g}")


train("lion", lambda m: Lion(m.parameters(), lr=1e-3, weight_decay=1e-2))

train("madgrad", lambda m: MADGRAD(m.parameters(), lr=1e-2))
train("mirror madgrad", lambda m: MirrorMADGRAD(m.parameters(), lr=1e-2))

train(
    "adabelief",
    lambda m: AdaBelief(m.parameters(), lr=1e-2, print_change_log=False, rectify=True),
)

train(
    "schedulefree",
    lambda m: schedulefree.AdamWScheduleFree(m.parameters(), lr=1e-2),
    lambda o, w: getattr(o, w)(),
)
train(
    "sgd schedulefree",
    lambda m: schedulefree.SGDScheduleFree(m.parameters(), lr=1e-1),
    lambda o, w: getattr(o, w)(),
)
train(
    "radam schedulefree",
    lambda m: schedulefree.RAdamScheduleFree(m.parameters(), lr=1e-2),
    lambda o, w: getattr(o, w)(),
)

train(
    "muon",
    lambda m: SingleDeviceMuonWithAuxAdam(
        [
            {
                "params": [p for p in m.parameters() if p.ndim == 2],
                "use_muon": True,
                "lr": 0.02,
            },
            {
                "params": [p for p in m.parameters() if p.ndim < 2],
                "use_muon": False,
                "lr": 1e-2,
            },
        ]
    ),
)
