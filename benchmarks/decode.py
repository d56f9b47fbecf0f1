"""Decoding: token after token through a transformer that caches keys and values.

What it takes is reading the weights, so each precision is told as tokens a second and
as a part of what the memory gives: bytes of weights a token, beside a triad over arrays
that no cache holds. Each library and precision has a process of its own, in turns.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from benchmarks.processes import ROOT
from benchmarks.timing import Case, Result


class Shape(NamedTuple):
    layers: int
    width: int
    heads: int
    groups: int  # of heads that share keys and values
    inner: int
    vocabulary: int


MODELS = {
    "GPT, 124 M": Shape(12, 768, 12, 12, 2048, 50304),
    "Llama, 1.1 B": Shape(22, 2048, 32, 4, 5632, 32000),
}
PRECISIONS = ("float32", "bfloat16", "int8", "int4")
BATCHES = (1, 8)
LENGTH, TOKENS = 64, 8
GROUP = 128  # columns that share a scale in 4 bits


def weights_of(t: Any, precision: str) -> Callable[[int, int], Callable[[Any], Any]]:
    """What makes a product by a new matrix of this precision: f(rows, columns)(x)."""
    linear = t.nn.functional.linear
    if precision in ("float32", "bfloat16"):

        def wide(rows: int, columns: int) -> Callable[[Any], Any]:
            w = t.full((rows, columns), 0.01, dtype=getattr(t, precision))
            return lambda x: linear(x, w)

        return wide
    if t.__name__ == "ember":
        from ember.ao import quantization

        recipe = {
            "int8": quantization.int8_weight_only(),
            "int4": quantization.int4_weight_only(GROUP),
        }[precision]

        def small(rows: int, columns: int) -> Callable[[Any], Any]:
            w = recipe(t.full((rows, columns), 0.01, dtype=t.bfloat16))
            return lambda x: linear(x, w)

        return small

    def packed(rows: int, columns: int) -> Callable[[Any], Any]:
        if precision == "int8":
            q = t.full((rows, columns), 100, dtype=t.int8)
            scales = t.full((rows,), 1e-4, dtype=t.bfloat16)
            return lambda x: t._weight_int8pack_mm(x.reshape(-1, columns), q, scales)
        ops = t.ops.aten
        q4 = ops._convert_weight_to_int4pack_for_cpu(
            t.full((rows, columns), 9, dtype=t.int32), 2
        )
        both = t.full((columns // GROUP, rows, 2), 1e-2, dtype=t.bfloat16)
        return lambda x: ops._weight_int4pack_mm_for_cpu(
            x.reshape(-1, columns), q4, GROUP, both
        )

    return packed


def decoder(t: Any, s: Shape, precision: str, batch: int) -> Callable[[int], Any]:
    """One step: the token at a position for each sequence of the batch."""
    f, make = t.nn.functional, weights_of(t, precision)
    dtype = t.float32 if precision == "float32" else t.bfloat16
    size = s.width // s.heads
    shared = s.width // s.heads * s.groups
    layers = []
    for _ in range(s.layers):
        matrices = [
            make(s.width, s.width),
            make(shared, s.width),
            make(shared, s.width),
            make(s.width, s.width),
            make(s.inner, s.width),
            make(s.inner, s.width),
            make(s.width, s.inner),
        ]
        caches = [
            t.zeros(batch, s.groups, LENGTH + TOKENS + 1, size, dtype=dtype)
            for _ in range(2)
        ]
        layers.append((matrices, caches))
    norm = t.ones(s.width, dtype=dtype)
    table = t.full((s.vocabulary, s.width), 0.01, dtype=dtype)
    last = make(s.vocabulary, s.width)
    angles = t.outer(
        t.arange(LENGTH + TOKENS + 1).float(),
        t.exp(t.arange(size // 2) * (-2 * math.log(1e4) / size)),
    )
    cos, sin = t.cos(angles).to(dtype), t.sin(angles).to(dtype)

    def turned(x: Any, at: int) -> Any:
        a, b = x[..., : size // 2], x[..., size // 2 :]
        c, d = cos[at], sin[at]
        return t.cat([a * c - b * d, a * d + b * c], -1)

    tokens = t.zeros(batch, dtype=t.int64)

    def step(at: int) -> Any:
        nonlocal tokens
        x = f.embedding(tokens, table)
        for (wq, wk, wv, wo, gate, up, down), (keys, values) in layers:
            h = f.rms_norm(x, (s.width,), norm)
            q = turned(wq(h).view(batch, s.heads, 1, size), at)
            keys[:, :, at : at + 1] = turned(wk(h).view(batch, s.groups, 1, size), at)
            values[:, :, at] = wv(h).view(batch, s.groups, size)
            k, v = keys[:, :, : at + 1], values[:, :, : at + 1]
            y = f.scaled_dot_product_attention(q, k, v, enable_gqa=s.groups < s.heads)
            x = x + wo(y.reshape(batch, s.width))
            h = f.rms_norm(x, (s.width,), norm)
            x = x + down(f.silu(gate(h)) * up(h))
        tokens = last(f.rms_norm(x, (s.width,), norm)).argmax(-1)
        return tokens

    return step


def triad(t: Any) -> float:
    """Bytes a second of a = b + 2 c over arrays of 256 MB."""
    b, c = (t.ones(1 << 26) for _ in range(2))
    a = t.empty(1 << 26)
    best = math.inf
    for _ in range(4):
        start = time.perf_counter()
        t.add(b, c, alpha=2, out=a)
        best = min(best, time.perf_counter() - start)
    return 3 * 4 * (1 << 26) / best


def weight_bytes(s: Shape, precision: str) -> float:
    bits = {"float32": 32, "bfloat16": 16, "int8": 8, "int4": 4.5}[precision]
    shared = s.width // s.heads * s.groups
    a_layer = 2 * s.width**2 + 2 * shared * s.width + 3 * s.inner * s.width
    return (s.layers * a_layer + s.vocabulary * s.width) * bits / 8


def child(library: str, model: str, precision: str, batch: int, threads: int) -> dict:
    clock = time.process_time if "EMBER_BENCH_CPU" in os.environ else time.perf_counter
    t = __import__(library)
    t.set_num_threads(threads)
    with t.no_grad():
        step = decoder(t, MODELS[model], precision, batch)
        step(0)
        best = math.inf
        for at in range(LENGTH, LENGTH + TOKENS):
            start = clock()
            step(at)
            best = min(best, clock() - start)
        return {"seconds": best, "triad": triad(t)}


def _run(*arguments: object) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.decode", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout.splitlines()[-1])


@cache
def tokens(threads: int = 2, rounds: int = 2) -> list[Result]:
    """Seconds a token, and in the name how much of the memory's rate ember uses."""
    results = []
    for model, s in MODELS.items():
        for batch in BATCHES:
            for precision in PRECISIONS:
                result = Result(Case("", "", group="decode"))
                rate = 0.0
                for _ in range(rounds):
                    for library in ("torch", "ember"):
                        try:
                            found = _run(library, model, precision, batch, threads)
                        except RuntimeError as error:
                            result.missing = str(error)
                            continue
                        before = result.seconds.get(library, math.inf)
                        result.seconds[library] = min(before, found["seconds"])
                        rate = max(rate, found["triad"])
                ours = result.seconds.get("ember", math.inf)
                used = weight_bytes(s, precision) / ours / rate if rate else 0
                result.case.name = (
                    f"{model}, batch {batch}, {precision}: {batch / ours:.1f} "
                    f"tokens/s, {used:.0%} of triad"
                )
                results.append(result)
    return results


if __name__ == "__main__":
    name, model, precision, batch, threads = sys.argv[1:]
    print(json.dumps(child(name, model, precision, int(batch), int(threads))))
