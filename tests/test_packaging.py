"""The package's name, version and extras: each stands in one place, and texts agree."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest

import ember
from ember import version

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]


def texts() -> list[Path]:
    """What a user may read: documentation, docstrings and messages."""
    found = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "pyproject.toml",
    ]
    for folder in ("ember", "core", "examples"):
        for pattern in ("*.py", "*.cpp", "*.h"):
            found += (ROOT / folder).rglob(pattern)
    return found


def test_the_name_is_that_of_the_project() -> None:
    assert PROJECT["project"]["name"] == version.distribution
    assert version.pip_install("jit") == f'pip install "{version.distribution}[jit]"'


def test_what_texts_tell_to_install_is_this_project_and_has_that_extra() -> None:
    seen = 0
    for path in texts():
        text = path.read_text(encoding="utf-8")
        for name, extras in re.findall(r"\b([a-z][\w.-]*)\[([a-z][\w,-]*)\]", text):
            if name != version.distribution:
                assert not re.fullmatch("ember[-_]?(dl|torch)?", name), path
                continue
            seen += 1
            assert set(extras.split(",")) <= set(EXTRAS), (path, extras)
        for extra in re.findall(r"pip_install\([\"'](\w+)[\"']\)", text):
            seen += 1
            assert extra in EXTRAS, (path, extra)
    assert seen > 10


def test_the_version_heads_the_changelog() -> None:
    assert "version" in PROJECT["project"]["dynamic"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", ember.__version__)
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.findall(r"^## \[([^]]+)\]", changelog, re.MULTILINE)
    releases = [name for name in releases if name != "Unreleased"]
    assert releases[0] == ember.__version__
    numbers = [tuple(map(int, name.split("."))) for name in releases]
    assert numbers == sorted(numbers, reverse=True) and len(numbers) > 1


def test_the_classifiers_name_the_pythons_that_are_asked_for() -> None:
    project = PROJECT["project"]
    minor = int(project["requires-python"].removeprefix(">=3."))
    head = "Programming Language :: Python :: 3."
    named = [int(c.removeprefix(head)) for c in project["classifiers"] if head in c]
    assert named == list(range(minor, minor + len(named)))


@pytest.mark.parametrize(
    "name",
    """ember ember.nn ember.nn.functional ember.optim ember.utils.data ember.linalg
    ember.fft ember.special ember.func ember.distributions ember.autograd ember.cuda
    ember.opencl ember.amp ember.jit ember.fx ember.export ember.onnx ember.sparse
    ember.distributed ember.backends ember.compiler ember.testing ember.utils
    ember.masked ember.random ember.storage ember.version ember.library ember.profiler
    ember.xpu ember.mps ember.mtia ember.cpu ember.accelerator""".split(),
)
def test_what_dir_lists_is_there(name: str) -> None:
    module = importlib.import_module(name)
    for member in dir(module):
        getattr(module, member)  # none raises
