"""Stores: one behaviour, whatever is below."""

import socket
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest

import ember.distributed as dist

KINDS = ["hash", "tcp", "file", "prefix"]


@pytest.fixture(params=KINDS)
def store(request, tmp_path):
    if request.param == "hash":
        yield dist.HashStore()
    elif request.param == "file":
        yield dist.FileStore(str(tmp_path / "store"), 1)
    else:
        tcp = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
        yield tcp if request.param == "tcp" else dist.PrefixStore("a", tcp)


def test_set_get_add(store):
    store.set("k", "v")
    store.set("bytes", b"\x00\xff")
    assert store.get("k") == b"v" and store.get("bytes") == b"\x00\xff"
    assert store.add("n", 2) == 2 and store.add("n", -5) == -3
    assert store.get("n") == b"-3"
    store.append("k", "w")
    assert store.get("k") == b"vw"
    assert store.multi_get(["k", "n"]) == [b"vw", b"-3"]


def test_compare_set(store):
    assert store.compare_set("c", "wrong", "x") == b"wrong"
    assert not store.check(["c"])
    assert store.compare_set("c", "", "first") == b"first"
    assert store.compare_set("c", "wrong", "x") == b"first"
    assert store.compare_set("c", "first", "second") == b"second"
    assert store.get("c") == b"second"


def test_delete_and_count(store):
    before = store.num_keys()
    store.set("a", "1")
    store.set("b", "1")
    assert store.num_keys() == before + 2
    assert store.delete_key("a") and not store.delete_key("a")
    assert (
        store.num_keys() == before + 1 and store.check(["b"]) and not store.check(["a"])
    )
    assert "b" in store.list_keys()


def test_wait_ends_with_an_error_that_names_the_key(store):
    start = time.monotonic()
    with pytest.raises(dist.DistStoreError, match=r"wait timeout after 100ms.*absent"):
        store.wait(["absent"], timedelta(seconds=0.1))
    store.set_timeout(timedelta(seconds=0.1))
    with pytest.raises(dist.DistStoreError, match="absent"):
        store.get("absent")
    assert time.monotonic() - start < 5


def test_wait_is_woken(store):
    thread = threading.Thread(target=lambda: (time.sleep(0.1), store.set("late", "x")))
    thread.start()
    other = store.clone()
    other.wait(["late"], timedelta(seconds=10))
    thread.join()
    assert other.get("late") == b"x"


def test_queue(store):
    store.queue_push("q", "1")
    store.queue_push("q", "2")
    assert store.queue_len("q") == 2
    assert [store.queue_pop("q"), store.queue_pop("q")] == [b"1", b"2"]
    with pytest.raises(dist.QueueEmptyError):
        store.queue_pop("q", block=False)


def test_file_goes_with_its_last_user(tmp_path):
    path = tmp_path / "store"
    first, second = dist.FileStore(str(path), 2), dist.FileStore(str(path), 2)
    del first
    assert path.exists()
    del second
    assert not path.exists()


def test_port_in_use():
    taken = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    with pytest.raises(dist.DistNetworkError, match="EADDRINUSE"):
        dist.TCPStore("localhost", taken.port, is_master=True, wait_for_workers=False)


def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(
        dist.DistNetworkError, match="timed out while trying to connect"
    ):
        dist.TCPStore("127.0.0.1", port, timeout=timedelta(seconds=0.3))


def test_who_does_not_know_the_secret_is_not_served(monkeypatch):
    monkeypatch.setenv("EMBER_DISTRIBUTED_SECRET", "one")
    store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    store.set("k", "v")
    monkeypatch.setenv("EMBER_DISTRIBUTED_SECRET", "another")
    with pytest.raises(dist.DistNetworkError):
        dist.TCPStore("localhost", store.port, timeout=timedelta(seconds=2))
    with socket.create_connection(("127.0.0.1", store.port)) as raw:  # nor is noise
        raw.settimeout(5)
        raw.recv(16)
        raw.sendall(b"x" * 64)
        while raw.recv(1024):
            pass
    assert store.get("k") == b"v"


def test_listens_on_the_loopback_only():
    store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    wanted = f"{store.port:04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()][1:]
    listening = [r[1] for r in rows if r[3] == "0A" and r[1].endswith(":" + wanted)]
    assert all(address.startswith("0100007F") for address in listening)


def test_clients_that_do_not_come():
    with pytest.raises(dist.DistStoreError, match="1/2 clients joined"):
        dist.TCPStore("localhost", 0, 2, True, timeout=timedelta(seconds=0.2))
