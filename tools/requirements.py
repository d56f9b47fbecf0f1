"""Prints what pyproject.toml asks for, to install it without building ember.

    python tools/requirements.py build run test | pip install -r /dev/stdin

`build` is [build-system], `run` the dependencies, any other word an extra.
"""

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def requirements(words: list[str]) -> list[str]:
    config = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    project = config["project"]
    own_extras = re.compile(rf"{re.escape(project['name'])}\[([^]]*)\]")
    found: list[str] = []
    for word in words:
        if word == "build":
            lines = config["build-system"]["requires"]
        elif word == "run":
            lines = project["dependencies"]
        else:
            lines = project["optional-dependencies"][word]
        for line in lines:
            if extras := own_extras.fullmatch(line):
                found += requirements([name.strip() for name in extras[1].split(",")])
            else:
                found.append(line)
    return list(dict.fromkeys(found))


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1:])))
