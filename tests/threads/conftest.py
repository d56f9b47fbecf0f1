"""Threads take turns often, and kernels use two."""

import sys

import pytest

import ember


@pytest.fixture(autouse=True)
def frequent_switches():
    interval, threads = sys.getswitchinterval(), ember.get_num_threads()
    sys.setswitchinterval(1e-5)
    ember.set_num_threads(2)
    yield
    ember.set_num_threads(threads)
    sys.setswitchinterval(interval)
