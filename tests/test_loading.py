"""What `load` refuses: sizes that a file only claims, work without end, other names.

`tests/fuzz/attacks.py` has many more of each kind.
"""

import io
import operator
import os
import pickle
import resource
import signal
import warnings
import zipfile

import pytest

import ember
from ember.serialization import get_unsafe_globals_in_checkpoint
from tests import checkpoints
from tests.fuzz import attacks
from tests.fuzz.attacks import archive, call, get, listed, name, number, text, values

FROZEN = name("builtins", "frozenset")


def load(data: bytes, **options):
    return ember.load(io.BytesIO(data), **options)


def unsafe(body: bytes) -> list[str]:
    return get_unsafe_globals_in_checkpoint(io.BytesIO(archive(body)))


# --- sizes ----------------------------------------------------------------------------


def test_sparse_tar_members_are_refused():
    members = [(n, b"S", b"", 1 << 40) for n in ("storages", "tensors", "pickle")]
    with pytest.raises(RuntimeError, match="type b'S'"):
        load(attacks.tar(*members))
    members = [(n, b"0", b"", 1 << 40) for n in ("storages", "tensors", "pickle")]
    with pytest.raises(RuntimeError, match="ends early"):
        load(attacks.tar(*members))
    assert load(checkpoints.tarred())[1].tolist() == [3, 4, 5]


def test_of_a_tar_the_last_file_of_a_name_counts():
    sound = checkpoints.tarred()
    bad = attacks.tar(("pickle", b"0", b"\x80\2K\7.", 5))[:1024]
    assert len(load(bad + sound)) == 2
    assert load(sound[: sound.rindex(b"pickle\0")] + bad + b"\0" * 1024) == 7


@pytest.mark.parametrize("mmap", [True, False])
def test_a_file_cut_short_is_an_error(tmp_path, mmap):
    path = tmp_path / "a.pt"
    ember.save({"a": ember.ones(10_000), "b": ember.ones(10_000)}, path)
    whole = path.read_bytes()
    for keep in (0, 3, 100, 5000, 45_000, len(whole) - 1):
        path.write_bytes(whole[:keep])
        with pytest.raises((RuntimeError, EOFError)):
            ember.load(path, mmap=mmap)
    for cut in (whole[:45_000] + whole[46_000:], whole[:45_000] + whole[-1000:]):
        path.write_bytes(cut)  # the directory is there, what it names is not
        with pytest.raises(RuntimeError):
            ember.load(path, mmap=mmap)


def test_files_are_not_mapped_beyond_their_end(tmp_path):
    path, fifo = tmp_path / "bytes", tmp_path / "fifo"
    path.write_bytes(b"\0" * 16)
    os.mkfifo(fifo)
    for nbytes in (17, 1 << 40, 1 << 62, 1 << 63, 1 << 70, -1):
        with pytest.raises(RuntimeError, match="bytes"):
            ember.UntypedStorage.from_file(path, False, nbytes)
        with pytest.raises(RuntimeError):
            ember.FloatStorage.from_file(path, False, nbytes)
        with pytest.raises(RuntimeError):
            ember.from_file(str(path), False, nbytes, dtype=ember.uint8)
    for nbytes in (1 << 62, 1 << 70, -1):
        with pytest.raises(RuntimeError):
            ember.UntypedStorage.from_file(path, True, nbytes)
    assert path.stat().st_size == 16
    for shared in (False, True):
        for bad in (fifo, tmp_path):
            with pytest.raises(RuntimeError):
                ember.UntypedStorage.from_file(bad, shared, 16)
    with pytest.raises(RuntimeError, match="unable to open"):
        ember.UntypedStorage.from_file(tmp_path / "none", False, 16)


def test_a_full_disk_is_an_error_when_a_file_is_extended(tmp_path):
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            ember.UntypedStorage.from_file(tmp_path / "x", True, 100_000)
        except RuntimeError as error:
            os._exit(0 if "unable to resize" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0


# --- work -----------------------------------------------------------------------------


def test_nested_frozensets_end():
    sets = attacks.doubling_sets(0) + b"0" + attacks.doubling_sets(100) + b"0"
    for body in (
        sets + call(FROZEN, listed(get(50), get(150))),
        sets + pickle.EMPTY_DICT + b"(" + (get(50) + b"N" + get(150) + b"N") + b"u",
    ):
        with pytest.raises(pickle.UnpicklingError, match="too large"):
            load(archive(body))
    plain = {frozenset([frozenset([1, 2]), (3, frozenset())]): {(1, (2, "x")): 3}}
    assert load(checkpoints.zipped(plain)) == plain


def test_large_and_deep_values_are_no_keys():
    large = tuple(range(300_000))
    assert load(checkpoints.zipped([large])) == [large]
    deep = load(archive(pickle.EMPTY_TUPLE + pickle.TUPLE1 * 100_000))
    for _ in range(100_000):
        (deep,) = deep
    assert deep == ()


@pytest.mark.parametrize("protocol", [1, 2, 3, 4, 5])
def test_every_protocol_is_followed(protocol):
    file = io.BytesIO()
    example = checkpoints.example() | {
        "bytes": bytearray(b"abc"),
        "frozen": frozenset("a"),
    }
    ember.save(example, file, pickle_protocol=protocol)
    got = load(file.getvalue())
    assert list(got) == list(example) and got["nested"] == example["nested"]
    assert ember.equal(got["view"], example["view"]) and got["frozen"] == {"a"}
    assert get_unsafe_globals_in_checkpoint(io.BytesIO(file.getvalue())) == []


# --- names ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"(ios\nsystem\n",  # INST
        b"(cos\nsystem\no",  # OBJ
        name("builtins", "set") + b")}\x92",  # NEWOBJ_EX
        b"\x82\1",  # EXT1
        number(1) + number(2) + b"\x93",  # STACK_GLOBAL of no text
        text("os") + b"\x93",  # ... of too little
        call(name("_codecs", "encode"), text("os"), text("ascii"))
        + text("x")
        + b"\x93",
        b"P0\n",
        b"0",  # POP of nothing
        b"(",  # no value at all
        text("os")[:-1],
    ],
)
def test_what_cannot_be_followed_is_not_called_safe(body):
    for look in (unsafe, lambda b: load(archive(b))):
        with pytest.raises(pickle.UnpicklingError):
            look(body)


@pytest.mark.parametrize(
    "body",
    [
        name("os", "system"),
        text("os") + text("system") + b"\x93",
        text("torch") + text("os") + text("system") + text("x") + b"0\x93",  # POP
        text("torch") + text("float32") + b"00" + text("os") + text("system") + b"\x93",
        b"("
        + text("float32")
        + b"1"
        + text("os")
        + text("system")
        + b"\x93",  # POP_MARK
        text("os") + b"\x94" + b"0" + b"h\0" + text("system") + b"\x93",  # the memo
        text("system") + b"q\1" + b"0" + text("os") + b"h\1" + b"\x93",
        text("x")
        + b"q\1"
        + text("os")
        + b"q\1"
        + b"0"
        + b"h\1"
        + text("system")
        + b"\x93",
        listed(text("a"), name("os", "system")) + b"}" + b"0",
        values(text("os"), name("os", "system")),
        b"}" + text("k") + name("os", "system") + b"s",
        name("torch", "float32") + name("os", "system") + b"0",
    ],
)
def test_each_name_is_found_however_it_gets_there(body):
    assert unsafe(body) == ["os.system"]
    with pytest.raises(pickle.UnpicklingError, match=r"os\.system"):
        load(archive(body))


def test_the_check_reads_the_file_that_is_loaded():
    sound = checkpoints.zipped(1)
    evil = b"\x80\2" + name("os", "system") + b"."
    with pytest.raises(ValueError, match="Expected input to be a checkpoint"):
        get_unsafe_globals_in_checkpoint(io.BytesIO(evil + sound))
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        load(evil + sound)
    file = io.BytesIO(b"before" + sound)
    file.seek(6)
    assert get_unsafe_globals_in_checkpoint(file) == []
    file.seek(6)
    assert ember.load(file) == 1


# Which of n records of one name PyTorch takes, at the front of the file and last.
@pytest.mark.parametrize(("count", "front", "back"), [(2, 1, 1), (3, 2, 1), (4, 2, 0)])
def test_records_of_one_name(count, front, back):
    rest = [(f"archive/{n}", b"3\n") for n in (".format_version", ".storage_alignment")]
    rest += [("archive/byteorder", b"little"), ("archive/version", b"3\n")]
    rest += [("archive/.data/serialization_id", b"0")]
    twins = [("archive/data.pkl", pickle.dumps(i, 2)) for i in range(count)]
    for records, want in ((twins + rest, front), (rest + twins, back)):
        out = io.BytesIO()
        with warnings.catch_warnings(), zipfile.ZipFile(out, "w") as z:
            warnings.simplefilter("ignore")
            for title, data in records:
                z.writestr(title, data)
        assert load(out.getvalue()) == want


def test_state_and_calls_are_limited_to_what_has_them():
    tensor = attacks.tensor(attacks.numbers(4), attacks.numbers(1))
    state = b"}" + text("__class__") + name("builtins", "set") + b"s"
    got = load(archive(tensor + state + b"b"))
    assert type(got) is ember.Tensor and got.tolist() == [0] * 4
    with pytest.raises(pickle.UnpicklingError, match="a call of a Tensor"):
        load(archive(tensor + b")R"))
    with pytest.raises(pickle.UnpicklingError, match="Can only SETITEM for dict"):
        load(archive(tensor + number(0) + number(1) + b"s"))


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (print, "Unsupported global: GLOBAL print was not an allowed global"),
        (os.execv, "GLOBAL posix.execv whose module posix is blocked"),
    ],
)
def test_a_refused_global_is_named_as_in_pytorch(tmp_path, made, text):
    ember.save({"made": made}, tmp_path / "file")
    with pytest.raises(pickle.UnpicklingError, match=text):
        ember.load(tmp_path / "file", weights_only=True)


@pytest.mark.parametrize("name", ["nn.functional.relu", "linalg.norm", "relu", "add"])
def test_ops_that_are_allowed_are_loaded(name):
    op = operator.attrgetter(name)(ember)
    file = io.BytesIO()
    ember.save({"op": op}, file)
    with pytest.raises(pickle.UnpicklingError, match=name):
        ember.load(io.BytesIO(file.getvalue()))
    with ember.serialization.safe_globals([op]):
        assert ember.load(io.BytesIO(file.getvalue()))["op"] is op
