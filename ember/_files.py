"""Writing files so that nothing is lost: `replacing` gives a file its new content whole
or not at all, whatever happens to the program or the machine meanwhile.
"""

import contextlib
import errno
import os
import shutil
import stat
from typing import Any

_LONGEST_NAME = 200  # bytes of a name that its temporary name repeats


class replacing:
    """A file that takes its name only when the block ends without error.

    Until then it has no name at all where the system can do that, so that a process
    that is killed leaves nothing behind; elsewhere it is called `.<name>.<8 hex>.tmp`.
    What is not an ordinary file, and what can't be replaced as it is (its folder is
    closed to us, or it belongs to another user), is written in place. `text` opens it
    for text, in UTF-8.
    """

    def __init__(self, path, text: bool = False, newline: str | None = None) -> None:
        self.path, self.text, self.newline = path, text, newline
        self.temporary: str | None = None  # a file of our own, to be removed
        self.target: Any = None  # what is to be replaced; None if written in place
        self.before: Any = None  # what the system says of it

    def __enter__(self) -> Any:
        where = _replaceable(self.path)
        descriptor = None if where is None else self._fresh(where)
        if descriptor is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
            descriptor = os.open(self.path, flags, 0o666)
            self.target = None
        mode = "w" if self.text else "wb"
        encoding = "utf-8" if self.text else None
        self.file: Any = os.fdopen(
            descriptor, mode, encoding=encoding, newline=self.newline
        )
        return self.file

    def _fresh(self, where: str) -> int | None:
        """A descriptor of a new file in the same folder; None if it is closed to us."""
        self.target, self.nameless = where, False
        try:
            self.before = os.stat(where)
        except FileNotFoundError:
            pass
        else:
            os.close(os.open(where, os.O_WRONLY | os.O_CLOEXEC))  # that we may write it
            if os.geteuid() not in (0, self.before.st_uid):
                return None
        folder = os.path.dirname(where)
        if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
            # Not on every file system; what else is wrong the next attempt says.
            with contextlib.suppress(OSError):
                flags = os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC
                descriptor = os.open(folder, flags, 0o666)
                self.nameless = True
                return descriptor
        try:
            return self._named(where)
        except OSError as error:
            closed = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
            if closed and self.before is not None:
                return None
            error.filename = os.fspath(self.path)
            raise

    def _named(self, where: str) -> int:
        """A descriptor of a new file with a name that nobody has."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        while True:
            name = _temporary_name(where)
            with contextlib.suppress(FileExistsError):
                descriptor = os.open(name, flags, 0o666)
                self.temporary = name
                return descriptor

    def __exit__(self, exc_type, *rest) -> None:
        try:
            if exc_type is None:
                self.file.flush()
                if self.target is not None:
                    self._take_name()
                elif self.file.seekable():
                    _sync(self.file.fileno())
        finally:
            try:
                self.file.close()
            except OSError:
                if exc_type is None:
                    raise
            finally:
                if self.temporary is not None:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(self.temporary)

    def _take_name(self) -> None:
        descriptor = self.file.fileno()
        if self.before is not None:
            self._adopt(descriptor)
        _sync(descriptor)
        if self.nameless:
            self._link(descriptor)
        assert self.temporary is not None
        try:
            os.replace(self.temporary, self.target)
        except OSError as error:
            if error.errno != errno.EBUSY:  # a mount of this one file
                raise
            with open(self.temporary, "rb") as whole, open(self.target, "wb") as file:
                shutil.copyfileobj(whole, file)
                file.flush()
                _sync(file.fileno())
            return
        self.temporary = None
        with contextlib.suppress(OSError):  # a folder that can't be read
            folder = os.open(os.path.dirname(self.target), os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _adopt(self, descriptor: int) -> None:
        """Take over group and permissions of the file that is replaced."""
        made = os.fstat(descriptor)
        if (made.st_uid, made.st_gid) != (self.before.st_uid, self.before.st_gid):
            with contextlib.suppress(OSError):
                os.fchown(descriptor, self.before.st_uid, self.before.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(self.before.st_mode))

    def _link(self, descriptor: int) -> None:
        """Give a nameless file its temporary name, or a copy of it."""
        source = f"/proc/self/fd/{descriptor}"
        while True:
            name = _temporary_name(self.target)
            try:
                # With a folder given, Python calls linkat, which can follow the link.
                os.link(source, name, src_dir_fd=descriptor)
                self.temporary = name
                return
            except FileExistsError:
                continue
            except OSError:
                break
        copy = self._named(self.target)
        with open(source, "rb") as whole, os.fdopen(copy, "wb") as file:
            shutil.copyfileobj(whole, file)
            if self.before is not None:
                self._adopt(copy)
            file.flush()
            _sync(copy)


def _temporary_name(path: str) -> str:
    folder, name = os.path.split(path)
    name = os.fsdecode(os.fsencode(name)[:_LONGEST_NAME])
    return os.path.join(folder, f".{name}.{os.urandom(4).hex()}.tmp")


def _sync(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:  # some file systems have no such thing
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):
            raise


def _replaceable(path) -> str | None:
    """Where links lead, if there is an ordinary file or none; else None.

    A link of /proc names an open file, which has to stay the same one.
    """
    if os.fspath(path).endswith("/"):
        return None  # a folder, whether it exists or not
    where = os.path.abspath(os.fspath(path))
    for _ in range(40):
        folder, name = os.path.split(where)
        where = os.path.join(os.path.realpath(folder), name)
        if where.startswith("/proc/"):
            return None
        if not os.path.islink(where):
            break
        where = os.path.join(os.path.dirname(where), os.readlink(where))
    try:
        return where if stat.S_ISREG(os.stat(where).st_mode) else None
    except FileNotFoundError:
        return where
