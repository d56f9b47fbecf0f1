"""The call fuzzer: a short run of it, and that it notices what it is there for."""

import os
import re

import pytest

from tests.fuzz.calls import Fuzzer
from tests.fuzz.targets import LASTS, Target

# A sanitizer maps terabytes, so a child's memory has no limit, and it ends the child by
# itself where a signal would.
limits = pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="without limits")


@limits
def test_no_callable_breaks_the_library():
    fuzzer = Fuzzer(seed=0, without=LASTS.pattern, quiet=True, patience=5)
    fuzzer.run(20_000)
    assert not fuzzer.findings, "\n".join(map(str, fuzzer.findings.values()))
    assert len(fuzzer.fine) > 0.6 * len(fuzzer.targets), "most callables can be called"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param("r = __import__('ctypes').string_at(0)", "SIGSEGV", marks=limits),
        ("while True: pass", "hang"),
        ("raise SystemError('bad')", "SystemError"),
        ("raise RuntimeError('internal error in ember: x')", "RuntimeError"),
        ("r = __import__('os')._exit(3)", "exit 3"),
        ("r = ember.set_default_dtype(ember.float64)", "state left as"),
        ("class A:\n    def __del__(self): 1 / 0\nr = A()", "an error nobody sees"),
    ],
)
def test_the_fuzzer_notices(text, kind, monkeypatch):
    monkeypatch.setattr("tests.fuzz.sandbox.SECONDS", 1)
    monkeypatch.setattr("tests.fuzz.calls.find", dict)
    monkeypatch.setattr("tests.fuzz.texts.Draw.text", lambda draw, target: text)
    monkeypatch.setattr("tests.fuzz.sandbox.STATEFUL", re.compile("nothing"))
    fuzzer = Fuzzer(seed=0, quiet=True)
    fuzzer.targets = [Target("bad", "bad")]
    fuzzer.run(2)
    assert len(fuzzer.findings) == 1, list(fuzzer.findings.values())
    (finding,) = fuzzer.findings.values()
    assert finding.kind.startswith(kind)
    assert fuzzer.repeats[finding.key] == 2, "it goes on after the culprit"


def test_files_outside_are_out_of_reach(monkeypatch, tmp_path):
    path = tmp_path / "file"
    monkeypatch.setattr("tests.fuzz.calls.find", dict)
    monkeypatch.setattr(
        "tests.fuzz.texts.Draw.text", lambda *_: f"r = open({str(path)!r}, 'w')"
    )
    fuzzer = Fuzzer(seed=0, quiet=True)
    fuzzer.targets = [Target("bad", "bad")]
    fuzzer.run(1)
    assert fuzzer.outcomes["PermissionError"] == 1 and not path.exists()
