"""Kernels stay cheap to compile, and their builds can be listed."""

import re
from pathlib import Path

import pytest

from tools.opencl_builds import read_log, table

KERNELS = Path(__file__).parents[2] / "core" / "opencl" / "kernels"


@pytest.mark.parametrize("path", sorted(KERNELS.glob("*.cl")), ids=lambda p: p.stem)
def test_no_function_of_the_driver_takes_long_vectors(path):
    """How they are passed depends on the instruction set, and PoCL may mix two."""
    text = path.read_text()
    assert not re.search(r"\bv(load|store)(8|16)\b", text)
    # by a width that the host chooses: only where it is at most 4
    for place in re.finditer(r"JOIN\(v(load|store), WIDTH\)", text):
        before = text[: place.start()]
        assert before.rfind("#ifdef STAGED") > before.rfind("#else")


def test_table_of_builds():
    log = (
        "built\t1.500\t2.000\tmatmul\tone\tdriver 3\n"
        "cached\t9.000\t9.000\tconv\tone\tdriver 3\n"
        "refused\t7.250\t8.000\tmatmul\tone\tdriver 3\n"
        "built\t0.1"
    )
    builds = read_log(log)
    assert [b.how for b in builds] == ["built", "cached", "refused"]
    lines = table(builds, 1).splitlines()
    assert lines[1].split() == ["7.25", "8.00", "matmul", "(refused)"]
    assert lines[4].split() == ["8.75", "2", "matmul"]
    assert "conv" not in table(builds, 9)
    assert table([], 3) == "no kernel was built"
