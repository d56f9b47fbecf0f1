"""Which public names have a docstring with an example: `python tools/doc_coverage.py`.

    python tools/doc_coverage.py                  counts for every namespace
    python tools/doc_coverage.py ember.linalg     the names of one that lack something

`tests/test_docstrings.py` demands all of them of the namespaces in COMPLETE, and runs
the examples. Names are told apart by where they are implemented: "native" ones in C++
(for ops, core/ops/reference has the words), "python" ones in the package.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

NAMESPACES = """
    ember ember.Tensor ember.linalg ember.fft ember.special ember.nn.functional
    ember.nn ember.nn.init ember.nn.utils ember.nn.utils.rnn ember.nn.utils.parametrize
    ember.nn.utils.parametrizations ember.nn.utils.prune ember.nn.attention
    ember.nn.parameter ember.nn.parallel
    ember.optim ember.optim.lr_scheduler ember.optim.swa_utils
    ember.utils.data ember.utils.checkpoint ember.utils.tensorboard ember.utils.trainer
    ember.utils.dlpack ember.utils.benchmark
    ember.autograd ember.autograd.functional ember.autograd.graph
    ember.autograd.forward_ad ember.func ember.amp ember.distributions
    ember.distributions.constraints ember.distributions.transforms
    ember.sparse ember.nested ember.masked ember.random ember.signal.windows
    ember.profiler ember.serialization ember.hub ember.testing ember.opencl
    ember.library ember.overrides ember.fx ember.export ember.onnx ember.compiler
    ember.distributed ember.multiprocessing ember.package ember.quasirandom
    ember.backend ember.as_torch
    """.split()

# Of which every name has its docstring with an example: (namespace, native or python).
COMPLETE: list[tuple[str, str]] = [
    ("ember", "native"),
    ("ember.Tensor", "native"),
    ("ember.Tensor", "python"),
    ("ember.linalg", "native"),
    ("ember.fft", "native"),
    ("ember.special", "native"),
    ("ember.nn.functional", "native"),
    ("ember.optim", "python"),
    ("ember.optim.lr_scheduler", "python"),
    ("ember.utils.data", "python"),
    ("ember.nn", "python"),
    ("ember.nn.functional", "python"),
    ("ember.nn.init", "python"),
    ("ember.nn.utils", "python"),
    ("ember.nn.utils.rnn", "python"),
    ("ember.nn.utils.prune", "python"),
    ("ember.nn.utils.parametrize", "python"),
]

# Names that need no example, and why: namespace, names, reason.
_EXEMPT = [
    (
        "ember.Tensor",
        "is_ipu is_maia is_mkldnn is_mps is_mtia is_quantized is_vulkan is_xla is_xpu "
        "name volatile",
        "always False or None: programs for PyTorch ask",
    ),
    (
        "ember.Tensor",
        "cuda ipu mtia xpu record_stream",
        "for devices that few have",
    ),
    (
        "ember.Tensor",
        "eig lstsq solve symeig reinforce",
        "raises what to use instead",
    ),
    (
        "ember.nn.init",
        "constant dirac eye kaiming_normal kaiming_uniform normal orthogonal sparse "
        "uniform xavier_normal xavier_uniform",
        "old name of the function with an underscore",
    ),
    ("ember.nn.utils", "clip_grad_norm", "old name of clip_grad_norm_"),
]
EXEMPT: dict[str, str] = {
    f"{namespace}.{name}": reason
    for namespace, names, reason in _EXEMPT
    for name in names.split()
}


@dataclass(frozen=True)
class Name:
    full: str  # "ember.Tensor.sum"
    value: Any
    kind: str  # "native" or "python"

    @property
    def doc(self) -> str:
        doc = getattr(self.value, "__doc__", None)
        return doc if isinstance(doc, str) else ""

    @property
    def has_summary(self) -> bool:
        """Whether there are words, besides signatures and the example."""
        words = re.sub(r"^\s*(>>>|\.\.\.|[\w.]+\(.*\) ->).*$", "", self.doc, flags=re.M)
        return bool(words.strip())

    @property
    def has_example(self) -> bool:
        return ">>> " in self.doc

    @property
    def is_complete(self) -> bool:
        return self.has_summary and self.has_example


def kind_of(value: Any) -> str | None:
    """Where something is implemented; None for what has no docstring of its own."""
    if isinstance(value, (staticmethod, classmethod)):
        return kind_of(value.__func__)
    if isinstance(value, types.ModuleType):
        return None
    if inspect.isclass(value):
        module = getattr(value, "__module__", "")
        if not str(module).startswith(("ember", "torch")):
            return None
        from ember import _C

        return "native" if value in vars(_C).values() else "python"
    if isinstance(value, (types.FunctionType, property)):
        return "python"
    if inspect.isroutine(value) or inspect.isdatadescriptor(value):
        return "native"
    return None


def _own(value: Any) -> bool:
    """Not something of Python's, or a helper, that a module has imported for itself."""
    module = getattr(value, "__module__", None)
    if module == "ember._user_line":
        return False
    return module is None or str(module).partition(".")[0] in ("ember", "torch")


def public(space: Any) -> list[str]:
    """The names of a module or class that are for users."""
    if not inspect.isclass(space) and hasattr(space, "__all__"):
        return sorted(set(space.__all__))
    return sorted(n for n in dir(space) if not n.startswith("_"))


def names(namespace: str) -> Iterator[Name]:
    """The public functions, classes, methods and attributes of a namespace."""
    space = find(namespace)
    for name in public(space):
        full = f"{namespace}.{name}"
        if full in EXEMPT:
            continue
        if inspect.isclass(space):
            value = inspect.getattr_static(space, name)
        else:
            value = getattr(space, name, None)
        kind = kind_of(value)
        if value is find("ember").Tensor and namespace != "ember":
            continue  # a module has it for its hints
        if kind is not None and _own(value):
            yield Name(full, value, kind)


def find(namespace: str) -> Any:
    try:
        return importlib.import_module(namespace)
    except ModuleNotFoundError:
        parent, _, name = namespace.rpartition(".")
        return getattr(importlib.import_module(parent), name)


def counts() -> list[tuple[str, str, int, int]]:
    """Of every namespace and kind: how many names, how many of them are complete."""
    rows = []
    for namespace in NAMESPACES:
        found = list(names(namespace))
        for kind in ("native", "python"):
            done = [n.is_complete for n in found if n.kind == kind]
            if done:
                rows.append((namespace, kind, len(done), sum(done)))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("namespace", nargs="*", help="list what lacks something")
    chosen = parser.parse_args().namespace
    for namespace in chosen:
        for n in names(namespace):
            if not n.is_complete:
                lacks = "example" if n.has_summary else "words, example"
                print(f"{n.full} ({n.kind}): {lacks}")
    if chosen:
        return 0
    rows = counts()
    print(f"{'namespace':36} {'':7} names  done")
    for namespace, kind, total, done in rows:
        mark = "  *" if (namespace, kind) in COMPLETE else ""
        print(f"{namespace:36} {kind:7} {total:5} {done:5}{mark}")
    total, done = sum(r[2] for r in rows), sum(r[3] for r in rows)
    print(f"{'all':44} {total:5} {done:5}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
