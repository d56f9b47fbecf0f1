"""What `save` and its kin write: nothing is lost, and no other file is touched."""

import copy
import errno
import io
import os
import pickle
import resource
import signal
import stat
import subprocess
import sys
import threading
import types

import pytest

import ember
from ember._files import replacing
from ember.profiler import profile
from ember.utils import safetensors
from ember.utils._progress import save_curves

OTHERS = ("a.pt.tmp", ".a.pt.swp", f"a.pt.{os.getpid()}.tmp")


@pytest.fixture(params=["nameless", "named"])
def path(request, tmp_path, monkeypatch):
    """A path, with and without a system that knows nameless files."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE")
    return tmp_path / "a.pt"


def in_child(function) -> None:
    """Run it in a forked process, which is to end well."""
    child = os.fork()
    if child == 0:
        try:
            function()
            os._exit(0)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def as_nobody(function) -> None:
    """The same by a user whom permissions bind."""

    def drop_and_run():
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        function()

    in_child(drop_and_run)


# --- failures -------------------------------------------------------------------------


class Interrupts:
    def __reduce__(self):
        raise KeyboardInterrupt


class Breaks:
    def __reduce__(self):
        raise ValueError("no")


@pytest.mark.parametrize("bad", [Interrupts(), Breaks(), lambda: 0])
def test_what_cannot_be_pickled_changes_nothing(path, bad):
    ember.save(1, path)
    with pytest.raises((KeyboardInterrupt, ValueError, AttributeError, Exception)):
        ember.save([ember.ones(1000), bad], path)
    assert ember.load(path) == 1 and os.listdir(path.parent) == ["a.pt"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, MemoryError])
@pytest.mark.parametrize("where", ["write", "close"])
def test_an_error_in_the_middle_changes_nothing(path, monkeypatch, error, where):
    from ember.serialization._archive import ArchiveWriter

    ember.save(1, path)

    def fail(self, *args):
        self.zip.fp.write(b"x" * 10_000)
        raise error

    monkeypatch.setattr(ArchiveWriter, where, fail)
    with pytest.raises(error):
        ember.save(ember.ones(1000), path)
    assert ember.load(path) == 1 and os.listdir(path.parent) == ["a.pt"]


@pytest.mark.parametrize("size", [10, 1_000_000])
def test_a_full_disk_changes_nothing(path, size):
    ember.save(1, path)

    def fill():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
        with pytest.raises(OSError, match="written") as caught:
            ember.save(ember.ones(size), path)
        assert caught.value.errno == errno.EFBIG
        with pytest.raises(OSError):
            safetensors.save_file({"a": ember.ones(size)}, path)

    in_child(fill)
    assert ember.load(path) == 1 and os.listdir(path.parent) == ["a.pt"]


def test_an_error_of_the_disk_is_not_hidden(path, monkeypatch):
    ember.save(1, path)

    def fail(descriptor):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        ember.save(2, path)
    assert ember.load(path) == 1 and os.listdir(path.parent) == ["a.pt"]


def test_contents_reach_the_disk_before_the_name_changes(path, monkeypatch):
    calls = []
    sync, replace = os.fsync, os.replace

    def synced(descriptor):
        calls.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    def replaced(*names):
        calls.append("replace")
        replace(*names)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    ember.save(1, path)
    assert calls == ["file", "replace", "folder"]


def test_errors_are_those_of_pytorch_and_of_python(tmp_path):
    for bad in (tmp_path / "none" / "a.pt", tmp_path, str(tmp_path / "x") + "/", ""):
        for kind in (RuntimeError, OSError):
            with pytest.raises(kind):
                ember.save(1, bad)
    assert os.listdir(tmp_path) == []
    with pytest.raises(RuntimeError, match=r"Parent directory .*none does not exist"):
        ember.save(1, tmp_path / "none" / "a.pt")


def test_a_failed_save_to_a_file_object_does_not_look_whole(monkeypatch):
    import io

    from ember.serialization._archive import ArchiveWriter

    file = io.BytesIO()
    with monkeypatch.context() as patch:
        patch.setattr(ArchiveWriter, "close", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ember.save(ember.ones(10), file)
    with pytest.raises(RuntimeError, match="truncated"):
        ember.load(io.BytesIO(file.getvalue()))


# --- other people's files -------------------------------------------------------------


def test_files_beside_it_are_nobodys_business(path):
    for name in OTHERS:
        (path.parent / name).write_bytes(b"mine")
    for value in (1, 2):
        ember.save(value, path)
    with pytest.raises(ValueError):
        ember.save(Breaks(), path)
    assert all((path.parent / n).read_bytes() == b"mine" for n in OTHERS)
    assert len(os.listdir(path.parent)) == 1 + len(OTHERS)


def test_a_taken_temporary_name_is_left_alone(path, monkeypatch):
    names = [b"\0" * 4, b"\0" * 4, b"\1" * 4]
    monkeypatch.setattr(os, "urandom", lambda count: names.pop(0))
    victim = path.parent / "victim"
    victim.write_bytes(b"mine")
    (path.parent / ".a.pt.00000000.tmp").symlink_to(victim)
    ember.save(1, path)
    assert not names and victim.read_bytes() == b"mine"
    assert (path.parent / ".a.pt.00000000.tmp").is_symlink() and ember.load(path) == 1


def test_a_compressed_trace_leaves_the_plain_one(tmp_path):
    import gzip
    import json

    (tmp_path / "trace.json").write_text("mine")
    with profile() as prof:
        ember.ones(2) + 1
    prof.export_chrome_trace(str(tmp_path / "trace.json.gz"))
    assert (tmp_path / "trace.json").read_text() == "mine"
    with gzip.open(tmp_path / "trace.json.gz") as file:
        assert json.load(file)["traceEvents"]


@pytest.mark.parametrize("threads", [8])
def test_many_may_save_to_one_path(path, threads):
    def saves(i):
        for _ in range(10):
            ember.save([i] * 1000, path)

    running = [threading.Thread(target=saves, args=(i,)) for i in range(threads)]
    for thread in running:
        thread.start()
    while any(thread.is_alive() for thread in running):
        if path.exists():
            assert len(set(ember.load(path))) == 1
    assert os.listdir(path.parent) == ["a.pt"]


# --- what a path may be ---------------------------------------------------------------


def test_permissions_are_those_of_any_new_file_or_of_the_old_one(path):
    before = os.umask(0o027)
    try:
        ember.save(1, path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        ember.save(2, path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o604
    finally:
        os.umask(before)


def test_links_are_followed(path):
    target = path.parent / "target.pt"
    path.symlink_to("target.pt")
    for value in (1, 2):  # it leads nowhere, then to a file
        ember.save(value, path)
        assert path.is_symlink() and ember.load(target) == value
    path.unlink()
    path.symlink_to(path.name)
    with pytest.raises(OSError, match="symbolic links"):
        ember.save(1, path)


def test_a_write_protected_file_stays(path):
    path.parent.chmod(0o777)
    ember.save(1, path)
    path.chmod(0o444)

    def overwrite():
        with pytest.raises(RuntimeError, match="Permission denied"):
            ember.save(2, path)

    open_up(path)
    as_nobody(overwrite)
    assert ember.load(path) == 1 and os.listdir(path.parent) == ["a.pt"]


def open_up(path) -> None:
    """Let everyone enter the folders above a path."""
    for folder in path.parents:
        mode = folder.stat().st_mode
        if mode & 0o111 != 0o111 and folder.stat().st_uid == os.geteuid():
            folder.chmod(mode | 0o111)


@pytest.mark.parametrize("mode", [0o555, 0o777])
def test_a_writable_file_in_any_folder(path, mode):
    """One of another user, or where no file can be made, is written in place."""
    ember.save(1, path)
    path.chmod(0o666)
    path.parent.chmod(mode)
    open_up(path)
    before = path.stat()

    def overwrite():
        ember.save(2, path)
        if mode == 0o555:
            with pytest.raises(RuntimeError, match="Permission denied"):
                ember.save(2, path.parent / "b.pt")

    as_nobody(overwrite)
    path.parent.chmod(0o755)
    assert ember.load(path) == 2 and os.listdir(path.parent) == ["a.pt"]
    assert path.stat().st_uid == before.st_uid
    assert mode == 0o777 or path.stat().st_ino == before.st_ino


def test_pipes_devices_and_open_files(tmp_path):
    fifo, out = tmp_path / "fifo", tmp_path / "out.pt"
    os.mkfifo(fifo)
    got = []
    reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()))
    reader.start()
    ember.save(ember.arange(3), fifo)
    reader.join()
    out.write_bytes(got[0])
    assert ember.load(out).tolist() == [0, 1, 2] and stat.S_ISFIFO(fifo.stat().st_mode)
    writer = threading.Thread(target=lambda: fifo.write_bytes(got[0]))
    writer.start()
    assert ember.load(fifo).tolist() == [0, 1, 2]
    writer.join()
    ember.save(1, os.devnull)
    if os.path.exists("/dev/full"):
        with pytest.raises(OSError, match="No space left"):
            ember.save(1, "/dev/full")
    with open(tmp_path / "inherited", "w+b") as file:
        ember.save(3, f"/dev/fd/{file.fileno()}")
        assert ember.load(file) == 3
    command = "import ember; ember.save(4, '/dev/stdout')"
    for stdout in ("pipe", "file"):
        with open(out, "wb") as file:
            to = subprocess.PIPE if stdout == "pipe" else file
            done = subprocess.run([sys.executable, "-c", command], stdout=to)
        assert done.returncode == 0
        if done.stdout:
            out.write_bytes(done.stdout)
        assert ember.load(out) == 4


@pytest.mark.parametrize(
    "name", ["x" * 255, "é" * 127, ".pt", "a b\n'.pt", "-", "\udcff.pt", "..."]
)
def test_names_of_every_kind(path, name, monkeypatch):
    monkeypatch.chdir(path.parent)
    ember.save(1, name)
    ember.save(2, name)
    assert ember.load(name) == 2 and os.listdir() == [name]


@pytest.mark.at_once
def test_everything_that_is_written_goes_the_same_way(tmp_path, monkeypatch):
    paths = []
    take_name = replacing._take_name

    def spy(self):
        paths.append(os.path.basename(self.target))
        take_name(self)

    monkeypatch.setattr(replacing, "_take_name", spy)
    with profile(with_stack=True, profile_memory=True) as prof:
        _ = [ember.ones(1000) + i for i in range(3)]
    ember.save(1, tmp_path / "a.pt")
    safetensors.save_file({}, tmp_path / "a.safetensors")
    prof.export_chrome_trace(str(tmp_path / "a.json"))
    prof.export_stacks(str(tmp_path / "a.txt"))
    prof.export_memory_timeline(str(tmp_path / "a.svg"))
    pictures = save_curves(tmp_path / "a.png", [1.0, 2.0], [])
    assert sorted(paths) == sorted(os.listdir(tmp_path)) and len(paths) == 5 + pictures


def test_while_another_thread_imports_storages(monkeypatch):
    half_loaded = types.ModuleType("ember.storage")
    monkeypatch.setitem(sys.modules, "ember.storage", half_loaded)
    ember.save({"w": ember.ones(2)}, io.BytesIO())


# --- meta tensors, slots, names of Python 2 -------------------------------------------


def through_a_file(value, **options):
    file = io.BytesIO()
    ember.save(value, file)
    file.seek(0)
    return ember.load(file, **options)


def test_meta_tensors_are_their_shapes():
    state = ember.nn.Linear(2, 3, device="meta").state_dict()
    state["view"] = ember.empty(4, 5, device="meta", dtype=ember.bfloat16).t()
    loaded = through_a_file(state)
    for name, t in state.items():
        assert loaded[name].is_meta and loaded[name].dtype is t.dtype
        assert loaded[name].shape == t.shape and loaded[name].stride() == t.stride()
    parameter = ember.nn.Parameter(ember.empty(2, device="meta"))
    assert through_a_file(parameter).requires_grad


class Slotted(ember.Tensor):
    __slots__ = ["inner"]

    @staticmethod
    def __new__(cls, inner):
        made = ember.Tensor._make_subclass(cls, inner.to("meta"))
        made.inner = inner
        made.other = 1
        return made


@pytest.mark.parametrize(
    "copied",
    [
        copy.deepcopy,
        lambda t: pickle.loads(pickle.dumps(t)),
        lambda t: through_a_file(t, weights_only=False),
    ],
)
def test_what_is_in_slots_is_copied(copied):
    made = copied(Slotted(ember.tensor([3.0, 4.0])))
    assert type(made) is Slotted and made.inner.tolist() == [3, 4] and made.other == 1


def test_slots_that_a_class_does_not_have_are_attributes():
    from ember.serialization._names import set_state

    made = Slotted(ember.ones(1))
    set_state(made, (None, {"inner": 2, "data": 3}))
    assert made.inner == 2 and made.__dict__["data"] == 3
    assert isinstance(made.data, ember.Tensor)


class Printing:
    def __reduce__(self):
        return (print, ("loaded",))


def test_builtins_can_be_allowed(capsys):
    """Files call them by Python 2's names."""
    with pytest.raises(
        pickle.UnpicklingError, match="Unsupported global: GLOBAL print"
    ):
        through_a_file(Printing())
    with ember.serialization.safe_globals([print]):
        through_a_file(Printing())
    assert capsys.readouterr().out == "loaded\n"
