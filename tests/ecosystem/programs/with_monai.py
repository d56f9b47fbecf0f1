"""monai: a UNet for volumes, losses, metrics, transforms, sliding windows."""

import torch
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss, DiceLoss, FocalLoss
from monai.metrics import DiceMetric
from monai.networks.nets import DenseNet121, UNet
from monai.transforms import (
    Compose,
    EnsureChannelFirst,
    Rotate,
    ScaleIntensity,
    Spacing,
)

torch.manual_seed(0)
model = UNet(
    spatial_dims=3,
    in_channels=1,
    out_channels=2,
    channels=(4, 8, 16),
    strides=(2, 2),
    num_res_units=1,
)
x = torch.rand(2, 1, 16, 16, 16)
y = (x > 0.7).long()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
loss_of = DiceCELoss(to_onehot_y=True, softmax=True)
for step in range(3):
    loss = loss_of(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {step} {loss.item():.6g}")
model.eval()
with torch.no_grad():
    whole = sliding_window_inference(
        torch.rand(1, 1, 20, 20, 20), (16, 16, 16), 2, model
    )
print(f"windows {whole.abs().sum().item():.6g}")
metric = DiceMetric(include_background=False)
onehot = torch.nn.functional.one_hot(y[:, 0], 2).movedim(-1, 1)
metric(y_pred=onehot.roll(1, -1), y=onehot)
print(f"dice {metric.aggregate().item():.6g}")
print(
    f"focal {FocalLoss()(torch.randn(2, 1, 8, 8), torch.ones(2, 1, 8, 8)).item():.6g}"
)
print(f"diceloss {DiceLoss(sigmoid=True)(whole[:, :1], whole[:, :1] > 0).item():.6g}")
steps = Compose([EnsureChannelFirst(channel_dim="no_channel"), ScaleIntensity()])
print(f"transforms {steps(torch.arange(64.0).reshape(4, 4, 4)).sum().item():.6g}")
turned = Rotate(0.3, keep_size=True)(torch.arange(64.0).reshape(1, 8, 8))
print(f"rotate {turned.sum().item():.6g}")
spaced = Spacing((2.0, 2.0))(torch.arange(64.0).reshape(1, 8, 8))
print(f"spacing {spaced.shape[-1]} {spaced.sum().item():.6g}")
torch.manual_seed(1)
net = DenseNet121(spatial_dims=2, in_channels=1, out_channels=3).eval()
with torch.no_grad():
    print(f"densenet {net(torch.randn(1, 1, 32, 32)).abs().sum().item():.6g}")
