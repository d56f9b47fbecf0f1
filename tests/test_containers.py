"""How checkpoints are read and written: records, checksums, what may be called."""

import datetime
import io
import zipfile
import zoneinfo

import pytest

import ember
from ember import serialization


@pytest.fixture
def unchecked():
    serialization.set_crc32_options(False)
    yield
    serialization.set_crc32_options(True)


def test_files_without_checksums(unchecked, tmp_path):
    path = tmp_path / "a.pt"
    given = {"w": ember.rand(3), "e": ember.empty(0)}
    ember.save(given, path)
    loaded = ember.load(path)
    assert ember.equal(loaded["w"], given["w"])
    assert ember.equal(ember.load(path, mmap=True)["w"], given["w"])
    with zipfile.ZipFile(path) as archive, pytest.raises(zipfile.BadZipFile):
        archive.read("a/data/0")
    with zipfile.ZipFile(path) as archive:
        assert archive.getinfo("a/data/0").file_size == 12


class Reading(io.BytesIO):
    """Notes how it is read."""

    into = 0

    def readinto(self, buffer):
        Reading.into += len(buffer)
        return super().readinto(buffer)


@pytest.mark.parametrize("zipped", [True, False])
def test_storages_are_read_into_place(zipped):
    big, file = ember.rand(1000), Reading()
    ember.save(big, file, _use_new_zipfile_serialization=zipped)
    file.seek(0)
    Reading.into = 0
    assert ember.equal(ember.load(file), big)
    assert Reading.into >= 4000


def test_a_file_that_ends_while_it_is_read():
    file = io.BytesIO()
    ember.save(ember.rand(1000), file, _use_new_zipfile_serialization=False)
    short = io.BytesIO(file.getvalue()[:-100])
    with pytest.raises(RuntimeError, match="ends early"):
        ember.load(short)


def test_old_files_are_loaded_without_data():
    file = io.BytesIO()
    ember.save(ember.ones(3), file, _use_new_zipfile_serialization=False)
    file.seek(0)
    with serialization.skip_data():
        assert ember.load(file).shape == (3,)
    file.seek(0)
    assert ember.load(file).tolist() == [1, 1, 1]


def test_methods_of_classes_can_be_allowed():
    when = datetime.datetime(2025, 1, 1, tzinfo=zoneinfo.ZoneInfo("UTC"))
    file = io.BytesIO()
    ember.save(when, file)
    allowed = [datetime.datetime, getattr, zoneinfo.ZoneInfo]
    file.seek(0)
    refused = pytest.raises(Exception, match=r"_unpickle of zoneinfo\.ZoneInfo")
    with serialization.safe_globals(allowed), refused:
        ember.load(file)
    file.seek(0)
    with serialization.safe_globals([*allowed, zoneinfo.ZoneInfo._unpickle]):
        assert ember.load(file) == when


def test_records_by_themselves(tmp_path):
    for where in (tmp_path / "records", io.BytesIO()):
        with serialization._open_zipfile_writer(where) as writer:
            writer.write_record("a", b"bytes", 5)
            writer.write_record("b/c", "text and more", 4)
            writer.write_record_metadata("d", 3)
        if hasattr(where, "seek"):
            where.seek(0)
            assert serialization._is_zipfile(where)
        with serialization._open_zipfile_reader(where) as reader:
            assert reader.get_record("a") == b"bytes"
            assert reader.get_record("b/c") == b"text"
            assert reader.get_record("d") == bytes(3)
            assert reader.has_record("version") and not reader.has_record("e")
            assert "b/c" in reader.get_all_records()
            assert reader.get_record_offset("a") % 64 == 0
