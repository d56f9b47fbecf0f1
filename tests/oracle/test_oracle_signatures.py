"""Arguments of ops have PyTorch's names: those of its own schemas."""

from __future__ import annotations

import inspect

import pytest

from ember import _C, _reference

torch = pytest.importorskip("torch")

# What PyTorch's functions take besides their schemas: they are written in Python there,
# or take names of NumPy's and of other versions, too.
BESIDES = {
    "dsplit": "indices_or_sections",
    "hsplit": "indices_or_sections",
    "nonzero": "as_tuple",
    "pow": "other",
    "prelu": "other",
    "split": "split_size_or_sections tensor",
    "tensor_split": "indices_or_sections",
    "vsplit": "indices_or_sections",
}
# Of factories, which take them in one.
OPTIONS = {"layout", "pin_memory", "requires_grad"}


def names_in_torch(name: str) -> set[str]:
    if name.startswith("nn.functional."):
        found = getattr(torch.nn.functional, name.rpartition(".")[2], None)
        names = set(inspect.signature(found).parameters) if found else set()
        return set() if "kwargs" in names else names
    find = torch._C._jit_get_schemas_for_operator
    schemas = find("aten::" + name.replace(".", "_"))
    return {a.name for schema in schemas for a in schema.arguments}


def test_arguments_have_the_names_of_pytorch() -> None:
    compared, wrong = 0, {}
    for name, op in _C._ops.items():
        if "._" in f".{name}":
            continue
        try:
            theirs = names_in_torch(name)
        except ValueError:  # a builtin without a signature
            continue
        if not theirs:
            continue
        compared += 1
        form = _reference.form_of(op)
        ours = {p.name for schema in form.schemas for p in schema.params}
        known = {"self", "input", *OPTIONS, *BESIDES.get(name, "").split()}
        if more := ours - theirs - known:
            wrong[name] = more
    assert not wrong
    assert compared > 600
