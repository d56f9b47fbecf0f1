"""Builds a wheel with this Python, repairs its tag, and tries it out: `make wheel`.

    python tools/make_wheel.py                       # build, repair, check, try
    python tools/make_wheel.py --check dist/*.whl    # their libraries only
    python tools/make_wheel.py --try dist/x.whl      # only try one

The trial is what a user without a compiler has: a new environment, and a PATH with
nothing but its programs.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "build" / "wheel"
MOST_MEGABYTES = 100  # of ember, installed
MOST_SECONDS = 60  # for the example, from the start of Python
# libgomp must keep its soname, so that whoever loads it first shares it with the rest
# of the process; the copies in the wheel are found by the rpath of _C.
OURS = {"libgomp.so.1", "libdnnl.so.3"}


def run(*command: object, **options: object) -> str:
    """The output of a program; SystemExit, with all it said, if it failed."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"{done.stdout}\n{' '.join(words)}: exit code {done.returncode}")
    return str(done.stdout)


def build() -> Path:
    """The wheel as the compiler of this machine makes it."""
    shutil.rmtree(BUILT, ignore_errors=True)
    # The flags of `make build`, whose compiler cache then serves; install.strip is set.
    options = ["--config-settings=cmake.build-type=RelWithDebInfo"]
    where = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--wheel-dir", BUILT, *options, ROOT]
    compiler = os.environ.get("CXX", "c++")  # as CMake finds it; not g++
    run(*command, env=os.environ | {"PATH": where, "CXX": compiler})
    (wheel,) = BUILT.glob("*.whl")
    return wheel


def symbol_versions(library: Path) -> dict[str, str]:
    """The newest version that a library asks for of GLIBC, GLIBCXX ..."""
    text = run("readelf", "--wide", "--version-info", library)
    newest: dict[str, tuple[int, ...]] = {}
    for name, version in re.findall(r"Name: (\w+)_(\d[\d.]*)", text):
        numbers = tuple(map(int, version.split(".")))
        newest[name] = max(newest.get(name, ()), numbers)
    return {name: ".".join(map(str, numbers)) for name, numbers in newest.items()}


def check(wheel: Path) -> None:
    """SystemExit if the wheel's libraries are not what its tag and ours allow."""
    print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")
    policies = re.findall(r"manylinux_(\d+)_(\d+)_", wheel.name)
    if not policies:
        sys.exit(f"{wheel.name}: no policy of auditwheel's allows it")
    allowed = min((int(major), int(minor)) for major, minor in policies)
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        libraries = sorted(f for f in Path(folder).rglob("*") if ".so" in f.suffixes)
        names = {f.name for f in libraries}
        if grafted := [f.name for f in libraries if f.parent.name.endswith(".libs")]:
            sys.exit(f"auditwheel put copies into the wheel: {grafted}")
        for library in libraries:
            needed = re.findall(r"NEEDED.*\[(.+)\]", run("readelf", "-d", library))
            versions = symbol_versions(library)
            print(
                f"  {library.name}: {library.stat().st_size / 1e6:.1f} MB, {versions}"
            )
            for name in needed:
                if "gomp" in name and not ({name} & OURS & names):
                    sys.exit(f"{library.name} needs {name}, which the wheel lacks")
            glibc = tuple(map(int, versions.get("GLIBC", "2").split(".")))
            if glibc > allowed:
                sys.exit(f"{library.name} needs glibc {glibc}, more than {allowed}")


def repair(wheel: Path) -> Path:
    """The wheel with the tag of the oldest systems that it runs on, in dist/."""
    auditwheel = [sys.executable, "-m", "auditwheel"]
    print(run(*auditwheel, "show", wheel).strip())
    excluded = [word for name in sorted(OURS) for word in ("--exclude", name)]
    before = set((ROOT / "dist").glob("*.whl"))
    where = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run(
        *[*auditwheel, "repair", *excluded, "--wheel-dir", ROOT / "dist", wheel],
        env=os.environ | {"PATH": where},
    )
    head = "-".join(wheel.name.split("-")[:4])
    made = sorted(
        (ROOT / "dist").glob(f"{head}-*.whl"), key=lambda f: f.stat().st_mtime_ns
    )
    for old in before & set(made[:-1]):
        old.unlink()  # of another policy
    return made[-1]


def megabytes(folder: Path) -> float:
    return sum(f.lstat().st_size for f in folder.rglob("*") if f.is_file()) / 1e6


def fastest(python: Path, code: str, environment: dict[str, str]) -> float:
    """Seconds of one of nine starts."""

    def once() -> float:
        began = time.perf_counter()
        run(python, "-c", code, env=environment, cwd="/")
        return time.perf_counter() - began

    return min(once() for _ in range(9))


def try_out(wheel: Path) -> None:
    """Install it where there is no compiler, import it, test it, train with it."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        venv.create(home / "venv", with_pip=True)
        programs = home / "venv" / "bin"
        python = programs / "python"
        # /bin/sh and the like are not asked for either.
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        clean |= {"PATH": str(programs), "HOME": folder, "CXX": "", "CC": ""}
        began = time.perf_counter()
        pip = [python, "-m", "pip", "install", "--quiet"]
        run(*pip, "--only-binary", ":all:", wheel, env=clean)
        (packages,) = (home / "venv" / "lib").glob("python*/site-packages")
        size = megabytes(packages / "ember")
        print(f"installed in {time.perf_counter() - began:.1f} s: ember {size:.1f} MB")
        if size > MOST_MEGABYTES:
            sys.exit(
                f"ember takes {size:.1f} MB; it should stay below {MOST_MEGABYTES}"
            )
        fastest(python, "import ember", clean)  # writes .pyc files
        took = fastest(python, "import ember", clean) - fastest(python, "pass", clean)
        print(f"import ember: {took * 1e3:.0f} ms more than Python takes to start")
        extras = f"{wheel}[examples]"
        run(*pip, "--only-binary", ":all:", extras, "pytest", env=clean)
        shutil.copy(ROOT / "tests" / "test_tiny.py", home)
        tests = ["-q", "-p", "no:cacheprovider", "--noconftest", "test_tiny.py"]
        print(run(python, "-m", "pytest", *tests, env=clean, cwd=home).strip())
        shutil.copytree(ROOT / "examples", home / "examples")
        began = time.perf_counter()
        said = run(python, "examples/digits.py", env=clean, cwd=home).strip()
        took = time.perf_counter() - began
        print(f"{said.splitlines()[-1].strip()}\nexamples/digits.py: {took:.1f} s")
        if took > MOST_SECONDS:
            sys.exit(f"the example took {took:.0f} s, more than {MOST_SECONDS}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--try", dest="tried", type=Path, help="only try this one")
    parser.add_argument("--check", nargs="+", type=Path, help="only check these")
    given = parser.parse_args()
    for wheel in given.check or []:
        check(wheel)
    if given.check:
        return
    if given.tried is None:
        given.tried = repair(build())
        check(given.tried)
    try_out(given.tried.resolve())


if __name__ == "__main__":
    main()
