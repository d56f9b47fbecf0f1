"""Run a program written for PyTorch on ember, unchanged.

    python -m ember.as_torch script.py arguments...
    python -m ember.as_torch -m module arguments...

`import torch` and its submodules resolve to ember's. A feature of torch that ember does
not have raises ImportError or AttributeError with its name. From Python, `install()`
does the same for the rest of the process:

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
import multiprocessing
import os
import runpy
import sys
from collections.abc import MutableSequence
from multiprocessing import spawn
from pathlib import Path
from types import ModuleType

import ember

# The version of PyTorch whose behaviour ember follows, for programs that ask.
VERSION = "2.13.0+ember"
# Set in the environment of child processes.
INHERIT = "EMBER_AS_TORCH"


class Torch(ModuleType):
    """The module `torch`: ember under another name and version."""

    __version__ = VERSION
    __path__: MutableSequence[str] = []

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
        else:
            setattr(ember, name, value)

    def __dir__(self) -> list[str]:
        return dir(ember)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds torch.x.y as ember.x.y."""

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name == "torch" or name.startswith("torch."):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def exec_module(self, module: ModuleType) -> None:
        # The module made for the spec is given up: torch.nn must be ember.nn itself,
        # with its own spec.
        name = module.__name__
        if name == "torch":
            sys.modules[name] = Torch("torch", ember.__doc__)
            return
        ours = "ember" + name.removeprefix("torch")
        try:
            sys.modules[name] = importlib.import_module(ours)
        except ModuleNotFoundError as error:
            missing = error.name or ""
            if missing != ours and not ours.startswith(missing + "."):
                raise
            raise ModuleNotFoundError(
                f"{name} is not part of ember {ember.__version__}, on which this "
                "program runs instead of PyTorch",
                name=name,
            ) from None


_finder = Finder()


def install() -> None:
    """Let `import torch` mean ember, until `uninstall()`."""
    loaded = sys.modules.get("torch")
    if loaded is not None and not isinstance(loaded, Torch):
        raise RuntimeError(
            "as_torch.install(): PyTorch itself has been imported already; "
            "call it before the first `import torch`"
        )
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
        os.environ[INHERIT] = "1"
        _tell_children()


def _tell_children() -> None:
    """Let processes that multiprocessing starts afresh do the same, before they import
    the program."""
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


def uninstall() -> None:
    """Undo `install()`; modules that hold ember as torch keep it."""
    os.environ.pop(INHERIT, None)
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    for name in [n for n in sys.modules if n == "torch" or n.startswith("torch.")]:
        del sys.modules[name]


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments or arguments[0] in ("-h", "--help"):
        lines = (__doc__ or "").splitlines()
        print("\n".join(lines[:4]))
        sys.exit(0 if arguments else 2)
    install()
    if arguments[0] == "-m":
        if len(arguments) < 2:
            sys.exit("python -m ember.as_torch -m: the module's name is missing")
        sys.argv = arguments[1:]
        sys.path.insert(0, "")
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path.insert(0, str(Path(arguments[0]).resolve().parent))
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
elif INHERIT in os.environ:
    install()
