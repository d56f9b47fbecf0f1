"""mypy and pyright accept ordinary programs, and infer the right types in them.

The programs are those of `examples/` and `uses.py`; what they must refuse is in
`misuses.py`, where each wrong line says so.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
USES = Path(__file__).with_name("uses.py")
MISUSES = Path(__file__).with_name("misuses.py")
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# What examples import and needs no hints.
_UNTYPED = ["matplotlib", "PIL"]

pytestmark = pytest.mark.slow


def wrong_lines() -> set[int]:
    lines = MISUSES.read_text(encoding="utf-8").splitlines()
    return {i for i, line in enumerate(lines, 1) if line.endswith("# wrong")}


def mypy(tmp_path: Path, *files: Path) -> str:
    if find_spec("mypy") is None:
        pytest.skip("mypy is not installed: pip install -e '.[dev]'")
    config = tmp_path / "mypy.ini"
    rows = ["[mypy]", "strict = true", "explicit_package_bases = true"]
    rows += ["[mypy-ember.*]", "follow_imports = silent"]
    for name in _UNTYPED:
        rows += [f"[mypy-{name}.*]", "ignore_missing_imports = true"]
    config.write_text("\n".join(rows), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", config, "--no-pretty"]
        + ["--cache-dir", ROOT / ".mypy_cache" / "strict", *files],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": f"{ROOT}{os.pathsep}{ROOT / 'examples'}"},
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def pyright(tmp_path: Path, *files: Path) -> list[dict]:
    beside = Path(sys.executable).with_name("basedpyright")
    command = str(beside) if beside.exists() else shutil.which("basedpyright")
    if command is None:
        pytest.skip("basedpyright is not installed: pip install -e '.[dev]'")
    config = tmp_path / "pyrightconfig.json"
    settings = {
        "include": [str(file) for file in files],
        "extraPaths": [str(ROOT), str(ROOT / "examples")],
        "typeCheckingMode": "standard",
    }
    config.write_text(json.dumps(settings), encoding="utf-8")
    done = subprocess.run(
        [command, "-p", config, "--pythonpath", sys.executable, "--outputjson"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == len(files)
    return [d for d in report["generalDiagnostics"] if d["severity"] == "error"]


def test_mypy_accepts_examples_and_uses(tmp_path):
    report = mypy(tmp_path, USES, *EXAMPLES)
    assert "error:" not in report, report


def test_pyright_accepts_examples_and_uses(tmp_path):
    found = pyright(tmp_path, USES, *EXAMPLES)
    assert not found, json.dumps(found, indent=1)


def test_mypy_refuses_misuses(tmp_path):
    report = mypy(tmp_path, MISUSES)
    found = {int(n) for n in re.findall(r"misuses\.py:(\d+): error", report)}
    assert found == wrong_lines(), report


def test_pyright_refuses_misuses(tmp_path):
    found = {d["range"]["start"]["line"] + 1 for d in pyright(tmp_path, MISUSES)}
    assert found == wrong_lines(), found ^ wrong_lines()


def test_every_public_name_is_known_to_checkers():
    """What `dir` lists is in the module itself, its stub, or the lazy names' stub."""
    top = (ROOT / "ember/_names/top.pyi").read_text(encoding="utf-8")
    core = (ROOT / "ember/_C.pyi").read_text(encoding="utf-8")
    own = (ROOT / "ember/__init__.py").read_text(encoding="utf-8")
    known = set(re.findall(r" as (\w+)$|^(\w+): _Any", top, re.MULTILINE))
    names = {a or b for a, b in known}
    defined = re.findall(r"^(?:def|class) (\w+)|^(\w+): ", core, re.MULTILINE)
    names |= {a or b for a, b in defined}
    names |= set(re.findall(r" as (\w+)", own)) | {"newaxis"}
    # In a new process: what other tests have looked up or imported is listed, too.
    program = "import ember; print(*(n for n in dir(ember) if n[0] != '_'))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    modules = {p.stem for p in (ROOT / "ember").iterdir()}
    assert set(done.stdout.split()) - names - modules == set()
