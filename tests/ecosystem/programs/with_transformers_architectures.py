"""Architectures of transformers, small: losses and gradients of random weights."""

import torch
import transformers as tf

SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}
TEXT = {
    "vocab_size": 64,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def causal(name, config, **options):
    torch.manual_seed(0)
    model = tf.AutoModelForCausalLM.from_config(config)
    ids = torch.randint(3, 64, (2, 12))
    step(name, model, input_ids=ids, labels=ids)
    model.eval()
    out = model.generate(ids[:, :4], max_new_tokens=6, do_sample=False)
    print(f"{name} tokens {out.sum().item()}")


def step(name, model, **inputs):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    for i in range(2):
        loss = model(**inputs).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"{name} loss {i} {loss.item():.6g}")


causal("llama", tf.LlamaConfig(**SMALL, **TEXT, num_key_value_heads=2))
causal(
    "mistral",
    tf.MistralConfig(**SMALL, **TEXT, num_key_value_heads=2, sliding_window=8),
)
causal("qwen2", tf.Qwen2Config(**SMALL, **TEXT, num_key_value_heads=2))
causal("gemma", tf.GemmaConfig(**SMALL, **TEXT, num_key_value_heads=1, head_dim=8))
causal("phi", tf.PhiConfig(**SMALL, **TEXT))
causal("neox", tf.GPTNeoXConfig(**SMALL, **TEXT))
causal(
    "opt",
    tf.OPTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        ffn_dim=64,
        word_embed_proj_dim=32,
        dropout=0.0,
        **TEXT,
    ),
)
causal("bloom", tf.BloomConfig(vocab_size=64, hidden_size=32, n_layer=2, n_head=4))
causal(
    "mixtral",
    tf.MixtralConfig(**SMALL, **TEXT, num_key_value_heads=2, num_local_experts=4),
)
causal(
    "mamba",
    tf.MambaConfig(
        vocab_size=64,
        hidden_size=32,
        num_hidden_layers=2,
        state_size=8,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    ),
)

torch.manual_seed(0)
ids = torch.randint(3, 64, (2, 10))
model = tf.T5ForConditionalGeneration(
    tf.T5Config(
        vocab_size=64,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        dropout_rate=0.0,
        decoder_start_token_id=0,
    )
)
step("t5", model, input_ids=ids, labels=ids)
print(f"t5 tokens {model.eval().generate(ids, max_new_tokens=5).sum().item()}")
torch.manual_seed(0)
model = tf.BartForConditionalGeneration(
    tf.BartConfig(
        vocab_size=64,
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        dropout=0.0,
    )
)
step("bart", model, input_ids=ids, labels=ids)
torch.manual_seed(0)
model = tf.ViTForImageClassification(
    tf.ViTConfig(**SMALL, image_size=32, patch_size=8, num_labels=3)
)
step("vit", model, pixel_values=torch.randn(2, 3, 32, 32), labels=torch.tensor([0, 2]))
torch.manual_seed(0)
model = tf.CLIPModel(
    tf.CLIPConfig(
        text_config=dict(
            **SMALL,
            vocab_size=64,
            max_position_embeddings=16,
            projection_dim=16,
            eos_token_id=2,
        ),
        vision_config=dict(**SMALL, image_size=32, patch_size=8, projection_dim=16),
        projection_dim=16,
    )
)
out = model(input_ids=ids, pixel_values=torch.randn(2, 3, 32, 32), return_loss=True)
print(f"clip {out.loss.item():.6g} {out.logits_per_image.abs().sum().item():.6g}")
torch.manual_seed(0)
model = tf.WhisperForConditionalGeneration(
    tf.WhisperConfig(
        vocab_size=64,
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        num_mel_bins=20,
        max_source_positions=50,
        max_target_positions=20,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        suppress_tokens=[],
        begin_suppress_tokens=[],
    )
)
step("whisper", model, input_features=torch.randn(1, 20, 100), labels=ids[:1])
for name, config in (
    ("roberta", tf.RobertaConfig(**SMALL, **TEXT)),
    (
        "distilbert",
        tf.DistilBertConfig(
            vocab_size=64,
            dim=32,
            n_layers=2,
            n_heads=4,
            hidden_dim=64,
            dropout=0.0,
            attention_dropout=0.0,
        ),
    ),
    ("electra", tf.ElectraConfig(**SMALL, embedding_size=16, vocab_size=64)),
    (
        "deberta",
        tf.DebertaV2Config(
            **SMALL,
            vocab_size=64,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        ),
    ),
    ("albert", tf.AlbertConfig(**SMALL, vocab_size=64, embedding_size=16)),
):
    torch.manual_seed(0)
    model = tf.AutoModelForSequenceClassification.from_config(config)
    model.eval()
    print(f"{name} {model(input_ids=ids, labels=torch.tensor([0, 1])).loss.item():.6g}")
torch.manual_seed(0)
model = tf.Wav2Vec2ForCTC(
    tf.Wav2Vec2Config(
        **SMALL,
        vocab_size=20,
        conv_dim=(16, 16),
        conv_kernel=(10, 3),
        conv_stride=(5, 2),
        num_feat_extract_layers=2,
        num_conv_pos_embeddings=8,
        num_conv_pos_embedding_groups=2,
        pad_token_id=0,
    )
)
model.eval()
loss = model(torch.randn(1, 400), labels=torch.tensor([[3, 4, 5]])).loss
loss.backward()
print(f"wav2vec2 {loss.item():.6g}")
