"""LLVM's text to machine code, by llvmlite, for the level that the eager kernels use.

llvmlite is imported on first use. Machine code stays for the rest of the process:
whoever has its address may call it.
"""

from __future__ import annotations

import functools
import os
import platform
import threading
from typing import Any

from ember import _C
from ember.compiler import _cache

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
_engines: list[Any] = []


@functools.cache
def why_not() -> str:
    """Why there is no machine code here; empty if there is."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return f"machine code is for x86-64 only, and this is {platform.machine()}"
    try:
        import llvmlite.binding  # type: ignore[import-not-found]  # noqa: F401
    except ImportError as error:
        return f"llvmlite cannot be imported ({error}); pip install 'ember-dl[jit]'"
    return ""


@functools.cache
def level() -> str:
    """Of the eager kernels, whose results generated code repeats."""
    return _C._cpu_level()


@functools.cache
def _binding() -> Any:
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


def _machine() -> Any:
    target = _binding().Target.from_default_triple()
    return target.create_target_machine(cpu=_PROCESSOR[level()], features="", opt=2)


def _identity() -> str:
    """What the machine code depends on besides the text."""
    import llvmlite

    llvm = ".".join(map(str, _binding().llvm_version_info))
    return f"{_PROCESSOR[level()]} llvmlite {llvmlite.__version__} llvm {llvm}"


def machine_code(text: str, name: str = "kernel") -> int:
    """The address of a function of the text, compiled or from the disk."""
    if why := why_not():
        raise RuntimeError(f"compile(): {why}")
    with _lock:
        return _loaded(text, name)


def _loaded(text: str, name: str) -> int:
    # What LLVM gives is let go of at the end of this, while the lock is still held.
    binding, machine = _binding(), _machine()
    key = f"{_identity()}\n{name}\n{text}".encode()
    kept = _cache.find(key)
    if kept is None:
        module = binding.parse_assembly(text)
        module.verify()
        kept = machine.emit_object(module)
        _cache.keep(key, kept)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
    engine.add_object_file(binding.ObjectFileRef.from_data(kept))
    engine.finalize_object()
    address = engine.get_function_address(name)
    _engines.append(engine)
    if not address:
        raise RuntimeError(f"compile(): the machine code has no function {name}")
    return address


def assembly(text: str) -> str:
    """What the machine is told, for those who want to read it."""
    return _machine().emit_assembly(_binding().parse_assembly(text))
