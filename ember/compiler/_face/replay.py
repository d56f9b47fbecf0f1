"""`mode="reduce-overhead"`: calls that are done again without Python.

A call is rehearsed: it runs with all that the device is asked for written down. When
two calls one after the other have asked for the same, those that follow are replayed
from that (core/lazy/rehearsal.h), as long as what can be seen from outside stays as
it was. docs/compile.md has the contract.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import ember
from ember import _C
from ember.compiler import _regions

_WARM = 2  # calls that run as they always do first, while state is made
_TRIES = 6  # rehearsals one after the other that may differ
_ENTRIES = 16  # forms of arguments
_PLAIN = frozenset({int, float, bool, str, bytes, complex, type(None)})

_log = logging.getLogger(__name__)


class _NotReplayed(Exception):
    """A value of a kind that replays know nothing of."""


def _flatten(value: Any, tensors: list[Any], key: list[Any], held: list[Any]) -> None:
    """Tensors, and what else a value is made of, so that equal keys mean the same."""
    kind = type(value)
    if kind is ember.Tensor or kind is ember.nn.Parameter:
        tensors.append(value)
        key.append(kind)
    elif kind in _PLAIN or isinstance(value, ember.dtype):
        key.append((kind, value))
    elif kind is list or kind is tuple:
        key.append((kind, len(value)))
        for part in value:
            _flatten(part, tensors, key, held)
    elif kind is dict:
        key.append((kind, tuple(value)))
        for part in value.values():
            _flatten(part, tensors, key, held)
    elif isinstance(value, ember.Tensor):
        raise _NotReplayed(f"a {kind.__name__}")
    else:
        key.append((kind, id(value)))
        held.append(value)


def _rebuilt(value: Any, tensors: Any) -> Any:
    """`value` with other tensors, in their order."""
    kind = type(value)
    if kind is ember.Tensor or kind is ember.nn.Parameter:
        return next(tensors)
    if kind is list or kind is tuple:
        return kind([_rebuilt(part, tensors) for part in value])
    if kind is dict:
        return {name: _rebuilt(part, tensors) for name, part in value.items()}
    return value


def _shell(value: Any, found: list[Any]) -> Any:
    """`value` without its tensors, which are found."""
    kind = type(value)
    if kind is ember.Tensor or kind is ember.nn.Parameter:
        found.append(value)
        return _EMPTY
    if kind is list or kind is tuple:
        return kind([_shell(part, found) for part in value])
    if kind is dict:
        return {name: _shell(part, found) for name, part in value.items()}
    if kind not in _PLAIN:
        raise _NotReplayed(f"a result of type {kind.__name__}")
    return value


_EMPTY = ember.empty(0)  # in the place of a tensor


def _numbers_of(optimizer: Any) -> list[Any]:
    """What an optimizer's step depends on besides what is in memory."""
    return [
        [
            id(v) if isinstance(v, ember.Tensor) else len(v) if k == "params" else v
            for k, v in group.items()
        ]
        for group in optimizer.param_groups
    ]


class _Values:
    """What a function finds in its closure, and plain values among its globals."""

    def __init__(self, fn: Any) -> None:
        fn = getattr(fn, "__func__", fn)
        code = getattr(fn, "__code__", None)
        self.cells = list(getattr(fn, "__closure__", None) or ())
        self.globals = getattr(fn, "__globals__", {})
        self.names = [
            name
            for name in (code.co_names if code else ())
            if type(self.globals.get(name)) in _PLAIN
        ]

    def now(self) -> list[Any]:
        found = [self.globals.get(name) for name in self.names]
        for cell in self.cells:
            try:
                found.append(cell.cell_contents)
            except ValueError:  # not there yet
                found.append(None)
        return found

    def are(self, before: list[Any]) -> bool:
        for a, b in zip(self.now(), before, strict=True):
            if a is not b and (type(a) not in _PLAIN or (type(a), a) != (type(b), b)):
                return False
        return True


class _Entry:
    """Calls with one form of arguments."""

    def __init__(self, held: list[Any]) -> None:
        self.held = held  # so that their ids stay theirs
        self.calls = self.tries = 0
        self.before: Any = None  # a recording that none was equal to yet
        self.recording: Any = None
        self.failed = False
        self.shell: Any = None
        self.modules: list[tuple[Any, bool]] = []
        self.optimizers: list[tuple[Any, list[Any]]] = []
        self.values: list[Any] = []
        self.busy = threading.Lock()

    def fits(self, values: _Values) -> bool:
        for module, training in self.modules:
            if module.training is not training:
                return False
        for optimizer, numbers in self.optimizers:
            if _numbers_of(optimizer) != numbers:
                return False
        return values.are(self.values)

    def fail(self, why: str) -> None:
        self.failed = True
        self.before = self.recording = None
        _log.info("calls are not replayed: %s", why)


def replayed(fn: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """`fn`, replayed where that can be, else run by `plain`."""
    entries: dict[Any, _Entry] = {}
    values = _Values(fn)

    def call(*args: Any, **kwargs: Any) -> Any:
        tensors: list[Any] = []
        held: list[Any] = []
        key: list[Any] = [
            ember.is_grad_enabled(),
            ember.is_inference_mode_enabled(),
            ember.is_autocast_enabled("cpu"),
            ember.get_default_dtype(),
        ]
        try:
            _flatten(args, tensors, key, held)
            if kwargs:
                _flatten(kwargs, tensors, key, held)
            at = tuple(key)
            entry = entries.get(at)
        except (_NotReplayed, TypeError):
            return plain(*args, **kwargs)
        if entry is None:
            if len(entries) >= _ENTRIES:
                return plain(*args, **kwargs)
            entry = entries[at] = _Entry(held)
        if entry.failed or _C._lazy_is_open() or not entry.busy.acquire(False):
            return plain(*args, **kwargs)
        try:
            if entry.recording is not None:
                if entry.fits(values):
                    results = _C._replay_run(entry.recording, tensors)
                    if results is not None:
                        entry.tries = 0
                        if entry.shell is _EMPTY:
                            return results[0]
                        return _rebuilt(entry.shell, iter(results))
                entry.recording = None
            entry.calls += 1
            if entry.calls > _WARM:
                return rehearse(entry, args, kwargs, tensors)
        finally:
            entry.busy.release()
        return plain(*args, **kwargs)

    def rehearse(entry: _Entry, args: Any, kwargs: Any, tensors: list[Any]) -> Any:
        if entry.tries >= _TRIES:
            entry.fail("one call is not like the other")
        if entry.failed or not _C._replay_begin(tensors, entry.before):
            return plain(*args, **kwargs)
        entry.tries += 1
        results: list[Any] = []
        try:
            with _Watched() as watched, _regions.region(0, wait=True):
                out = fn(*args, **kwargs)
            try:
                shell = _shell(out, results)
            except _NotReplayed as error:
                entry.fail(str(error))
                return out
            recording, why = _C._replay_end(results)
        finally:
            _C._replay_abandon()
        if recording is None:
            entry.fail(why)
            return out
        if entry.before is not None and _C._replay_same(entry.before, recording):
            entry.before, entry.recording = None, recording
            entry.shell = shell
            entry.modules = [(m, m.training) for m in watched.modules]
            entry.optimizers = [(o, _numbers_of(o)) for o in watched.optimizers]
            entry.values = values.now()
        else:
            entry.before = recording
        return _rebuilt(out, iter(_C._replay_results(recording, tensors)))

    return call


class _Watched:
    """Which modules and optimizers a block calls. Distributions do not look at their
    arguments meanwhile."""

    def __enter__(self) -> _Watched:
        from ember.distributions import Distribution
        from ember.nn.modules.module import register_module_forward_pre_hook
        from ember.optim.optimizer import register_optimizer_step_pre_hook

        self.modules: dict[Any, None] = {}
        self.optimizers: dict[Any, None] = {}

        def module(called: Any, _: Any) -> None:
            self.modules[called] = None

        def optimizer(called: Any, *_: Any) -> None:
            self.optimizers[called] = None

        self._handles = [
            register_module_forward_pre_hook(module),
            register_optimizer_step_pre_hook(optimizer),
        ]
        self._validates = Distribution._validate_args
        Distribution.set_default_validate_args(False)
        return self

    def __exit__(self, *error: object) -> None:
        from ember.distributions import Distribution

        Distribution.set_default_validate_args(self._validates)
        for handle in self._handles:
            handle.remove()
