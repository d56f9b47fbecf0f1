"""Image models of timm: training steps and evaluation."""

import timm
import timm.loss
import timm.optim
import timm.scheduler
import torch

for name, options in (
    ("resnet18", {}),
    ("vit_tiny_patch16_224", {"img_size": 64}),
    ("convnext_atto", {}),
    ("mobilenetv3_small_050", {}),
    ("efficientnet_b0", {}),
):
    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False, num_classes=5, **options)
    x = torch.randn(8, 3, 64, 64)
    y = torch.arange(8) % 5
    optimizer = timm.optim.create_optimizer_v2(model, opt="sgd", lr=1e-4)
    loss_of = timm.loss.LabelSmoothingCrossEntropy(0.1)
    for step in range(2):
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        print(f"{name} loss {step} {loss.item():.6g}")
    model.eval()
    with torch.no_grad():
        out = model(x)
        features = model.forward_features(x)
    print(f"{name} out {out.abs().sum().item():.6g}")
    print(f"{name} features {features.abs().mean().item():.6g}")
print(f"models {len(timm.list_models('resnet*')) > 10:d}")
