"""Small libraries of attention, quantization and diffusion."""

import torch
from denoising_diffusion_pytorch import GaussianDiffusion, Unet
from ema_pytorch import EMA
from linear_attention_transformer import LinearAttentionTransformerLM
from performer_pytorch import PerformerLM
from rotary_embedding_torch import RotaryEmbedding
from vector_quantize_pytorch import FSQ, ResidualVQ, VectorQuantize

torch.manual_seed(0)

rot = RotaryEmbedding(dim=8)
q = torch.randn(1, 2, 6, 16)
print(f"rotary {rot.rotate_queries_or_keys(q).abs().sum().item():.6g}")

m = LinearAttentionTransformerLM(
    num_tokens=32,
    dim=16,
    heads=2,
    depth=1,
    max_seq_len=16,
    causal=True,
    blindspot_size=1,
)
x = torch.randint(0, 32, (2, 16))
out = m(x)
torch.nn.functional.cross_entropy(out.transpose(1, 2), x).backward()
print(f"linear {out.abs().sum().item():.6g}")

torch.manual_seed(1)
m = PerformerLM(
    num_tokens=32, max_seq_len=16, dim=16, depth=1, heads=2, causal=False, nb_features=8
)
out = m(x)
out.square().mean().backward()
print(f"performer {out.abs().sum().item():.5g}")

net = torch.nn.Linear(4, 4)
ema = EMA(net, beta=0.9, update_after_step=0, update_every=1)
for _ in range(4):
    with torch.no_grad():
        net.weight.add_(0.1)
    ema.update()
print(f"ema {ema.ema_model.weight.sum().item():.6g}")

torch.manual_seed(2)
vq = VectorQuantize(dim=8, codebook_size=16, decay=0.8)
z = torch.randn(2, 10, 8, requires_grad=True)
quantized, indices, loss = vq(z)
(quantized.sum() + loss.sum()).backward()
print(f"vq {quantized.abs().sum().item():.6g} {indices.sum().item()}")
print(f"vq loss {loss.sum().item():.6g} grad {z.grad.abs().sum().item():.6g}")
r = ResidualVQ(dim=8, codebook_size=16, num_quantizers=2)
a, b, c = r(z)
print(f"residual {a.abs().sum().item():.6g} {b.sum().item()} {c.sum().item():.6g}")
f = FSQ(levels=[5, 5, 3])
a, b = f(torch.randn(1, 6, 3))
print(f"fsq {a.abs().sum().item():.6g} {b.sum().item()}")

torch.manual_seed(3)
model = Unet(dim=16, dim_mults=(1, 2), flash_attn=False)
d = GaussianDiffusion(model, image_size=16, timesteps=20, sampling_timesteps=4)
img = torch.rand(2, 3, 16, 16)
opt = torch.optim.Adam(d.parameters(), 1e-4)
for step in range(2):
    loss = d(img)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"diffusion loss {step} {loss.item():.5g}")
print(f"diffusion sample {d.sample(batch_size=1).mean().item():.4g}")
