"""safetensors: tensors and a model, saved, opened in parts and loaded."""

import tempfile
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)
)
x = torch.randn(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.6g}")
tensors = {
    "a": torch.arange(6.0).reshape(2, 3),
    "b": torch.arange(4, dtype=torch.int64),
    "c": torch.randn(3).to(torch.bfloat16),
    "d": torch.tensor([True, False]),
    "e": torch.randn(2, 2).half(),
}
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "tensors.safetensors")
    save_file(tensors, path, metadata={"format": "pt"})
    found = load_file(path)
    for name in sorted(found):
        same = torch.equal(found[name], tensors[name])
        print(f"{name} {same:d} {found[name].float().sum().item():.6g}")
    with safe_open(path, framework="pt") as file:
        part = file.get_slice("a")[:, 1:]
        print(f"part {part.sum().item():.6g} {len(list(file.keys()))}")
    save_model(model, str(Path(folder, "model.safetensors")))
    again = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)
    )
    load_model(again, str(Path(folder, "model.safetensors")))
    print(f"loaded {(again(x) - model(x)).abs().max().item():.6g}")
print(f"bytes {load(save(tensors))['a'].sum().item():.6g}")
