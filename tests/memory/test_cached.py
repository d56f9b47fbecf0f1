"""What the allocator keeps of memory that is given back."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import ember

def use():
    ember.empty({bytes} // 4)
    stats = ember._C._memory_stats()
    return stats["reserved"] - before, stats["large_hits"]

before = ember._C._memory_stats()["reserved"]
print([use() for _ in range(3)])
"""


@pytest.mark.skipif(
    "EMBER_NO_CACHE" in os.environ or "ASAN_OPTIONS" in os.environ,
    reason="nothing is cached",
)
@pytest.mark.parametrize("megabytes", [8, 40, 80, 200])
def test_a_large_block_is_kept_once_its_size_has_come_back(megabytes):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(bytes=megabytes << 20)],
        capture_output=True,
        text=True,
        check=True,
    )
    first, second, third = eval(done.stdout)
    size = megabytes << 20
    assert first == ((size, 0) if megabytes < 64 else (0, 0))
    assert second[0] >= size
    assert third[1] > second[1]
