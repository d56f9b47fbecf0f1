"""Arguments of the wrong kind, where tensors are expected and in private functions."""

from __future__ import annotations

import functools
import random

import numpy as np
import pytest

import ember
from tools.schemas import registered

from .children import deaths, quietly

LISTS = {
    name: overloads
    for name, overloads in registered().items()
    if any(p.type == "Tensor[]" for o in overloads for p in o.params)
}
# Not a tensor anywhere in them: no list of tensors.
BAD = [
    [None],
    [None, None],
    (None,),
    [1],
    ["a"],
    [object()],
    [[None]],
    [[]],
    [np.ones(2)],
    "ab",
    {},
    None,
]


def plain(param):
    """Some value of a parameter's type."""
    values = {
        "Tensor": ember.ones(2, 2),
        "Tensor[]": [ember.ones(2, 2), ember.ones(2, 2)],
        "Tensor?[]": [None, ember.tensor([0])],
        "Number": 1.0,
        "Scalar": 1.0,
        "int": 1,
        "float": 0.5,
        "float[]": [0.5],
        "bool": False,
        "str": "ij",
        "Dims": 0,
        "Size": (2, 2),
        "Dtype": ember.float32,
    }
    return values.get(param.type)


@pytest.mark.parametrize("name", sorted(LISTS))
def test_lists_of_tensors_hold_tensors(name):
    t = ember.ones(2, 2)
    function = ember._C._ops[name]
    mixed = [[t, None], [None, t], [t, 1], [t, "a"], [t, object()], [t, [t]]]
    for overload in LISTS[name]:
        for at, param in enumerate(overload.params):
            if param.type != "Tensor[]":
                continue
            for bad in BAD + mixed:
                if bad is None and (param.optional or param.default == "None"):
                    continue
                if name == "gradient" and repr(bad) in ("None", "[1]"):
                    continue  # another overload takes them
                given = [plain(p) for p in overload.params]
                given[at] = bad
                named = {
                    p.name: value
                    for p, value in zip(overload.params, given)
                    if p.keyword_only
                }
                placed = [
                    value
                    for p, value in zip(overload.params, given)
                    if not p.keyword_only
                ]
                error = quietly(functools.partial(function, *placed, **named))
                assert isinstance(error, TypeError), (overload.text, bad, error)


PYTHON = {
    "atleast_1d": lambda v: ember.atleast_1d(v),
    "atleast_2d of several": lambda v: ember.atleast_2d(*v),
    "multi_dot": lambda v: ember.linalg.multi_dot(v),
    "chain_matmul": lambda v: ember.chain_matmul(*v),
    "cat": lambda v: ember.cat(v),
    "stack": lambda v: ember.stack(v),
    "hstack": lambda v: ember.hstack(v),
    "block_diag": lambda v: ember.block_diag(*v),
    "meshgrid": lambda v: ember.meshgrid(*v, indexing="ij"),
    "cartesian_prod": lambda v: ember.cartesian_prod(*v),
    "broadcast_tensors": lambda v: ember.broadcast_tensors(*v),
    "einsum": lambda v: ember.einsum("ij,jk->ik", *v),
}


@pytest.mark.parametrize("name", PYTHON)
def test_functions_of_several_tensors_want_tensors(name):
    t = ember.ones(2, 2)
    for bad in ([None, None], [t, None], [None, t], ["a", t], [object(), object()]):
        assert isinstance(
            quietly(functools.partial(PYTHON[name], bad)), (TypeError, ValueError)
        ), bad


def test_positions_may_be_left_out():
    t = ember.zeros(2, 3)
    assert t.index_put([None, ember.tensor([1])], ember.tensor(5.0))[:, 1].tolist() == [
        5,
        5,
    ]
    with pytest.raises(TypeError):
        t.index_put([1], ember.tensor(5.0))


def test_a_list_that_changes_while_it_is_read():
    t = ember.ones(2, 2)
    tensors, sizes = [t, t, t], []

    class Index:
        def __index__(self):
            tensors[:] = [None, 1, "a"]
            sizes.clear()
            return 0

    with pytest.raises((TypeError, RuntimeError)):
        ember.cat(tensors, Index())
        ember.cat(tensors, 0)
    for read in (
        ember.zeros,
        ember.Size,
        t.view,
        t.permute,
        t.sum,
        lambda dims: t.movedim(dims, (0, 1, 2)),
        lambda sizes: t.unflatten(0, sizes),
    ):
        sizes[:] = [Index(), 2, 3]
        with pytest.raises((RuntimeError, IndexError)):
            read(sizes)


# --- private functions ----------------------------------------------------------------


def hostile() -> list:
    """Values that nothing expects, new ones for each call."""
    t = ember.ones(2, 3)
    numbers = [0, 1, -1, 2, 16, 255, 256, 2**31, -(2**31), 2**32, 2**62]
    numbers += [
        2**63 - 1,
        -(2**63),
        2**64,
        -(2**70),
        0.5,
        float("nan"),
        float("inf"),
        1j,
    ]
    texts = ["", "a", "cpu", "opencl", "opencl:999", "x" * 1000, "a\0b", "\ud800"]
    others = [None, True, b"", b"abc", object(), int, ember.Tensor, lambda *a: None]
    others += [[], [None], [1], ["a"], [-1, 2**62], (), (0,), (2**62, 4), {}, {"a": 1}]
    tensors = [t, ember.tensor(5), ember.empty(0), t.requires_grad_(), [t], (t, None)]
    tensors += [ember.empty(2, device="meta"), np.ones(2), ember.UntypedStorage(4)]
    kinds = [ember.float32, ember.device("cpu"), ember.strided, ember.Generator()]
    kinds += [
        slice(None),
        Ellipsis,
        iter([1]),
        bytearray(8),
        memoryview(b"abc"),
        range(3),
    ]
    return numbers + texts + others + tensors + kinds


# They would send, wait, or end the process as they are asked to.
APART = {"_die_with_parent", "_send_message", "_receive_message"}
OWNERS = {
    "Tensor": lambda: ember.ones(2, 3),
    "UntypedStorage": lambda: ember.UntypedStorage(8),
    "Generator": ember.Generator,
    "Size": lambda: ember.Size([2, 3]),
    "device": lambda: ember.device("cpu"),
    "dtype": lambda: ember.float32,
    "Op": lambda: ember.add,
}
FUNCTIONS = sorted(
    name
    for name in dir(ember._C)
    if callable(getattr(ember._C, name)) and name not in APART
)
METHODS = sorted(
    f"{owner}.{name}"
    for owner in OWNERS
    if hasattr(ember._C, owner)
    for name in dir(getattr(ember._C, owner))
    if callable(getattr(getattr(ember._C, owner), name)) and name != "__class__"
)
# Unbounded work is another matter.
LONG = {"mvlgamma", "mvlgamma_", "tensor_split", "tril_indices", "triu_indices"}


def find(name: str):
    owner, _, member = name.partition(".")
    return getattr(OWNERS[owner](), member) if member else getattr(ember._C, owner)


def hostile_calls(names, count: int):
    for name in names:
        if name.rpartition(".")[2] in LONG:
            continue
        for seed in range(count):
            yield (
                f"{name} with seed {seed}",
                functools.partial(call_hostile, name, seed),
            )


def call_hostile(name: str, seed: int) -> None:
    draw = random.Random(f"{name} {seed}")
    values = hostile()
    count = seed if seed < 4 else draw.choice([1, 1, 2, 2, 3, 4, 5, 7])
    quietly(lambda: find(name)(*(draw.choice(values) for _ in range(count))))


@pytest.mark.parametrize("part", range(4))
def test_no_private_function_dies_of_its_arguments(part):
    names = [name for name in FUNCTIONS if name.startswith("_")]
    assert deaths(list(hostile_calls(names[part::4], 40)), seconds=20) == []


@pytest.mark.parametrize("part", range(8))
def test_no_callable_of_the_core_dies_of_its_arguments(part):
    names = [name for name in FUNCTIONS + METHODS if not name.startswith("_")]
    assert deaths(list(hostile_calls(names[part::8], 8)), seconds=20) == []


@pytest.mark.parametrize(
    "name", [name for name in dir(ember._C) if name.startswith("_opencl")]
)
def test_opencl_functions_before_a_device_is_open(name):
    """Each with a number, as a fresh process calls them: `_opencl_use(16)`."""
    import subprocess
    import sys

    program = f"""
from ember import _C
for args in [(), (16,), (-1,), (2**40,), (None,), ("a",), ([16],), ([],), ([0],),
             (0, 0), (16, 16), (0, float("nan")), (0, 0, None, 0), (None, 0, 0),
             ("libm.so.6", "", 0), ("", "", -1), ("/nowhere", "/nowhere", 2**62)]:
    try:
        _C.{name}(*args)
    except Exception:
        pass
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kwargs", ["amax", 3, [("a", 1)], ember.ones(2), 2**64])
@pytest.mark.parametrize(
    "impl",
    [
        ember._C._disabled_torch_function_impl,
        ember._C._disabled_torch_dispatch_impl,
    ],
)
def test_keywords_of_a_disabled_override_are_a_dict(impl, kwargs):
    with pytest.raises(TypeError, match="kwargs must be a dict"):
        impl(print, (), (), kwargs)
    assert impl(max, (), (1, 2), None) == 2
