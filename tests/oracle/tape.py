"""What the tests of the tape beside torch share: small builders and the comparison."""

import re

import pytest


def leaf(m, *values):
    return m.tensor(list(values or (1.0, 2.0)), requires_grad=True)


def function(m, forward, backward, **more):
    """A Function from plain functions."""
    methods = {"forward": forward, "backward": backward, **more}
    bases = (m.autograd.Function,)
    return type("Mine", bases, {k: staticmethod(v) for k, v in methods.items()})


def values(*tensors):
    return [t.tolist() if hasattr(t, "tolist") else t for t in tensors]


def keeping(m, what):
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(x if what == "input" else y)
        return y

    return function(m, forward, lambda ctx, g: g * ctx.saved_tensors[0])


def compare(expected, got, where="result"):
    if isinstance(expected, (list, tuple)):
        assert len(got) == len(expected), (where, expected, got)
        for i, (e, g) in enumerate(zip(expected, got, strict=True)):
            compare(e, g, f"{where}[{i}]")
    elif isinstance(expected, float):
        assert got == pytest.approx(expected, rel=1e-5), where
    else:
        assert got == expected, where


def run_both(torch, ember, program):
    """The results of a program on both; an error counts as one."""

    def run(m):
        try:
            return program(m)
        except RuntimeError as e:
            return [type(e).__name__, str(e)]

    compare(run(torch), run(ember))


def error_of(call, m):
    """Type and text of the exception that a call raises."""
    try:
        call(m)
    except Exception as e:
        return type(e), str(e)
    return None, ""


def same_error(torch, ember, call, stop):
    """The same exception, with the first words of torch's message in ours."""
    (kind, text), (our_kind, our_text) = error_of(call, torch), error_of(call, ember)
    assert our_kind is kind, our_text
    core = re.split(stop, text)[0].strip()
    assert core in our_text, (core, our_text)
