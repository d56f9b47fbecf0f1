"""`torch` as a package of an environment: put there, taken away, looked for.

What is written is a copy of `stub/torch` and the metadata of a distribution, so that
pip, `importlib.metadata` and `find_spec` see an installed torch.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.machinery
import importlib.metadata
import os
import shutil
import sys
import sysconfig
from pathlib import Path

from ember.as_torch import STUB, VERSION

INSTALLER = "ember.as_torch"
_SCRIPT = """#!{python}
import sys
from torch.distributed.run import main

if __name__ == "__main__":
    sys.exit(main())
"""


def directory() -> Path:
    """Where packages of this environment are installed."""
    return Path(sysconfig.get_path("purelib"))


def _search() -> list[str]:
    return [p for p in sys.path if p != str(STUB)]


def found() -> tuple[str, str]:
    """What `import torch` means here, "ember", "pytorch" or "nothing", and where."""
    for distribution in importlib.metadata.distributions(name="torch", path=_search()):
        who = (distribution.read_text("INSTALLER") or "").strip()
        kind = "ember" if who == INSTALLER else "pytorch"
        place = str(distribution.locate_file("torch"))
        return kind, f"{distribution.version} in {place}"
    spec = importlib.machinery.PathFinder.find_spec("torch", _search())
    return ("pytorch", str(spec.origin)) if spec else ("nothing", "")


def status() -> str:
    """One line for people."""
    kind, where = found()
    if kind == "nothing":
        return f"torch is not installed in {directory()}"
    return f"torch is {'ember' if kind == 'ember' else 'PyTorch'}: {where}"


def _record(path: Path, root: Path) -> str:
    data = path.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
    name = Path(os.path.relpath(path, root)).as_posix()
    return f"{name},sha256={digest.decode()},{len(data)}"


def _launcher() -> Path:
    """Where the command `torchrun` of this environment is, or would be."""
    return Path(sysconfig.get_path("scripts")) / "torchrun"


def _write_launcher() -> Path:
    path = _launcher()
    path.write_text(_SCRIPT.format(python=sys.executable))
    path.chmod(0o755)
    return path


def put() -> str:
    """Install it; what was done, or SystemExit with the reason why not."""
    kind, where = found()
    if kind == "pytorch":
        sys.exit(
            f"ember.as_torch --install: PyTorch itself is installed ({where}). Remove "
            "it first (pip uninstall torch), or use another environment; a single "
            "program runs on ember with `python -m ember.as_torch script.py`."
        )
    root = directory()
    package, metadata = root / "torch", root / f"torch-{VERSION}.dist-info"
    if package.exists() and kind == "nothing":
        sys.exit(f"ember.as_torch --install: {package} exists and is not ember's")
    try:
        take_away()
        package.mkdir(parents=True)
        files = [package / "__init__.py"]
        shutil.copyfile(STUB / "torch" / "__init__.py", files[0])
        metadata.mkdir()
        shutil.copyfile(STUB / "torch.dist-info" / "METADATA", metadata / "METADATA")
        (metadata / "INSTALLER").write_text(INSTALLER + "\n")
        (metadata / "top_level.txt").write_text("torch\n")
        files += sorted(metadata.iterdir())
        if not _launcher().exists():
            files.append(_write_launcher())
        lines = [_record(file, root) for file in files]
        own = f"{metadata.name}/RECORD,,"
        (metadata / "RECORD").write_text("\n".join([*lines, own]) + "\n")
    except OSError as error:
        sys.exit(f"ember.as_torch --install: cannot write to {root}: {error}")
    return f"{status()}\n`python -m ember.as_torch --uninstall` removes it"


def take_away() -> str:
    """Remove what `put` wrote, and nothing else."""
    root, removed = directory(), False
    for metadata in root.glob("torch-*.dist-info"):
        installer = metadata / "INSTALLER"
        if not installer.is_file() or installer.read_text().strip() != INSTALLER:
            continue
        for line in (metadata / "RECORD").read_text().splitlines():
            (root / line.split(",")[0]).unlink(missing_ok=True)
        shutil.rmtree(root / "torch" / "__pycache__", ignore_errors=True)
        for folder in (root / "torch", metadata):
            if folder.is_dir() and not os.listdir(folder):
                folder.rmdir()
        removed = True
    return "removed: " + status() if removed else "nothing to remove: " + status()
