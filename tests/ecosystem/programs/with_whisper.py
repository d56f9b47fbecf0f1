"""A small Whisper: features of sound, decoding by search, languages."""

import numpy as np
import torch
import whisper
from whisper.model import ModelDimensions, Whisper

sizes = ModelDimensions(
    n_mels=80,
    n_audio_ctx=1500,
    n_audio_state=32,
    n_audio_head=2,
    n_audio_layer=2,
    n_vocab=51865,
    n_text_ctx=448,
    n_text_state=32,
    n_text_head=2,
    n_text_layer=2,
)
model = Whisper(sizes)
torch.manual_seed(1)
with torch.no_grad():
    for p in model.parameters():
        p.copy_(torch.randn_like(p) * 0.1)
sound = np.random.default_rng(0).normal(size=16000 * 3).astype("float32")
mel = whisper.log_mel_spectrogram(torch.from_numpy(sound))
print("mel", *mel.shape, f"{mel.double().abs().sum().item():.6g}")
mel = whisper.pad_or_trim(mel, 3000)

given = torch.randint(0, 51865, (1, 6))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(2):
    loss = torch.nn.functional.cross_entropy(model(mel[None], given)[0], given[0])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {step}", f"{loss.item():.6g}")

model.eval()
for name, options in (
    ("greedy", {"sample_len": 8, "without_timestamps": True}),
    ("beams", {"sample_len": 6, "beam_size": 3}),
):
    options = whisper.DecodingOptions(fp16=False, language="en", **options)
    found = whisper.decode(model, mel, options)
    print(name, *found.tokens, f"{found.avg_logprob:.5g} {found.no_speech_prob:.5g}")
languages = model.detect_language(mel)[1]
print("languages", len(languages), f"{max(languages.values()):.5g}")
