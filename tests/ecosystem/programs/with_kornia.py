"""kornia: filters, colours, geometry, features and losses of images."""

import kornia as K
import torch

torch.manual_seed(0)
image = torch.rand(2, 3, 16, 20)
results = {
    "gray": K.color.rgb_to_grayscale(image),
    "hsv": K.color.rgb_to_hsv(image),
    "lab": K.color.rgb_to_lab(image),
    "blur": K.filters.gaussian_blur2d(image, (3, 3), (1.5, 1.5)),
    "sobel": K.filters.sobel(image),
    "median": K.filters.median_blur(image, (3, 3)),
    "laplacian": K.filters.laplacian(image, 3),
    "rotate": K.geometry.transform.rotate(image, torch.tensor([30.0, -10.0])),
    "resize": K.geometry.transform.resize(image, (8, 10)),
    "dilation": K.morphology.dilation(image, torch.ones(3, 3)),
    "equalize": K.enhance.equalize(image),
    "harris": K.feature.harris_response(K.color.rgb_to_grayscale(image)),
}
for name, value in results.items():
    print(f"{name} {value.abs().sum().item():.6g}")
matrix = K.geometry.transform.get_rotation_matrix2d(
    torch.tensor([[8.0, 8.0]]), torch.tensor([15.0]), torch.ones(1, 2)
)
print(f"matrix {matrix.sum().item():.6g}")
axis = K.geometry.conversions.axis_angle_to_rotation_matrix(
    torch.tensor([[0.1, 0.2, 0.3]])
)
print(f"axis {axis.sum().item():.6g}")
parameter = torch.nn.Parameter(image.clone())
optimizer = torch.optim.Adam([parameter], lr=0.05)
target = K.filters.gaussian_blur2d(image, (5, 5), (2.0, 2.0))
for step in range(4):
    loss = (
        K.losses.ssim_loss(parameter, target, 5)
        + K.losses.total_variation(parameter).mean() * 1e-3
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {step} {loss.item():.6g}")
logits = torch.randn(2, 4, 6, 6)
labels = torch.randint(0, 4, (2, 6, 6))
print(f"dice {K.losses.dice_loss(logits, labels).item():.6g}")
print(f"focal {K.losses.focal_loss(logits, labels, 0.5, reduction='mean').item():.6g}")
augment = K.augmentation.AugmentationSequential(
    K.augmentation.RandomHorizontalFlip(p=1.0), K.augmentation.Normalize(0.5, 0.25)
)
print(f"augmented {augment(image).sum().item():.6g}")
