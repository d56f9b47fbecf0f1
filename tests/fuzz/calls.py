"""`python -m tests.fuzz.calls` calls everything with bad arguments, in forked batches.

    python -m tests.fuzz.calls --calls 1000000 --jobs 2
    python -m tests.fuzz.calls --only "Tensor.index" --minutes 5 --seed 3
    python -m tests.fuzz.calls --torch             # does torch do the same?
    python -m tests.fuzz.calls --run 'r = ember.add(t(3), None)'

A call is text (see tests/fuzz/texts.py), drawn from the seed and its number. A crash, a
hang, a limit that was hit, an error that only a bug can raise, a state that was left
changed: each is printed once for a callable and a kind, and the exit code is 1.

With `--torch` the calls that are found, and those that were stopped though they take
long by nature (`targets.ENDLESS`), are made in torch too: what torch does as well is no
finding.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field

import ember
from tests.fuzz import sandbox
from tests.fuzz.targets import LASTS, Target, find

BATCH = 500
BLOCKED = 60  # seconds without a call ending after which a child counts as blocked
LASTING = 3  # calls of a callable that take long by nature that torch is asked about
LONG = ("hang", "blocked", "memory filled")
# What torch says to the same; the last two: it can't be asked, as it does not have the
# private name or does not do it without a compiler.
LONG_IN_TORCH = ("hang", "blocked", "MemoryError", "allocate memory", "bad_alloc",
                 "module 'torch._C' has no", "UncapturedHigherOrderOp")  # fmt: skip


@dataclass
class Finding:
    index: int
    name: str
    kind: str  # "SIGSEGV", "hang", "SystemError ..."
    text: str
    detail: str = ""
    torch: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.name, self.kind.partition(":")[0]

    @property
    def long(self) -> bool:
        return self.kind.startswith(LONG)

    def ask_torch(self) -> bool:
        """Whether torch does the same: takes as long or as much, or dies as well."""
        self.torch = alone(self.text)
        if self.long:
            return any(word in self.torch for word in LONG_IN_TORCH)
        return self.kind.startswith("SIG") and self.torch.startswith("SIG")


@dataclass
class Batch:
    """A running child."""

    pid: int
    pipe: int
    note: mmap.mmap
    scratch: str
    end: int
    next: int | None = None  # where to go on; None while it runs
    seen: int = -1
    since: float = field(default_factory=time.monotonic)
    buffer: bytes = b""


class Fuzzer:
    def __init__(
        self,
        seed: int,
        only: str | None = None,
        without: str | None = None,
        quiet: bool = False,
        patience: float = 1,
    ) -> None:
        """`patience`: a call that was stopped gets so many times as long, alone, before
        it counts as a hang; for machines that are slow or busy."""
        self.seed, self.quiet, self.patience = seed, quiet, patience
        self.without = re.compile(without) if without else None
        sandbox.State(ember).sane()  # what it imports, every child has
        found = find()
        pattern = re.compile(only or "")
        self.targets: list[Target] = [t for n, t in found.items() if pattern.search(n)]
        self.findings: dict[tuple[str, str], Finding] = {}
        self.lasting: dict[tuple[str, str], list[Finding]] = {}
        self.repeats: Counter = Counter()
        self.outcomes: Counter = Counter()
        self.fine: set[str] = set()
        self.slow: set[str] = set()
        self.calls = self.endless = 0
        self.root = tempfile.mkdtemp(prefix="ember-calls-")

    def start(
        self, first: int, end: int, text: str | None = None, patience: float = 1
    ) -> Batch:
        """Fork a child that makes these calls, or the one of `text`."""
        note = mmap.mmap(-1, sandbox.NOTE)
        struct.pack_into("<qi", note, 0, first - 1, 0)  # before the child writes there
        scratch = tempfile.mkdtemp(dir=self.root)
        read, write = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(read)
                child = sandbox.Child(ember, note, write, scratch)
                if text is not None:
                    child.one(text, patience)
                calls = range(first, end)
                child.run(self.targets, self.seed, calls, self.slow, self.without)
            except BaseException as error:
                odd = f"the library is broken: {error!r}"
                child.send(index=end, name="batch", text=f"after {first}", odd=odd)
            finally:
                os._exit(99)
        os.close(write)
        os.set_blocking(read, False)
        return Batch(pid, read, note, scratch, end)

    def drain(self, batch: Batch) -> None:
        while True:
            try:
                data = os.read(batch.pipe, 1 << 16)
            except BlockingIOError:
                break
            if not data:
                break
            batch.buffer += data
        *whole, batch.buffer = batch.buffer.split(b"\n")
        for line in whole:
            message = json.loads(line)
            if "next" in message:
                batch.next = message["next"]
                self.outcomes.update(message["outcomes"])
                self.fine.update(message["fine"])
            else:
                self.add(
                    Finding(*(message[k] for k in ("index", "name", "odd", "text")))
                )

    def add(self, finding: Finding) -> None:
        if finding.long and LASTS.search(f"{finding.name} {finding.text}"):
            self.endless += 1
            kept = self.lasting.setdefault(finding.key, [])
            if len(kept) < LASTING:
                kept.append(finding)
            return
        self.repeats[finding.key] += 1
        if finding.key in self.findings:
            return
        self.findings[finding.key] = finding
        if not self.quiet:
            print(show(finding), flush=True)

    def noted(self, batch: Batch) -> tuple[int, str, str]:
        index, length = struct.unpack("<qi", batch.note[:12])
        text = batch.note[16 : 16 + length].decode("utf-8", "replace")
        name, _, call = text.partition("\n")
        return index, name, call

    def log(self, batch: Batch) -> str:
        """What the child printed at its end, without the frames of the fuzzer."""
        with open(f"{batch.scratch}/log", "rb") as log:
            text = log.read()[-4000:].decode("utf-8", "replace")
        lines = [line for line in text.splitlines() if line.strip()]
        ours = (
            "tests/fuzz/",
            "<frozen",
            "Fatal Python",
            "most recent",
            "Extension mod",
        )
        return "\n".join(line for line in lines if not any(o in line for o in ours))

    def dies(self, text: str, patience: float = 1) -> bool:
        batch = self.start(0, 1, text, patience)
        _, status = os.waitpid(batch.pid, 0)
        os.close(batch.pipe)
        return os.WIFSIGNALED(status)

    def finish(self, batch: Batch, status: int, blocked: bool) -> int:
        """Where to go on after a child that ended."""
        self.drain(batch)
        os.close(batch.pipe)
        index, name, call = self.noted(batch)
        if batch.next is None:
            number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            kind = signal.Signals(number).name if number else f"exit {status >> 8}"
            if blocked:
                kind = "blocked"
            elif number == signal.SIGPROF:
                kind = "hang"
                self.slow.add(name)
            detail = "" if kind == "hang" else self.log(batch)
            known = (name, kind) in self.findings or not kind.startswith("SIG")
            if not known and not self.dies(call):
                kind = f"{kind} after what came before"
            hasty = kind == "hang" and self.patience > 1
            if not hasty or self.dies(call, self.patience):
                self.add(Finding(index, name, kind, call, detail))
            batch.next = index + 1
        elif "runtime error: " in (log := self.log(batch)):  # of a sanitizer
            self.add(Finding(index, "batch", "undefined behaviour", "", log))
        batch.note.close()
        shutil.rmtree(batch.scratch, ignore_errors=True)
        return batch.next

    def run(self, calls: int, jobs: int = 1, until: float = float("inf")) -> None:
        """Make that many calls, or stop at the time `until`."""
        todo = [(at, min(at + BATCH, calls)) for at in range(0, calls, BATCH)][::-1]
        running: list[Batch] = []
        shown = time.monotonic()
        while todo or running:
            if time.monotonic() > until:
                todo.clear()
            while todo and len(running) < jobs:
                running.append(self.start(*todo.pop()))
            select.select([b.pipe for b in running], [], [], 0.05)
            for batch in list(running):
                self.drain(batch)
                index = self.noted(batch)[0]
                if index != batch.seen:
                    batch.seen, batch.since = index, time.monotonic()
                blocked = time.monotonic() - batch.since > BLOCKED
                if blocked:
                    os.kill(batch.pid, signal.SIGKILL)
                pid, status = os.waitpid(batch.pid, 0 if blocked else os.WNOHANG)
                if pid:
                    running.remove(batch)
                    first = self.noted(batch)[0]
                    on = self.finish(batch, status, blocked)
                    self.calls = max(self.calls, first)
                    if on < batch.end:
                        todo.append((on, batch.end))
            if not self.quiet and time.monotonic() - shown > 60:
                shown = time.monotonic()
                print(
                    f"... {self.calls} calls, {len(self.findings)} findings", flush=True
                )
        shutil.rmtree(self.root, ignore_errors=True)


def show(finding: Finding) -> str:
    lines = [f"\n{finding.kind}: {finding.name} (call {finding.index})"]
    lines += [f"    {line}" for line in finding.text.splitlines()]
    lines += [f"  | {line}" for line in finding.detail.strip().splitlines()[:12]]
    if finding.torch:
        lines.append(f"  torch: {finding.torch}")
    return "\n".join(lines)


ON_TORCH = """
import resource, signal, sys, warnings
import numpy as np
import LIBRARY as lib
import builtins
from tests.fuzz import hostile
lib.set_num_threads(1)
warnings.simplefilter("ignore")
names = hostile.words(lib)
names["backward"] = hostile.backward
with open("/proc/self/statm") as statm:
    size = int(statm.read().split()[0]) * resource.getpagesize() + MEMORY
resource.setrlimit(resource.RLIMIT_AS, (size, size))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
signal.setitimer(signal.ITIMER_PROF, SECONDS)
try:
    exec(compile(sys.argv[1], "<call>", "exec"), names)
    hostile.use(names.get("r"), lib)
    print("fine:", repr(names.get("r"))[:500])
except BaseException as error:
    print(f"{type(error).__name__}: {str(error)[:500]}")
"""


def alone(text: str, library: str = "torch") -> str:
    """What comes of a call in a process of its own."""
    program = ON_TORCH.replace("LIBRARY", library)
    program = program.replace("MEMORY", str(sandbox.MEMORY))
    program = program.replace("SECONDS", str(sandbox.SECONDS))
    command = [sys.executable, "-X", "faulthandler", "-c", program, text]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return "blocked"
    if done.returncode < 0:
        number = -done.returncode
        kind = "hang" if number == signal.SIGPROF else signal.Signals(number).name
        return kind if library == "torch" else f"{kind}\n{done.stderr[-2000:]}"
    return done.stdout.strip() or done.stderr.strip()[-300:]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz.calls",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--calls", type=int, default=None)
    parser.add_argument("--minutes", type=float, default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="a regular expression for names of callables")
    parser.add_argument("--without", help="a regular expression for text to pass over")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--torch", action="store_true", help="run findings on torch too"
    )
    parser.add_argument("--run", help="the text of one call to run here and on torch")
    parser.add_argument(
        "--untouched", action="store_true", help="list what never worked"
    )
    options = parser.parse_args()
    if options.run:
        text = options.run.replace("\\n", "\n")
        print("ember:", alone(text, "ember"))
        if options.torch:
            print("torch:", alone(text))
        return 0
    calls = options.calls or (10**9 if options.minutes else 100_000)
    until = float("inf")
    if options.minutes:
        until = time.monotonic() + 60 * options.minutes
    fuzzer = Fuzzer(options.seed, options.only, options.without)
    print(f"{len(fuzzer.targets)} callables", flush=True)
    begin = time.monotonic()
    fuzzer.run(calls, options.jobs, until)
    took = time.monotonic() - begin
    found = list(fuzzer.findings.values())
    if options.torch:
        lasting = [f for kept in fuzzer.lasting.values() for f in kept]
        found = [f for f in [*found, *lasting] if not f.ask_torch()]
        print(f"\ntorch was asked about {len(fuzzer.findings)} findings and ", end="")
        print(f"{len(lasting)} calls that take long; it does otherwise in:", flush=True)
        print("\n".join(map(show, found)))
    fine = fuzzer.outcomes["fine"]
    print(
        f"\n{fuzzer.calls} calls in {took:.0f} s ({fuzzer.calls / took:.0f} per second)"
    )
    print(f"{fine} gave a result, of {len(fuzzer.fine)} callables; errors:", end=" ")
    print(
        ", ".join(f"{n} {k}" for k, n in fuzzer.outcomes.most_common(8) if k != "fine")
    )
    print(
        f"{fuzzer.endless} were stopped that take long by nature (see targets.ENDLESS)"
    )
    if options.untouched:
        print("\n".join(sorted({t.name for t in fuzzer.targets} - fuzzer.fine)))
    print(f"{len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
