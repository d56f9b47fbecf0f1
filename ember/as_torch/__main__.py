"""The command line: see the package."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from ember import as_torch


def main(arguments: list[str]) -> None:
    """Run what the arguments name, as `python` itself would."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print((as_torch.__doc__ or "").partition("\nA feature")[0])
        sys.exit(0 if arguments else 2)
    first, *rest = arguments
    if first in ("--install", "--uninstall", "--status"):
        from ember.as_torch import environment

        act = {"--install": environment.put, "--uninstall": environment.take_away}
        print(act.get(first, environment.status)())
        return
    if first in ("-m", "-c") and not rest:
        what = "module's name" if first == "-m" else "program"
        sys.exit(f"python -m ember.as_torch {first}: the {what} is missing")
    as_torch.install()
    if first == "-m":
        sys.argv = rest
        sys.path[0] = ""
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.path[0] = ""
        exec(compile(rest[0], "<string>", "exec"), sys.modules["__main__"].__dict__)
    elif first.startswith("-"):
        sys.exit(f"python -m ember.as_torch: unknown option {first}; see --help")
    else:
        sys.argv = arguments
        sys.path.insert(0, str(Path(first).resolve().parent))
        runpy.run_path(first, run_name="__main__")


main(sys.argv[1:])
