"""The directory for compiled kernels: whose it is, and where, if it can't be there."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from ember import _cache

VARIABLE = "EMBER_NO_SUCH_CACHE"


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("XDG_CACHE_HOME", VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(_cache, "_told", set())
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def ask(match=None):
    """The directory, and that there is a warning if and only if it is expected."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        path = _cache.directory("kernels", VARIABLE)
    texts = [str(warning.message) for warning in caught]
    if match is None:
        assert not texts
    else:
        assert len(texts) == 1 and match in texts[0], texts
    if path:
        assert Path(path).stat().st_mode & 0o777 == 0o700
    return path


def test_it_is_made_for_the_user_alone(home, monkeypatch):
    assert ask() == str(home / ".cache/ember/kernels")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "xdg"))
    assert ask() == str(home / "xdg/ember/kernels")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # which the standard forbids
    assert ask() == str(home / ".cache/ember/kernels")
    monkeypatch.setenv(VARIABLE, str(home / "own"))
    assert ask() == str(home / "own")
    monkeypatch.setenv(VARIABLE, "")
    assert ask() == ""


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o707, 0o777, 0o701])
def test_one_that_others_can_open_is_not_used_and_it_says_so_once(
    home, monkeypatch, mode
):
    path = home / "open"
    path.mkdir()
    path.chmod(mode)
    monkeypatch.setenv(VARIABLE, str(path))
    assert ask(f"{path}: others may open it (its mode is {mode:04o}") == ""
    assert ask() == ""
    assert path.stat().st_mode & 0o777 == mode, "it is left as it was"


def test_the_usual_one_that_others_can_open_is_replaced(home, tmp_path):
    path = home / ".cache/ember/kernels"
    path.mkdir(parents=True)
    path.chmod(0o755)
    temporary = tmp_path / "tmp" / f"ember-{os.geteuid()}" / "kernels"
    assert ask(f"{path}: others may open it") == str(temporary)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_one_of_somebody_else_is_not_used(home, monkeypatch):
    path = home / "theirs"
    path.mkdir(mode=0o700)
    os.chown(path, 12345, 12345)
    monkeypatch.setenv(VARIABLE, str(path))
    assert ask("belongs to user 12345") == ""
    link = home / "link"
    link.symlink_to(path)
    monkeypatch.setenv(VARIABLE, str(link))
    assert ask("belongs to user 12345") == ""
    mine = home / "mine"
    mine.mkdir(mode=0o700)
    link.unlink()
    link.symlink_to(mine)
    assert ask() == str(link)  # the user's own link to the user's own directory
    os.chown(link, 12345, 12345, follow_symlinks=False)
    assert ask("link that belongs to user 12345") == ""


def test_what_is_no_directory_is_not_used(home, monkeypatch):
    (home / "file").write_text("")
    monkeypatch.setenv(VARIABLE, str(home / "file"))
    assert ask("not a directory") == ""
    monkeypatch.setenv(VARIABLE, str(home / "file" / "below"))
    assert ask("file/below") == ""


def test_without_a_home_that_can_be_written_it_is_in_the_temporary_directory(
    home, tmp_path, monkeypatch
):
    monkeypatch.setenv("HOME", "/proc/nowhere")
    expected = tmp_path / "tmp" / f"ember-{os.geteuid()}"
    assert ask() == str(expected / "kernels")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    assert ask() == str(home / "ember/kernels")


def test_nowhere_at_all_is_said_and_no_error(home, monkeypatch):
    monkeypatch.setenv("HOME", "/proc/nowhere")
    monkeypatch.setattr("tempfile.tempdir", "/proc/nowhere")
    assert ask("keeps no compiled kernels") == ""


def test_a_directory_that_is_still_written_to_goes_later(tmp_path, monkeypatch):
    left = _cache.Private(str(tmp_path))
    os.close(left._lock)  # as if its process had been killed, but not its helper
    with monkeypatch.context() as patched:
        patched.setattr("shutil.rmtree", lambda *args, **options: None)
        _cache.Private._sweep(str(tmp_path))
    assert os.path.isdir(left.path) and os.path.exists(left.path + ".lock")
    _cache.Private._sweep(str(tmp_path))
    assert not os.listdir(tmp_path)


def test_a_directory_of_a_process_ends_with_it(tmp_path):
    mine = _cache.Private(str(tmp_path))
    assert os.path.isdir(mine.path) and os.stat(mine.path).st_mode & 0o777 == 0o700
    code = (
        "import os, signal, sys\n"
        "from ember._cache import Private\n"
        f"path = Private({str(tmp_path)!r}).path\n"
        "open(path + '/file', 'w').close()\n"
        "print(path, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100
    )
    left = killed.stdout.strip()
    assert os.path.exists(left + "/file")
    other = _cache.Private(str(tmp_path))
    assert not os.path.exists(left) and os.path.isdir(mine.path)
    pid = os.fork()
    if pid == 0:
        other.remove()  # not the child's
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.path.isdir(other.path)
    mine.remove()
    other.remove()
    assert not os.listdir(tmp_path)
