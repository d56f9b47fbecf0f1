"""Ops as a `TorchDispatchMode` sees them: called again as it was told, they give the
same. Counters of operations and quantizers are written this way.
"""

import pytest

import ember
from ember.utils._python_dispatch import TorchDispatchMode
from ember.utils._pytree import tree_leaves
from tools.schemas import registered

from . import bridge
from .checks import Case
from .entry import load

SCHEMAS, ENTRIES = registered(), load()


class CallsAgain(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_ops_can_be_called_as_a_mode_is_told(name):
    entry = ENTRIES[name]
    case = Case(entry, SCHEMAS[name])
    for sample in entry.samples[:3]:
        results = []
        for mode in (False, True):
            given = bridge.tensors(sample, entry.names[0])
            ember.manual_seed(0)
            if mode:
                with CallsAgain():
                    results.append(case.call(given))
            else:
                results.append(case.call(given))
        want, got = (tree_leaves(result) for result in results)
        assert len(want) == len(got)
        for a, b in zip(want, got, strict=True):
            if isinstance(a, ember.Tensor):
                assert a.shape == b.shape and a.dtype == b.dtype
                if not name.startswith(("empty", "new_empty")):
                    assert ember.equal(a.nan_to_num(), b.nan_to_num()), sample
            else:
                assert a == b or a != a


SPELLED = {
    "==": lambda a: a == a,
    "!=": lambda a: a != 1,
    "<": lambda a: a < a,
    "in": lambda a: 1 in a,
    "~&|": lambda a: ~(a > 1) & (a < 1) | (a >= 2),
    "-": lambda a: 1 - a,
    "/": lambda a: 1 / a,
    "**": lambda a: 2**a,
    "//": lambda a: 7 // a,
    "%": lambda a: a % 2,
    "@": lambda a: a @ a,
    "abs": lambda a: abs(-a),
    "[]": lambda a: a[a > 1],
    "relu": lambda a: ember.nn.functional.relu(a - 2, False),
    "relu in place": lambda a: ember.nn.functional.relu(a - 2, inplace=True),
    "silu in place": lambda a: ember.nn.SiLU(inplace=True)(a - 2),
    "leaky relu in place": lambda a: ember.nn.functional.leaky_relu(a - 2, 0.1, True),
    "windows": lambda a: a.unfold(1, 2, 1),
    "batch norm": lambda a: ember.nn.functional.batch_norm(
        a, running_mean=a[0] * 0, running_var=a[0], eps=0.1
    ),
}


@pytest.mark.parametrize("spelled", SPELLED)
def test_operators_can_be_called_as_a_mode_is_told(spelled):
    a = ember.arange(1.0, 5).reshape(2, 2)
    want = SPELLED[spelled](a)
    with CallsAgain():
        got = SPELLED[spelled](a)
    assert ember.equal(ember.as_tensor(got), ember.as_tensor(want))


def test_norms_are_told_with_the_arguments_of_their_operators():
    seen = []

    class Sees(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((func, args))
            return func(*args, **(kwargs or {}))

    x, weight = ember.ones(2, 3, 4), ember.ones(3)
    with Sees():
        ember.nn.functional.instance_norm(x, weight=weight)
        ember.nn.functional.unfold(x[None], 2)
    (norm, args), _, (windows, _) = seen[0], seen[1], seen[-1]
    assert norm == ember.ops.aten.instance_norm and len(args) == 9
    assert args[1] is weight and args[3] is None and args[5] is True
    assert windows.name() == "aten::im2col"
