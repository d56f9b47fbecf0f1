"""segmentation-models-pytorch: models, losses, metrics."""

import segmentation_models_pytorch as smp
import torch

for kind, encoder in (
    (smp.Unet, "resnet18"),
    (smp.FPN, "mobilenet_v2"),
    (smp.DeepLabV3Plus, "resnet18"),
):
    torch.manual_seed(0)
    model = kind(encoder, encoder_weights=None, in_channels=3, classes=2)
    x = torch.randn(2, 3, 64, 64)
    y = torch.randint(0, 2, (2, 64, 64))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loss_of = smp.losses.DiceLoss("multiclass")
    name = kind.__name__.lower()
    for step in range(2):
        loss = loss_of(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{name} loss {step} {loss.item():.6g}")
    model.eval()
    with torch.no_grad():
        out = model(x)
    print(f"{name} out {out.abs().mean().item():.5g}")
for kind in ("JaccardLoss", "FocalLoss", "TverskyLoss", "LovaszLoss"):
    loss = getattr(smp.losses, kind)("multiclass")(torch.randn_like(out), y)
    print(f"{kind.lower()} {loss.item():.6g}")
stats = smp.metrics.get_stats(out.argmax(1), y, mode="multiclass", num_classes=2)
print(f"stats {sum(s.sum().item() for s in stats)}")
print(f"iou {smp.metrics.iou_score(*stats, reduction='micro').item():.3g}")
