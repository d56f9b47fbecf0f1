"""Text generation through the library transformers, which runs on either unchanged.

Each library has processes of its own, in turns: `python -m benchmarks.generation` is
what they run, with PyTorch as it is, or as ember (`python -m ember.as_torch -m ...`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import cache

from benchmarks.processes import ROOT
from benchmarks.timing import Case, Result

MODELS = ("GPT-2, 12 layers of 768", "Llama, 12 layers of 768")
TIMES = ("import", "build", "first token", "a token")
TOKENS = 32


def child(model: str, threads: int) -> dict[str, float]:
    """What building a model and generating with it takes, in seconds and MB."""
    clock = time.process_time if "EMBER_BENCH_CPU" in os.environ else time.perf_counter
    start = clock()
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

    found = {"import": clock() - start}
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    start = clock()
    if model.startswith("GPT-2"):
        net = GPT2LMHeadModel(GPT2Config(n_layer=12, n_embd=768, n_head=12))
    else:
        config = LlamaConfig(
            hidden_size=768,
            intermediate_size=2048,
            num_hidden_layers=12,
            num_attention_heads=12,
            num_key_value_heads=4,
            vocab_size=32000,
        )
        net = LlamaForCausalLM(config)
    net.eval()
    found["build"] = clock() - start
    prompt = torch.randint(0, 32000, (1, 16))
    options = {"do_sample": False, "pad_token_id": 0, "eos_token_id": None}
    for name, count in (("first token", 1), ("a token", TOKENS)):
        start = clock()
        net.generate(prompt, max_new_tokens=count, min_new_tokens=count, **options)
        found[name] = (clock() - start) / count
    with open("/proc/self/status", encoding="utf-8") as status:
        lines = [line for line in status if line.startswith("VmRSS")]
    return found | {"memory": int(lines[0].split()[1]) / 1024}


def _run(library: str, model: str, threads: int) -> dict[str, float]:
    prefix = ["-m", "ember.as_torch"] if library == "ember" else []
    command = [sys.executable, *prefix, "-m", "benchmarks.generation"]
    done = subprocess.run(
        [*command, model, str(threads)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"},
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout.splitlines()[-1])


@cache
def _measured(rounds: int = 3) -> dict[str, Result]:
    """Results by name; the best of some rounds, in which the libraries take turns."""
    results: dict[str, Result] = {}
    for model in MODELS:
        for threads in (1, 2):
            label = f"{model}, {threads} thread{'s' * (threads > 1)}"
            for part in (*TIMES, "memory"):
                case = Case(f"{label}: {part}", "", group="transformers")
                results[case.name] = Result(case)
            for _ in range(rounds):
                for library in ("torch", "ember"):
                    _add(results, label, library, model, threads)
    return results


def _add(
    results: dict[str, Result], label: str, library: str, model: str, threads: int
) -> None:
    try:
        found = _run(library, model, threads)
    except RuntimeError as error:
        for part in (*TIMES, "memory"):
            results[f"{label}: {part}"].missing = str(error)
        return
    for part, value in found.items():
        seconds = results[f"{label}: {part}"].seconds
        seconds[library] = min(value, seconds.get(library, value))


def times() -> list[Result]:
    """Seconds: `a token` is the mean of some, with what is kept of those before."""
    return [r for name, r in _measured().items() if not name.endswith("memory")]


def memory() -> list[Result]:
    """Resident memory when all is done, in MB."""
    return [r for name, r in _measured().items() if name.endswith("memory")]


if __name__ == "__main__":
    print(json.dumps(child(sys.argv[1], int(sys.argv[2]))))
