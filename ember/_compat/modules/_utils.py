"""Private helpers that accelerate, lightning and torch_geometric import."""

from __future__ import annotations

import importlib
import sys
import traceback
from typing import Any

import ember
from ember import Tensor, _lazy


def _get_device_index(
    device: Any, optional: bool = False, allow_cpu: bool = False
) -> int:
    """The index of an accelerator in any form; -1 for the CPU if that is allowed."""
    if isinstance(device, str):
        device = ember.device(device)
    if isinstance(device, ember.device):
        if device.type == "cpu" and not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        if device.type == "cpu":
            return -1
        device = device.index
    if isinstance(device, int):
        return device
    if device is None and optional:
        return ember.accelerator.current_device_index()
    raise ValueError(f"Expected a device with a specified index, but got: {device}")


def _get_available_device_type() -> str | None:
    """The kind of accelerator that is there."""
    found = ember.accelerator.current_accelerator()
    return None if found is None else found.type


def _get_device_module(device_type: str) -> Any:
    """The module of a kind of device: `ember.cuda`."""
    module = getattr(ember, device_type, None)
    if module is None:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered "
            f"as 'torch.{device_type}'."
        )
    return module


def _flatten_dense_tensors(tensors: Any) -> Tensor:
    """All elements of tensors of one dtype, in a row."""
    return ember.cat([t.contiguous().view(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Any) -> tuple:
    """The opposite of `_flatten_dense_tensors`, as views."""
    parts = flat.split([t.numel() for t in tensors])
    return tuple(part.view(t.shape) for part, t in zip(parts, tensors))


def _take_tensors(tensors: Any, size_limit: int) -> Any:
    """Lists of tensors of one type, of about `size_limit` bytes."""
    groups: dict = {}
    for t in tensors:
        group = groups.setdefault(t.type(), [[], 0])
        size = t.numel() * t.element_size()
        if group[0] and group[1] + size > size_limit:
            yield group[0]
            group = groups[t.type()] = [[], 0]
        group[0].append(t)
        group[1] += size
    for found, _ in groups.values():
        yield found


def is_compiling() -> bool:
    """False: programs run op by op."""
    return False


class KeyErrorMessage(str):
    """A text whose repr is itself, so that KeyError shows its lines."""

    __slots__ = ()

    def __repr__(self) -> str:
        return self


class ExceptionWrapper:
    """An error of another thread or process, to be raised here."""

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        self.exc_type, value, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_msg = "".join(traceback.format_exception(self.exc_type, value, trace))
        self.where = where

    def reraise(self) -> None:
        """Raise it, with the other's traceback in its text."""
        kind: Any = self.exc_type
        text: Any = f"Caught {kind.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if kind is KeyError:
            text = KeyErrorMessage(text)
        try:
            error = kind(text)
        except Exception:  # it takes other arguments
            raise RuntimeError(text) from None
        raise error


class CallbackRegistry:
    """Functions that are called together."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.callback_list: list = []

    def add_callback(self, cb: Any) -> None:
        self.callback_list.append(cb)

    def fire_callbacks(self, *args: Any, **kwargs: Any) -> None:
        for callback in self.callback_list:
            callback(*args, **kwargs)


class _ClassPropertyDescriptor:
    def __init__(self, fget: Any) -> None:
        self.fget = fget

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.fget.__get__(instance, owner or type(instance))()


def classproperty(func: Any) -> _ClassPropertyDescriptor:
    """An attribute of a class that is computed."""
    is_method = isinstance(func, (classmethod, staticmethod))
    return _ClassPropertyDescriptor(func if is_method else classmethod(func))


def _import_dotted_name(name: str) -> Any:
    """What "package.module.attribute" names."""
    first, *rest = name.split(".")
    found: Any = __import__(first)
    for part in rest:
        found = getattr(found, part)
    return found


def try_import(module_name: str) -> Any:
    """A module, or None if it is not there."""
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and module_name.startswith(error.name):
            return None
        raise


def _reorder_tensors_as(tensors: Any, ordered_tensors: Any) -> tuple:
    """Tensors in the order in which their types occur in others."""
    by_type: dict = {}
    for t in tensors:
        by_type.setdefault(t.type(), []).append(t)
    waiting = {kind: iter(found) for kind, found in by_type.items()}
    return tuple(next(waiting[t.type()]) for t in ordered_tensors)


def _get_all_device_indices() -> list[int]:
    """The accelerators that are there."""
    return list(range(ember.accelerator.device_count()))


def _get_current_device_index() -> int:
    """The accelerator in use, or -1."""
    there = ember.accelerator.is_available()
    return ember.accelerator.current_device_index() if there else -1


def _get_async_or_non_blocking(
    name: str, non_blocking: bool, kwargs: dict[str, Any]
) -> bool:
    """`non_blocking`, which was called `async` once."""
    if not kwargs:
        return non_blocking
    if len(kwargs) != 1 or "async" not in kwargs:
        unexpected = ", ".join(kwargs)
        raise TypeError(f"{name}() got an unexpected keyword argument '{unexpected}'")
    return kwargs["async"]


# --- what pickles of tensors call -----------------------------------------------------


def _rebuild_meta_tensor_no_storage(
    dtype: ember.dtype, size: Any, stride: Any, requires_grad: bool
) -> Tensor:
    """A tensor without memory."""
    made = ember.empty_strided(size, stride, dtype=dtype, device="meta")
    return made.requires_grad_(requires_grad)


def _rebuild_device_tensor_from_numpy(
    data: Any, dtype: ember.dtype, device: Any, requires_grad: bool
) -> Tensor:
    """A tensor of a device without storages of its own."""
    made = ember.from_numpy(data).to(dtype=dtype, device=device)
    return made.requires_grad_(requires_grad)


def _rebuild_nested_tensor(buffer: Any, sizes: Any, strides: Any, offsets: Any) -> Any:
    """A nested tensor of one buffer."""
    parts = zip(sizes.tolist(), strides.tolist(), offsets.tolist())
    views = [buffer.as_strided(size, stride, at) for size, stride, at in parts]
    return ember.nested.as_nested_tensor(views)


__getattr__ = _lazy.missing(__name__)
