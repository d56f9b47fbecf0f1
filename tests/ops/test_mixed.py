"""Arguments that do not belong together: every op refuses them or works, none crashes.

Each tensor of a sample in turn goes to another device, dtype or shape.
"""

import pytest

import ember
from tools.schemas import registered

from . import bridge
from .checks import Case
from .entry import S, load

SCHEMAS, ENTRIES = registered(), load()

CHANGES = {
    "meta": lambda t: t.to("meta"),
    "float64": lambda t: t.to(ember.float64),
    "complex64": lambda t: t.to(ember.complex64),
    "bool": lambda t: t.to(ember.bool),
    "int64": lambda t: t.real.to(ember.int64) if t.is_complex() else t.to(ember.int64),
    "scalar": lambda t: t.new_ones(()),
    "empty": lambda t: t.new_empty((0,)),
    "longer": lambda t: t.new_ones((*t.shape, 3)),
    "wider": lambda t: t.new_ones((7, *t.shape)),
    "strange": lambda t: t.new_ones(()).expand(t.shape),
}


def changed(call: S, at: int, change, grad: bool) -> S:
    count = -1

    def visit(value):
        nonlocal count
        if isinstance(value, ember.Tensor):
            count += 1
            if grad and (value.is_floating_point() or value.is_complex()):
                value = value.detach().requires_grad_()
            return change(value) if count == at else value
        if isinstance(value, (list, tuple)) and not isinstance(value, ember.Size):
            return type(value)(visit(part) for part in value)
        return value

    args = [visit(value) for value in call.args]
    return S(*args, **{name: visit(value) for name, value in call.kwargs.items()})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_nothing_crashes(name):
    entry = ENTRIES[name]
    case = Case(entry, SCHEMAS[name])
    for sample in entry.samples[:2]:
        for at in range(len(sample.tensors())):
            for change in CHANGES.values():
                for grad in (False, True):
                    call = bridge.tensors(sample, entry.names[0])
                    try:
                        result = case.call(changed(call, at, change, grad))
                        if grad:
                            for t in bridge.outputs(result):
                                if t.requires_grad:
                                    t.sum().backward(retain_graph=True)
                    except Exception as error:
                        assert "internal" not in str(error), error
