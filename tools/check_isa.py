"""Checks that code for newer processors cannot run by accident. Run after `make build`.

The kernels of each ISA level are reached through the dispatcher only. What would run
without it is an object's initialisers, which the loader calls on every processor.

    python tools/check_isa.py build/dev
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

INITIALISER = re.compile(r"\.(init_array|ctors|preinit_array)\b")


def main(build: Path) -> int:
    targets = [
        path
        for path in sorted(build.glob("CMakeFiles/ember_kernels_*.dir"))
        if path.name != "ember_kernels_baseline.dir"
    ]
    objects = [file for target in targets for file in sorted(target.rglob("*.o"))]
    bad = 0
    for file in objects:
        sections = subprocess.run(
            ["readelf", "--wide", "--sections", file],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        if INITIALISER.search(sections):
            bad += 1
            print(
                f"{file.relative_to(build)}: has a global that is initialised at load"
            )
    print(f"isa: {len(objects)} objects, {bad} problems")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
