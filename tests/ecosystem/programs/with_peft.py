"""peft: LoRA on a small Llama: training, merging, files."""

import tempfile

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

sizes = {
    "vocab_size": 40,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 32,
}


def base():
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(**sizes))


model = get_peft_model(
    base(),
    LoraConfig(
        r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], lora_dropout=0.1
    ),
)
trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
print(f"trained {trained} {sum(p.numel() for p in model.parameters())}")
torch.manual_seed(1)
ids = torch.randint(0, 40, (4, 12))
optimizer = torch.optim.AdamW(
    (p for p in model.parameters() if p.requires_grad), lr=1e-2
)
model.train()
for step in range(5):
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"loss {step} {loss.item():.6g}")
model.eval()
with torch.no_grad():
    out = model(input_ids=ids).logits
print(f"logits {out.abs().sum().item():.6g}")
with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    again = PeftModel.from_pretrained(base(), folder).eval()
    with torch.no_grad():
        print(f"loaded {again(input_ids=ids).logits.abs().sum().item():.6g}")
merged = model.merge_and_unload()
with torch.no_grad():
    print(f"merged {merged(input_ids=ids).logits.abs().sum().item():.6g}")
