"""`CheckpointException`: what went wrong, on which ranks."""

from __future__ import annotations

import traceback
from typing import Any


class CheckpointException(BaseException):
    """A step of saving or loading failed on some ranks; all of them raise this.

    `failures` has for each such rank the error and where it was raised.
    """

    def __init__(self, msg: str, failures: dict[int, Any]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, Any]:
        """Rank -> error and traceback."""
        return self._failures

    def __str__(self) -> str:
        text = f"CheckpointException ranks:{list(self._failures)}"
        for rank, failure in self._failures.items():
            error, stack = failure if isinstance(failure, tuple) else (failure, [])
            text += f"\nTraceback (most recent call last): (RANK {rank})\n"
            text += "".join(traceback.format_list(stack))
            text += "".join(traceback.format_exception_only(type(error), error))
        return f"{self.args[0]}: {text}" if self.args[0] else text
