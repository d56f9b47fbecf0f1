"""Programs that save to one path, killed while they do.

Left must be a whole checkpoint, old or new, never older than the last one that was
reported as saved; the files of others beside it; and at most a temporary file of a
name that says so.
"""

import os
import random
import re
import time

import ember
from tests.robustness.processes import start

PROGRAM = """
import os, sys
import ember

path, first, elements, named = sys.argv[1], *map(int, sys.argv[2:])
if named:  # as on file systems without nameless files
    del os.O_TMPFILE
ember.save(0, path + ".first")  # what is imported late is imported now
print("ready", flush=True)
step = first
while True:
    step += 1
    tensors = [ember.full((elements,), step, dtype=ember.float64) for _ in range(4)]
    ember.save({"step": step, "tensors": tensors, "list": [step] * 1000}, path)
    print(step, flush=True)
"""
TEMPORARY = re.compile(r"\.model\.pt\.[a-z0-9_]{8}\.tmp")
OTHERS = {"model.pt.tmp": b"mine", ".model.pt.swp": b"yours", "model.pt.1.tmp": b""}


def one_round(draw: random.Random, folder: str) -> str:
    """Save, kill, look; then save once more over what is left."""
    path = os.path.join(folder, "model.pt")
    for name, content in OTHERS.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
    named, savers = draw.randrange(2), draw.choice([1, 1, 2])
    elements = draw.choice([1, 1000, 100_000])
    ember.save({"step": 0, "tensors": [], "list": [0]}, path)
    programs = [
        start(PROGRAM, folder, path, str(i * 1_000_000), str(elements), str(named))
        for i in range(savers)
    ]
    time.sleep(draw.choice([0.02, 0.1]) * draw.random())
    saved = []
    for i, program in enumerate(programs):
        program.kill()
        lines = program.communicate()[0].split()
        saved.append(int(lines[-1]) if lines else i * 1_000_000)
    check(path, saved)
    left = set(os.listdir(folder)) - {"model.pt", "model.pt.first", "program.py"}
    for name, content in OTHERS.items():
        with open(os.path.join(folder, name), "rb") as file:
            assert file.read() == content, f"{name} has changed"
    strange = [n for n in left - set(OTHERS) if not TEMPORARY.fullmatch(n)]
    assert not strange, f"left {strange}"
    ember.save({"step": 7, "tensors": [], "list": [7]}, path)
    assert ember.load(path)["step"] == 7
    found = "with" if left - set(OTHERS) else "without"
    return f"{'named' if named else 'nameless'} file, {found} a temporary file left"


def check(path: str, saved: list[int]) -> None:
    """That the checkpoint is one of those that were written, and none of the oldest."""
    found = ember.load(path)
    step = found["step"]
    assert all((t == step).all() for t in found["tensors"]), f"step {step} is mixed"
    assert set(found["list"]) == {step}, f"step {step} is mixed"
    last = saved[step // 1_000_000]
    assert step in (last, last + 1), f"found {step}, though {saved} were saved"
