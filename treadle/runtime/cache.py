"""Compiled kernels on disk: object files with what the runtime must know of them, by key.

An entry is loaded only if it is whole and belongs to this user; anything else counts as absent, and
the kernel is compiled again. A folder that cannot be written to means no cache, never an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import struct
import sys
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from treadle import config
from treadle.version import VERSION

_MAGIC = b"TREADLE\n"
_FORMAT = 1
_HEADER = struct.Struct("<8sI32sQQ")  # magic, format, checksum of the rest, sizes of metadata and object
_SUFFIX = ".kernel"
NEW = ".new-"
"""How the names of files begin that are being written."""
_ABANDONED = 24 * 3600
"""The age in seconds at which nobody writes to such a file any more."""
_UNUSABLE = (OSError, ValueError, RuntimeError)
"""What a folder or a file that cannot be used raises."""


@dataclass(frozen=True)
class Entry:
    """A compiled kernel: the object file, and metadata that JSON can hold."""

    object: bytes
    metadata: dict[str, Any] = field(default_factory=dict)


def load(key: str) -> Entry | None:
    """The entry stored under a key, or None if there is none that can be trusted."""
    try:
        with open(_path(key), "rb") as file:
            return _decode(file.read(), key) if _is_mine(os.fstat(file.fileno())) else None
    except _UNUSABLE:
        return None


def store(key: str, entry: Entry) -> None:
    """Keep an entry; nothing happens where it cannot be written. Processes may store at the same time."""
    data = _encode(entry, key)
    with contextlib.suppress(*_UNUSABLE):
        path = _path(key)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_mine(path.parent.stat()):
            return
        _sweep(path.parent)
        temporary = path.parent / f"{NEW}{secrets.token_hex(8)}"
        try:
            with open(temporary, "xb", opener=_open_for_owner) as file:
                file.write(data)
            os.replace(temporary, path)
        except BaseException:  # an interrupt by the user as well
            temporary.unlink(missing_ok=True)
            raise


def _open_for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@cache
def _sweep(folder_path: Path) -> None:
    """Once a process: remove what others began to write long ago and never finished."""
    oldest = time.time() - _ABANDONED
    with os.scandir(folder_path) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):  # another process was faster
                if entry.name.startswith(NEW) and entry.stat().st_mtime < oldest:
                    os.unlink(entry.path)


def clear() -> None:
    """Remove all entries of this version of Treadle."""
    with contextlib.suppress(*_UNUSABLE):
        shutil.rmtree(folder(), ignore_errors=True)


def folder() -> Path:
    """The folder of the entries: ``config.kernel_cache_dir`` or the user's cache folder, and the version."""
    base = Path(config.kernel_cache_dir).expanduser() if config.kernel_cache_dir else _user_folder()
    return base / VERSION


@cache
def environment_key() -> str:
    """What machine code depends on besides the kernel: the versions of Treadle and LLVM, the processor, its libraries.

    The same for every version of Python.
    """
    import llvmlite
    import llvmlite.binding as llvm

    from treadle.codegen import cpu, vector_math

    host = cpu.host()
    parts = [
        VERSION,
        _sources(),
        llvmlite.__version__,
        ".".join(map(str, llvm.llvm_version_info)),
        sys.platform,
        host.cpu,
        host.features,
        "vector mathematics" if vector_math.library() is not None else "",
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _sources() -> str:
    """The sizes and times of Treadle's own files: a changed compiler makes other code under the same version."""
    found: list[str] = []
    _list_sources(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "", found)
    return "\n".join(sorted(found))


def _list_sources(folder_path: str, prefix: str, found: list[str]) -> None:
    with os.scandir(folder_path) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                found.append(f"{prefix}{entry.name} {status.st_size} {status.st_mtime_ns}")
            elif entry.is_dir() and entry.name != "__pycache__":
                _list_sources(entry.path, f"{prefix}{entry.name}/", found)


def _user_folder() -> Path:
    """Where the platform wants caches to be. Raises RuntimeError if the user has no home."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "treadle" / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "treadle"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "treadle"


def _path(key: str) -> Path:
    """Keys may have any characters and any length."""
    return folder() / (hashlib.sha256(key.encode()).hexdigest() + _SUFFIX)


def _is_mine(status: os.stat_result) -> bool:
    return not hasattr(os, "getuid") or status.st_uid == os.getuid()


def _checksum(key: str, body: bytes) -> bytes:
    """Over the key as well: an entry under another name is not loaded."""
    return hashlib.sha256(key.encode() + b"\0" + body).digest()


def _encode(entry: Entry, key: str) -> bytes:
    metadata = json.dumps(entry.metadata).encode()
    body = struct.pack("<QQ", len(metadata), len(entry.object)) + metadata + entry.object
    return _MAGIC + struct.pack("<I", _FORMAT) + _checksum(key, body) + body


def _decode(data: bytes, key: str) -> Entry | None:
    if len(data) < _HEADER.size:
        return None
    magic, format_, checksum, metadata_size, object_size = _HEADER.unpack_from(data)
    body = data[_HEADER.size - 16 :]
    if magic != _MAGIC or format_ != _FORMAT or checksum != _checksum(key, body):
        return None
    if len(data) != _HEADER.size + metadata_size + object_size:
        return None
    end = _HEADER.size + metadata_size
    return Entry(data[end:], json.loads(data[_HEADER.size : end]))
