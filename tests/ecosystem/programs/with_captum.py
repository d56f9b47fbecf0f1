"""captum: attributions of a model's output to its inputs and layers."""

import torch
from captum.attr import (
    DeepLift,
    FeatureAblation,
    GradientShap,
    InputXGradient,
    IntegratedGradients,
    LayerConductance,
    LayerGradCam,
    NoiseTunnel,
    Occlusion,
    Saliency,
)

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 4, 3, padding=1)
        self.relu = torch.nn.ReLU()
        self.pool = torch.nn.AdaptiveAvgPool2d(2)
        self.last = torch.nn.Linear(16, 3)

    def forward(self, x):
        return self.last(self.pool(self.relu(self.conv(x))).flatten(1))


model = Net()
x = torch.randn(6, 1, 8, 8)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(3):
    loss = torch.nn.functional.cross_entropy(model(x), torch.arange(6) % 3)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.6g}")
model.eval()
x = x[:2].requires_grad_()
for kind in (Saliency, InputXGradient, DeepLift):
    found = kind(model).attribute(x, target=1)
    print(f"{kind.__name__.lower()} {found.abs().sum().item():.6g}")
gradients = IntegratedGradients(model)
found, error = gradients.attribute(
    x, target=1, return_convergence_delta=True, n_steps=20
)
print(f"integrated {found.sum().item():.6g} {error.abs().max().item() < 0.1:d}")
torch.manual_seed(1)
found = GradientShap(model).attribute(x, target=0, baselines=torch.zeros(3, 1, 8, 8))
print(f"shap {found.shape[0]}")
print(f"ablation {FeatureAblation(model).attribute(x, target=2).sum().item():.6g}")
found = Occlusion(model).attribute(x, target=2, sliding_window_shapes=(1, 3, 3))
print(f"occlusion {found.abs().sum().item():.6g}")
found = LayerConductance(model, model.relu).attribute(x, target=0, n_steps=10)
print(f"conductance {found.abs().sum().item():.6g}")
found = LayerGradCam(model, model.conv).attribute(x, target=0)
print(f"cam {found.abs().sum().item():.6g}")
found = NoiseTunnel(Saliency(model)).attribute(x, nt_samples=3, target=0)
print(f"tunnel {found.shape[0]}")
