"""ParameterList and ParameterDict."""

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, KeysView, Mapping
from typing import Any

from ember import Tensor
from ember.nn.modules.module import Module
from ember.nn.parameter import Parameter


def _described(key, value) -> str:
    """The line of one entry in `repr`."""
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    dtype = str(value.dtype)
    size = "x".join(map(str, value.shape))
    where = f" ({value.device})" if value.device.type not in ("cpu", "meta") else ""
    return f"  ({key}): {kind} containing: [{dtype} of size {size}{where}]"


def _as_entry(value):
    is_plain = isinstance(value, Tensor) and not isinstance(value, Parameter)
    return Parameter(value) if is_plain else value


class ParameterList(Module):
    """A list of parameters; tensors given to it become parameters.

    >>> import ember
    >>> ember.nn.ParameterList([ember.ones(2)])[0]
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    def __init__(self, values: Iterable | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _name_of(self, index: int) -> str:
        size, index = len(self), operator.index(index)
        if not -size <= index < size:
            raise IndexError(f"index {index} is out of range")
        return str(index % size)

    _get_abs_string_index = _name_of  # what subclasses of PyTorch's lists call it

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(self[i] for i in range(*index.indices(len(self))))
        return getattr(self, self._name_of(index))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, self._name_of(index), _as_entry(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator:
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self, values: Iterable) -> "ParameterList":
        return self.extend(values)

    def append(self, value: Any) -> "ParameterList":
        """Add a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable) -> "ParameterList":
        """Add values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                + type(values).__name__
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(_described(i, value) for i, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters; tensors given to it become parameters.

    >>> import ember
    >>> d = ember.nn.ParameterDict({"w": ember.ones(2)})
    >>> list(d.state_dict())
    ['w']
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a "
                f"string (type is '{type(key).__name__}'). Open an issue on github if "
                "you need non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        if self._key_to_attr(key) not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[self._key_to_attr(key)] = None
        setattr(self, key, _as_entry(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: Any) -> bool:
        return key in self._keys

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._keys.keys()

    def items(self) -> Iterable:
        """The pairs of name and value."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable:
        """The values."""
        return (self[key] for key in self._keys)

    def copy(self) -> "ParameterDict":
        """A new dictionary of the same values."""
        return ParameterDict((key, self[key]) for key in self._keys)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of `key`, set to `default` if it is absent."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove everything."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove and return a value."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple:
        """Remove and return the last pair."""
        key = next(reversed(self))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of `key`, or `default`."""
        return self[key] if key in self else default  # noqa: SIM401 (it is `get`)

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> "ParameterDict":
        """A new dictionary with these keys."""
        return ParameterDict((key, default) for key in keys)

    def update(self, parameters: Any) -> None:
        """Add values from a mapping or from pairs."""
        if not isinstance(parameters, Iterable):
            raise TypeError(
                "ParametersDict.update should be called with an iterable of key/value "
                f"pairs, but got {type(parameters).__name__}"
            )
        pairs = parameters.items() if hasattr(parameters, "items") else parameters
        # As in PyTorch: what says nothing of its order is added by name.
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs = sorted(pairs)
        for key, value in pairs:
            self[key] = value

    def __or__(self, other: "ParameterDict") -> "ParameterDict":
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: "ParameterDict") -> "ParameterDict":
        made = other.copy()
        made.update(self)
        return made

    def __ior__(self, other: "ParameterDict") -> "ParameterDict":
        self.update(other)
        return self

    def extra_repr(self) -> str:
        return "\n".join(_described(key, value) for key, value in self.items())

    def __call__(self, input: Tensor) -> Any:
        raise RuntimeError("ParameterDict should not be called.")
