"""Prints the directories of the libraries that ember opens at run time, as a path.

For runs where the rpath of `_C` is not seen, such as those under a sanitizer.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cmake"))

from wheel_file import find

LIBRARIES = {
    "onednn-cpu-gomp": "libdnnl.so.3",
    "scipy-openblas32": "libscipy_openblas.so",
}

if __name__ == "__main__":
    paths = [find(package, name) for package, name in LIBRARIES.items()]
    print(":".join(str(Path(path).parent) for path in paths if path))
