"""Run a program written for PyTorch on ember, unchanged.

    python -m ember.as_torch script.py arguments...
    python -m ember.as_torch -m module arguments...
    python -m ember.as_torch -c "import torch; ..." arguments...
    python -m ember.as_torch --cuda opencl script.py ...  # "cuda" is the OpenCL device

`import torch` and its submodules resolve to ember's, also in processes that the program
starts. For a whole environment (notebooks, test runners, launchers), there are

    python -m ember.as_torch --install      # `torch` is ember in this environment
    python -m ember.as_torch --uninstall
    python -m ember.as_torch --status

A feature of torch that ember does not have raises ImportError or AttributeError with
its name. From Python, `install()` does the same for the rest of the process:

>>> from ember import as_torch
>>> as_torch.install()
>>> import torch
>>> torch.relu(torch.tensor([-1.0, 2.0]))
tensor([0., 2.])
>>> as_torch.uninstall()
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from multiprocessing import spawn
from pathlib import Path
from types import CodeType, ModuleType

import ember
from ember.as_torch.version import TorchVersion as TorchVersion

# Holds the package `torch` that --install copies, and that child processes find.
STUB = Path(__file__).parent / "stub"
_DISTRIBUTION = importlib.metadata.PathDistribution(STUB / "torch.dist-info")
# The version of PyTorch whose behaviour ember follows, for programs that ask.
VERSION = TorchVersion(_DISTRIBUTION.version)
# Set in the environment of child processes.
INHERIT = "EMBER_AS_TORCH"


class Version(ModuleType):
    """The module `torch.version`: ember's, but for the version of PyTorch."""

    __version__ = str(VERSION)
    git_version = "ember " + ember.__version__

    def __getattr__(self, name: str) -> object:
        return getattr(importlib.import_module("ember.version"), name)


class Torch(ModuleType):
    """The module `torch`: ember under another name and version."""

    __version__ = VERSION
    __file__ = str(STUB / "torch" / "__init__.py")
    __path__ = [str(STUB / "torch")]
    version = Version("torch.version")

    def __getattr__(self, name: str) -> object:
        try:
            return getattr(ember, name)
        except AttributeError:
            raise AttributeError(
                f"torch.{name} is not part of ember {ember.__version__}, on which this "
                "program runs instead of PyTorch"
            ) from None

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        elif value is not Torch.version:  # which importing torch.version would set
            setattr(ember, name, value)

    def __dir__(self) -> list[str]:
        return dir(ember)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds torch.x.y as ember.x.y, and the metadata of the distribution torch."""

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name == "torch":
            spec = importlib.machinery.ModuleSpec(
                name, self, origin=Torch.__file__, is_package=True
            )
            spec.submodule_search_locations = list(Torch.__path__)
            spec.has_location = True
            return spec
        if not name.startswith("torch.") and name.partition(".")[0] not in _BESIDE:
            return None
        try:
            ours = importlib.util.find_spec(_name_of_ours(name))
        except ModuleNotFoundError:  # nor is there what it would be a part of
            return None
        if ours is None:
            return None
        package = ours.submodule_search_locations is not None
        spec = importlib.machinery.ModuleSpec(
            name, self, origin=ours.origin, is_package=package
        )
        spec.submodule_search_locations = ours.submodule_search_locations
        return spec

    def exec_module(self, module: ModuleType) -> None:
        # The module made for the spec is given up: torch.nn must be ember.nn itself,
        # with its own spec.
        name = module.__name__
        if name == "torch":
            _put_torch(module.__spec__)
        elif name == "torch.version":
            Torch.version.__spec__ = module.__spec__
            sys.modules[name] = Torch.version
        else:
            sys.modules[name] = importlib.import_module(_name_of_ours(name))

    # What `python -m torch.distributed.run` asks of a loader:

    def get_code(self, name: str) -> CodeType | None:
        """The program that a module is; None if it has none."""
        loader = _loader_of_ours(name)
        return loader.get_code(_name_of_ours(name)) if loader else None

    def get_source(self, name: str) -> str | None:
        """Its text, for messages."""
        loader = _loader_of_ours(name)
        return loader.get_source(_name_of_ours(name)) if loader else None

    def is_package(self, name: str) -> bool:
        """Whether it has submodules."""
        spec = self.find_spec(name)
        return spec is not None and spec.submodule_search_locations is not None

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context
    ) -> Iterator[importlib.metadata.Distribution]:
        if context.name in (None, "torch"):
            yield _DISTRIBUTION


_finder = Finder()


# What PyTorch's distribution has beside `torch`.
_BESIDE = {"functorch": "ember._compat.functorch_package"}


def _name_of_ours(name: str) -> str:
    top, dot, rest = name.partition(".")
    return _BESIDE.get(top, "ember") + dot + rest


def _loader_of_ours(name: str) -> importlib.abc.InspectLoader | None:
    spec = importlib.util.find_spec(_name_of_ours(name))
    loader = None if spec is None else spec.loader
    return loader if isinstance(loader, importlib.abc.InspectLoader) else None


def _put_torch(spec: importlib.machinery.ModuleSpec | None) -> None:
    torch = Torch("torch", ember.__doc__)
    torch.__spec__, torch.__package__, torch.__loader__ = spec, "torch", _finder
    sys.modules["torch"] = torch


def _is_stub(module: ModuleType) -> bool:
    """Whether it is the package of STUB, or a copy of it, while it is imported."""
    spec = module.__spec__
    return getattr(spec, "_initializing", False) and not hasattr(module, "Tensor")


def install() -> None:
    """Let `import torch` mean ember, until `uninstall()`."""
    loaded = sys.modules.get("torch")
    if loaded is not None and not isinstance(loaded, Torch):
        if not _is_stub(loaded):
            raise RuntimeError(
                "as_torch.install(): PyTorch itself has been imported already; "
                "call it before the first `import torch`"
            )
        _put_torch(loaded.__spec__)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
        ember.Tensor.__module__ = "torch"  # libraries tell tensors by it
        _tell_children()


def uninstall() -> None:
    """Undo `install()`; modules that hold ember as torch keep it."""
    os.environ.pop(INHERIT, None)
    _set_search_path([p for p in _search_path() if p != str(STUB)])
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
        ember.Tensor.__module__ = "ember"
    for name in [n for n in sys.modules if n == "torch" or n.startswith("torch.")]:
        del sys.modules[name]


# --- child processes ------------------------------------------------------------------
# Those of `subprocess` find the stub through PYTHONPATH. Those of `multiprocessing` are
# told on their command line, before they import the program.


def _search_path() -> list[str]:
    return [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]


def _set_search_path(paths: Sequence[str]) -> None:
    if paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    else:
        os.environ.pop("PYTHONPATH", None)


def _tell_children() -> None:
    os.environ[INHERIT] = "1"
    root = str(Path(ember.__file__).parent.parent)
    others = [p for p in _search_path() if p != str(STUB)]
    _set_search_path([str(STUB), *others, *([] if root in others else [root])])
    command_line = spawn.get_command_line

    def with_install(**values: object) -> list[str]:
        command = command_line(**values)
        if INHERIT in os.environ and "-c" in command:
            at = command.index("-c") + 1
            command[at] = (
                "import ember.as_torch; ember.as_torch.install(); " + command[at]
            )
        return command

    if getattr(command_line, "__name__", "") != "with_install":
        spawn.get_command_line = with_install
    multiprocessing.set_forkserver_preload(["ember.as_torch", "__main__"])


if INHERIT in os.environ:
    install()
