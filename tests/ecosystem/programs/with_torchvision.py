"""torchvision: a model, transforms, and its operators on boxes."""

import tempfile
from pathlib import Path

import torch
import torchvision
from torchvision import ops, utils
from torchvision.transforms import functional as tf, v2

torch.manual_seed(0)
model = torchvision.models.resnet18(num_classes=4)
x = torch.randn(8, 3, 64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
for step in range(2):
    loss = torch.nn.functional.cross_entropy(model(x), torch.arange(8) % 4)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"resnet18 loss {step} {loss.item():.6g}")
model.eval()
print(f"resnet18 eval {model(x).abs().sum().item():.6g}")
for name in ("mobilenet_v3_small", "squeezenet1_1", "vit_b_16"):
    torch.manual_seed(1)
    options = {"image_size": 32} if name == "vit_b_16" else {}
    net = torchvision.models.get_model(name, num_classes=3, **options).eval()
    with torch.no_grad():
        size = 32 if name == "vit_b_16" else 64
        out = net(torch.randn(1, 3, size, size))
    print(f"{name} {out.abs().sum().item():.6g}")

image = (torch.arange(3 * 20 * 30).reshape(3, 20, 30) * 7 % 256).to(torch.uint8)
steps = v2.Compose(
    [
        v2.Resize((16, 16), antialias=True),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize([0.5] * 3, [0.25] * 3),
    ]
)
print(f"transforms {steps(image).sum().item():.6g}")
print(f"rotate {tf.rotate(image.float(), 30.0).sum().item():.6g}")
print(f"blur {tf.gaussian_blur(image.float(), [3, 3]).sum().item():.6g}")
print(f"jitter {tf.adjust_hue(image, 0.2).float().sum().item():.6g}")

torch.manual_seed(2)
corners = torch.rand(20, 2) * 20
boxes = torch.cat([corners, corners + torch.rand(20, 2) * 20 + 1], 1)
scores = torch.rand(20)
print("nms", *ops.nms(boxes, scores, 0.3).tolist())
print(
    "batched nms", *ops.batched_nms(boxes, scores, torch.arange(20) % 2, 0.3).tolist()
)
print(f"iou {ops.box_iou(boxes, boxes).sum().item():.6g}")
print(f"giou {ops.generalized_box_iou(boxes, boxes).sum().item():.6g}")
print(
    f"focal {ops.sigmoid_focal_loss(scores, (scores > 0.5).float()).sum().item():.6g}"
)
print(
    f"grid {utils.make_grid(image[None].repeat(4, 1, 1, 1)).float().mean().item():.6g}"
)

torch.manual_seed(3)
x4 = torch.randn(2, 12, 9, 10, requires_grad=True)
low = torch.rand(5, 2) * 4
where = torch.tensor([0.0, 1, 0, 1, 1])
regions = torch.cat([where[:, None], low, low + torch.rand(5, 2) * 9], 1)
for name, options in (
    ("roi_align", {"aligned": True}),
    ("roi_align", {"sampling_ratio": 2, "spatial_scale": 0.5}),
    ("roi_pool", {"spatial_scale": 0.5}),
    ("ps_roi_align", {"sampling_ratio": 2}),
    ("ps_roi_pool", {}),
):
    pooled = getattr(ops, name)(x4, regions, (2, 3), **options)
    (slope,) = torch.autograd.grad(pooled.square().sum(), x4)
    print(f"{name.replace('_', ' ')} {pooled.square().sum().item():.6g}")
    if name != "ps_roi_pool":
        print(f"gradient {slope.square().sum().item():.6g}")
weight = torch.randn(4, 6, 3, 3, requires_grad=True)
moved = torch.randn(2, 2 * 2 * 9, 9, 10, requires_grad=True)
mask = torch.rand(2, 2 * 9, 9, 10, requires_grad=True)
made = ops.deform_conv2d(x4, moved, weight, padding=1, mask=mask)
print(f"deform conv {made.square().sum().item():.6g}")
for name, leaf in (("x", x4), ("offset", moved), ("weight", weight), ("mask", mask)):
    (slope,) = torch.autograd.grad(made.square().sum(), leaf, retain_graph=True)
    print(f"deform conv by {name} {slope.abs().sum().item():.6g}")
torch.manual_seed(4)
detector = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(
    weights=None, weights_backbone=None, num_classes=4
).double()  # in float32, rounding decides which of equally good proposals are taken
pictures = [torch.rand(3, 100, 120).double(), torch.rand(3, 90, 80).double()]
truth = [
    {"boxes": torch.tensor([[10.0, 10, 50, 60]]).double(), "labels": torch.tensor([1])},
    {"boxes": torch.tensor([[5.0, 5, 40, 30]]).double(), "labels": torch.tensor([3])},
]
for name, loss in sorted(detector(pictures, truth).items()):
    print(f"detector {name.replace('_', ' ')} {loss.item():.6g}")
detector.eval()
for found in detector(pictures):
    print(f"detected {len(found['boxes'])} {found['boxes'].mean().item():.6g}")

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "weights.pt")
    torch.save(model.state_dict(), path)
    model.load_state_dict(torch.load(path))
print(f"saved {model(x).abs().sum().item():.6g}")
