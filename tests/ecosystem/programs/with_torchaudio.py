"""torchaudio: features, filters, losses and models of sound."""

import math

import torch
import torchaudio.functional as tf
from torchaudio import models, transforms

torch.manual_seed(0)
time = torch.arange(8000) / 8000
wave = (torch.sin(2 * math.pi * 440 * time) * 0.5 + torch.rand(8000) * 0.1)[None]
mel = transforms.MelSpectrogram(8000, n_fft=256, n_mels=20)(wave)
print(f"mel {transforms.AmplitudeToDB()(mel).mean().item():.6g}")
options = {"n_fft": 256, "n_mels": 20}
mfcc = transforms.MFCC(8000, n_mfcc=8, melkwargs=options)(wave)
print(f"mfcc {mfcc.abs().mean().item():.6g}")
print(f"resampled {tf.resample(wave, 8000, 6000).abs().mean().item():.6g}")
spectrum = transforms.Spectrogram(n_fft=256, power=2.0)(wave)
sound = transforms.GriffinLim(n_fft=256, n_iter=8, rand_init=False)(spectrum)
print(f"griffin lim {sound.abs().mean().item():.5g}")
for name in ("highpass_biquad", "lowpass_biquad", "bandpass_biquad"):
    print(f"{name} {getattr(tf, name)(wave, 8000, 1000.0).abs().mean().item():.6g}")
print(f"phaser {tf.phaser(wave, 8000).abs().mean().item():.6g}")
print(f"overdrive {tf.overdrive(wave).abs().mean().item():.5g}")
print(f"pitch {tf.pitch_shift(wave, 8000, 2).abs().mean().item():.6g}")

x = torch.randn(2, 3, 200, requires_grad=True)
a = torch.tensor([[1.0, -0.5, 0.2]] * 3, requires_grad=True)
b = torch.tensor([[0.3, 0.2, 0.1]] * 3, requires_grad=True)
tf.lfilter(x, a, b, clamp=False).square().sum().backward()
for name, t in (("x", x), ("a", a), ("b", b)):
    print(f"gradient of {name} {t.grad.abs().mean().item():.6g}")

scores = torch.randn(1, 30, 6).log_softmax(-1)
path, found = tf.forced_align(scores, torch.tensor([[1, 2, 2, 5]], dtype=torch.int32))
print(f"alignment {path[0].argmax()} {path.sum()} {found.sum().item():.6g}")
logits = torch.randn(2, 12, 4, 6, requires_grad=True)
loss = tf.rnnt_loss(
    logits,
    torch.randint(0, 5, (2, 3), dtype=torch.int32),
    torch.tensor([12, 9], dtype=torch.int32),
    torch.tensor([3, 2], dtype=torch.int32),
)
loss.backward()
print(f"transducer {loss.item():.6g} {logits.grad.abs().sum().item():.6g}")

torch.manual_seed(1)
model = models.Conformer(20, 2, 32, 2, 7)
head = torch.nn.Linear(20, 6)
parameters = [*model.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-4)
features = transforms.AmplitudeToDB()(mel).transpose(1, 2) / 50
lengths = torch.tensor([features.shape[1]])
for step in range(3):
    torch.manual_seed(step)
    out, sizes = model(features, lengths)
    loss = torch.nn.functional.ctc_loss(
        head(out).log_softmax(-1).transpose(0, 1),
        torch.tensor([[1, 2, 3]]),
        sizes,
        torch.tensor([3]),
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"conformer loss {step} {loss.item():.6g}")
torch.manual_seed(2)
extractor = models.wav2vec2_model(
    extractor_mode="group_norm",
    extractor_conv_layer_config=[(16, 10, 5), (16, 3, 2)],
    extractor_conv_bias=False,
    encoder_embed_dim=32,
    encoder_projection_dropout=0.0,
    encoder_pos_conv_kernel=16,
    encoder_pos_conv_groups=4,
    encoder_num_layers=2,
    encoder_num_heads=4,
    encoder_attention_dropout=0.0,
    encoder_ff_interm_features=64,
    encoder_ff_interm_dropout=0.0,
    encoder_dropout=0.0,
    encoder_layer_norm_first=False,
    encoder_layer_drop=0.0,
    aux_num_out=6,
).eval()
with torch.no_grad():
    print(f"wav2vec2 {extractor(wave[:, :4000])[0].abs().mean().item():.6g}")
