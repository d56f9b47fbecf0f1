"""The core by itself: programs in C++ that link it without Python, and pass."""

import subprocess
import sys
from pathlib import Path

import pytest

BUILD = Path(__file__).parents[2] / "build/dev"
CMAKE = Path(sys.executable).parent / "cmake"
PROGRAMS = ["core_test", "allocator_test"]


@pytest.mark.skipif(
    not (BUILD / "build.ninja").exists() or not CMAKE.exists(),
    reason="only where it was built in place",
)
def test_without_python():
    subprocess.run([CMAKE, "--build", BUILD, "--target", *PROGRAMS], check=True)
    for name in PROGRAMS:
        libraries = subprocess.check_output(["ldd", BUILD / name], text=True)
        assert "python" not in libraries
        done = subprocess.run([BUILD / name], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
