"""`TorchVersion`: a version that is a string and is compared as a version."""

from __future__ import annotations

import re
from itertools import zip_longest

# Before the release itself come, in this order, what is still developed and tried out.
_BEFORE = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "rc": -1, "c": -1}


def _parts(version: object) -> tuple[list[int], tuple[int, int]]:
    """The numbers of the release, and where it stands among its candidates.

    What follows a `+` says who built it, and does not count.
    """
    if isinstance(version, (tuple, list)):
        version = ".".join(map(str, version))
    match = re.match(
        r"\s*v?(?P<release>\d+(\.\d+)*)[._-]?((?P<stage>[a-z]+)[._-]?(?P<n>\d*))?",
        str(version).lower().partition("+")[0],
    )
    if match is None:
        raise ValueError(f"Invalid version: '{version}'")
    release = [int(number) for number in match["release"].split(".")]
    stage = _BEFORE.get(match["stage"] or "", 1 if match["stage"] == "post" else 0)
    return release, (stage, int(match["n"] or 0))


def _compare(a: object, b: object) -> int:
    (left, left_stage), (right, right_stage) = _parts(a), _parts(b)
    for x, y in zip_longest(left, right, fillvalue=0):
        if x != y:
            return 1 if x > y else -1
    return (left_stage > right_stage) - (left_stage < right_stage)


class TorchVersion(str):
    """A version that compares as one, with strings and with tuples.

    >>> from ember.as_torch.version import TorchVersion
    >>> TorchVersion("2.13.0+cpu") > "2.9", TorchVersion("2.13.0") >= (2, 13)
    (True, True)
    """

    def _order(self, other: object) -> int | None:
        try:
            return _compare(self, other)
        except ValueError:
            return None

    def __eq__(self, other: object) -> bool:
        order = self._order(other)
        return str.__eq__(self, str(other)) if order is None else order == 0

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: object) -> bool:
        return _compare(self, other) < 0

    def __le__(self, other: object) -> bool:
        return _compare(self, other) <= 0

    def __gt__(self, other: object) -> bool:
        return _compare(self, other) > 0

    def __ge__(self, other: object) -> bool:
        return _compare(self, other) >= 0

    __hash__ = str.__hash__
