"""x-transformers: decoders with several kinds of attention; generation."""

import torch
from x_transformers import AutoregressiveWrapper, Decoder, Encoder, TransformerWrapper

for name, options in (
    ("plain", {}),
    ("rotary", {"rotary_pos_emb": True, "ff_glu": True, "use_rmsnorm": True}),
    ("alibi", {"alibi_pos_bias": True, "attn_flash": False}),
    ("memory", {"attn_num_mem_kv": 4, "attn_qk_norm": True}),
):
    torch.manual_seed(0)
    model = TransformerWrapper(
        num_tokens=20,
        max_seq_len=32,
        attn_layers=Decoder(dim=32, depth=2, heads=4, **options),
    )
    wrapped = AutoregressiveWrapper(model)
    text = torch.arange(48).remainder(5).reshape(2, 24)
    optimizer = torch.optim.Adam(wrapped.parameters(), lr=1e-2)
    for _ in range(4):
        loss = wrapped(text)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{name} loss {loss.item():.6g}")
    wrapped.eval()
    out = wrapped.generate(text[:, :4], 6, temperature=0.0)
    print(f"{name} generated", *out[0].tolist())
torch.manual_seed(1)
encoder = Encoder(dim=16, depth=1, heads=2)
print(f"encoder {encoder(torch.randn(1, 5, 16)).abs().sum().item():.6g}")
