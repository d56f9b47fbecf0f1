"""Trainers of language models: by examples, by preferences, by rewards."""

import random
import tempfile

import torch
import trl
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    PreTrainedTokenizerFast,
)
from transformers.trainer_callback import PrinterCallback

WORDS = [f"w{i}" for i in range(60)]
SPECIAL = {"pad": "<pad>", "bos": "<s>", "eos": "</s>", "unk": "<unk>"}
known = {word: i for i, word in enumerate([*SPECIAL.values(), *WORDS])}
words = Tokenizer(models.WordLevel(known, unk_token="<unk>"))
words.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=words, **{f"{k}_token": v for k, v in SPECIAL.items()}
)
SIZES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def model(kind=LlamaForCausalLM, **options):
    torch.manual_seed(0)
    return kind(LlamaConfig(**SIZES, **options))


def text(n):
    return " ".join(random.choice(WORDS) for _ in range(n))


def train(name, trainer, config, rows, model, **options):
    settings = config(
        output_dir=tempfile.mkdtemp(),
        max_steps=3,
        per_device_train_batch_size=4,
        learning_rate=1e-3,
        logging_steps=1,
        report_to=[],
        use_cpu=True,
        bf16=False,
        disable_tqdm=True,
        save_strategy="no",
        **options.pop("settings"),
    )
    made = trainer(
        model=model,
        args=settings,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        **options,
    )
    made.remove_callback(PrinterCallback)
    made.train()
    for row in made.state.log_history[:3]:
        print(name, f"{row['loss']:.6g} {row['grad_norm']:.6g}")


random.seed(0)
short = {"max_length": 32}
rows = [{"text": text(12)} for _ in range(16)]
train("examples", trl.SFTTrainer, trl.SFTConfig, rows, model(), settings=short)
rows = [{"prompt": text(6), "chosen": text(6), "rejected": text(6)} for _ in range(16)]
options = {"settings": short, "ref_model": model()}
train("preferences", trl.DPOTrainer, trl.DPOConfig, rows, model(), **options)
judge = model(LlamaForSequenceClassification, num_labels=1)
train("reward", trl.RewardTrainer, trl.RewardConfig, rows, judge, settings=short)


def variety(completions, **_):
    return [float(len(set(c.split()))) for c in completions]


groups = {"num_generations": 4, "max_completion_length": 6}
options = {"settings": groups, "reward_funcs": variety}
rows = [{"prompt": text(6)} for _ in range(8)]
train("groups", trl.GRPOTrainer, trl.GRPOConfig, rows, model(), **options)
