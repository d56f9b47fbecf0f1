"""Runs fuzzed calls in a forked child: with limits, and with a note of each call before
it is made, so that the parent knows which one ended the child.

What a call does to the library's state, to reference counts of Python's own objects and
to errors that nobody sees is looked at after each.
"""

from __future__ import annotations

import builtins
import faulthandler
import json
import mmap
import os
import re
import resource
import signal
import struct
import sys
import tempfile
import time
import warnings
from collections import Counter
from typing import Any

from tests.fuzz import hostile
from tests.fuzz.targets import STATEFUL, Target
from tests.fuzz.texts import Draw

MEMORY = 3 << 29  # bytes that a child may take beyond what it has
SECONDS = 3  # of CPU for one call
FILES = 1 << 24  # bytes of a file
NOTE = 1 << 16
BLOCKED = """os.fork os.forkpty os.exec os.posix_spawn os.system os.kill os.killpg
    subprocess.Popen socket.connect socket.bind pty.spawn os.putenv os.unsetenv os.chdir
    shutil.rmtree ctypes.dlopen signal.pthread_kill os.chroot webbrowser.open""".split()
PATHS = """os.remove os.rename os.rmdir os.mkdir os.link os.symlink os.truncate os.chmod
    os.chown shutil.move shutil.copyfile""".split()
ODD_ERRORS = ("internal error in", "returned a result with an exception set",
              "returned NULL without setting", "bad argument to internal")  # fmt: skip
# What is said when a private attribute of one kind of tensor is asked of another; those
# of modules are torch's own, and so is what it says.
INSIDE = re.compile(
    r"'(ember\.Tensor|Parameter)' object has no attribute"
    r" '_(?!forward_pre_hooks|parameters)[a-z]"
)


def _audit(scratch: str) -> Any:
    """Refuses what would reach beyond the scratch directory."""

    def hook(event: str, args: tuple) -> None:
        if event in BLOCKED:
            raise PermissionError(f"{event} is blocked here")
        if event == "open":
            path, mode = args[0], args[1]
            if isinstance(path, int):
                raise PermissionError("descriptors are the fuzzer's own")
            if not mode or not set(str(mode)) & set("wax+"):
                return
        elif event not in PATHS:
            return
        for path in args[: 1 if event == "open" else 2]:
            if isinstance(path, (str, bytes, os.PathLike)):
                real = os.path.realpath(os.fsdecode(path))
                if not real.startswith((scratch, "/dev/null", "/dev/shm")):
                    raise PermissionError(f"{event} of {real} is blocked here")

    return hook


class State:
    """What calls must leave as it was."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self.first = self.now()

    def now(self) -> tuple:
        lib = self.lib
        return (
            lib.is_grad_enabled(),
            lib.is_inference_mode_enabled(),
            lib.get_default_dtype(),
            lib.get_default_device(),
            lib.is_autocast_enabled("cpu"),
            lib.is_anomaly_enabled(),
            lib._C._len_torch_function_stack(),
            lib._C._is_torch_function_enabled(),
            self.dispatch(),
        )

    def dispatch(self) -> tuple:
        """Whether `__torch_dispatch__` is off, and how many modes there are."""
        switch = self.lib._C._switch_dispatch
        found = switch(True, 0)
        switch(*found)
        return found

    def sane(self) -> str | None:
        """A training step whose numbers are known, or what is wrong with it."""
        lib = self.lib
        w = lib.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True)
        x = lib.arange(4.0).reshape(2, 2)
        loss = lib.nn.functional.mse_loss(lib.relu(x @ w), lib.ones(2, 2))
        loss.backward()
        lib.optim.SGD([w], 0.5).step()
        wanted = [[-0.25, -4.0], [-1.25, -0.5]]
        if w.tolist() != wanted:
            return f"a training step gives {w.tolist()}, not {wanted}"
        blocks = [lib.full((n,), n) for n in range(1, 200, 7)]
        for n, block in zip(range(1, 200, 7), blocks, strict=True):
            if block.sum().item() != n * n:
                return f"full(({n},), {n}) has the sum {block.sum().item()}"
        return None


COUNTED = (None, True, False, (), Ellipsis, NotImplemented, "")


class Child:
    """What runs in the fork: calls [start, end) of a seed."""

    def __init__(self, lib: Any, note: mmap.mmap, report: int, scratch: str) -> None:
        self.lib, self.note, self.report, self.scratch = lib, note, report, scratch
        self.words = hostile.words(lib)
        self.words.update(backward=hostile.backward)
        self.unraisable: list[str] = []
        self.outcomes: Counter = Counter()
        self.fine: set[str] = set()

    def send(self, **message: Any) -> None:
        os.write(self.report, json.dumps(message).encode() + b"\n")

    def limit(self) -> None:
        self.lib._C._die_with_parent(signal.SIGKILL)
        os.chdir(self.scratch)
        log = os.open(f"{self.scratch}/log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.dup2(null, 0)
        sys.stdout = sys.stderr = os.fdopen(os.dup(1), "w")
        with open("/proc/self/statm") as statm:
            size = int(statm.read().split()[0]) * resource.getpagesize() + MEMORY
        if not os.environ.get("ASAN_OPTIONS"):  # a sanitizer maps terabytes
            resource.setrlimit(resource.RLIMIT_AS, (size, size))
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILES, FILES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        faulthandler.enable(log)
        sys.addaudithook(_audit(os.path.realpath(self.scratch)))
        sys.unraisablehook = lambda args: self.unraisable.append(repr(args.exc_value))
        warnings.simplefilter("ignore")
        builtins.input = hostile._raise
        tempfile.tempdir = self.scratch

    def write(self, index: int, text: str) -> None:
        data = text.encode("utf-8", "backslashreplace")[: NOTE - 16]
        self.note[16 : 16 + len(data)] = data
        self.note[:12] = struct.pack("<qi", index, len(data))

    def one(self, text: str, patience: float) -> None:
        """Make a single call: did it take the calls before to end the child?"""
        self.limit()
        self.write(0, f"alone\n{text}")
        self.call("alone", text, patience)
        self.send(next=1, outcomes=self.outcomes, fine=[])
        os._exit(0)

    @staticmethod
    def careless(error: BaseException, message: str) -> bool:
        """Whether an error is one that nobody meant to raise."""
        if isinstance(error, AttributeError):
            return INSIDE.search(message) is not None
        return isinstance(error, NameError)

    def call(self, name: str, text: str, patience: float = 1) -> str | None:
        """Make the call; what is odd about what came of it."""
        names = dict(self.words)
        self.unraisable.clear()
        signal.setitimer(signal.ITIMER_PROF, SECONDS * patience)
        error: BaseException | None = None
        began = time.process_time()
        try:
            exec(compile(text, "<call>", "exec"), names)
            hostile.use(names["r"], self.lib)
        except SyntaxError as e:
            error = e
            if e.filename == "<call>":
                return f"the fuzzer's own: {e}"
        except BaseException as e:
            error = e.with_traceback(None)
        names.clear()
        odd = None
        if error is not None:
            self.outcomes[type(error).__name__] += 1
            try:
                message = str(error)
            except Exception:  # of what is in it: a KeyError shows its key
                message = ""
            if (
                isinstance(error, SystemError)
                or any(o in message for o in ODD_ERRORS)
                or self.careless(error, message)
            ):
                odd = f"{type(error).__name__}: {message[:300]}"
            elif isinstance(error, MemoryError) or "allocate memory" in message:
                # Refused at once is right; filling the memory first is not.
                if time.process_time() - began > 0.5:
                    odd = f"memory filled: {message[:300]}"
            elif not isinstance(error, Exception) and not isinstance(
                error, GeneratorExit
            ):
                odd = f"{type(error).__name__}: {message[:300]}"
        else:
            self.outcomes["fine"] += 1
            self.fine.add(name)
        if self.unraisable and "Evil" not in self.unraisable[0]:
            odd = odd or f"an error nobody sees: {self.unraisable[0][:300]}"
        return odd

    def run(
        self,
        targets: list[Target],
        seed: int,
        calls: range,
        slow: set[str],
        without: re.Pattern | None = None,
    ) -> None:
        """Make the calls; `without` is a pattern of text that is passed over."""
        start, end = calls.start, calls.stop
        self.limit()
        state, cache = State(self.lib), CACHE
        counts = [sys.getrefcount(o) for o in COUNTED]
        for index in calls:
            draw = Draw(f"{seed}/{index}", cache)
            target = targets[draw.random.randrange(len(targets))]
            draw.huge = target.name not in slow
            text = draw.text(target)
            if without is not None and without.search(text):
                continue
            self.write(index, f"{target.name}\n{text}")
            odd = self.call(target.name, text)
            if state.now() != state.first:
                if not STATEFUL.search(f"{target.name} {text}"):
                    odd = odd or f"state left as {state.now()}"
                if odd:
                    self.send(index=index, name=target.name, text=text, odd=odd)
                self.send(
                    next=index + 1, outcomes=self.outcomes, fine=sorted(self.fine)
                )
                os._exit(0)
            if odd:
                self.send(index=index, name=target.name, text=text, odd=odd)
        self.write(end, "the end of the batch\n")
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        wrong = state.sane()
        for o, before in zip(COUNTED, counts, strict=True):
            if sys.getrefcount(o) < before - 1000:
                wrong = (
                    wrong or f"{before - sys.getrefcount(o)} references to {o!r} lost"
                )
        if wrong:
            self.send(
                index=end, name="batch", text=f"calls {start} to {end}", odd=wrong
            )
        self.send(next=end, outcomes=self.outcomes, fine=sorted(self.fine))
        os._exit(0)


CACHE: dict = {}  # of spans; the parent fills what every child needs
