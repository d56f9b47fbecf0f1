"""accelerate: a training loop, gradient accumulation, checkpoints."""

import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

set_seed(0)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 2))
x = torch.randn(48, 6)
data = TensorDataset(x, (x.sum(1) > 0).long())
loader = DataLoader(data, batch_size=8, shuffle=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
model, optimizer, loader, schedule = accelerator.prepare(
    model, optimizer, loader, schedule
)
for epoch in range(3):
    total = 0.0
    for inputs, targets in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(inputs), targets)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        total += loss.item()
    print(f"loss {epoch} {total:.6g}")
gathered = accelerator.gather_for_metrics(model(x[:4]))
print(f"gathered {gathered.abs().sum().item():.6g}")
with tempfile.TemporaryDirectory() as folder:
    accelerator.save_state(folder)
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
    accelerator.load_state(folder)
    print(f"loaded {model(x).abs().sum().item():.6g}")
    accelerator.save_model(model, folder)
plain = accelerator.unwrap_model(model)
print(f"unwrapped {sum(p.numel() for p in plain.parameters())}")
print(f"lr {schedule.get_last_lr()[0]:.6g}")
