"""Which ops a sparse tensor has: a table from each to its implementation.

The other modules of this package fill it by `handles`; `SparseTensor` looks into it for
every call. Any other op is an error, unless it is HARMLESS.
"""

from typing import Any

from ember import _C
from ember._C import Tensor

# op -> function(*args, **kwargs)
TABLE: dict[Any, Any] = {}


def _forms(name: str) -> list[Any]:
    """The function and the method that an op is called by."""
    both = _C._ops.get(name), getattr(Tensor, name, None)
    return [form for form in both if form is not None]


def handles(names: str):
    """Decorate the implementation of ops, given by their names."""

    def decorate(function):
        for name in names.split():
            TABLE.update(dict.fromkeys(_forms(name), function))
        return function

    return decorate


def name_of(func) -> str:
    """A function as messages call it."""
    name = getattr(func, "__name__", str(func))
    if name == "__get__":
        return func.__self__.__name__
    text = repr(func)  # ops of submodules have their full name there
    return text[4:-1] if text.startswith("<op ") else name


_FLAGS = """
    is_cuda is_mkldnn is_quantized is_nested is_mps is_xpu is_ipu is_xla is_maia
    is_mtia is_vulkan itemsize names
    """
_QUESTIONS = """
    is_complex is_floating_point is_signed is_inference has_names is_conj is_neg
    is_pinned
    """
# attributes and ops that do not look at elements
HARMLESS = {
    *(getattr(Tensor, name).__get__ for name in _FLAGS.split()),
    *(form for name in _QUESTIONS.split() for form in _forms(name)),
}
