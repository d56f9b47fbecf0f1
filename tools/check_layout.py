"""Checks the rules of the source tree that no compiler checks. Run by `make lint`.

- A file has at most 800 lines.
- Includes point one way: tensor < autograd < ops < python, and a device sees tensor
  and backend.h only.
- Only core/python sees Python.
- Ops ask about devices through core/ops/devices.h alone.
- No path of somebody's machine.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
MAX_LINES = 800
SOURCES = {".h", ".hpp", ".cpp", ".cl", ".py", ".pyi"}

# path -> why it may be longer than MAX_LINES
LONG_FILES = {
    "ember/_C.pyi": "written by `make stubs`",
}

# What each part of core/ may include, besides itself. A part is a directory, or the
# header and source of one name directly in core/. A new part is added here, which is
# the moment to think about where it stands.
BASE = {"check", "runtime", "profile"}
TABLE = BASE | {
    "functions",
    "scalar_functions",
    "optim_steps",
    "optim_formulas",
    "reductions",
    "reduction_formulas",
    "expand",
}
CONTRACT = TABLE | {"tensor", "random", "backend", "operands", "primitives"}
DEVICES = {"cpu", "meta", "meta_backend", "sparse_backend", "opencl", "recorder"}
DEVICE_HELPS = {"special_functions", "recurrences", "disk"}
MAY_INCLUDE = {
    "check": set(),
    "runtime": set(),
    "disk": set(),
    "profile": {"tensor"},
    "scalar_functions": set(),
    "special": set(),
    "special_functions": {"special"},
    "recurrences": set(),
    "functions": TABLE,
    "tensor": BASE,
    "random": BASE | {"tensor", "cpu"},  # its streams are the CPU's on every device
    "optim_formulas": set(),
    "optim_steps": TABLE | {"tensor", "backend"},
    "reduction_formulas": set(),
    "reductions": TABLE,
    "expand": set(),
    "operands": TABLE | {"tensor", "random"},
    "primitives": set(),
    "backend": TABLE | {"tensor", "random", "operands", "primitives"},
    "backend_lines": TABLE | {"tensor", "random", "backend"},
    **dict.fromkeys(DEVICES, CONTRACT | DEVICE_HELPS),
    "autograd": CONTRACT,
    "ops": CONTRACT | {"autograd"},
    "distributed": BASE | {"tensor"},  # raw memory; tensors stay with Python
    # It runs what the CPU was asked for, later; a rehearsal sees gradients arrive, too.
    "lazy": CONTRACT | {"cpu", "recorder", "autograd"},
    "python": CONTRACT | DEVICES | {"lazy", "autograd", "ops", "disk", "distributed"},
}
# (file, header) -> why this one include may point the other way
EXCEPTIONS = {
    ("core/tensor/tensor.cpp", "backend.h"): "a tensor's memory is its device's",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.MULTILINE)
PYTHON_HEADER = re.compile(r"(Python|structmember|frameobject)\.h$|numpy/")
MACHINE_PATH = re.compile(r"(?<![\w.$})*-])/(home|root|work|Users|mnt)/[\w.]")


def tracked_files() -> list[PurePosixPath]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    paths = (PurePosixPath(line) for line in listing.splitlines())
    return [path for path in paths if (ROOT / path).is_file()]


def line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def check_length(path: PurePosixPath, text: str) -> list[str]:
    lines = text.count("\n")
    if path.suffix not in SOURCES or lines <= MAX_LINES or str(path) in LONG_FILES:
        return []
    return [
        f"{path}: {lines} lines, the limit is {MAX_LINES}; split it by family or "
        f"backend, or give the reason in LONG_FILES of tools/check_layout.py"
    ]


def part_of(path: PurePosixPath) -> str:
    return path.parts[0] if len(path.parts) > 1 else path.stem


def check_includes(path: PurePosixPath, text: str) -> list[str]:
    if path.parts[0] != "core" or path.suffix not in {".h", ".hpp", ".cpp"}:
        return []
    part = part_of(PurePosixPath(*path.parts[1:]))
    if part not in MAY_INCLUDE:
        return [f"{path}: core/{part} has no line in MAY_INCLUDE of check_layout.py"]
    problems = []
    for match in INCLUDE.finditer(text):
        quote, header = match.groups()
        where = f"{path}:{line_of(text, match.start())}"
        if PYTHON_HEADER.search(header):
            if part != "python":
                problems.append(f"{where}: only core/python may include {header}")
        elif quote == '"':
            if not (ROOT / "core" / header).is_file():
                problems.append(f'{where}: "{header}" is not a path inside core/')
                continue
            allowed = MAY_INCLUDE[part] | {part}
            excepted = (str(path), header) in EXCEPTIONS
            if part_of(PurePosixPath(header)) not in allowed and not excepted:
                problems.append(f"{where}: core/{part} must not include {header}")
    return problems


def check_devices(path: PurePosixPath, text: str) -> list[str]:
    if path.parts[:2] != ("core", "ops") or path.name == "devices.h":
        return []
    return [
        f"{path}:{line_of(text, match.start())}: {match[0]}(): how an op works does "
        "not depend on the device; see core/ops/devices.h"
        for match in re.finditer(r"\bis_(cpu|meta)\b", text)
    ]


def check_machine_paths(path: PurePosixPath, text: str) -> list[str]:
    return [
        f"{path}:{line_of(text, match.start())}: the path of a machine, {match[0]}..."
        for match in MACHINE_PATH.finditer(text)
    ]


def check_exceptions() -> list[str]:
    return [
        f"LONG_FILES: {name} is {'short again' if file.exists() else 'gone'}: remove it"
        for name in LONG_FILES
        if (file := ROOT / name).suffix != ".pyi"
        and (
            not file.exists()
            or file.read_text(encoding="utf-8").count("\n") <= MAX_LINES
        )
    ]


def main() -> int:
    problems = check_exceptions()
    files = tracked_files()
    for path in files:
        try:
            text = (ROOT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        problems += check_length(path, text)
        problems += check_includes(path, text)
        problems += check_devices(path, text)
        problems += check_machine_paths(path, text)
    for problem in problems:
        print(problem)
    print(f"layout: {len(files)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
