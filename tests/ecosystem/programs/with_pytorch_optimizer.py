"""pytorch_optimizer: many optimizers on one small problem."""

import pytorch_optimizer
import torch

names = "AdaBelief AdaBound AdamP Adan Amos DAdaptAdam Fromage Lamb Lion Prodigy QHAdam"
names += " Ranger21 RAdam SGDP Sophia SophiaH Tiger Yogi ScheduleFreeAdamW StableAdamW"
for name in names.split():
    if not hasattr(pytorch_optimizer, name) or name == "SophiaH":
        continue
    kind = getattr(pytorch_optimizer, name)
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
    )
    x = torch.randn(32, 4)
    y = x.prod(1, keepdim=True)
    options = {"lr": 1e-2}
    if name == "Ranger21":
        options["num_iterations"] = 10
    try:
        optimizer = kind(model.parameters(), **options)
    except (TypeError, ValueError) as error:
        print(f"{name.lower()} 0 refused: {type(error).__name__}")
        continue
    if hasattr(optimizer, "train"):
        optimizer.train()
    for _ in range(6):
        loss = (model(x) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{name.lower()} {loss.item():.6g}")
x = torch.randn(8, 4)
sam = pytorch_optimizer.SAM(model.parameters(), torch.optim.SGD, rho=0.05, lr=0.1)
model(x).square().mean().backward()
sam.first_step(zero_grad=True)
loss = model(x).square().mean()
loss.backward()
sam.second_step(zero_grad=True)
print(f"sam {loss.item():.6g}")
