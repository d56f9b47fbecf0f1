"""BERT and GPT-2 of a few layers: training, generation, files."""

import tempfile

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    get_linear_schedule_with_warmup,
)

torch.manual_seed(0)
config = BertConfig(
    vocab_size=60,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    max_position_embeddings=32,
    num_labels=3,
)
model = BertForSequenceClassification(config)
ids = torch.randint(0, 60, (8, 16))
labels = torch.randint(0, 3, (8,))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = get_linear_schedule_with_warmup(optimizer, 2, 10)
model.train()
for step in range(5):
    loss = model(input_ids=ids, labels=labels).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
    print(f"bert loss {step} {loss.item():.7g}")
model.eval()
with torch.no_grad():
    logits = model(input_ids=ids, attention_mask=(ids > 5).long()).logits
print(f"bert logits {logits.sum().item():.7g} {logits[0, 0].item():.7g}")
with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    again = BertForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        same = again(input_ids=ids, attention_mask=(ids > 5).long()).logits
    print(f"bert loaded {(same - logits).abs().max().item():.7g}")

torch.manual_seed(1)
sizes = {"vocab_size": 50, "n_positions": 64, "n_embd": 32, "n_layer": 2, "n_head": 2}
gpt = GPT2LMHeadModel(
    GPT2Config(**sizes, bos_token_id=0, eos_token_id=0, pad_token_id=0)
)
text = torch.arange(40).remainder(7).add(1).reshape(2, 20)
optimizer = torch.optim.Adam(gpt.parameters(), lr=1e-2)
for _ in range(15):
    loss = gpt(input_ids=text, labels=text).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(f"gpt2 loss {loss.item():.7g}")
gpt.eval()
out = gpt.generate(text[:, :5], max_new_tokens=10, do_sample=False)
print("gpt2 greedy", *out[0].tolist())
out = gpt.generate(text[:, :5], max_new_tokens=10, num_beams=3, do_sample=False)
print("gpt2 beams", *out[1].tolist())
torch.manual_seed(2)
out = gpt.generate(text[:, :5], max_new_tokens=10, do_sample=True, top_k=10)
print("gpt2 sampled", *out[0].tolist())

torch.manual_seed(3)
llama = LlamaForCausalLM(
    LlamaConfig(
        vocab_size=50,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
    )
)
loss = llama(input_ids=text, labels=text).loss
loss.backward()
norm = torch.nn.utils.clip_grad_norm_(llama.parameters(), 1.0)
print(f"llama loss {loss.item():.7g} {norm.item():.7g}")
out = llama.eval().generate(text[:, :5], max_new_tokens=8, do_sample=False)
print("llama greedy", *out[0].tolist())
