"""Running a function in a forked process with little time and memory."""

import os
import resource
import signal
import sys
from collections.abc import Callable

SECONDS = 10
MEMORY = 1 << 30  # beyond what the process has at the start
FORBIDDEN = (MemoryError, RecursionError, SystemError)


def ran_out(error: BaseException | None) -> bool:
    """Whether memory or the stack was the cause."""
    while error is not None:
        if isinstance(error, FORBIDDEN) or "can't allocate memory" in str(error):
            return True
        hidden = error.__suppress_context__
        error = error.__cause__ or (None if hidden else error.__context__)
    return False


def outcome(function: Callable[[], object]) -> str:
    """ "loaded", the type of the exception, or what went wrong after a "!"."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        said = "!"
        try:
            limit_memory()
            signal.alarm(SECONDS)
            function()
            said = "loaded"
        except BaseException as error:
            said = ("!" if ran_out(error) else "") + type(error).__name__
        finally:
            os.write(writer, said.encode())
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        said = file.read().decode()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return f"!{signal.Signals(os.WTERMSIG(status)).name}"
    return said


def limit_memory() -> None:
    """Refuse this process more than `MEMORY` beyond what it has."""
    with open("/proc/self/maps") as maps:
        if "libasan" in maps.read():
            return  # its shadow alone is larger than any limit
    with open("/proc/self/statm") as statm:
        size = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))


def wrong(results: dict[str, tuple[str, bool]]) -> list[str]:
    """Those that broke, or were accepted though they must not be."""
    return [
        f"{name}: {said}"
        for name, (said, refused) in results.items()
        if said.startswith("!") or (refused and said == "loaded")
    ]


assert sys.platform == "linux"
