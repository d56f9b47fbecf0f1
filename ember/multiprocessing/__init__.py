"""`multiprocessing` with tensors in shared memory: a drop-in for Python's module.

A tensor that goes through a queue, a pipe or the arguments of a process is not copied:
the receiver maps the same memory. Each shared storage is an anonymous file whose
descriptor travels with the message, so nothing has a name, nothing stays behind, and
what a process sent arrives even if that process is killed meanwhile.

>>> import ember
>>> import ember.multiprocessing as mp
>>> receiver, sender = mp.Pipe(duplex=False)
>>> x = ember.zeros(2)
>>> sender.send(x)
>>> receiver.recv().fill_(3)
tensor([3., 3.])
>>> x
tensor([3., 3.])
"""

import multiprocessing as _base
from multiprocessing import *

from ember.multiprocessing._context import default_context as _default_context
from ember.multiprocessing.reductions import init_reductions
from ember.multiprocessing.spawn import (
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

# The functions of a context are those of the module, as in Python's own.
globals().update({name: getattr(_default_context, name) for name in _base.__all__})

_strategies = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    """The names that `set_sharing_strategy` takes."""
    return set(_strategies)


def get_sharing_strategy() -> str:
    """What `set_sharing_strategy` was told."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Remember a strategy; sharing is by descriptor always, see the module.

    PyTorch's "file_system" is a way around the limit on open files. Here a process
    that comes near the limit gives back descriptors of tensors that it received.
    """
    global _strategy
    if new_strategy not in _strategies:
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}; there are "
            f"{sorted(_strategies)}"
        )
    _strategy = new_strategy


init_reductions()

__all__ = [
    *_base.__all__,
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "init_reductions",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]
