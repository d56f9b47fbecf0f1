"""Whole programs written for PyTorch, run on ember by `python -m ember.as_torch`."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import ember

HERE = Path(__file__).resolve().parent
DIGITS = HERE.parent / "examples" / "data" / "digits.npz"
TEXT = HERE / "programs" / "mnist.py"


def run(name, *arguments, on="ember.as_torch"):
    script = str(HERE / "programs" / name)
    module = ["-m", on] if on else []
    command = [sys.executable, *module, script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_mnist(tmp_path):
    output = run("mnist.py", DIGITS, "--save", tmp_path / "model.pt")
    accuracy = [float(a) for a in re.findall(r"accuracy ([\d.]+)", output)]
    assert accuracy[-1] > 0.85, output
    state = ember.load(tmp_path / "model.pt")
    assert state["conv1.weight"].shape == (16, 1, 3, 3)


def test_char_gpt():
    output = run("char_gpt.py", TEXT, 61)
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", output)]
    assert losses[-1] < 0.8 * losses[0], output


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_hogwild(method):
    assert run("hogwild.py", method) == "[0, 1] [0, 0] True\n"


@pytest.mark.oracle
@pytest.mark.parametrize(
    "name, arguments", [("char_gpt.py", (TEXT, 31)), ("mnist.py", (DIGITS,))]
)
def test_the_output_is_that_of_torch(name, arguments):
    pytest.importorskip("torch")

    def numbers(output):
        return [float(x) for x in re.findall(r"(?:loss|accuracy) ([\d.]+)", output)]

    ours = run(name, *arguments)
    theirs = run(name, *arguments, on=None)
    assert numbers(ours) == pytest.approx(numbers(theirs), abs=2e-2)
