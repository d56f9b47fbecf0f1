"""A training process that is killed at random moments ends with the same weights."""

import random
import subprocess
import sys
import time
from pathlib import Path

import ember

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "trainer.py"


def command(out):
    options = ["--epochs", "3", "--every", "2", "--quiet", "--out", str(out)]
    return [sys.executable, str(EXAMPLE), *options]


def test_killed_and_resumed(tmp_path):
    start = time.monotonic()
    subprocess.run(command(tmp_path / "whole"), check=True, timeout=200)
    took = time.monotonic() - start

    dice = random.Random(7)
    kills = 0
    while kills < 3:
        process = subprocess.Popen(command(tmp_path / "killed"))
        try:
            process.wait(timeout=took * dice.uniform(0.2, 0.9))
            break  # it was done before its time came
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
    assert kills > 0
    subprocess.run(command(tmp_path / "killed"), check=True, timeout=200)

    whole = ember.load(tmp_path / "whole" / "model.pt")
    killed = ember.load(tmp_path / "killed" / "model.pt")
    assert whole.keys() == killed.keys()
    for name in whole:
        assert ember.equal(whole[name], killed[name]), name
    read = [(tmp_path / n / "metrics.csv").read_text() for n in ("whole", "killed")]
    assert read[0] == read[1]
