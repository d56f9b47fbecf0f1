"""The base classes of DataPipes, and the decorators for classes made from them."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from ember.utils.data.dataset import Dataset, IterableDataset

_state = {"deterministic": False, "validate": True}


class _Chained:
    """Steps registered by `functional_datapipe` are methods of every pipe."""

    functions: ClassVar[dict[str, Callable]] = {}

    def __getattr__(self, name: str) -> Any:
        step = type(self).functions.get(name)
        if step is None or name.startswith("__"):
            kind = type(self).__name__
            raise AttributeError(f"'{kind}' object has no attribute '{name}'")
        return partial(step, self)

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: Callable, **options: Any
    ) -> None:
        """Make a class of pipes a method of all pipes."""
        if function_name in cls.functions:
            raise Exception(
                f"Unable to add DataPipe function name {function_name} as it is "
                "already taken"
            )
        cls.functions[function_name] = cls_to_register

    @classmethod
    def register_function(cls, function_name: str, function: Callable) -> None:
        """Make a function of a pipe a method of all pipes."""
        cls.functions[function_name] = function

    def __repr__(self) -> str:
        return type(self).__qualname__


class IterDataPipe(_Chained, IterableDataset):
    """A pipe that is read by iteration.

    >>> import ember
    >>> pipe = ember.utils.data.datapipes.iter.IterableWrapper(range(5))
    >>> list(pipe.map(lambda x: x * x).filter(lambda x: x % 2 == 0).batch(2))
    [[0, 4], [16]]
    """

    functions: ClassVar[dict[str, Callable]] = {}

    def reset(self) -> None:
        """Called where a pass begins; a pipe with state of its own overrides it."""


class DFIterDataPipe(IterDataPipe):
    """A pipe of data frames.

    >>> issubclass(DFIterDataPipe, IterDataPipe)
    True
    """


class MapDataPipe(_Chained, Dataset):
    """A pipe that is read by index.

    >>> class Squares(MapDataPipe):
    ...     def __getitem__(self, i):
    ...         return i * i
    >>> Squares()[3]
    9
    """

    functions: ClassVar[dict[str, Callable]] = {}


class DataChunk(list):
    """A batch as a list.

    >>> DataChunk([1, 2]).items
    [1, 2]
    """

    def __init__(self, items: Any) -> None:
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent: str = "") -> str:
        """The items, indented."""
        return indent + "[" + ", ".join(str(item) for item in self) + "]"

    def raw_iterator(self) -> Any:
        """The items as they are."""
        yield from self.items


class functional_datapipe:
    """Class decorator: the class becomes a method of all pipes of its kind.

    >>> @functional_datapipe("doubled")
    ... class Doubler(IterDataPipe):
    ...     def __init__(self, source):
    ...         self.source = source
    ...     def __iter__(self):
    ...         return (2 * x for x in self.source)
    >>> from ember.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([1, 2]).doubled())
    [2, 4]
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name

    def __call__(self, cls: type) -> type:
        for kind in (IterDataPipe, MapDataPipe):
            if issubclass(cls, kind):
                kind.register_datapipe_as_function(self.name, cls)
                return cls
        raise TypeError(
            "`functional_datapipe` can only decorate IterDataPipe or MapDataPipe"
        )


class guaranteed_datapipes_determinism:
    """A block in which pipes that are not deterministic cannot be made.

    >>> with guaranteed_datapipes_determinism():
    ...     pass
    """

    def __init__(self) -> None:
        self.before = _state["deterministic"]
        _state["deterministic"] = True

    def __enter__(self) -> None: ...

    def __exit__(self, *exc: Any) -> None:
        _state["deterministic"] = self.before


class non_deterministic:
    """Class decorator: says that the order of a pipe may change from run to run.

    Given a function instead of a class, that decides for each pipe.

    >>> @non_deterministic
    ... class Stream(IterDataPipe):
    ...     pass
    >>> isinstance(Stream(), IterDataPipe)
    True
    """

    def __init__(self, arg: Any) -> None:
        self.cls = arg if isinstance(arg, type) else None
        self.decides: Callable | None = None if self.cls else arg

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.cls is None:
            self.cls = args[0]
            return self
        doubtful = self.decides is None or self.decides(*args, **kwargs)
        if doubtful and _state["deterministic"]:
            raise TypeError(
                f"{self.cls.__name__} is non-deterministic, but you set "
                "'guaranteed_datapipes_determinism'."
            )
        return self.cls(*args, **kwargs)


def argument_validation(f: Callable) -> Callable:
    """Decorator of PyTorch's that checks pipes against type hints; hints are not
    checked here.

    >>> argument_validation(len) is len
    True
    """
    return f


def runtime_validation(f: Callable) -> Callable:
    """Decorator of PyTorch's that checks what a pipe yields; not checked here.

    >>> runtime_validation(len) is len
    True
    """
    return f


class runtime_validation_disabled:
    """A block without the checks of `runtime_validation`.

    >>> with runtime_validation_disabled():
    ...     pass
    """

    def __enter__(self) -> None:
        self.before, _state["validate"] = _state["validate"], False

    def __exit__(self, *exc: Any) -> None:
        _state["validate"] = self.before
