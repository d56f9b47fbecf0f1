"""How the agents of several hosts agree on who takes part.

Everything is in a store that one of them keeps. A *round* is one try of the program:

    round               its number
    R/joined            how many agents have come; the one that closes it adds CLOSED
    R/node/I            what agent I has: its number of workers, its host
    R/closed            how many take part
    R/beat/I            a number that agent I counts up while it lives
    R/failed            why the round is over: the next one begins
    R/done              how many agents are through
    R/waiting           how many came too late, and wait for the next round
"""

from __future__ import annotations

import json
import socket
import time
from dataclasses import dataclass

from ember.distributed._errors import DistError
from ember.distributed._stores import Store

CLOSED = 1_000_000
LOST = 10.0  # seconds without a beat


class RendezvousClosedError(DistError):
    """Too few agents came in time."""


@dataclass
class Round:
    """Who takes part in a try."""

    number: int
    index: int  # of this agent
    workers: list[int]  # of each agent

    @property
    def first_rank(self) -> int:
        return sum(self.workers[: self.index])

    @property
    def world_size(self) -> int:
        return sum(self.workers)


class Meeting:
    """This agent's view of the rounds."""

    def __init__(
        self,
        store: Store,
        least: int,
        most: int,
        workers: int,
        *,
        index: int | None = None,
        join_timeout: float = 600.0,
        last_call: float = 5.0,
    ) -> None:
        """`index`: the place of this agent, where it is given beforehand."""
        self.store, self.least, self.most, self.workers = store, least, most, workers
        self.index, self.join_timeout, self.last_call = index, join_timeout, last_call
        self.beats = 0
        self.seen: dict[int, tuple[bytes, float]] = {}

    # --- joining ---

    def join(self, after: int = -1) -> Round:
        """Take part in the first round later than `after` that one can."""
        if after >= 0:
            self.store.compare_set("round", str(after), str(after + 1))
        else:
            self.store.compare_set("round", "", "0")
        end = time.monotonic() + self.join_timeout
        while True:
            number = int(self.store.get("round"))
            made = self._join(number, end)
            if made is not None:
                self.seen.clear()
                return made
            self.store.add(f"{number}/waiting", 1)
            while int(self.store.get("round")) == number:
                if time.monotonic() > end:
                    raise RendezvousClosedError(
                        f"round {number} has begun without this host and did not end "
                        f"within {self.join_timeout:g} s"
                    )
                time.sleep(0.1)

    def _join(self, number: int, end: float) -> Round | None:
        came = self.store.add(f"{number}/joined", 1) - 1
        if came >= self.most:
            return None
        index = came if self.index is None else self.index
        told = json.dumps({"workers": self.workers, "host": socket.gethostname()})
        self.store.set(f"{number}/node/{index}", told)
        if came == 0:
            self._close(number, end)
        while not self.store.check([f"{number}/closed"]):
            if time.monotonic() > end:
                raise RendezvousClosedError(
                    f"the agent that opened round {number} did not close it"
                )
            time.sleep(0.02)
        count = int(self.store.get(f"{number}/closed"))
        if index >= count:
            return None
        nodes = [json.loads(self.store.get(f"{number}/node/{i}")) for i in range(count)]
        return Round(number, index, [node["workers"] for node in nodes])

    def _close(self, number: int, end: float) -> None:
        """Of the first one to come: wait for enough others, and a little for more."""
        last_call = None
        while True:
            now = time.monotonic()
            came = self.store.add(f"{number}/joined", 0)
            if came >= self.least and last_call is None:
                last_call = now + self.last_call
            if came >= self.most or (last_call is not None and now > last_call):
                break
            if now > end:
                raise RendezvousClosedError(
                    f"{came} of at least {self.least} hosts came within "
                    f"{self.join_timeout:g} s"
                )
            time.sleep(0.02)
        came = self.store.add(f"{number}/joined", CLOSED) - CLOSED
        self.store.set(f"{number}/closed", str(min(came, self.most)))

    # --- during a round ---

    def beat(self, round_: Round) -> str:
        """Tell that this agent lives; why the round is over, or nothing."""
        self.beats += 1
        self.store.set(f"{round_.number}/beat/{round_.index}", str(self.beats))
        if self.store.check([f"{round_.number}/failed"]):
            return self.store.get(f"{round_.number}/failed").decode()
        for index in range(len(round_.workers)):
            if index != round_.index and self._is_lost(round_.number, index):
                return self.fail(round_, f"host {index} is lost")
        if len(round_.workers) < self.most and self.store.add(
            f"{round_.number}/waiting", 0
        ):
            return self.fail(round_, "another host has come")
        return ""

    def _is_lost(self, number: int, index: int) -> bool:
        key, now = f"{number}/beat/{index}", time.monotonic()
        value = self.store.get(key) if self.store.check([key]) else b""
        known = self.seen.get(index)
        if known is None or known[0] != value:
            self.seen[index] = value, now
            return False
        return now - known[1] > LOST

    def fail(self, round_: Round, why: str) -> str:
        """End the round for all; the first reason counts."""
        return self.store.compare_set(f"{round_.number}/failed", "", why).decode()

    def done(self, round_: Round) -> int:
        """This agent is through; how many are."""
        return self.store.add(f"{round_.number}/done", 1)

    def all_done(self, round_: Round) -> bool:
        """Whether all agents of the round are through."""
        count = self.store.add(f"{round_.number}/done", 0)
        return count >= len(round_.workers)
