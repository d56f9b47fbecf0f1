"""What needs processes of its own: import time, peak memory; and installed sizes."""

from __future__ import annotations

import importlib.metadata as metadata
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from benchmarks.timing import Case, Result

ROOT = Path(__file__).resolve().parent.parent


def run(code: str) -> float:
    """The number that a fresh interpreter prints."""
    return float(_output(code).split()[-1])


def _output(code: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return done.stdout


def import_time(rounds: int = 5) -> list[Result]:
    clock = "time.perf_counter()"
    code = f"import time; t = {clock}; import {{}}; print({clock} - t)"
    results = []
    for label, more in (
        ("import", ""),
        ("import, with nn and optim", "{0}.nn, {0}.optim"),
    ):
        result = Result(Case(label, "", group="import"))
        for _ in range(rounds):
            for name in ("torch", "ember"):
                modules = ", ".join(filter(None, [name, more.format(name)]))
                try:
                    took = run(code.format(modules))
                except subprocess.CalledProcessError as error:
                    result.missing = error.stderr.strip().splitlines()[-1]
                    continue
                result.seconds[name] = min(took, result.seconds.get(name, took))
        results.append(result)
    return results


MEMORY = """
import {name} as t
from benchmarks.processes import peak
t.set_num_threads(2)
nn = t.nn
model = nn.Sequential(*[m for _ in "1234" for m in (nn.Linear(1024, 1024), nn.ReLU())])
optimizer = t.optim.{optimizer}(model.parameters(), lr=1e-3)
x = t.randn(1024, 1024)
before = peak()
for _ in range(3):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
print(peak() - {base})
"""


TRAINING_MEMORY = """
import {name} as t
from benchmarks.models import make
from benchmarks.processes import peak
t.set_num_threads(2)
t.ones(8, 8) @ t.ones(8, 8)
before = peak()
step = make(t, "{model}")
for _ in range(3):
    step()
print(peak() - before)
"""


def peak() -> float:
    """The most memory this process has had, in MB."""
    with open("/proc/self/status", encoding="utf-8") as status:
        lines = [line for line in status if line.startswith("VmHWM")]
    return int(lines[0].split()[1]) / 1024


def _memory(label: str, code: str, group: str, **given: str) -> Result:
    """What the code prints for both libraries."""
    result = Result(Case(label, "", group=group))
    for name in ("torch", "ember"):
        try:
            text = code.format(name=name, **given)
            result.seconds[name] = min(run(text) for _ in range(2))
        except subprocess.CalledProcessError as error:
            result.missing = error.stderr.strip().splitlines()[-1]
    return result


def memory() -> list[Result]:
    """Peak resident memory, in MB."""
    return [
        _memory(label, MEMORY, "memory", optimizer=optimizer, base=base)
        for label, optimizer, base in (
            ("4 layers of 1024, SGD, above the start", "SGD", "before"),
            ("4 layers of 1024, Adam, above the start", "Adam", "before"),
            ("the whole process, SGD", "SGD", "0"),
        )
    ]


def training_memory(functions: list) -> list[Result]:
    """Peak resident memory of models above that of the imported library, in MB."""
    return [
        _memory(f.__doc__, TRAINING_MEMORY, "train_memory", model=f.__name__)
        for f in functions
    ]


def _closure(names: list[str]) -> set[str]:
    """The installed distributions that `names` need."""
    found: set[str] = set()
    while names:
        name = re.split(r"[ ;<>=!~\[(]", names.pop())[0].lower().replace("_", "-")
        if name in found:
            continue
        try:
            needs = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        found.add(name)
        names += [need for need in needs if "extra ==" not in need]
    return found


def _bytes(name: str) -> int:
    files = metadata.files(name) or []
    paths = [Path(str(file.locate())) for file in files if file.suffix != ".pyc"]
    return sum(path.stat().st_size for path in paths if path.is_file())


def _bundled() -> list[Path]:
    """The libraries that a wheel of ember holds copies of, as a process opens them."""
    image = "ember.ones(1, 16, 32, 32)"
    convolve = f"ember.nn.functional.conv2d({image}, ember.ones(16, 16, 3, 3))"
    show = "print(open('/proc/self/maps').read())"
    maps = _output(f"import ember; {convolve}; {show}")
    found = re.findall(r"/\S*/lib(?:dnnl|gomp)\S*", maps)
    return [Path(name) for name in sorted(set(found))]


def _stripped_bytes(library: Path) -> int:
    with tempfile.NamedTemporaryFile() as stripped:
        subprocess.run(["strip", "-o", stripped.name, library], check=True)
        return os.path.getsize(stripped.name)


def size() -> list[Result]:
    """Bytes in site-packages, in MB, without what Python compiles at run time.

    Both with what `pip install` brings along, which is no NumPy for either.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    torch = sum(map(_bytes, _closure(["torch"])))
    ember = sum(map(_bytes, _closure(list(project["dependencies"]))))
    ember += sum(file.stat().st_size for file in (ROOT / "ember").rglob("*.py*[yi]"))
    libraries = [next((ROOT / "ember").glob("_C.*.so")), *_bundled()]
    ember += sum(map(_stripped_bytes, libraries))
    result = Result(Case("site-packages", "", group="size"))
    result.seconds = {"torch": torch / 1e6, "ember": ember / 1e6}
    return [result]
