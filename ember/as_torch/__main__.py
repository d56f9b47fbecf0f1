"""The command line: see the package."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

from ember import _device, as_torch


def _options(arguments: list[str]) -> list[str]:
    """What follows `--cuda opencl`, after "cuda" has been made to mean that device."""
    if arguments[0] != "--cuda" and not arguments[0].startswith("--cuda="):
        return arguments
    _, equals, value = arguments[0].partition("=")
    rest = arguments[1:] if equals else arguments[2:]
    value = value if equals else "".join(arguments[1:2])
    if value != "opencl" or not rest:
        sys.exit("python -m ember.as_torch --cuda opencl script.py arguments...")
    os.environ["EMBER_CUDA"] = value  # for child processes
    _device.cuda_means(value)
    return rest


def main(arguments: list[str]) -> None:
    """Run what the arguments name, as `python` itself would."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print((as_torch.__doc__ or "").partition("\nA feature")[0])
        sys.exit(0 if arguments else 2)
    arguments = _options(arguments)
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
