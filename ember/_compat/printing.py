"""Private parts of how tensors are printed: torch_geometric and sentence-transformers
use them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ember import Tensor
from ember._tensor_str import get_printoptions, set_printoptions


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Options of printing, for a block."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


def _str(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """A tensor as text; with other text in place of its numbers, if given."""
    if tensor_contents is None:
        return repr(self)
    return _add_suffixes(f"tensor({tensor_contents}", [f"dtype={self.dtype}"], 0, False)


_str_intern = _str


def _tensor_str(self: Tensor, indent: int) -> str:
    """The numbers of a tensor as text, between brackets."""
    text = repr(self.detach().cpu())
    inner = text[text.index("(") + 1 : text.rindex(")")]
    numbers = inner[: inner.rindex("]") + 1] if "]" in inner else inner.split(",")[0]
    return numbers.replace("\n" + " " * 7, "\n" + " " * indent)


def _add_suffixes(
    tensor_str: str, suffixes: list[str], indent: int, force_newline: bool
) -> str:
    """Text of a tensor with what follows its numbers."""
    lines = [tensor_str]
    length = len(tensor_str) - tensor_str.rfind("\n") + 1
    for suffix in suffixes:
        width = get_printoptions().get("linewidth", 80)
        if force_newline or length + len(suffix) + 2 > width:
            lines.append(",\n" + " " * indent + suffix)
            length = indent + len(suffix)
            force_newline = False
        else:
            lines.append(", " + suffix)
            length += len(suffix) + 2
    lines.append(")")
    return "".join(lines)
