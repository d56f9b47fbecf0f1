"""Programs to machine code, by llvmlite, for the level that the eager kernels use.

llvmlite is imported when something has to be compiled, and not for what is on disk.
Machine code stays for the rest of the process: whoever has it may call it.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import platform
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ember import _C
from ember.compiler import _cache, _object
from ember.version import pip_install

# The processor to generate for at each level: what the eager kernels are compiled for.
_PROCESSOR = {
    "baseline": "x86-64-v2",
    "avx2": "x86-64-v3",
    "avx512": "x86-64-v4",
}

# One program at a time, and none while the process forks: a child would wait for ever
# for what the thread that is not there any more had locked.
_lock = threading.RLock()
os.register_at_fork(
    before=lambda: _lock.acquire() and None,
    after_in_parent=_lock.release,
    after_in_child=_lock.release,
)


@functools.cache
def why_not() -> str:
    """Why there is no machine code here; empty if there is."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return f"machine code is for x86-64 only, and this is {platform.machine()}"
    if importlib.util.find_spec("llvmlite") is None:
        return f"llvmlite is not installed; {pip_install('jit')}"
    return ""


@functools.cache
def level() -> str:
    """Of the eager kernels, whose results generated code repeats."""
    return _C._cpu_level()


@functools.cache
def _binding() -> Any:
    import llvmlite.binding as binding  # type: ignore[import-not-found]

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


def _machine() -> Any:
    target = _binding().Target.from_default_triple()
    return target.create_target_machine(
        cpu=_PROCESSOR[level()], features="", opt=2, reloc="pic", codemodel="small"
    )


@functools.cache
def _identity() -> str:
    """What machine code depends on besides the program and its layout: processor,
    LLVM, the generator itself and the rows."""
    hasher = hashlib.sha256(repr(_C._rows()).encode())
    here = Path(__file__).parent
    for file in sorted([*here.glob("_*.py"), *here.glob("_math/*.py")]):
        hasher.update(file.read_bytes())
    hasher.update(_version())
    return f"{_PROCESSOR[level()]} {hasher.hexdigest()}"


def _version() -> bytes:
    """What tells llvmlite's versions apart; importlib.metadata takes 40 ms to do so."""
    spec = importlib.util.find_spec("llvmlite")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).with_name("_version.py").read_bytes()


def machine_code(key: str, emit: Callable[[], Any]) -> tuple[Any, list[list[str]]]:
    """The function `kernel`, for `_C._run_kernel`, and the eager kernels that it calls:
    from the disk, or of the text that `emit` gives, which the key stands for."""
    if why := why_not():
        raise RuntimeError(f"compile(): {why}")
    with _lock:
        return _loaded(f"{_identity()}\n{key}".encode(), emit)


def _loaded(key: bytes, emit: Callable[[], Any]) -> tuple[Any, list[list[str]]]:
    # What LLVM gives is let go of at the end of this, while the lock is still held.
    kept = _cache.find(key)
    if kept is None:
        emitted = emit()
        module = _binding().parse_assembly(emitted.text)
        module.verify()
        memory, entry = _object.image(_machine().emit_object(module), "kernel")
        head = json.dumps({"entry": entry, "calls": emitted.calls})
        kept = head.encode() + b"\n" + memory
        _cache.keep(key, kept)
    head_bytes, _, memory = kept.partition(b"\n")
    told = json.loads(head_bytes)
    return _C._load_code(memory, told["entry"]), told["calls"]


def assembly(text: str) -> str:
    """What the machine is told, for those who want to read it."""
    with _lock:
        return _machine().emit_assembly(_binding().parse_assembly(text))
