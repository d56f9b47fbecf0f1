"""Models by the name of a repository, and weights by their address.

A repository has a file `hubconf.py`; each of its functions makes a model. `load` takes
a directory (`source="local"`) or `owner/name[:branch]` on GitHub, whose archive is
fetched once and kept. Its code runs with your rights: load only what you trust.

>>> import ember
>>> ember.hub.list("pytorch/vision")            # doctest: +SKIP
['alexnet', ...]
>>> model = ember.hub.load("folder", "small", source="local")  # doctest: +SKIP
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import sys
import tempfile
import warnings
import zipfile
from builtins import list as _list
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlparse
from urllib.request import Request, urlopen

import ember
from ember.utils._progress import Bar as tqdm

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_TRUSTED = ("facebookresearch", "facebookincubator", "pytorch", "fairinternal")
_CHUNK = 1 << 17
_directory: str | None = None


def _get_torch_home() -> str:
    """`$TORCH_HOME`, by default `~/.cache/torch`."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))
    return os.path.expanduser(home)


def get_dir() -> str:
    """Where repositories and weights are kept: what `set_dir` was given, or `hub` in
    `$TORCH_HOME`, by default `~/.cache/torch`."""
    return _directory or os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Keep repositories and weights in another directory."""
    global _directory
    _directory = os.path.expanduser(d)


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Fetch a file; it appears under its name when it is whole.

    With `hash_prefix`, its SHA-256 must begin with that.
    """
    dst = os.path.expanduser(dst)
    request = Request(url, headers={"User-Agent": "torch.hub"})
    with urlopen(request) as response:
        length = response.headers.get("Content-Length")
        size = int(length) if length else None
        part = Path(f"{dst}.{os.getpid()}.partial")
        digest = hashlib.sha256()
        try:
            with (
                part.open("xb") as file,
                tqdm(total=size, disable=not progress, unit="B") as bar,
            ):
                while data := response.read(_CHUNK):
                    file.write(data)
                    digest.update(data)
                    bar.update(len(data))
            if size is not None and part.stat().st_size != size:
                raise RuntimeError(
                    f"{url}: {part.stat().st_size} bytes arrived of {size}"
                )
            found = digest.hexdigest()
            if hash_prefix and not found.startswith(hash_prefix):
                raise RuntimeError(
                    f'invalid hash value (expected "{hash_prefix}", got "{found}")'
                )
            shutil.move(part, dst)
        finally:
            part.unlink(missing_ok=True)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> dict[str, Any]:
    """A checkpoint by its address; it is fetched once and kept in `model_dir`.

    With `check_hash`, the name of the file ends in the beginning of its SHA-256:
    `resnet18-f37072fd.pth`.
    """
    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stderr.write(f'Downloading: "{url}" to {path}\n')
        match = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, match[1] if match else None, progress)
    if zipfile.is_zipfile(path) and not _is_checkpoint(path):
        warnings.warn(
            "Falling back to the old format < 1.6. This support will be deprecated in "
            "favor of default zipfile format introduced in 1.6. Please redo "
            "torch.save() to save it in the new zipfile format.",
            stacklevel=2,
        )
        with zipfile.ZipFile(path) as archive:
            inside = archive.namelist()
            if len(inside) != 1:
                raise RuntimeError("Only one file(not dir) is allowed in the zipfile")
            archive.extractall(folder)
        path = os.path.join(folder, inside[0])
    return ember.load(path, map_location=map_location, weights_only=weights_only)


def _is_checkpoint(path: str) -> bool:
    with zipfile.ZipFile(path) as archive:
        return any(name.endswith("data.pkl") for name in archive.namelist())


# --- repositories ---------------------------------------------------------------------


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = None,
    verbose: bool = True,
) -> _list[str]:
    """The names of the functions in a repository's `hubconf.py`."""
    folder = _fetch(github, force_reload, skip_validation, trust_repo, verbose, "list")
    module = _configuration(folder)
    return [
        name
        for name, value in vars(module).items()
        if callable(value) and not name.startswith("_")
    ]


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = None,
) -> str | None:
    """The docstring of a function in a repository's `hubconf.py`."""
    folder = _fetch(github, force_reload, skip_validation, trust_repo, True, "help")
    return _entry(_configuration(folder), model).__doc__


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: bool | str | None = None,
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """What a function of a repository's `hubconf.py` returns, a model as a rule."""
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(
            f'Unknown source: "{source}". Allowed values: "github" | "local".'
        )
    if source == "github":
        repo_or_dir = _fetch(
            repo_or_dir, force_reload, skip_validation, trust_repo, verbose, "load"
        )
    return _entry(_configuration(repo_or_dir), model)(*args, **kwargs)


def _configuration(folder: str) -> Any:
    """The module `hubconf` of a directory, which may import its neighbours."""
    path = os.path.join(folder, "hubconf.py")
    if not os.path.isfile(path):
        raise FileNotFoundError(f"{path}: a repository for ember.hub has this file")
    sys.path.insert(0, folder)
    try:
        spec = importlib.util.spec_from_file_location("hubconf", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    needs = getattr(module, "dependencies", None) or []
    missing = [name for name in needs if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entry(module: Any, model: str) -> Any:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    function = getattr(module, model, None)
    if not callable(function):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return function


def _parse(github: str) -> tuple[str, str, str | None]:
    """ "owner/name:branch" in three parts."""
    match = re.fullmatch(r"([^/:]+)/([^/:]+)(?::(.+))?", github)
    if match is None:
        raise ValueError(
            f"'{github}': a repository is named owner/name or owner/name:branch"
        )
    return match[1], match[2], match[3]


def _default_branch(owner: str, name: str) -> str:
    """main, unless the repository has none."""
    try:
        with urlopen(f"https://github.com/{owner}/{name}/tree/main/"):
            return "main"
    except HTTPError as error:
        if error.code == 404:
            return "master"
        raise
    except URLError:  # no connection: what was fetched before
        for branch in ("main", "master"):
            if os.path.exists(f"{get_dir()}/{owner}_{name}_{branch}"):
                return branch
        raise


def _archive_address(owner: str, name: str, branch: str) -> str:
    return f"https://github.com/{owner}/{name}/zipball/{branch}"


def _fetch(
    github: str,
    force_reload: bool,
    skip_validation: bool,
    trust_repo: bool | str | None,
    verbose: bool,
    caller: str,
) -> str:
    """The directory of a repository, fetched unless it is there."""
    owner, name, branch = _parse(github)
    branch = branch or _default_branch(owner, name)
    os.makedirs(get_dir(), exist_ok=True)
    key = "_".join((owner, name, branch.replace("/", "_")))
    folder = os.path.join(get_dir(), key)
    _check_trust(owner, name, trust_repo, caller)
    if os.path.exists(folder) and not force_reload:
        if verbose:
            sys.stderr.write(f"Using cache found in {folder}\n")
        return folder
    if not skip_validation:
        _check_branch(owner, name, branch)
    with tempfile.TemporaryDirectory(dir=get_dir()) as scratch:
        archive = os.path.join(scratch, "archive.zip")
        url = _archive_address(owner, name, branch)
        sys.stderr.write(f'Downloading: "{url}" to {folder}\n')
        download_url_to_file(url, archive, progress=False)
        with zipfile.ZipFile(archive) as packed:
            top = packed.namelist()[0].split("/")[0]
            packed.extractall(scratch)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.move(os.path.join(scratch, top), folder)
    return folder


def _check_branch(owner: str, name: str, branch: str) -> None:
    """That the branch is the repository's own, not that of somebody's fork."""
    headers = {"Accept": "application/vnd.github.v3+json"}
    if token := os.environ.get("GITHUB_TOKEN"):
        headers["Authorization"] = f"token {token}"
    for kind in ("branches", "tags"):
        page = 0
        while True:
            page += 1
            url = f"https://api.github.com/repos/{owner}/{name}/{kind}?per_page=100&page={page}"
            with urlopen(Request(url, headers=headers)) as response:
                found = json.loads(response.read())
            if not found:
                break
            if any(
                b["name"] == branch or b["commit"]["sha"].startswith(branch)
                for b in found
            ):
                return
    raise ValueError(
        f"Cannot find {branch} in https://github.com/{owner}/{name}. If it's a commit "
        "from a forked repo, please call hub.load() with forked repo directly."
    )


def _check_trust(owner: str, name: str, trust: bool | str | None, caller: str) -> None:
    """Ask or warn before code of somebody new is run, and remember the answer."""
    if trust not in (True, False, None, "check"):
        raise ValueError('trust_repo: True, False, None or "check"')
    path = Path(get_dir(), "trusted_list")
    path.touch()
    key = f"{owner}_{name}"
    known = path.read_text().split()
    if key in known or owner in _TRUSTED:
        return
    if trust is None:
        warnings.warn(
            "You are about to download and run code from an untrusted repository. In a "
            "future release, this won't be allowed. To add the repository to your "
            f"trusted list, change the command to {caller}(..., trust_repo=False); a "
            f"command prompt will appear asking for an explicit confirmation of trust, "
            f"or {caller}(..., trust_repo=True), which will assume that the prompt is "
            "to be answered with 'yes'.",
            stacklevel=4,
        )
        return
    if trust is not True:
        answer = input(
            f"The repository {owner}_{name} does not belong to the list of trusted "
            "repositories and as such cannot be downloaded. Do you trust this "
            "repository and wish to add it to the trusted list of repositories (y/N)? "
        )
        if answer.lower() not in ("y", "yes"):
            raise Exception("Untrusted repository.")
    with path.open("a") as file:
        file.write(key + "\n")


def _import_dotted_name(name: str) -> Any:
    """An object by its dotted name."""
    module, *rest = name.split(".")
    value: Any = __import__(module)
    for part in rest:
        value = getattr(value, part)
    return value
