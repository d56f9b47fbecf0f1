"""What all tests share: processes that they start import the ember under test."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def same_ember_in_other_processes():
    import ember

    # In a source tree the folder of the tests would come first and hide another build.
    os.environ["PYTHONSAFEPATH"] = "1"
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(Path(ember.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    ).rstrip(os.pathsep)
