"""A barrier through the store, which knows who did not come."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any


def monitored_barrier(group: Any, timeout: timedelta, wait_all_ranks: bool) -> None:
    """Rank 0 waits for a key of every other; they wait for its answer."""
    store, rank, size = group._store, group.rank(), group.size()
    group._barriers = getattr(group, "_barriers", 0) + 1
    here = f"monitored/{group._barriers}"
    seconds = timeout.total_seconds()
    if rank:
        store.set(f"{here}/{rank}", "")
        try:
            store.wait([f"{here}/open"], timeout)
        except Exception:
            raise RuntimeError(
                f"Rank {rank} successfully reached monitoredBarrier, but "
                "received errors while "
                "waiting for send/recv from rank 0. Please check rank 0 logs "
                "for faulty rank. "
                f"(timed out after {round(seconds * 1000)}ms)"
            ) from None
        return
    end, absent = time.monotonic() + seconds, []
    for other in range(1, size):
        left = timedelta(seconds=max(0.0, end - time.monotonic()))
        try:
            store.wait([f"{here}/{other}"], left)
        except Exception:
            absent.append(other)
            if not wait_all_ranks:
                break
    if absent:
        raise RuntimeError(
            f"[Rank 0]: Rank{'s' if len(absent) > 1 else ''} "
            f"{', '.join(map(str, absent))} failed "
            f"to pass monitoredBarrier in {round(seconds * 1000)} ms"
        )
    store.set(f"{here}/open", "")
