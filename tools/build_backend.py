"""The build backend of pyproject.toml: scikit-build-core's, and a look for a compiler.

Where that is missing CMake says so in dozens of lines. Run as a program, this says what
is missing, for `make`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

OLDEST = {"GCC": 11, "Clang": 15}
_COMPILERS = ("c++", "g++", "clang++")  # in CMake's order
_PROGRAM = "#include <omp.h>\n#include <concepts>\n#include <Python.h>\nint main() {}\n"
_HINT = {
    "compiler": "apt install g++, dnf install gcc-c++, or set CXX",
    "headers": "apt install python3-dev, dnf install python3-devel",
}


def _run(command: list[str], text: str = "") -> tuple[int, str]:
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True)
    except OSError as error:
        return 127, str(error)
    return done.returncode, done.stdout + done.stderr


def missing() -> str:
    """What this machine lacks to build ember, in one line; empty if nothing."""
    if sys.platform != "linux":
        return f"it is built on Linux only so far, and this is {sys.platform}"
    given = shlex.split(os.environ.get("CXX", ""))
    found = given or [name for name in _COMPILERS if shutil.which(name)][:1]
    if not found or not shutil.which(found[0]):
        where = f"CXX={given[0]} was not found" if given else "there is none in PATH"
        return f"no C++ compiler: {where} ({_HINT['compiler']})"
    _, macros = _run([*found, "-dM", "-E", "-x", "c++", "/dev/null"])
    for kind, sign in (("Clang", "__clang_major__"), ("GCC", "__GNUC__")):
        if version := re.search(rf"#define {sign} (\d+)", macros):
            if int(version[1]) < OLDEST[kind]:
                return (
                    f"C++ compiler too old: {found[0]} is {kind} {version[1]}, and "
                    f"C++20 needs GCC {OLDEST['GCC']} or Clang {OLDEST['Clang']} "
                    "(set CXX to a newer one)"
                )
            break
    include = sysconfig.get_path("include")
    if not (Path(include) / "Python.h").exists():
        return (
            f"no headers of Python {sys.version_info[0]}.{sys.version_info[1]}: there "
            f"is no {include}/Python.h ({_HINT['headers']})"
        )
    command = [*found, "-std=c++20", "-fopenmp", f"-I{include}"]
    platform = f"-I{sysconfig.get_path('platinclude')}"
    command += [platform, "-fsyntax-only", "-x", "c++", "-"]
    status, said = _run(command, _PROGRAM)
    if status:
        reason = next((line for line in said.splitlines() if "error" in line), said)
        return f"{found[0]} does not compile C++20 with OpenMP: {reason.strip()}"
    return ""


def check() -> None:
    """SystemExit with that line, if there is one."""
    if line := missing():
        sys.exit(f"ember cannot be built here: {line}. Or install a wheel.")


def _checked(name: str) -> Any:
    """A hook of scikit-build-core that compiles, or is called before one that does."""

    def hook(*args: Any, **kwargs: Any) -> Any:
        check()
        from scikit_build_core import build

        return getattr(build, name)(*args, **kwargs)

    hook.__name__ = hook.__qualname__ = name
    return hook


def __getattr__(name: str) -> Any:
    from scikit_build_core import build

    return getattr(build, name)


get_requires_for_build_wheel = _checked("get_requires_for_build_wheel")
get_requires_for_build_editable = _checked("get_requires_for_build_editable")
build_wheel = _checked("build_wheel")
build_editable = _checked("build_editable")

if __name__ == "__main__":
    check()
