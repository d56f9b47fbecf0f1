"""One test for every registered op and check: `pytest tests/ops -k "sum and gradient"`.

The ops come from the compiled module, their samples from tests/ops/samples. README.md
tells how to add one.
"""

from __future__ import annotations

import pytest

from tools.schemas import registered

from .checks import Case, applicable, run
from .entry import DUPLICATES, load

OPS = registered()
ENTRIES = load()
CASES = {name: Case(ENTRIES[name], OPS[name]) for name in OPS if name in ENTRIES}
HELP = "tests/ops/README.md tells how"


@pytest.mark.parametrize("name", sorted(OPS))
def test_op_has_an_entry(name: str) -> None:
    assert name in ENTRIES, (
        f"the op {name!r} has no samples: add an entry to the file of its family in "
        f"tests/ops/samples ({HELP})"
    )


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_entry_has_an_op(name: str) -> None:
    assert name in OPS, (
        f"{ENTRIES[name].source} has an entry for {name!r}, but no op of that name is "
        f"registered"
    )


def test_no_op_has_two_entries() -> None:
    assert not DUPLICATES, "\n".join(DUPLICATES)


@pytest.mark.parametrize(
    ("name", "check"),
    [
        pytest.param(name, check, id=f"{name}-{check}")
        for name, case in sorted(CASES.items())
        for check in applicable(case)
    ],
)
def test_op(name: str, check: str) -> None:
    run(CASES[name], check)
