"""`spawn`: run a function in several processes, and fail if one of them fails."""

import signal
import traceback
from multiprocessing import connection

from ember.multiprocessing._context import default_context


class ProcessException(Exception):
    """A process of `spawn` has failed; which one is in the attributes."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.pid = pid

    def __reduce__(self) -> tuple:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """It raised an exception; the message has its traceback."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg, error_index, error_pid)
        self.error_pid = error_pid


class ProcessExitedException(ProcessException):
    """It was killed, or called `exit` with something other than 0."""

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int,
        exit_code: int,
        signal_name: str | None = None,
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.error_pid = error_pid
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> tuple:
        args = (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)
        return type(self), args


def _run(fn, index: int, args: tuple, errors) -> None:
    from ember._C import _die_with_parent

    _die_with_parent(signal.SIGINT)
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the parent was interrupted too, and says so
    except Exception:
        errors.send(traceback.format_exc())
        raise SystemExit(1) from None


class ProcessContext:
    """The processes that `start_processes` started."""

    def __init__(self, processes: list, errors: list) -> None:
        self.processes = processes
        self._errors = errors
        self.sentinels = {p.sentinel: i for i, p in enumerate(processes)}

    def pids(self) -> list[int]:
        """Their process ids."""
        return [process.pid for process in self.processes]

    def join(
        self, timeout: float | None = None, grace_period: float | None = None
    ) -> bool:
        """Wait until one ends; True if all have. Raises if one has failed.

        The others are then terminated, and killed if they have not ended after
        `grace_period` seconds (30 by default).
        """
        if not self.sentinels:
            return True
        ready = connection.wait(self.sentinels, timeout)
        failed = None
        for sentinel in ready:
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0 and failed is None:
                failed = index
        if failed is None:
            return not self.sentinels
        self._stop(30.0 if grace_period is None else grace_period)
        raise self._error(failed)

    def _stop(self, grace_period: float) -> None:
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(grace_period)
            if process.is_alive():
                process.kill()
                process.join()

    def _error(self, index: int) -> ProcessException:
        process, errors = self.processes[index], self._errors[index]
        text = None
        try:
            if errors.poll():
                text = errors.recv()
        except (EOFError, OSError):
            pass
        if text is not None:
            message = f"\n\n-- Process {index} terminated with the following error:\n"
            return ProcessRaisedException(message + text, index, process.pid)
        code = process.exitcode
        if code < 0:
            name = _signal_name(-code)
            message = f"process {index} terminated with signal {name}"
            return ProcessExitedException(message, index, process.pid, code, name)
        message = f"process {index} terminated with exit code {code}"
        return ProcessExitedException(message, index, process.pid, code)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"<Unknown signal {number}>"


class SpawnContext(ProcessContext):
    """What `spawn(..., join=False)` returns."""


def start_processes(
    fn,
    args: tuple = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
    numa_options=None,
) -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` processes; see `spawn`."""
    return _start(ProcessContext, fn, args, nprocs, join, daemon, start_method)


def _start(kind, fn, args, nprocs, join, daemon, start_method) -> ProcessContext | None:
    mp = default_context.get_context(start_method)
    processes, errors = [], []
    for index in range(nprocs):
        receiver, sender = mp.Pipe(duplex=False)
        process = mp.Process(target=_run, args=(fn, index, args, sender), daemon=daemon)
        process.start()
        sender.close()
        processes.append(process)
        errors.append(receiver)
    context = kind(processes, errors)
    if not join:
        return context
    try:
        while not context.join():
            pass
    except KeyboardInterrupt:
        context._stop(5.0)
        raise
    return None


def spawn(
    fn,
    args: tuple = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` new processes, `i` from 0.

    With `join`, wait for them; if one fails, the others are terminated and its error is
    raised here: `ProcessRaisedException` with the traceback, or
    `ProcessExitedException`. Without, return a context to `join`. `fn` has to be at the
    top level of a module that the processes can import.

        def train(rank, model): ...

        if __name__ == "__main__":
            ember.multiprocessing.spawn(train, (model,), nprocs=2)
    """
    if start_method != "spawn":
        import warnings

        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}). To "
            "use a different start_method use: start_processes",
            FutureWarning,
            stacklevel=2,
        )
    return _start(SpawnContext, fn, args, nprocs, join, daemon, start_method)
