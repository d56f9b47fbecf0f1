"""Random programs, op by op and compiled: `python -m tests.compiler --minutes 10`.

Hypothesis draws programs of pointwise ops, reductions, views, changes in place and
branches, and shrinks one that gives other bits. The exit code is 1 if there is one.
"""

from __future__ import annotations

import argparse
import sys
import time

from hypothesis import HealthCheck, given, seed, settings, strategies as st

from ember import _C
from ember.compiler import _regions
from tests.compiler.test_random_regions import Program, bits, gradients, run


def same(drawn: int) -> None:
    wanted = [bits(v) for v in Program(drawn).run()]
    for _ in range(2):  # in groups; by machine code
        assert run(drawn, wait=True) == wanted, f"program {drawn}"


def same_gradients(drawn: int) -> None:
    """In groups, op by op: the sums of generated code round in another order."""
    wanted = gradients(drawn, False)
    hook = _regions._compile
    _C._lazy_compile_hook(None)
    try:
        for _ in range(3):
            assert gradients(drawn, True) == wanted, f"gradients of program {drawn}"
    finally:
        _C._lazy_compile_hook(hook)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.compiler")
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    end, first, count = time.monotonic() + 60 * options.minutes, options.seed, 0
    _C._lazy_set_least(1)
    while time.monotonic() < end:
        for test, examples in ((same, 20), (same_gradients, 20)):
            drawn = given(st.integers(0, 1 << 40))(test)
            how = settings(
                max_examples=examples,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
            )
            try:
                seed(first)(how(drawn))()
            except AssertionError as error:
                print(str(error).splitlines()[0], f"(seed {first})", flush=True)
                return 1
            count += examples
        first += 1
        _C._lazy_reset()
    print(f"{count} programs, no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
