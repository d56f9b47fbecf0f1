"""A Runner from a configuration: train, validate."""

import tempfile

import numpy as np
import torch
from mmengine.evaluator import BaseMetric
from mmengine.model import BaseModel
from mmengine.runner import Runner
from torch import nn
from torch.utils.data import DataLoader


class Model(BaseModel):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x, y, mode="tensor"):
        found = self.net(x)
        if mode == "loss":
            return {"loss": nn.functional.mse_loss(found, y)}
        return found, y


class Error(BaseMetric):
    def process(self, data_batch, data_samples):
        found, y = data_samples
        self.results.append((found - y).abs().mean().item())

    def compute_metrics(self, results):
        return {"error": float(np.mean(results))}


torch.manual_seed(0)
x = torch.randn(16, 4)
samples = list(zip(x, x.sum(1, keepdim=True)))
runner = Runner(
    Model(),
    tempfile.mkdtemp(),
    train_dataloader=DataLoader(samples, 4),
    val_dataloader=DataLoader(samples, 4),
    val_evaluator={"type": Error},
    val_cfg={},
    train_cfg={"by_epoch": True, "max_epochs": 4, "val_interval": 2},
    optim_wrapper={
        "optimizer": {"type": "AdamW", "lr": 0.01},
        "clip_grad": {"max_norm": 1.0},
    },
    param_scheduler={"type": "CosineAnnealingLR", "T_max": 4},
    default_hooks={"logger": None},
    log_level="ERROR",
    randomness={"seed": 0},
)
runner.train()
for name, p in runner.model.named_parameters():
    print(name.replace("net.", "parameter "), f"{p.detach().abs().sum().item():.6g}")
print("error", f"{runner.val()['error']:.6g}")
