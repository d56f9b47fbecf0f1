"""sentence-transformers: a model of parts, embeddings, a loss."""

import tempfile
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer, losses, util
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

try:
    from sentence_transformers.sentence_transformer import modules as parts
except ImportError:
    from sentence_transformers import models as parts

words = (
    "[PAD] [UNK] [CLS] [SEP] [MASK] the a cat dog sat ran on mat park big small".split()
)
torch.manual_seed(0)
with tempfile.TemporaryDirectory() as folder:
    tokens = Tokenizer(
        models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]")
    )
    tokens.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokens,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )
    fast.save_pretrained(folder)
    BertModel(
        BertConfig(
            vocab_size=len(words),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            max_position_embeddings=32,
        )
    ).save_pretrained(folder)
    bert = parts.Transformer(folder, max_seq_length=16)
    model = SentenceTransformer(modules=[bert, parts.Pooling(32)], device="cpu")
    texts = ["the cat sat on the mat", "a dog ran", "the small cat sat"]
    out = model.encode(texts, convert_to_tensor=True, show_progress_bar=False)
    print(f"embeddings {out.abs().sum().item():.6g}")
    print("similar", *(f"{v:.5g}" for v in util.cos_sim(out, out).flatten().tolist()))
    loss_of = losses.MultipleNegativesRankingLoss(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.train()
    for step in range(3):
        left = model.tokenize(texts)
        right = model.tokenize(["a cat on a mat", "the dog ran", "a small cat"])
        loss = loss_of([left, right], None)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"loss {step} {loss.item():.5g}")
    model.eval()
    path = Path(folder, "saved")
    model.save(str(path))
    again = SentenceTransformer(str(path), device="cpu")
    found = again.encode(texts, convert_to_tensor=True, show_progress_bar=False)
    print(f"loaded {found.abs().sum().item():.5g}")
