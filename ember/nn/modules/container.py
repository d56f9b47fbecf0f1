"""Containers of modules: Sequential, ModuleList and ModuleDict. Those of parameters
are in `parameter_container`.
"""

import operator
from collections.abc import ItemsView, Iterable, Iterator, KeysView, ValuesView
from typing import TYPE_CHECKING, Any

from ember import Tensor, _lazy
from ember.nn.modules.module import Module


class _Indexed(Module):
    """Base of containers whose children are named "0", "1", ..."""

    def _name_of(self, index: int) -> str:
        size, index = len(self), operator.index(index)
        if not -size <= index < size:
            raise IndexError(f"index {index} is out of range")
        return list(self._modules)[index % size]

    _get_abs_string_index = _name_of  # what subclasses of PyTorch's lists call it

    def _renumber(self, modules: Iterable[Module]) -> None:
        modules = list(modules)
        self._modules.clear()
        for i, module in enumerate(modules):
            self._modules[str(i)] = module

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name_of(index), module)

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)
        chosen = names[index] if isinstance(index, slice) else [self._name_of(index)]
        for name in chosen:
            del self._modules[name]
        self._renumber(self._modules.values())

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def pop(self, index: int) -> Module:
        """Remove and return a module."""
        module = self[index]
        del self[index]
        return module


class Container(Module):
    """What modules were kept in before `Module` took them: old and unused.

    >>> nn.Container(first=nn.Linear(2, 3)).first.weight.shape
    torch.Size([3, 2])
    """

    def __init__(self, **kwargs: Module) -> None:
        super().__init__()
        import warnings

        warnings.warn(
            "nn.Container is deprecated. All of it's functionality is now implemented "
            "in nn.Module. Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


class Sequential(_Indexed):
    """Modules called one after another.

    >>> import ember
    >>> m = ember.nn.Sequential(ember.nn.Linear(2, 3), ember.nn.ReLU())
    >>> m(ember.ones(1, 2)).shape
    torch.Size([1, 3])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], dict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    if TYPE_CHECKING:  # of nearly all: what the last one gives

        def __call__(self, *args: Any, **kwargs: Any) -> Tensor: ...

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(dict(list(self._modules.items())[index]))
        return self._modules[self._name_of(index)]

    def _get_item_by_idx(self, iterator: Iterable, idx: int):
        """The item at `idx` of names, modules or both: for subclasses."""
        self._name_of(idx)
        return list(iterator)[idx]

    def append(self, module: Module) -> "Sequential":
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> "Sequential":
        """Add a module before `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def extend(self, sequential: Iterable[Module]) -> "Sequential":
        """Add modules at the end."""
        for module in list(sequential):
            self.append(module)
        return self

    def __add__(self, other: "Sequential") -> "Sequential":
        self._expect_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: "Sequential") -> "Sequential":
        self._expect_sequential(other)
        return self.extend(other)

    def __mul__(self, times: int) -> "Sequential":
        self._expect_count(times)
        return Sequential(*list(self) * times)

    __rmul__ = __mul__

    def __imul__(self, times: int) -> "Sequential":
        self._expect_count(times)
        return self.extend(list(self) * (times - 1))

    def _expect_sequential(self, other) -> None:
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, but "
                f"{type(other)} is given."
            )

    def _expect_count(self, times) -> None:
        if not isinstance(times, int):
            raise TypeError(
                f"unsupported operand type(s) for *: {type(self)} and {type(times)}"
            )
        if times <= 0:
            raise ValueError(
                f"Non-positive multiplication factor {times} for {type(self)}"
            )


class ModuleList(_Indexed):
    """A list of modules.

    >>> import ember
    >>> layers = ember.nn.ModuleList(ember.nn.Linear(2, 2) for _ in range(3))
    >>> len(layers), layers[1]
    (3, Linear(in_features=2, out_features=2, bias=True))
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self._modules[self._name_of(index)]

    def __iadd__(self, modules: Iterable[Module]) -> "ModuleList":
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> "ModuleList":
        return ModuleList([*self, *other])

    def insert(self, index: int, module: Module) -> None:
        """Add a module before `index`."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def append(self, module: Module) -> "ModuleList":
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> "ModuleList":
        """Add modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                + type(modules).__name__
            )
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self) -> str:
        """Equal neighbours are shown once, as "(0-2): 3 x ..."."""
        texts = [repr(module) for module in self]
        if not texts:
            return self._get_name() + "()"
        groups: list[list] = []
        for i, text in enumerate(texts):
            if groups and groups[-1][2] == text:
                groups[-1][1] = i
            else:
                groups.append([i, i, text])
        lines = []
        for first, last, text in groups:
            if first == last:
                line = f"({first}): {text}"
            else:
                line = f"({first}-{last}): {last - first + 1} x {text}"
            lines.append("\n  " + line.replace("\n", "\n  "))
        return f"{self._get_name()}({''.join(lines)}\n)"


class ModuleDict(Module):
    """A dictionary of modules.

    >>> import ember
    >>> d = ember.nn.ModuleDict({"a": ember.nn.ReLU()})
    >>> d["a"]
    ReLU()
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove everything."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Remove and return a module."""
        return self._modules.pop(key)

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Module]:
        """The pairs of name and module."""
        return self._modules.items()

    def values(self) -> ValuesView[Module]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules from a mapping or from pairs."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleDict.update should be called with an iterable of key/value "
                f"pairs, but got {type(modules).__name__}"
            )
        pairs = modules.items() if hasattr(modules, "items") else modules
        for i, pair in enumerate(pairs):
            if not isinstance(pair, Iterable):
                raise TypeError(
                    f"ModuleDict update sequence element #{i} should be Iterable; is "
                    f"{type(pair).__name__}"
                )
            if len(pair) != 2:
                raise ValueError(
                    f"ModuleDict update sequence element #{i} has length {len(pair)}; "
                    "2 is required"
                )
            self[pair[0]] = pair[1]


__getattr__ = _lazy.missing(__name__)
