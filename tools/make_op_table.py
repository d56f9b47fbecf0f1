"""Writes docs/ops.md: what every registered op takes, from trying it.

    python tools/make_op_table.py            writes the page
    python tools/make_op_table.py --check    fails if the page is old

An op is called with the first sample of tests/ops that works in its main dtype, once in
every dtype. A dtype counts if the call returns; a gradient counts if the result of a
floating point call belongs to the tape.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import ember  # noqa: E402
from tests.ops import bridge  # noqa: E402
from tests.ops.checks import Case  # noqa: E402
from tests.ops.entry import load  # noqa: E402
from tools.schemas import FUNCTION, IN_PLACE, METHOD, OUT, registered  # noqa: E402

PAGE = ROOT / "docs" / "ops.md"
DTYPES = {
    "bool": ["bool"],
    "integers": ["uint8", "int8", "int16", "int32", "int64"],
    "f16": ["float16"],
    "bf16": ["bfloat16"],
    "f32": ["float32"],
    "f64": ["float64"],
    "c64": ["complex64"],
    "c128": ["complex128"],
}
HEAD = """# Ops

Written by `make docs` (`tools/make_op_table.py`) from the registry of the core: every
op is called in every dtype, so what stands here is what happens. *Forms* are function
`f`, method `m`, in-place method `i` and `out=` `o`. *Grad* means that the op is
recorded for the backward pass, *fused* that it is so as a single node, with a backward
of its own.

Functions that are composed in Python (most of `nn.functional`, `masked`, `func` and
parts of `linalg`) take the dtypes of the ops they are made of. complex32 and float8
have no columns: what moves, converts or compares elements takes them. Left out of ember
for good: named tensors, quantised and nested tensors.

"""


def works(case: Case, sample, dtype: str) -> bool:
    try:
        case.call(bridge.tensors(sample, dtype))
    except Exception:
        return False
    return True


def graph(case: Case, sample, dtypes: Iterable[str]) -> tuple[bool, bool]:
    """Whether a result belongs to the tape, and is one node away from the leaves."""
    for dtype in dtypes:
        try:
            call = bridge.tensors(sample, dtype)
            for t in bridge.outputs([*call.args, *call.kwargs.values()]):
                if t.is_floating_point() or t.is_complex():
                    t.requires_grad_()
            made = bridge.outputs(case.call(call))
        except Exception:
            continue
        nodes = [t.grad_fn for t in made if t.requires_grad and t.grad_fn is not None]
        below = [n for node in nodes for n, _ in node.next_functions if n is not None]
        return bool(nodes), bool(nodes) and all(hasattr(n, "variable") for n in below)
    return False, False


def row(case: Case) -> str:
    samples = case.entry.samples
    usable = [s for s in samples if works(case, s, case.entry.names[0])] or samples[:1]
    forms = "".join(
        letter if case.has(form) else ""
        for letter, form in zip("fmio", (FUNCTION, METHOD, IN_PLACE, OUT), strict=True)
    )
    cells = []
    for names in DTYPES.values():
        done = [usable and works(case, usable[0], name) for name in names]
        cells.append("x" if all(done) else "some" if any(done) else "")
    wide = ["float64", "complex128"]
    grad, fused = graph(case, usable[0], wide) if usable else (False, False)
    cells += ["x" if grad else "", "x" if fused else ""]
    return f"| `{case.name}` | {forms} | {' | '.join(cells)} |"


def page() -> str:
    warnings.simplefilter("ignore")
    ember.manual_seed(0)
    schemas, entries = registered(), load()
    names = sorted(name for name in schemas if not name.startswith("_"))
    lines = [f"| op | forms | {' | '.join(DTYPES)} | grad | fused |"]
    lines.append("| --- " * (len(DTYPES) + 4) + "|")
    lines += [row(Case(entries[name], schemas[name])) for name in names]
    return HEAD + f"{len(names)} ops.\n\n" + "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    text = page()
    if check:
        same = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
        print("docs/ops.md is " + ("up to date" if same else "old: run make docs"))
        return 0 if same else 1
    PAGE.write_text(text, encoding="utf-8")
    print(f"docs/ops.md: {text.count(chr(10))} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
