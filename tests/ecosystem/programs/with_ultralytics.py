"""YOLO models of five tasks: what they find, a few steps of training."""

import logging

import torch
from ultralytics import YOLO
from ultralytics.cfg import get_cfg
from ultralytics.utils import LOGGER

LOGGER.setLevel(logging.ERROR)


def total(x):
    if isinstance(x, torch.Tensor):
        return x.double().abs().sum().item()
    if isinstance(x, dict):
        x = x.values()
    return sum(map(total, x)) if hasattr(x, "__iter__") else 0.0


def load(file):
    torch.manual_seed(0)
    model = YOLO(file).model
    model.args = get_cfg()
    return model


image = torch.rand(1, 3, 64, 64, generator=torch.Generator().manual_seed(1))
for file in ("11n", "v8n", "v10n", "11n-seg", "11n-pose", "11n-cls", "11n-obb"):
    model = load(f"yolo{file}.yaml").eval()
    with torch.no_grad():
        found = model(image)
    weights = sum(p.numel() for p in model.parameters())
    print(f"model {file.replace('-', ' ')}", weights, f"{total(found):.6g}")

# In float64: batch norms of few values turn rounding into other numbers.
torch.set_default_dtype(torch.float64)
model = load("yolo11n.yaml").double().train()
batch = {
    "img": torch.rand(2, 3, 64, 64),
    "cls": torch.tensor([[0.0], [3.0], [5.0]]),
    "bboxes": torch.rand(3, 4) * 0.5 + 0.25,
    "batch_idx": torch.tensor([0.0, 0.0, 1.0]),
}
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
for step in range(3):
    loss = model(batch)[0].sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {step}", f"{loss.item():.6g}")
model = model.eval().fuse(verbose=False)
with torch.no_grad():
    print("fused", f"{total(model(image.double())):.6g}")
