"""The programs of `python -m benchmarks compile`: compiled, they give the same."""

import math

import pytest

import ember

pytest.importorskip("benchmarks.compile_more")  # adds its programs
programs = pytest.importorskip("benchmarks.compile_programs")  # needs NumPy


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_compiled_programs_agree(name):
    found = []
    for compile in (lambda f: f, ember.compile(mode="max-autotune"), ember.compile()):
        run = programs.PROGRAMS[name](programs.Way(ember, compile))
        found.append([run().item() for _ in range(3)])
    for one, other in zip(found[0] * 2, found[1] + found[2], strict=True):
        assert math.isfinite(one) and math.isclose(one, other, rel_tol=1e-4)
