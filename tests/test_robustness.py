"""A few rounds of killing; `python -m tests.robustness` does many."""

from tests import robustness


def test_killed_processes_leave_nothing_behind():
    assert sum(robustness.run(5, seed=3).values()) == 5
