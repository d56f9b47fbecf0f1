"""The agent: one on each host. It starts workers, watches them and the other agents,
and begins again with whoever is there when one fails."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

from ember.distributed import _world
from ember.distributed._errors import DistNetworkError
from ember.distributed._secret import VARIABLE
from ember.distributed._stores import PrefixStore, TCPStore
from ember.distributed.elastic import _workers
from ember.distributed.elastic._meeting import Meeting, Round
from ember.distributed.elastic.multiprocessing.errors import (
    ChildFailedError,
    ProcessFailure,
)

BEAT = 1.0  # seconds between looks at the other hosts


class SignalException(Exception):
    """The agent was told to end."""

    def __init__(self, message: str, sigval: signal.Signals) -> None:
        super().__init__(message)
        self.sigval = sigval


class _Failed(Exception):
    """Workers of this host failed."""

    def __init__(self, failures: dict[int, ProcessFailure]) -> None:
        super().__init__("workers failed")
        self.failures = failures


class _Again(Exception):
    """The round is over for another reason than this host's workers."""


class Agent:
    """Runs `entry` (a command or a function) as a `LaunchConfig` says."""

    def __init__(self, config: Any, entry: Any, args: tuple[Any, ...]) -> None:
        self.config, self.entry, self.args = config, entry, args
        self.single = config.max_nodes == 1
        self.host, self.port = config.endpoint()
        self.restarts = 0
        self.workers: list[_workers.Worker] = []
        if self.single and VARIABLE not in os.environ:
            os.environ[VARIABLE] = secrets.token_hex(32)  # of this run, and its workers
        self.folder = config.log_dir or tempfile.mkdtemp(prefix="ember_run_")
        if config.log_dir:
            os.makedirs(config.log_dir, exist_ok=True)
            name = f"{config.run_id}_"
            self.folder = tempfile.mkdtemp(prefix=name, dir=config.log_dir)
        self.store = self._open_store()
        self.port = self.store.port
        self.meeting = Meeting(
            PrefixStore(f"/elastic/{config.run_id}", self.store),
            config.min_nodes,
            config.max_nodes,
            config.nproc_per_node,
            index=config.node_rank,
            join_timeout=config.join_timeout,
            last_call=config.last_call_timeout,
        )

    def _open_store(self) -> TCPStore:
        """Keep the store if the endpoint is here and nobody does yet, else find it."""
        first = self.config.node_rank in (None, 0)
        if first and (self.single or _is_this_host(self.host)):
            try:
                return TCPStore(
                    self.host, self.port, is_master=True, wait_for_workers=False
                )
            except DistNetworkError:
                if self.single:
                    raise  # the port is taken
        return TCPStore(self.host, self.port, wait_for_workers=False)

    # --- rounds ---

    def run(self) -> dict[int, Any]:
        """Until the program has ended well on all hosts; results of functions by rank.
        Raises ChildFailedError when there are no restarts left."""
        number, begun = -1, time.time()
        with _Signals(self.config.signals_to_handle), _swept(begun):
            while True:
                round_ = self.meeting.join(number)
                number = round_.number
                try:
                    return self._try(round_)
                except _Failed as failed:
                    self._say(round_, failed.failures)
                    if self.restarts >= self.config.max_restarts:
                        self.meeting.fail(round_, "no restarts are left")
                        raise ChildFailedError(
                            _name(self.entry), failed.failures
                        ) from None
                    self.restarts += 1
                    self.meeting.fail(round_, f"workers of host {round_.index} failed")
                except _Again as again:
                    if "no restarts are left" in str(again):
                        raise RuntimeError(f"another host failed: {again}") from None
                    if "failed" in str(again):
                        self.restarts += 1
                    print(f"emberrun: {again}; beginning again", file=sys.stderr)
                except SignalException as told:
                    _workers.stop(self.workers, told.sigval)
                    raise
                finally:
                    _workers.stop(self.workers)

    def _try(self, round_: Round) -> dict[int, Any]:
        self.workers = []
        for local_rank in range(self.config.nproc_per_node):
            self.workers.append(self._start(round_, local_rank))
        finished = False
        next_beat = 0.0
        while True:
            codes = [worker.ended() for worker in self.workers]
            if any(codes):
                raise _Failed(self._failures())
            if not finished and all(code == 0 for code in codes):
                finished = True
                self.meeting.done(round_)
            if finished and self.meeting.all_done(round_):
                return {w.rank: w.result for w in self.workers}
            if time.monotonic() >= next_beat and not self.single:
                next_beat = time.monotonic() + BEAT
                if why := self.meeting.beat(round_):
                    raise _Again(why)
            time.sleep(self.config.monitor_interval)

    def _failures(self) -> dict[int, ProcessFailure]:
        """How the failed workers ended, before the others are ended by us."""
        return {
            w.rank: ProcessFailure(w.local_rank, w.pid, code, w.error_file)
            for w in self.workers
            if (code := w.ended())
        }

    def _start(self, round_: Round, local_rank: int) -> _workers.Worker:
        config, rank = self.config, round_.first_rank + local_rank
        size, count = str(round_.world_size), str(config.nproc_per_node)
        variables = {
            "RANK": str(rank),
            "LOCAL_RANK": "0" if config.virtual_local_rank else str(local_rank),
            "GROUP_RANK": str(round_.index),
            "ROLE_RANK": str(rank),
            "ROLE_NAME": config.role,
            "WORLD_SIZE": size,
            "LOCAL_WORLD_SIZE": count,
            "GROUP_WORLD_SIZE": str(len(round_.workers)),
            "ROLE_WORLD_SIZE": size,
            "MASTER_ADDR": self.host,
            "MASTER_PORT": str(self.port),
            "TORCHELASTIC_RESTART_COUNT": str(self.restarts),
            "TORCHELASTIC_MAX_RESTARTS": str(config.max_restarts),
            "TORCHELASTIC_RUN_ID": config.run_id,
            "TORCHELASTIC_USE_AGENT_STORE": "True",
            "EMBER_ELASTIC_ROUND": str(round_.number),
        }
        if config.local_addr:
            variables["EMBER_DISTRIBUTED_ADDRESS"] = config.local_addr
        if config.nproc_per_node > 1:  # workers that all use all cores are in their way
            variables["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS", "1")
        output = _workers.Output(
            os.path.join(self.folder, f"attempt_{round_.number}"),
            config.redirects,
            config.tee,
            config.local_ranks_filter,
            config.role,
        )
        return _workers.start(
            self.entry,
            self.args,
            rank,
            local_rank,
            variables,
            output,
            config.start_method,
        )

    def _say(self, round_: Round, failures: dict[int, ProcessFailure]) -> None:
        left = self.config.max_restarts - self.restarts
        for rank, failure in sorted(failures.items()):
            print(
                f"emberrun: rank {rank} (pid {failure.pid}) failed in round "
                f"{round_.number} with exit code {failure.exitcode}: "
                f"{failure.message}; {left} restarts are left",
                file=sys.stderr,
            )


class _Signals:
    """Signals that end the agent become exceptions, so that it ends its workers."""

    def __init__(self, names: Sequence[str]) -> None:
        self.numbers = [signal.Signals[name.strip()] for name in names if name.strip()]
        self.before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> None:
        def told(number: int, _: FrameType | None) -> None:
            which = signal.Signals(number)
            raise SignalException(f"Process {os.getpid()} got signal: {number}", which)

        try:
            for number in self.numbers:
                self.before[number] = signal.signal(number, told)
        except ValueError:
            pass  # not in the main thread: whoever is there handles them

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _swept(begun: float) -> Iterator[None]:
    """Afterwards, shared memory of workers that were killed while MPI began is gone:
    what came up since `begun` and, for a while, no process has mapped."""
    try:
        yield
    finally:
        _world.sweep_abandoned(begun)


def _name(entry: str | Sequence[str] | Callable[..., Any]) -> str:
    if callable(entry):
        return getattr(entry, "__qualname__", repr(entry))
    words = [word for word in entry if not word.startswith("-")]
    return words[1] if len(words) > 1 else words[0]


def _is_this_host(name: str) -> bool:
    """Whether a name is one of this host's."""
    if name in ("localhost", socket.gethostname(), socket.getfqdn()):
        return True
    try:
        addresses = {a[4][0] for a in socket.getaddrinfo(name, None)}
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            for address in addresses:
                try:
                    probe.bind((str(address), 0))
                    return True
                except OSError:
                    continue
    except OSError:
        pass
    return False
