"""`ember.hub`: files by address, models from repositories."""

import functools
import hashlib
import http.server
import threading
import zipfile

import pytest

import ember
from ember import hub


@pytest.fixture
def site(tmp_path):
    """A folder, and the address at which it is served."""
    folder = tmp_path / "site"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def cache(tmp_path):
    hub.set_dir(tmp_path / "cache")
    yield tmp_path / "cache"
    hub._directory = None


def test_weights_are_fetched_once_and_checked(site, cache, capsys):
    folder, address = site
    ember.save({"w": ember.arange(3)}, folder / "weights.pt")
    digest = hashlib.sha256((folder / "weights.pt").read_bytes()).hexdigest()
    name = f"weights-{digest[:8]}.pt"
    (folder / "weights.pt").rename(folder / name)
    url = f"{address}/{name}"
    state = hub.load_state_dict_from_url(url, check_hash=True)
    assert state["w"].tolist() == [0, 1, 2]
    assert "100.0%" in capsys.readouterr().err
    (folder / name).unlink()  # the copy is used from now on
    assert hub.load_state_dict_from_url(url, progress=False)["w"].tolist() == [0, 1, 2]
    assert (cache / "checkpoints" / name).exists()


def test_a_wrong_hash_leaves_no_file(site, tmp_path):
    folder, address = site
    (folder / "file").write_bytes(b"abc")
    target = tmp_path / "target"
    with pytest.raises(RuntimeError, match="invalid hash"):
        hub.download_url_to_file(f"{address}/file", target, "123456", progress=False)
    assert not target.exists() and not list(tmp_path.glob("target*"))


def make_repository(folder):
    folder.mkdir(parents=True)
    (folder / "helper.py").write_text("import ember\nwidth = 3\n")
    (folder / "hubconf.py").write_text(
        "import ember\nfrom helper import width\ndependencies = ['ember']\n"
        "def small(outputs=2):\n    'A line.'\n"
        "    return ember.nn.Linear(width, outputs)\n"
        "def _hidden():\n    pass\n"
    )


def test_models_of_a_local_directory(tmp_path):
    make_repository(tmp_path / "repository")
    model = hub.load(str(tmp_path / "repository"), "small", outputs=5, source="local")
    assert model.weight.shape == (5, 3)
    with pytest.raises(RuntimeError, match="other"):
        hub.load(str(tmp_path / "repository"), "other", source="local")
    with pytest.raises(ValueError, match="source"):
        hub.load("x", "y", source="elsewhere")
    with pytest.raises(FileNotFoundError, match=r"hubconf\.py"):
        hub.load(str(tmp_path), "small", source="local")


def test_models_of_an_archive_that_is_fetched_once(site, tmp_path, monkeypatch):
    folder, address = site
    make_repository(tmp_path / "owner-name-123")
    with zipfile.ZipFile(folder / "archive.zip", "w") as archive:
        for path in (tmp_path / "owner-name-123").iterdir():
            archive.write(path, f"owner-name-123/{path.name}")
    url = f"{address}/archive.zip"
    monkeypatch.setattr(hub, "_archive_address", lambda *parts: url)
    options = {"trust_repo": True, "skip_validation": True}
    assert hub.load("owner/name:main", "small", **options).weight.shape == (2, 3)
    (folder / "archive.zip").unlink()
    assert "small" in hub.list("owner/name:main", **options)
    assert "_hidden" not in hub.list("owner/name:main", **options)
    assert hub.help("owner/name:main", "small", **options) == "A line."
    with pytest.raises(ValueError, match="owner/name"):
        hub.list("name")


def test_missing_dependencies_are_named(tmp_path):
    make_repository(tmp_path / "repository")
    path = tmp_path / "repository" / "hubconf.py"
    path.write_text(path.read_text().replace("['ember']", "['no_such_package']"))
    with pytest.raises(RuntimeError, match="no_such_package"):
        hub.load(str(tmp_path / "repository"), "small", source="local")
