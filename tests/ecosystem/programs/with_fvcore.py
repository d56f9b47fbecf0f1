"""fvcore: counts of parameters, schedules, small layers, a configuration."""

import tempfile
from pathlib import Path

import torch
from fvcore.common.checkpoint import Checkpointer
from fvcore.common.config import CfgNode
from fvcore.common.param_scheduler import CosineParamScheduler, MultiStepParamScheduler
from fvcore.nn import giou_loss, parameter_count, sigmoid_focal_loss, smooth_l1_loss
from fvcore.nn.precise_bn import update_bn_stats

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(4, 8),
    torch.nn.BatchNorm1d(8),
    torch.nn.ReLU(),
    torch.nn.Linear(8, 2),
)
counts = parameter_count(model)
print(f"parameters {counts['']} {counts['0']} {counts['3.weight']}")
x = torch.randn(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = CosineParamScheduler(0.1, 0.01)
for step in range(4):
    for group in optimizer.param_groups:
        group["lr"] = schedule(step / 4)
    loss = smooth_l1_loss(model(x), torch.ones(16, 2), beta=0.5, reduction="mean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {step} {loss.item():.6g} {group['lr']:.6g}")
print(f"steps {MultiStepParamScheduler([1, 0.1], num_updates=10)(0.7):.6g}")
logits = torch.randn(6)
print(f"focal {sigmoid_focal_loss(logits, (logits > 0).float()).sum().item():.6g}")
a = torch.tensor([[0.0, 0, 2, 2], [1, 1, 3, 4]])
print(f"giou {giou_loss(a, a + 0.5).sum().item():.6g}")
update_bn_stats(model, [x[:8], x[8:]], 2)
print(f"statistics {model[1].running_mean.abs().sum().item():.6g}")
with tempfile.TemporaryDirectory() as folder:
    Checkpointer(model, folder).save("model")
    before = model(x).sum().item()
    torch.nn.init.zeros_(model[0].weight)
    Checkpointer(model, folder).load(str(Path(folder, "model.pth")))
    print(f"loaded {abs(model(x).sum().item() - before):.6g}")
config = CfgNode({"model": {"width": 8}})
config.merge_from_list(["model.width", 16])
print(f"config {config.model.width}")
