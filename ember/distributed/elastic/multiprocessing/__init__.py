"""What workers tell their agent."""

from ember.distributed.elastic.multiprocessing.errors import (
    ChildFailedError,
    ProcessFailure,
    record,
)

__all__ = ["ChildFailedError", "ProcessFailure", "record"]
