"""Printed text of random tensors, compared with torch's."""

import random

import numpy as np
import pytest

import ember

torch = pytest.importorskip("torch")

SCALES = [1, 1e-6, 1e-4, 1e3, 1e7, 1e10]
SPECIAL = [0.0, -0.0, 999.99995, 1000, 1001, 9.9999e-5, 1e-4, 1e8, 1e8 + 1, 0.5]
SPECIAL += [float("nan"), float("inf"), -float("inf")]
DTYPES = [
    "bool",
    "uint8",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
]
OPTIONS = [
    {},
    {"precision": 2},
    {"sci_mode": True},
    {"sci_mode": False},
    {"edgeitems": 1, "threshold": 5},
    {"linewidth": 30},
]


def random_array(rng):
    shape = [rng.choice([1, 2, 3, 7, 9]) for _ in range(rng.choice([0, 1, 2, 3]))]
    if rng.random() < 0.1:
        shape = rng.choice([[1001], [7, 200], [1100, 1], [0, 3]])
    gen = np.random.default_rng(rng.randrange(1 << 30))
    x = gen.normal(size=shape) * rng.choice(SCALES)
    if rng.random() < 0.3:
        x = np.round(x)
    if rng.random() < 0.3:
        x = np.where(gen.random(shape) < 0.4, rng.choice(SPECIAL), x)
    return np.asarray(x)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_text_equals_torch(dtype, options):
    rng = random.Random(f"{dtype}{options}")
    try:
        for lib in (torch, ember):
            lib.set_printoptions(**options)
        for _ in range(40):
            x = random_array(rng)
            if not dtype.startswith(("float", "bfloat", "complex")):
                x = np.asarray(np.nan_to_num(x).clip(-99, 99), dtype=np.int64)
            if dtype == "complex64":
                imag = np.nan_to_num(random_array(rng).flat[:1].sum())
                x = np.asarray(x + 1j * imag)
            want = repr(torch.from_numpy(x).to(getattr(torch, dtype)))
            got = repr(ember.from_numpy(x).to(getattr(ember, dtype)))
            assert got.replace("ember.", "torch.") == want
    finally:
        for lib in (torch, ember):
            lib.set_printoptions(profile="default")
