"""A small CLIP: train, similarities."""

import open_clip
import torch
from open_clip.model import CLIP

torch.manual_seed(0)
model = CLIP(
    32,
    {"image_size": 32, "layers": 2, "width": 64, "patch_size": 8, "head_width": 32},
    {"context_length": 16, "vocab_size": 100, "width": 32, "heads": 2, "layers": 2},
)
loss_of = open_clip.ClipLoss()
opt = torch.optim.AdamW(model.parameters(), 1e-3)
image, text = torch.randn(4, 3, 32, 32), torch.randint(0, 100, (4, 16))
for step in range(3):
    i, t, s = model(image, text)
    loss = loss_of(i, t, s)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"loss {step} {loss.item():.6g}")
model.eval()
with torch.no_grad():
    images = model.encode_image(image, normalize=True)
    texts = model.encode_text(text, normalize=True)
print(f"similarity {(images @ texts.T).abs().sum().item():.6g}")
print(f"models {len(open_clip.list_models()) > 20:d}")
