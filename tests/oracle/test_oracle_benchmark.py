"""Inputs for benchmarks are the same as torch's for the same seed."""

import importlib

import pytest

torch = pytest.importorskip("torch")


def drawn(name):
    lib = importlib.import_module(name)
    bench = importlib.import_module(name + ".utils.benchmark")
    fuzzer = bench.Fuzzer(
        [
            bench.FuzzedParameter("dim", 1, 3, distribution="uniform", strict=True),
            [
                bench.FuzzedParameter(f"n{i}", 1, 40, distribution="loguniform")
                for i in range(3)
            ],
            bench.FuzzedParameter("scale", 0.5, 2.0, distribution="uniform"),
        ],
        [
            bench.FuzzedTensor(
                "x", ("n0", "n1", "n2"), (1, 2), dim_parameter="dim", max_elements=900
            ),
            bench.FuzzedTensor("y", ("n0",), dtype=lib.int64),
        ],
        constraints=[lambda params: params["n0"] > 2],
        seed=11,
    )
    rows = [
        (
            params,
            tensors["x"].tolist(),
            tensors["x"].stride(),
            tensors["y"].tolist(),
            properties["x"]["order"].tolist(),
            properties["x"]["is_contiguous"],
        )
        for tensors, properties, params in fuzzer.take(12)
    ]
    return rows, fuzzer.rejection_rate


def test_the_same_seed_draws_the_same():
    assert drawn("ember") == drawn("torch")


def test_sparse_tensors_are_the_same():
    def made(name):
        lib = importlib.import_module(name)
        bench = importlib.import_module(name + ".utils.benchmark")
        lib.manual_seed(4)
        make = bench.FuzzedSparseTensor.sparse_tensor_constructor
        tensors = [make((6, 5), lib.float32, d, 7, c) for d in (1, 2) for c in (0, 1)]
        return [(t._indices().tolist(), t._values().tolist()) for t in tensors]

    assert made("ember") == made("torch")
