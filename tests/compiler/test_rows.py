"""Rows of the pointwise table: generated code equals the eager kernels bit for bit, at
each level of the processor. rows.py has the comparison."""

import os
import subprocess
import sys

import pytest

from ember import _C
from ember.compiler import _formula, _math, _rows

from . import needs_jit

LEVELS = ("baseline", "avx2", "avx512")


@needs_jit
@pytest.mark.parametrize("level", LEVELS)
def test_every_row_in_every_dtype(level):
    if LEVELS.index(level) > LEVELS.index(_C._cpu_level()):
        pytest.skip(f"this machine has no {level}")
    done = subprocess.run(
        [sys.executable, "-m", "tests.compiler.rows"],
        env={**os.environ, "EMBER_CPU_LEVEL": level},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.startswith(f"{level}: ") and last.endswith(" rows, 0 differ")
    assert int(last.split()[1]) > 600


def test_all_texts_parse():
    for row in _rows.rows().values():
        for text in filter(None, row.texts):
            _formula.parse(text)


def test_gradients_of_several_operands_are_kept():
    assert _rows.rows()["binary", "mul"].texts[1:] == ("g * conj(b)", "g * conj(a)")
    assert len(_rows.rows()["ternary", "lerp"].texts) == 4


@pytest.mark.parametrize("text", ["x +", "x x", "f(x", "x ? 1 : 2", "(x", "#"])
def test_what_does_not_parse_is_an_error(text):
    with pytest.raises(ValueError, match="formula"):
        _formula.parse(text)


def test_common_functions_are_generated():
    names = "exp log sqrt tanh sigmoid gelu silu erf sin cos pow_scalar softplus log1p"
    for name in names.split():
        assert _rows.formula("unary", name, "float32") is not None
        assert name in _math.FUNCTIONS["f32"] or ("unary", name) in _rows.rows()
