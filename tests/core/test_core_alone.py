"""The core by itself: programs in C++ that link it without Python, and pass."""

import subprocess
import sys
from pathlib import Path

import pytest

BUILD = Path(__file__).parents[2] / "build/dev"
CMAKE = Path(sys.executable).parent / "cmake"


@pytest.mark.skipif(
    not (BUILD / "build.ninja").exists() or not CMAKE.exists(),
    reason="only where it was built in place",
)
@pytest.mark.parametrize("name", ["core_test", "allocator_test"])
def test_without_python(name):
    subprocess.run([CMAKE, "--build", BUILD, "--target", name], check=True)
    program = BUILD / name
    needed = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    assert "python" not in needed
    done = subprocess.run([program], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
