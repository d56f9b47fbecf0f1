"""The secret of a run: who does not know it is not talked to.

`EMBER_DISTRIBUTED_SECRET`, which the launcher sets, or else a file in the user's cache
directory, which only the user can read.
"""

from __future__ import annotations

import os
import secrets

VARIABLE = "EMBER_DISTRIBUTED_SECRET"


def secret() -> bytes:
    """What both ends of a connection have to know."""
    given = os.environ.get(VARIABLE)
    return given.encode() if given else _of_the_user()


def _of_the_user() -> bytes:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = os.path.join(base, "ember", "distributed.secret")
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    for _ in range(2):
        try:
            with open(path, "rb") as file:
                found = os.fstat(file.fileno())
                if found.st_uid != os.geteuid() or found.st_mode & 0o077:
                    raise PermissionError(
                        f"{path} is not the user's alone (mode "
                        f"{found.st_mode & 0o777:04o}): remove it, or set {VARIABLE}"
                    )
                return file.read()
        except FileNotFoundError:
            own = f"{path}.{os.getpid()}"
            with open(os.open(own, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
                file.write(secrets.token_hex(32).encode())
            try:
                os.link(own, path)  # the first of several processes wins
            except FileExistsError:
                pass
            finally:
                os.unlink(own)
    raise FileNotFoundError(path)
