"""The cache on disk: what is stored is found again, and nothing that is damaged or foreign is ever loaded."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from treadle import config
from treadle.runtime import cache
from treadle.runtime.cache import Entry

ENTRY = Entry(b"\x7fELF" + bytes(range(256)) * 40, {"messages": [["a", ["i32"], None]], "n": 3})


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "kernel_cache_dir", str(tmp_path / "kernels"))


def only_file():
    (path,) = cache.folder().iterdir()
    return path


def test_what_is_stored_is_found():
    assert cache.load("key") is None
    cache.store("key", ENTRY)
    assert cache.load("key") == ENTRY
    assert cache.load("other") is None
    cache.store("key", Entry(b"", {}))
    assert cache.load("key") == Entry(b"", {})


def test_keys_of_any_kind():
    for key in ("", "a/../b", "ключ\0", "x" * 10000):
        cache.store(key, Entry(key.encode()))
    for key in ("", "a/../b", "ключ\0", "x" * 10000):
        assert cache.load(key) == Entry(key.encode())


def test_clear():
    cache.store("key", ENTRY)
    cache.clear()
    assert cache.load("key") is None
    cache.clear()


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_only_the_owner_can_read():
    before = os.umask(0)
    try:
        cache.store("key", ENTRY)
    finally:
        os.umask(before)
    assert stat.S_IMODE(only_file().stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.folder().stat().st_mode) == 0o700


def test_every_damaged_byte_is_noticed():
    cache.store("key", Entry(b"object", {"a": 1}))
    path = only_file()
    whole = path.read_bytes()
    for k in range(len(whole)):
        path.write_bytes(whole[:k] + bytes([whole[k] ^ 0x20]) + whole[k + 1 :])
        assert cache.load("key") is None
        path.write_bytes(whole[:k])
        assert cache.load("key") is None
    path.write_bytes(whole + b"x")
    assert cache.load("key") is None
    path.write_bytes(whole)
    assert cache.load("key") == Entry(b"object", {"a": 1})


def test_an_entry_under_another_name_is_not_loaded():
    cache.store("key", ENTRY)
    source = only_file()
    cache.store("other", Entry(b"x"))
    (target,) = set(cache.folder().iterdir()) - {source}
    target.write_bytes(source.read_bytes())
    assert cache.load("other") is None


def test_a_damaged_entry_is_replaced():
    cache.store("key", ENTRY)
    only_file().write_bytes(b"nonsense")
    cache.store("key", ENTRY)
    assert cache.load("key") == ENTRY


def test_entries_of_other_users_are_not_loaded(monkeypatch):
    if not hasattr(os, "getuid"):
        pytest.skip("no users")
    cache.store("key", ENTRY)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert cache.load("key") is None
    cache.store("another", ENTRY)  # nor is anything written into their folder
    assert len(list(cache.folder().iterdir())) == 1


def test_a_folder_in_the_way_is_no_entry():
    cache.store("key", ENTRY)
    path = only_file()
    path.unlink()
    path.mkdir()
    assert cache.load("key") is None
    cache.store("key", ENTRY)
    assert [p.name for p in cache.folder().iterdir()] == [path.name]


def test_without_a_folder_nothing_is_cached(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(config, "kernel_cache_dir", str(tmp_path / "file" / "kernels"))
    cache.store("key", ENTRY)
    assert cache.load("key") is None
    cache.clear()


def test_a_read_only_folder():
    cache.store("key", ENTRY)
    cache.folder().chmod(0o500)
    try:
        cache.store("new", ENTRY)  # must not raise (root may write all the same)
        assert cache.load("key") == ENTRY
    finally:
        cache.folder().chmod(0o700)


def test_the_folder_of_the_user(monkeypatch, tmp_path):
    monkeypatch.setattr(config, "kernel_cache_dir", None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache.folder().parent == tmp_path / "xdg" / "treadle"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache.folder().parent == tmp_path / "local" / "treadle" / "cache"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache.folder().parent.parts[-3:] == ("Library", "Caches", "treadle")


def test_many_writers_at_once():
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda k: cache.store("key", Entry(bytes([k]) * 10000)), range(64)))
    found = cache.load("key")
    assert found is not None and found.object in {bytes([k]) * 10000 for k in range(64)}
    assert len(list(cache.folder().iterdir())) == 1


def test_the_environment_key_is_the_same_in_another_process():
    code = "from treadle.runtime import cache; print(cache.environment_key())"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == cache.environment_key()


def test_an_interrupted_write_leaves_nothing(monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cache.store("key", ENTRY)
    assert list(cache.folder().iterdir()) == []


def test_abandoned_files_are_swept():
    folder = cache.folder()
    folder.mkdir(parents=True)
    abandoned, recent, other = (folder / name for name in (".new-abandoned", ".new-recent", "other"))
    for path in (abandoned, recent, other):
        path.write_bytes(b"part")
    for path in (abandoned, other):
        os.utime(path, (1.0e9, 1.0e9))
    cache.store("key", ENTRY)
    assert (abandoned.exists(), recent.exists(), other.exists()) == (False, True, True)
    assert cache.load("key") == ENTRY
