"""A few rounds of killing; `python -m tests.robustness` does many."""

import pytest

from tests import robustness


@pytest.mark.parametrize("name", robustness.SCENARIOS)
def test_killed_processes_leave_nothing_broken(name):
    if reason := robustness.missing(name):
        pytest.skip(reason)
    assert robustness.run(name, 5, seed=3).total() == 5
