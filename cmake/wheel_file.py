"""Prints the path of a file of an installed package, or nothing.

python wheel_file.py onednn-devel-cpu-gomp include/dnnl.h
"""

import sys
from importlib import metadata
from pathlib import Path


def find(package: str, name: str) -> str:
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        return ""
    for file in files:
        if f"/{file.as_posix()}".endswith(f"/{name}"):
            path = Path(file.locate()).resolve()
            return str(path) if path.exists() else ""
    return ""


if __name__ == "__main__":
    print(find(sys.argv[1], sys.argv[2]))
