"""What all tests share: they, and processes that they start, import the same ember,
keep compiled kernels apart from the user's, and use an OpenCL driver that works.

pytest puts the root of the source tree first; PYTHONPATH, which names another build
(as `make asan` does), must come before it.
"""

import os
import sys
from pathlib import Path

for path in reversed(os.environ.get("PYTHONPATH", "").split(os.pathsep)):
    if path:
        sys.path.insert(0, path)

import pytest  # noqa: E402

import ember  # noqa: E402

from . import opencl_probe  # noqa: E402

os.environ["PYTHONSAFEPATH"] = "1"
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(Path(ember.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
).rstrip(os.pathsep)
opencl_probe.use_own_cache()


def pytest_configure(config):
    if not hasattr(config, "workerinput"):  # its workers inherit what was found
        opencl_probe.find_driver()


if os.environ.get("EMBER_COMPILE") == "all":
    # Every test in a region, in which all primitives that can be are put off. There is
    # no compiler, so they run one by one, in the order of their groups.
    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(pyfuncitem):
        if pyfuncitem.get_closest_marker("at_once"):
            return (yield)
        least = ember._C._lazy_set_least(1)
        ember._C._lazy_open(0, False, True)
        try:
            return (yield)
        finally:
            ember._C._lazy_close()
            ember._C._lazy_set_least(least)


def pytest_report_header(config):
    return f"OpenCL: {os.environ.get(opencl_probe.FOUND, 'not looked for')}"
