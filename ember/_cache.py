"""Where compiled kernels are kept: a directory that belongs to the user alone.

What is in it runs as machine code, so nobody else may be able to write there. The
first of these that is one, or can be made, is used:

1. what the variable of the cache names (empty: none), and then no other;
2. ``$XDG_CACHE_HOME/ember``, if it is set;
3. ``~/.cache/ember``;
4. ``$TMPDIR/ember-<user>``, where the home directory is read-only or there is none.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import stat
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

_READ_ONLY = "it cannot be written"
_told: set[str] = set()


def tell(text: str) -> None:
    """Warn, once per process."""
    if text not in _told:
        _told.add(text)
        warnings.warn(text, RuntimeWarning, stacklevel=3)


def why_not(path: Path) -> str:
    """Why a directory is not the user's alone, or cannot be used; empty if it can."""
    user = os.geteuid()
    try:
        link = path.lstat()
        found = path.stat()
    except OSError as error:
        return error.strerror or str(error)
    if not stat.S_ISDIR(found.st_mode):
        return "it is not a directory"
    if stat.S_ISLNK(link.st_mode) and link.st_uid != user:
        return f"it is a link that belongs to user {link.st_uid}"
    if found.st_uid != user:
        return f"it belongs to user {found.st_uid}"
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o077:
        return f"others may open it (its mode is {mode:04o}, not 0700)"
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return _READ_ONLY
    return ""


def _make(path: Path) -> str:
    """Make a directory, for the user alone; why that could not be done."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError as error:
        return error.strerror or str(error)
    return why_not(path)


def _candidates(name: str) -> Iterator[Path]:
    if os.path.isabs(given := os.environ.get("XDG_CACHE_HOME", "")):
        yield Path(given) / "ember" / name
    try:
        yield Path.home() / ".cache" / "ember" / name
    except RuntimeError:  # there is no home
        pass
    temporary = Path(tempfile.gettempdir()) / f"ember-{os.geteuid()}"
    # Others may have made it first; then it is what the warning names.
    yield temporary if _make(temporary) else temporary / name


def directory(name: str, variable: str) -> str:
    """The directory called `name`, or an empty string if nothing is to be kept.

    A directory that exists, but is not the user's alone, is not used, and a warning
    says so; one that cannot be made or written is passed over.
    """
    chosen = os.environ.get(variable)
    if chosen == "":
        return ""
    reason = ""
    for path in [Path(chosen)] if chosen else _candidates(name):
        existed = os.path.isdir(path)
        reason = _make(path)
        if not reason:
            return str(path)
        if chosen or (existed and reason != _READ_ONLY):
            tell(f"ember does not keep compiled kernels in {path}: {reason}")
    if not chosen:
        tell(f"ember keeps no compiled kernels: no directory can be written ({reason})")
    return ""


def _remove(path: str) -> None:
    """Remove a private directory, then its lock file.

    A helper of a killed process may still write there for a moment. What can't be
    removed now keeps its lock file, by which the next process finds it.
    """
    shutil.rmtree(path, ignore_errors=True)
    if not os.path.lexists(path):
        os.unlink(path + ".lock")


class Private:
    """A directory of this process, removed with it.

    Those of processes that were killed are removed by the next one: a lock on the file
    beside a directory lives as long as its process.
    """

    def __init__(self, base: str) -> None:
        self.path = ""
        self._lock = -1
        self._owner = os.getpid()
        for parent in filter(None, [base, tempfile.gettempdir()]):
            try:
                self._sweep(parent)
                self._create(parent)
                return
            except OSError:
                continue

    def _create(self, parent: str) -> None:
        while True:
            path = os.path.join(
                parent, f"ember-run-{os.getpid()}-{secrets.token_hex(6)}"
            )
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            lock = os.open(path + ".lock", flags, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # A process that sweeps may have taken it just before.
                if os.path.samestat(os.fstat(lock), os.stat(path + ".lock")):
                    os.mkdir(path, 0o700)
                    self.path, self._lock = path, lock
                    return
            except (BlockingIOError, FileNotFoundError):
                pass
            except OSError:
                os.close(lock)
                raise
            os.close(lock)

    @staticmethod
    def _sweep(parent: str) -> None:
        for name in os.listdir(parent):
            if not (name.startswith("ember-run-") and name.endswith(".lock")):
                continue
            path = os.path.join(parent, name)
            try:
                lock = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
            except OSError:  # gone, or another user's
                continue
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(path.removesuffix(".lock"))
            except OSError:  # its process lives
                pass
            finally:
                os.close(lock)

    def remove(self) -> None:
        """Remove it, if it is this process's."""
        if self._owner != os.getpid() or not self.path:
            return
        try:
            _remove(self.path)
        except OSError:
            pass
        os.close(self._lock)
        parent, self.path = os.path.dirname(self.path), ""
        try:
            self._sweep(parent)  # those of processes that this one has ended
        except OSError:
            pass
