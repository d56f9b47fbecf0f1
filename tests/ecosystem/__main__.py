"""Runs the programs of this package: see there.

python -m tests.ecosystem                     # in an environment of its own
python -m tests.ecosystem --only timm,peft    # some of them
python -m tests.ecosystem --record PYTHON     # what PyTorch prints there
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TABLE = ROOT / "docs" / "ecosystem.md"
TOLERANCE = 1e-4
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)", re.IGNORECASE)


class Library(NamedTuple):
    """What to install, and what the program does with it."""

    requirement: str
    does: str
    options: str = ""


LEFT_OUT = (
    "pytorch_optimizer: SOAP turns by eigenvectors of singular matrices, which "
    "rounding chooses: PyTorch's own float32 and float64 differ by 2e-3 after six "
    "steps",
    "pytorch-tabnet: its regressor, whose numbers rounding chooses: PyTorch's own "
    "after three epochs differ by 4e-4 between one and two threads",
    "torchvision: the gradient of ps_roi_pool, which in torchvision is not that of its "
    "result at the border of the image",
)
# By the names of their programs.
LIBRARIES = {
    "transformers": Library("transformers", "BERT and GPT-2: train, generate, save"),
    "accelerate": Library("accelerate", "a training loop, checkpoints"),
    "peft": Library("peft", "LoRA on a Llama: train, merge, save", "jinja2"),
    "safetensors": Library("safetensors", "save and load a model"),
    "diffusers": Library("diffusers", "UNet: train; DDPM and DDIM samples"),
    "timm": Library("timm", "ResNet, ViT, ConvNeXt, EfficientNet: train, evaluate"),
    "torchvision": Library(
        "torchvision", "ResNet, Faster R-CNN, transforms, operators", "--no-deps"
    ),
    "torchaudio": Library(
        "torchaudio", "features, filters, losses and models of sound", "--no-deps"
    ),
    "lightning": Library("lightning", "a Trainer with checkpoints"),
    "torchmetrics": Library("torchmetrics", "metrics of classes, numbers and images"),
    "einops": Library("einops", "layers of rearrangements"),
    "gpytorch": Library("gpytorch", "a Gaussian process: fit, predict"),
    "botorch": Library("botorch", "Bayesian optimization of a function"),
    "pyro": Library("pyro-ppl", "variational inference, Monte Carlo"),
    "sentence_transformers": Library("sentence-transformers", "embeddings, a loss"),
    "torch_geometric": Library("torch_geometric", "GCN and GAT on a graph"),
    "stable_baselines3": Library("stable-baselines3", "PPO and DQN on CartPole"),
    "captum": Library("captum", "attributions of a model"),
    "kornia": Library("kornia", "filters, geometry, losses of images"),
    "skorch": Library("skorch", "a classifier as scikit-learn's"),
    "opacus": Library("opacus", "private training"),
    "monai": Library("monai", "UNet: train, sliding windows"),
    "segmentation_models_pytorch": Library(
        "segmentation-models-pytorch", "Unet and FPN: train, evaluate"
    ),
    "pytorch_forecasting": Library("pytorch-forecasting", "layers, metrics, a model"),
    "torchinfo": Library("torchinfo", "summary of a model"),
    "pytorch_optimizer": Library("pytorch_optimizer", "optimizers on a model"),
    "x_transformers": Library("x-transformers", "decoder: train, generate"),
    "vit_pytorch": Library("vit-pytorch", "ViT: train, evaluate"),
    "fvcore": Library("fvcore", "parameters of a model, schedules"),
    "transformers_architectures": Library(
        "transformers", "20 architectures, small: Llama, T5, ViT, Whisper, Mamba, ..."
    ),
    "tensordict": Library("tensordict", "dictionaries of tensors, modules of them"),
    "torchdiffeq": Library("torchdiffeq", "a neural differential equation: fit"),
    "torchsde": Library("torchsde", "stochastic differential equations"),
    "geomloss": Library("geomloss", "Sinkhorn and kernel distances"),
    "nflows": Library("nflows", "a normalizing flow: fit, sample"),
    "zuko": Library("zuko", "normalizing flows: fit, sample"),
    "pytorch_metric_learning": Library(
        "pytorch-metric-learning", "18 losses and 4 miners of embeddings"
    ),
    "ignite": Library("pytorch-ignite", "a training loop, metrics, checkpoints"),
    "fastai": Library("fastai", "a Learner: fit, validate"),
    "open_clip": Library("open_clip_torch", "a small CLIP: train, similarities"),
    "e3nn": Library("e3nn", "equivariant layers: train, turn"),
    "vector_quantize_pytorch": Library(
        "vector-quantize-pytorch",
        "quantization; five more of its author's libraries",
        "rotary-embedding-torch linear-attention-transformer performer-pytorch "
        "ema-pytorch denoising-diffusion-pytorch",
    ),
    "schedulefree": Library(
        "schedulefree",
        "three optimizers, and those of four more libraries",
        "lion-pytorch madgrad adabelief-pytorch muon-optimizer",
    ),
    "torch_optimizer": Library(
        "torch-optimizer", "18 optimizers as written for PyTorch 1.x"
    ),
    "torchattacks": Library(
        "torchattacks",
        "attacks on a model; twelve more small libraries",
        "normflows snntorch torchcde entmax pytorch-crf piq julius ptwt egnn-pytorch "
        "siren-pytorch linformer mlp-mixer-pytorch",
    ),
    "keras": Library("keras", "models, layers and optimizers on its backend torch"),
    "trl": Library("trl", "trainers by examples, preferences, rewards"),
    "ultralytics": Library("ultralytics", "YOLO of five tasks: evaluate, train"),
    "whisper": Library("openai-whisper", "Whisper: train, decode by search"),
    "torchrl": Library("torchrl", "PPO and DQN on CartPole", "gymnasium"),
    "bitsandbytes": Library("bitsandbytes", "weights of 4 and 8 bits"),
    "neuralforecast": Library("neuralforecast", "nine networks that forecast"),
    "pytorch_tabnet": Library("pytorch-tabnet", "TabNet: fit, explain, save"),
    "mmengine": Library("mmengine", "a Runner: train, validate"),
    "backpack": Library(
        "backpack-for-pytorch",
        "more than gradients of a backward pass; higher: through optimizers",
        "higher",
    ),
    "spikingjelly": Library("spikingjelly", "a spiking network: train, run"),
    "torch_pruning": Library("torch-pruning", "channels removed in groups; train"),
}


def program(name: str) -> Path:
    return HERE / "programs" / f"with_{name}.py"


def make_environment(folder: Path) -> Path:
    """An environment without torch in which `torch` is ember; its interpreter."""
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"making {folder}", flush=True)
        venv.create(folder, with_pip=True)
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    Path(site, "ember_in_place.pth").write_text(f"{ROOT}\n")
    pip(python, "numpy", "pillow")
    subprocess.run([python, "-m", "ember.as_torch", "--install"], check=True)
    return python


def pip(python: Path, *arguments: str) -> None:
    command = [python, "-m", "pip", "install", "--quiet", *arguments]
    subprocess.run([*command, "--disable-pip-version-check"], check=True)


def install(python: Path, library: Library) -> None:
    """A library; a constraint keeps pip from replacing ember's torch by another."""
    version = "import importlib.metadata as m; print(m.version('torch'))"
    torch = subprocess.run(
        [python, "-c", version], check=True, capture_output=True, text=True
    ).stdout.strip()
    constraint = python.parent.parent / "constraints.txt"
    constraint.write_text(f"torch=={torch}\n")
    pip(python, "-c", str(constraint), *library.options.split(), library.requirement)


def run(python: Path, name: str, timeout: float) -> tuple[str, str, float]:
    """What a program prints, its last words if it fails, and how long it takes."""
    environment = os.environ | {
        "CUDA_VISIBLE_DEVICES": "",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "2",
        "PYTHONWARNINGS": "ignore",
        "TOKENIZERS_PARALLELISM": "false",
        "WANDB_DISABLED": "true",
    }
    environment.pop("PYTHONPATH", None)
    start = time.perf_counter()
    try:
        done = subprocess.run(
            [python, program(name)],
            capture_output=True,
            text=True,
            timeout=timeout,
            env=environment,
            cwd=python.parent,
        )
    except subprocess.TimeoutExpired:
        return "", f"no end after {timeout:.0f} s", timeout
    seconds = time.perf_counter() - start
    problem = ""
    if done.returncode:
        last = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        problem = last[-1]
    return done.stdout, problem, seconds


def lines_of(output: str) -> list[str]:
    """Lines such as "loss 0.25": a name, then numbers."""
    return [
        line for line in output.splitlines() if re.match(r"[a-z][\w .]* [-\d]", line)
    ]


def differs(line: str, expected: str) -> bool:
    """Whether two lines say different things."""
    if NUMBER.sub("#", line) != NUMBER.sub("#", expected):
        return True
    for a, b in zip(NUMBER.findall(line), NUMBER.findall(expected)):
        x, y = float(a), float(b)
        if x != y and not abs(x - y) <= TOLERANCE * max(1.0, abs(y)):
            return True
    return False


def version(python: Path, library: Library) -> str:
    code = f"import importlib.metadata as m; print(m.version({library.requirement!r}))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return done.stdout.strip() or "?"


def record(python: Path, names: list[str], timeout: float) -> int:
    failed = 0
    for name in names:
        output, problem, seconds = run(python, name, timeout)
        found = lines_of(output)
        print(f"{name:28} {len(found):3} lines {seconds:6.1f} s  {problem}", flush=True)
        failed += bool(problem)
        if not problem:
            data = {"version": version(python, LIBRARIES[name]), "lines": found}
            path = HERE / "expected" / f"{name}.json"
            path.write_text(json.dumps(data, indent=1) + "\n")
    return failed


def compare(python: Path, names: list[str], timeout: float, installing: bool) -> int:
    rows = []
    for name in names:
        library = LIBRARIES[name]
        if installing:
            install(python, library)
        path = HERE / "expected" / f"{name}.json"
        expected = json.loads(path.read_text())["lines"] if path.exists() else []
        output, problem, seconds = run(python, name, timeout)
        found = lines_of(output)
        wrong = [
            f"{a}  (PyTorch: {b})" for a, b in zip(found, expected) if differs(a, b)
        ]
        if not problem and len(found) != len(expected):
            problem = f"{len(found)} lines, PyTorch prints {len(expected)}"
        if not problem and wrong:
            problem = f"{len(wrong)} differ, as {wrong[0]}"
        number = version(python, library)
        rows.append((library, number, len(expected), problem or "as PyTorch"))
        status = problem or "as PyTorch"
        print(f"{name:28} {len(found):3} lines {seconds:6.1f} s  {status}", flush=True)
    TABLE.write_text(page(rows))
    bad = sum(result != "as PyTorch" for *_, result in rows)
    print(f"ecosystem: {len(rows) - bad}/{len(rows)}")
    return bad


def table(rows: list[tuple[Library, str, int, str]]) -> list[str]:
    """The lines of all programs: of `rows`, or as the page has them."""
    old = TABLE.read_text().splitlines() if TABLE.exists() else []
    new = {
        f"| {library.requirement} | {number} | {library.does} | {count} | {result} |"
        for library, number, count, result in rows
    }
    lines = []
    for library in LIBRARIES.values():
        for line in [*new, *old]:
            cells = [cell.strip() for cell in line.split("|")]
            if cells[1:4:2] == [library.requirement, library.does]:
                lines.append(line)
                break
    return lines


def page(rows: list[tuple[Library, str, int, str]]) -> str:
    programs = table(rows)
    good = sum(line.endswith("| as PyTorch |") for line in programs)
    lines = [
        "# Libraries on ember",
        "",
        "Written by `make ecosystem`, which installs each library into an environment "
        "without PyTorch, where",
        "`python -m ember.as_torch --install` lets `torch` be ember, runs a program of "
        "`tests/ecosystem/programs` and",
        f"compares the numbers that it prints with PyTorch's, to {TOLERANCE:g}. "
        f"{good} of {len(programs)} agree.",
        "",
        "| library | version | what the program does | numbers | result |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += programs
    lines += ["", "What the programs leave out, as it differs or was not compared:", ""]
    lines += [f"- {text}" for text in LEFT_OUT]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.ecosystem")
    parser.add_argument("--only", default="", help="programs, comma separated")
    parser.add_argument("--venv", type=Path, default=ROOT / "build" / "ecosystem")
    parser.add_argument("--record", type=Path, metavar="PYTHON")
    parser.add_argument("--no-install", action="store_true", help="all is installed")
    parser.add_argument("--timeout", type=float, default=600)
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(LIBRARIES)
    unknown = [name for name in names if name not in LIBRARIES]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(LIBRARIES)}")
    if options.record:
        return record(options.record.absolute(), names, options.timeout)
    if options.no_install:
        python = options.venv.absolute() / "bin" / "python"
    else:
        python = make_environment(options.venv.absolute())
    return compare(python, names, options.timeout, not options.no_install)


if __name__ == "__main__":
    sys.exit(min(main(), 100))
