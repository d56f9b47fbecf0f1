"""torch-pruning: groups of channels that depend on each other, removed together."""

import torch
import torch_pruning as pruning
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.inner = nn.Conv2d(16, 16, 3, padding=1)
        self.last = nn.Conv2d(16, 32, 3, 2, 1)
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        x = self.norm(self.first(x)).relu()
        x = x + self.inner(x).relu()
        return self.head(self.last(x).relu().mean((2, 3)))


model, x = Net(), torch.randn(2, 3, 8, 8)
ops, parameters = pruning.utils.count_ops_and_params(model, x)
print(f"whole {ops:.6g} {parameters}")
for importance in (
    pruning.importance.MagnitudeImportance(p=2),
    pruning.importance.TaylorImportance(),
    pruning.importance.MagnitudeImportance(p=1),
):
    pruner = pruning.pruner.MagnitudePruner(
        model, x, importance, pruning_ratio=0.25, ignored_layers=[model.head]
    )
    model.zero_grad()
    model(x).sum().backward()
    pruner.step()
    ops, parameters = pruning.utils.count_ops_and_params(model, x)
    print(f"pruned {ops:.6g} {parameters} {model(x).sum().item():.6g}")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = nn.functional.cross_entropy(model(x), torch.tensor([1, 7]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {step} {loss.item():.6g}")
