"""Patterns that a text must have in order: PyTorch's own tests use it."""

from __future__ import annotations

import re
from typing import Any


class FileCheck:
    """Checks that are run over a text, one after the other.

    >>> from ember.testing import FileCheck
    >>> FileCheck().check("a").check_not("c").check_next("b").run("a\\nb\\n")
    """

    def __init__(self) -> None:
        self._steps: list[tuple[str, Any, int]] = []

    def _add(self, kind: str, pattern: Any, count: int = 1) -> FileCheck:
        self._steps.append((kind, pattern, count))
        return self

    def check(self, pattern: str) -> FileCheck:
        """The text has this, after what was found before."""
        return self._add("check", pattern)

    def check_not(self, pattern: str) -> FileCheck:
        """The text does not have this before what is found next."""
        return self._add("not", pattern)

    def check_next(self, pattern: str) -> FileCheck:
        """The next line has this."""
        return self._add("next", pattern)

    def check_same(self, pattern: str) -> FileCheck:
        """The rest of the line has this."""
        return self._add("same", pattern)

    def check_count(self, pattern: str, count: int, exactly: bool = False) -> FileCheck:
        """The text has this so many times, and no more if `exactly`."""
        return self._add("exactly" if exactly else "count", pattern, count)

    def check_dag(self, pattern: str) -> FileCheck:
        """The text has this, in any order among such checks."""
        return self._add("dag", pattern)

    def check_regex(self, pattern: str) -> FileCheck:
        """The text has what this expression matches."""
        return self._add("regex", pattern)

    def run(self, test_file: str) -> None:
        """Run the checks; RuntimeError for one that fails."""
        text, at, forbidden = str(test_file), 0, []
        for kind, pattern, count in self._steps:
            if kind == "not":
                forbidden.append(pattern)
                continue
            start = at
            for _ in range(count):
                start, at = self._find(kind, pattern, text, at)
            if kind == "exactly" and pattern in text[at:]:
                raise RuntimeError(f"Expected not to find {pattern!r} more often")
            self._absent(forbidden, text[:start])
            forbidden = []
        self._absent(forbidden, text[at:])

    @staticmethod
    def _absent(patterns: list[str], text: str) -> None:
        for pattern in patterns:
            if pattern in text:
                raise RuntimeError(f"Expected not to find {pattern!r} but found it")

    @staticmethod
    def _find(kind: str, pattern: str, text: str, at: int) -> tuple[int, int]:
        if kind == "regex":
            match = re.compile(pattern).search(text, at)
            if match is None:
                raise RuntimeError(f"Expected to find {pattern!r} but did not find it")
            return match.span()
        begin, end = (0 if kind == "dag" else at), len(text)
        if kind == "next":
            begin = text.find("\n", at) + 1
        if kind in ("next", "same"):
            end = text.find("\n", begin)
            end = len(text) if end < 0 else end
        found = text.find(pattern, begin, end)
        if found < 0:
            raise RuntimeError(f"Expected to find {pattern!r} but did not find it")
        stop = found + len(pattern)
        return found, max(at, stop) if kind == "dag" else stop
