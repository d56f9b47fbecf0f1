"""Checkpoints: what is kept, what is refused, and what happens to damaged files."""

import io
import mmap
import os
import pickle
import struct
import zipfile
from collections import OrderedDict
from fractions import Fraction

import pytest

import ember
from tests import checkpoints

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()
DTYPES += ["complex64", "complex128", "uint16"]


def round_trip(obj, **options):
    buffer = io.BytesIO()
    ember.save(obj, buffer)
    return ember.load(io.BytesIO(buffer.getvalue()), **options)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    x = ember.tensor([0, 1, 2]).to(getattr(ember, dtype))
    y = round_trip(x)
    assert y.dtype == x.dtype and y.tolist() == x.tolist()


def test_views_share_their_storage():
    base = ember.arange(12.0)
    view = base[2:8].view(2, 3).t()
    a, b = round_trip([view, base])
    assert a.stride() == (1, 3) and a.storage_offset() == 2
    assert a.tolist() == view.tolist()
    a[0, 0] = 100
    assert b[2].item() == 100


def test_containers_and_small_objects():
    obj = OrderedDict(
        a=[1, 2.5, None, True, "é", b"bytes", 1 + 2j, {3, 4}],
        b=(ember.float32, ember.device("cpu"), ember.Size([2, 3])),
    )
    obj._metadata = {"version": 1}
    got = round_trip(obj)
    assert got == obj and got._metadata == {"version": 1}
    assert type(got["b"][2]) is ember.Size


def test_requires_grad_and_parameters():
    x = ember.ones(2, requires_grad=True)
    a, b, c, d = round_trip([x, x * 2, ember.nn.Parameter(x), ember.zeros(0, 3)])
    assert a.requires_grad and not b.requires_grad
    assert type(c) is ember.nn.Parameter and c.requires_grad
    assert d.shape == (0, 3)


@pytest.mark.parametrize("mmap", [False, True])
def test_file_layout(tmp_path, mmap):
    path = tmp_path / "model.pt"
    ember.save({"w": ember.arange(5)}, path)
    assert ember.load(path, mmap=mmap)["w"].tolist() == [0, 1, 2, 3, 4]
    with zipfile.ZipFile(path) as z:
        names = z.namelist()
        assert names[0] == "model/data.pkl" and "model/data/0" in names
        assert z.read("model/byteorder") == b"little"
        assert z.read("model/version") == b"3\n"
        with open(path, "rb") as f:
            for info in z.infolist():
                f.seek(info.header_offset + 26)
                name, extra = struct.unpack("<HH", f.read(4))
                assert (info.header_offset + 30 + name + extra) % 64 == 0
                assert info.compress_type == zipfile.ZIP_STORED


def test_map_location():
    seen = []
    x = ember.ones(2)
    assert round_trip(x, map_location="cpu").device.type == "cpu"
    assert round_trip(x, map_location={"cpu": "cpu"}).tolist() == [1, 1]
    round_trip(x, map_location=lambda storage, location: seen.append(location))
    assert seen == ["cpu"]


def test_a_failed_save_keeps_the_old_file(tmp_path):
    path = tmp_path / "a.pt"
    ember.save(1, path)
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        ember.save(lambda: 0, path)
    assert ember.load(path) == 1
    assert os.listdir(tmp_path) == ["a.pt"]


class Evil:
    def __reduce__(self):
        return os.system, ("echo never",)


def test_restricted_by_default():
    with pytest.raises(
        pickle.UnpicklingError, match=r"not an allowed global|is blocked"
    ):
        round_trip(Evil())
    with pytest.raises(pickle.UnpicklingError, match=r"fractions\.Fraction"):
        round_trip(Fraction(1, 3))
    assert round_trip(Fraction(1, 3), weights_only=False) == Fraction(1, 3)
    with ember.serialization.safe_globals([Fraction]):
        assert round_trip(Fraction(1, 3)) == Fraction(1, 3)
    assert ember.serialization.get_safe_globals() == []


def crafted(pickled: bytes):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as z:
        z.writestr("a/data.pkl", pickled)
        z.writestr("a/data/0", b"\0" * 16)
    buffer.seek(0)
    return buffer


def test_hostile_pickles():
    # a state given to a function: BUILD on torch._utils._rebuild_parameter
    build = b"\x80\x02ctorch._utils\n_rebuild_parameter\n}U\x01aK\x01sb."
    with pytest.raises(pickle.UnpicklingError, match="state given to"):
        ember.load(crafted(build))
    # a huge memo index, and data that ends early
    assert ember.load(crafted(b"\x80\x02K\x05r\xff\xff\xff\x7f.")) == 5
    with pytest.raises(pickle.UnpicklingError):
        ember.load(crafted(b"\x80\x02X\xff\xff\xff\x7fabc"))


def test_a_tensor_cannot_reach_past_its_storage():
    buffer = io.BytesIO()
    ember.save(ember.arange(2.0), buffer)
    with zipfile.ZipFile(buffer) as z:
        text = z.read("archive/data.pkl").replace(b"K\x02\x85", b"K\x40\x85")
    with pytest.raises(RuntimeError, match="does not fit in a storage"):
        ember.load(crafted(text))


def test_damaged_files(tmp_path):
    buffer = io.BytesIO()
    ember.save({"w": ember.arange(1000)}, buffer)
    whole = buffer.getvalue()
    with pytest.raises(EOFError):
        ember.load(io.BytesIO(b""))
    for size in (10, 100, len(whole) // 2, len(whole) - 1):
        with pytest.raises(RuntimeError, match=r"load\(\)"):
            ember.load(io.BytesIO(whole[:size]))
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    with pytest.raises(RuntimeError, match="damaged"):
        ember.load(io.BytesIO(flipped))
    with pytest.raises(RuntimeError, match="not a checkpoint"):
        ember.load(io.BytesIO(b"hello world"))
    with pytest.raises(FileNotFoundError):
        ember.load(tmp_path / "none.pt")


def test_streams_that_cannot_seek():
    class Pipe(io.RawIOBase):
        def __init__(self):
            self.data = b""

        def writable(self):
            return True

        def write(self, data):
            self.data += bytes(data)
            return len(data)

    pipe = Pipe()
    ember.save(ember.ones(2), pipe)
    assert ember.load(io.BytesIO(pipe.data)).tolist() == [1, 1]


# --- older formats --------------------------------------------------------------------


@pytest.mark.parametrize("write", [checkpoints.zipped, checkpoints.pickled])
@pytest.mark.parametrize("weights_only", [True, False])
def test_all_formats_hold_the_same(write, weights_only):
    want = checkpoints.example()
    got = ember.load(io.BytesIO(write(want)), weights_only=weights_only)
    assert list(got) == list(want)
    for name in ("weight", "view", "half", "parameter"):
        assert got[name].tolist() == want[name].tolist()
        assert got[name].dtype == want[name].dtype
        assert got[name].stride() == want[name].stride()
    for name in ("step", "nested", "odd"):
        assert got[name] == want[name]
    got["view"][0, 0] = 77
    assert got["weight"][0, 2] == 77


@pytest.mark.parametrize("weights_only", [True, False])
def test_the_oldest_format(weights_only):
    data = io.BytesIO(checkpoints.tarred())
    a, b = ember.load(data, weights_only=weights_only)
    assert a.tolist() == [[0, 1, 2], [3, 4, 5]] and b.tolist() == [3, 4, 5]
    b[0] = 9
    assert a[1, 0] == 9


def test_older_formats_are_restricted_too():
    with pytest.raises(
        pickle.UnpicklingError, match=r"not an allowed global|is blocked"
    ):
        ember.load(io.BytesIO(checkpoints.pickled([Evil()])))
    whole = checkpoints.pickled(checkpoints.example())
    for size in range(1, len(whole) - 1, 7):
        with pytest.raises((RuntimeError, pickle.UnpicklingError)):
            ember.load(io.BytesIO(whole[:size]))
    with pytest.raises(RuntimeError, match="mmap can only be used"):
        ember.serialization._read(io.BytesIO(whole), None, True)


def test_map_location_of_older_formats():
    data = checkpoints.pickled([ember.arange(3)])
    seen = []
    for where in ("cpu", ember.device("cpu"), {"cpu": "cpu"}, None):
        assert ember.load(io.BytesIO(data), where)[0].tolist() == [0, 1, 2]
    ember.load(io.BytesIO(data), lambda storage, place: seen.append(place) or storage)
    assert seen == ["cpu"]
    assert ember.load(io.BytesIO(data), "meta")[0].is_meta
    assert round_trip([ember.arange(3)], map_location="meta")[0].is_meta
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a"):
        ember.load(io.BytesIO(data), {"cpu": "nonsense:1"})
    with pytest.raises(TypeError, match="map_location"):
        ember.load(io.BytesIO(data), 3)


def test_storages_themselves():
    s, u = ember.arange(3).storage(), ember.arange(2).untyped_storage()
    got, raw = round_trip([s, u])
    assert got.tolist() == [0, 1, 2] and got.dtype == ember.int64
    assert raw.tolist() == u.tolist()


# --- hostile files --------------------------------------------------------------------


def test_no_more_comes_out_than_was_put_in():
    # a record of zeros that expands a thousand times
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("a/data.pkl", b"\x80\x02K\x05.")
        z.writestr("a/data/0", b"\0" * (1 << 26))
    with pytest.raises(RuntimeError, match="larger than it is"):
        ember.load(io.BytesIO(buffer.getvalue()))
    # two names for the same bytes
    whole = checkpoints.zipped([ember.zeros(1000), ember.zeros(1000)])
    with zipfile.ZipFile(io.BytesIO(whole)) as z:
        first, second = z.getinfo("archive/data/0"), z.getinfo("archive/data/1")
    entry = (
        struct.pack("<I", second.header_offset),
        struct.pack("<I", first.header_offset),
    )
    at = whole.rindex(b"archive/data/1") - 4
    assert whole[at : at + 4] == entry[0]
    twice = whole[:at] + entry[1] + whole[at + 4 :]
    with pytest.raises(RuntimeError, match="load"):
        ember.load(io.BytesIO(twice))


@pytest.mark.parametrize(
    "pickled",
    [
        b"\x80\x02c__builtin__\nbytearray\n\x8a\x06\0\0\0\0\0\x01\x85R.",  # of a size
        b"\x80\x05\x96" + b"\xff" * 6 + b"\0\0abc.",  # the same by its own opcode
        b"\x80\x02c_codecs\nencode\nX\x01\0\0\0aX\x04\0\0\0idna\x86R.",
        b"\x80\x02})" + b"\x85" * 100_000 + b"K\x01s.",  # a key of tuples in tuples
        b"\x80\x02})" + b"2\x86" * 60 + b"K\x01s.",  # ... twice in each
        b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\nc__builtin__\nset\n"
        b"ctorch\nTensor\n)}tR.",
        b"\x80\x02(X\x07\0\0\0storageK\x01X\x01\0\0\x000X\x03\0\0\0cpuK\x04tQ.",
    ],
)
def test_more_hostile_pickles(pickled):
    with pytest.raises((pickle.UnpicklingError, RuntimeError)):
        ember.load(crafted(pickled))


def test_a_killed_save_leaves_nothing(tmp_path):
    path = tmp_path / "a.pt"
    ember.save(1, path)
    os.chmod(path, 0o640)
    child = os.fork()
    if child == 0:
        from ember.serialization import _archive

        _archive.ArchiveWriter.close = lambda self: os.kill(os.getpid(), 9)
        ember.save(ember.ones(100_000), path)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 9
    assert os.listdir(tmp_path) == ["a.pt"] and ember.load(path) == 1
    ember.save(2, path)
    assert os.stat(path).st_mode & 0o777 == 0o640 and ember.load(path) == 2


def test_mapped_files_are_changed_only_if_asked_for(tmp_path):
    path = tmp_path / "a.pt"
    ember.save(ember.zeros(3), path)
    ember.load(path, mmap=True).fill_(1)
    assert ember.load(path).tolist() == [0, 0, 0]
    with ember.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        ember.load(path, mmap=True).fill_(2)
    assert ember.load(path, mmap=True).tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="MAP_PRIVATE"):
        ember.serialization.set_default_mmap_options(77)


def test_files_of_the_other_byte_order():
    sound = io.BytesIO(checkpoints.zipped(ember.arange(3)))
    other = io.BytesIO()
    with zipfile.ZipFile(sound) as z, zipfile.ZipFile(other, "w") as swapped:
        for name in z.namelist():
            data = z.read(name)
            if name.endswith("data/0"):
                data = struct.pack(">3q", 0, 1, 2)
            if not name.endswith("byteorder"):
                swapped.writestr(name, data)
    data, options = other.getvalue(), ember.serialization
    assert ember.load(io.BytesIO(data)).tolist() != [0, 1, 2]
    options.set_default_load_endianness(options.LoadEndianness.BIG)
    try:
        assert ember.load(io.BytesIO(data)).tolist() == [0, 1, 2]
    finally:
        options.set_default_load_endianness(None)


# --- rooms left for data, devices of other packages, helpers --------------------------


def test_skipped_data_can_be_filled_in_later(tmp_path):
    path, values = tmp_path / "empty.pt", ember.arange(100.0)
    with ember.serialization.skip_data():
        ember.save({"x": values}, path)
    assert ember.load(path)["x"].abs().sum() == 0
    size = path.stat().st_size
    ember.save({"x": values}, tmp_path / "full.pt")
    full = (tmp_path / "full.pt").read_bytes()
    assert size == len(full)
    at = full.index(bytes(memoryview(values)))
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(memoryview(values))
    assert ember.equal(ember.load(path)["x"], values)
    assert ember.equal(ember.load(path, mmap=True)["x"], values)


def test_loading_can_skip_data():
    file = io.BytesIO()
    ember.save({"w": ember.ones(2, 3), "n": 4}, file)
    with ember.serialization.skip_data():
        made = ember.load(io.BytesIO(file.getvalue()))
    assert made["w"].shape == (2, 3) and made["n"] == 4
    assert not ember.serialization.skip_data.active


def test_checksums_are_optional():
    file = io.BytesIO()
    ember.save(ember.arange(3), file)
    with zipfile.ZipFile(file, "a") as archive:
        for record in archive.infolist():
            record.CRC = 0
        archive.writestr("archive/extra", b"")  # so that the directory is written again
    assert ember.load(io.BytesIO(file.getvalue())).tolist() == [0, 1, 2]


def test_registered_packages(monkeypatch):
    from ember.serialization import _options, location_tag, register_package

    monkeypatch.setattr(_options, "_packages", [])
    seen = []

    def restore(storage, location):
        if location != "five":
            return None
        seen.append(storage.nbytes())
        return storage.clone()

    register_package(5, lambda s: "five" if s.nbytes() == 5 else None, restore)
    register_package(30, lambda s: "late", lambda s, location: None)
    five = ember.arange(5, dtype=ember.uint8)
    assert location_tag(five.untyped_storage()) == "five"
    assert location_tag(five.storage()) == "five"
    assert location_tag(ember.UntypedStorage(4)) == "cpu"
    file = io.BytesIO()
    ember.save([five, ember.ones(2)], file)
    made = ember.load(io.BytesIO(file.getvalue()))
    assert made[0].tolist() == [0, 1, 2, 3, 4] and seen == [5]
    again = ember.load(io.BytesIO(file.getvalue()), map_location="cpu")
    assert again[0].tolist() == [0, 1, 2, 3, 4]
    assert seen == [5]
    _options._packages.clear()
    with pytest.raises(RuntimeError, match="five"):
        ember.load(io.BytesIO(file.getvalue()))


def test_versions_of_modules():
    import types

    from ember.serialization import check_module_version_greater_or_equal as check

    module = types.ModuleType("m")
    for version, enough in [("1.2.3", True), ("1.10.0", True), ("1.1.9.4", False)]:
        module.__version__ = version
        assert check(module, (1, 2, 3)) is enough
    for version in ("1.2", "1.2.3a"):
        module.__version__ = version
        with pytest.raises(RuntimeError, match="malformed"):
            check(module, (1, 2, 3))
        with pytest.warns(UserWarning, match="malformed"):
            assert check(module, (1, 2, 3), error_if_malformed=False)


def test_types_of_storages_by_name():
    from ember import serialization as s

    assert s.StorageType("LongStorage").dtype == ember.int64
    with pytest.raises(KeyError, match="not recognized"):
        s.StorageType("Tensor")
    assert s.normalize_storage_type(ember.FloatStorage) is ember.FloatStorage
    assert s.storage_to_tensor_type(ember.LongStorage(1)) is ember.LongTensor
    with s.mkdtemp() as path:
        assert os.path.isdir(path)
    assert not os.path.exists(path)


def test_an_archive_may_begin_anywhere_in_a_file():
    file = io.BytesIO()
    file.write(b"header")
    ember.save(ember.arange(3), file)
    file.seek(6)
    assert ember.load(file).tolist() == [0, 1, 2]


def test_files_that_cannot_seek_are_told_apart():
    class Stream:
        def read(self, n=-1):
            return b""

    with pytest.raises(AttributeError, match="from a file that is seekable"):
        ember.load(Stream())
