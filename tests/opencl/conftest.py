"""Tests of the OpenCL device; all skip, with the reason, where there is none."""

import pytest

import ember


@pytest.fixture(autouse=True)
def _opencl():
    if not ember.opencl.is_available():
        pytest.skip(f"no OpenCL device: {ember.opencl.devices.found_devices()}")
