"""diffusers: a UNet, trained a little, and samples by two schedulers."""

import tempfile

import torch
from diffusers import (
    AutoencoderKL,
    DDIMPipeline,
    DDIMScheduler,
    DDPMScheduler,
    UNet2DModel,
)

torch.manual_seed(0)
unet = UNet2DModel(
    sample_size=8,
    in_channels=1,
    out_channels=1,
    layers_per_block=1,
    block_out_channels=(16, 32),
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    norm_num_groups=8,
    attention_head_dim=8,
)
scheduler = DDPMScheduler(num_train_timesteps=50)
optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-3)
images = torch.randn(4, 1, 8, 8)
for step in range(3):
    noise = torch.randn_like(images)
    times = torch.randint(0, 50, (4,))
    noisy = scheduler.add_noise(images, noise, times)
    loss = torch.nn.functional.mse_loss(unet(noisy, times).sample, noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {step} {loss.item():.6g}")
sample = torch.randn(1, 1, 8, 8, generator=torch.Generator().manual_seed(1))
scheduler.set_timesteps(5)
for t in scheduler.timesteps:
    with torch.no_grad():
        out = unet(sample, t).sample
    sample = scheduler.step(
        out, t, sample, generator=torch.Generator().manual_seed(2)
    ).prev_sample
print(f"ddpm {sample.abs().sum().item():.6g}")
pipe = DDIMPipeline(unet, DDIMScheduler(num_train_timesteps=50))
pipe.set_progress_bar_config(disable=True)
made = pipe(
    num_inference_steps=4, generator=torch.Generator().manual_seed(3), output_type="np"
)
print(f"ddim {made.images.sum():.6g}")
with tempfile.TemporaryDirectory() as folder:
    unet.save_pretrained(folder)
    again = UNet2DModel.from_pretrained(folder)
    with torch.no_grad():
        print(f"loaded {again(images, 3).sample.abs().sum().item():.6g}")
torch.manual_seed(4)
vae = AutoencoderKL(
    block_out_channels=(16, 32),
    down_block_types=("DownEncoderBlock2D",) * 2,
    up_block_types=("UpDecoderBlock2D",) * 2,
    norm_num_groups=8,
)
with torch.no_grad():
    latent = vae.encode(torch.randn(1, 3, 16, 16)).latent_dist.mode()
    decoded = vae.decode(latent).sample
    print(f"vae {latent.abs().sum().item():.6g} {decoded.std().item():.6g}")
