"""Dictionaries with tensors as keys that do not keep them alive: tensordict, torchao.

Tensors compare element by element, so that `weakref.WeakKeyDictionary` does not take
them; these compare keys by identity.

>>> import ember
>>> from ember.utils.weak import WeakTensorKeyDictionary
>>> x = ember.ones(2)
>>> names = WeakTensorKeyDictionary({x: "x"})
>>> names[x], len(names)
('x', 1)
>>> del x
>>> len(names)
0
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from ember import Tensor


class WeakIdRef(weakref.ref):
    """A weak reference that is equal to others of the same object only."""

    __slots__ = ["_id"]

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WeakIdRef):
            return False
        mine, theirs = self(), other()
        return self is other if mine is None or theirs is None else mine is theirs


WeakTensorRefKey = WeakIdRef
_Given = Mapping | None


class WeakIdKeyDictionary(MutableMapping):
    """A dictionary that an entry leaves when its key is gone."""

    def __init__(self, given: _Given = None, ref_type: type = WeakIdRef) -> None:
        self.ref_type = ref_type
        self.data: dict[WeakIdRef, Any] = {}
        data = self.data
        self._forget = lambda ref: data.pop(ref, None)  # without keeping the dictionary
        self.update(given or {})

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._forget)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # nothing that can be referred to weakly
            return False

    def __iter__(self) -> Iterator:
        alive = [ref() for ref in list(self.data)]
        return (key for key in alive if key is not None)

    def __len__(self) -> int:
        return sum(ref() is not None for ref in list(self.data))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def keyrefs(self) -> list[WeakIdRef]:
        """The references, some of which may be dead by the time they are used."""
        return list(self.data)

    def copy(self) -> WeakIdKeyDictionary:
        """A second dictionary with the same entries."""
        made = type(self)(None, self.ref_type)
        made.update(self)
        return made

    __copy__ = copy

    def __deepcopy__(self, memo: dict) -> WeakIdKeyDictionary:
        made = type(self)(None, self.ref_type)
        for key, value in self.items():
            made[key] = copy.deepcopy(value, memo)
        return made

    def __or__(self, other: Mapping) -> WeakIdKeyDictionary:
        made = self.copy()
        made.update(other)
        return made

    def __ior__(self, other: Mapping) -> WeakIdKeyDictionary:
        self.update(other)
        return self


class WeakTensorKeyDictionary(WeakIdKeyDictionary):
    """The same, for tensors."""


class WeakIdValueDictionary(weakref.WeakValueDictionary):
    """A dictionary that does not keep its values alive."""


class TensorWeakRef:
    """A weak reference to a tensor."""

    def __init__(self, tensor: Tensor) -> None:
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()
