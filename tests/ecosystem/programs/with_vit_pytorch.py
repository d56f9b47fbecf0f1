"""vit-pytorch: several transformers for images."""

import torch
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cct import CCT
from vit_pytorch.deepvit import DeepViT

sizes = {"image_size": 32, "patch_size": 8, "num_classes": 4, "dim": 32, "depth": 2}
for name, make in (
    ("vit", lambda: ViT(**sizes, heads=4, mlp_dim=64, dropout=0.1, emb_dropout=0.1)),
    ("simple", lambda: SimpleViT(**sizes, heads=4, mlp_dim=64)),
    ("deep", lambda: DeepViT(**sizes, heads=4, mlp_dim=64)),
    (
        "cct",
        lambda: CCT(
            img_size=32,
            embedding_dim=32,
            n_conv_layers=1,
            num_layers=2,
            num_heads=4,
            mlp_ratio=2.0,
            num_classes=4,
            stochastic_depth_rate=0.0,
        ),
    ),
):
    torch.manual_seed(0)
    model = make()
    x = torch.randn(4, 3, 32, 32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(3):
        loss = torch.nn.functional.cross_entropy(model(x), torch.arange(4))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{name} loss {step} {loss.item():.6g}")
    model.eval()
    print(f"{name} out {model(x).abs().sum().item():.6g}")
