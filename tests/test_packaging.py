"""The package's name, version and extras: each stands in one place, and texts agree."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

import ember
from ember import version
from tools import build_backend

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
    built = PROJECT["tool"]["cibuildwheel"]["build"]  # a wheel for each
    assert [f"cp3{n}-manylinux_*" for n in named] == built.split()


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


@pytest.fixture
def needs_compiler() -> None:
    if build_backend.missing():
        pytest.skip(build_backend.missing())


def program(path: Path, text: str) -> str:
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)
    return str(path)


def test_a_build_without_a_compiler_says_so_in_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import build_backend; build_backend.build_wheel('.')"],
        env={"PATH": str(tmp_path), "PYTHONPATH": str(ROOT / "tools")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert "no C++ compiler" in done.stderr and "CXX" in done.stderr


def test_compilers_that_do_not_serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "c++-of-nowhere")
    assert "CXX=c++-of-nowhere was not found" in build_backend.missing()
    old = program(tmp_path / "old", "print('#define __GNUC__ 9')")
    monkeypatch.setenv("CXX", old)
    assert "GCC 9" in build_backend.missing() and "GCC 11" in build_backend.missing()
    refuses = program(
        tmp_path / "new", "print('#define __GNUC__ 99'); print('error: no'); exit(1)"
    )
    monkeypatch.setenv("CXX", f"{refuses} -m64")
    assert "does not compile C++20" in build_backend.missing()


def test_headers_that_are_not_there(
    needs_compiler: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    get_path = sysconfig.get_path
    monkeypatch.setattr(
        sysconfig,
        "get_path",
        lambda name: str(tmp_path) if name == "include" else get_path(name),
    )
    assert f"no {tmp_path}/Python.h" in build_backend.missing()


def test_the_backend_is_complete(
    needs_compiler: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert PROJECT["build-system"]["build-backend"] == build_backend.__name__[6:]
    pytest.importorskip("scikit_build_core")
    for hook in "build_wheel build_sdist build_editable".split():
        assert callable(getattr(build_backend, hook))
        requires = getattr(
            build_backend, hook.replace("build", "get_requires_for_build")
        )
        assert isinstance(requires(), list)


def test_what_is_said_of_onednn_is_so() -> None:
    has = ember.backends.mkldnn.is_available()
    assert f"USE_MKLDNN={int(has)}" in ember.__config__.show()
    assert ("oneDNN" in ember.__config__.show()) == has
    weight, grid = ember.ones(8, 4, 3, 3), ember.ones(2, 4, 32, 32)  # oneDNN's size
    out = ember.nn.functional.conv2d(grid, weight)
    assert out.shape == (2, 8, 30, 30) and bool((out == 36).all())
