"""Compiles the C++ of ``func_native`` to shared libraries, and loads them into the process.

Libraries are kept beside the cached kernels, under a digest of their text and the compiler.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import llvmlite.binding as llvm

from treadle.codegen.locks import compiling
from treadle.errors import TreadleError
from treadle.runtime import cache

_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
_FLAGS = ["-std=c++17", "-O3", "-fPIC", "-shared", "-ffp-contract=off"]

_loaded: set[str] = set()


class NativeError(TreadleError, RuntimeError):
    """The C++ of a ``func_native`` cannot be compiled: there is no compiler, or it refused."""


def load(source: str) -> None:
    """Make the functions of a C++ text callable by kernels that are linked from now on.

    Raises:
        NativeError: there is no compiler, or it refused the text.
    """
    with compiling:
        if source not in _loaded:
            llvm.load_library_permanently(str(_library(source)))
            _loaded.add(source)


def compiler() -> list[str]:
    """The command of the C++ compiler: ``CXX``, else ``c++`` or ``clang++`` on the path, else ``ziglang``.

    Raises:
        NativeError: there is none.
    """
    if os.environ.get("CXX"):
        return shlex.split(os.environ["CXX"])
    for name in ("c++", "clang++"):
        if shutil.which(name):
            return [name]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "c++"]
    raise NativeError(
        "func_native needs a C++ compiler: set the environment variable CXX, install c++ or clang++, "
        "or install the package ziglang (pip install 'treadle[native]')"
    )


def _library(source: str) -> Path:
    """The shared library of a text, compiled if it is not there yet."""
    command = compiler()
    digest = hashlib.sha256("\0".join([*command, *_FLAGS, cache.environment_key(), source]).encode()).hexdigest()
    kept = cache.folder() / f"native-{digest}{_SUFFIX}"
    if kept.exists():
        return kept
    folder = Path(tempfile.mkdtemp(prefix="treadle-"))
    text, built = folder / "native.cpp", folder / f"native{_SUFFIX}"
    try:
        text.write_text(source)
        _compile([*command, *_FLAGS, *_machine_flag(command), str(text), "-o", str(built)])
        _keep(built, kept)
    except OSError:
        if built.exists():  # the cache cannot be written to: use the library where it was built
            return built
        raise
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)
    return kept


def _keep(built: Path, kept: Path) -> None:
    """Copy a library to where it is kept; what is there is whole at any time."""
    kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = kept.with_name(f"{cache.NEW}{os.getpid()}-{kept.name}")
    try:
        shutil.copyfile(built, partial)
        os.chmod(partial, 0o700)
        os.replace(partial, kept)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _machine_flag(command: list[str]) -> list[str]:
    return [] if "ziglang" in command else ["-march=native"]


def _compile(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise NativeError(f"the C++ compiler cannot be run ({shlex.join(command[:2])}): {error}") from None
    if done.returncode:
        raise NativeError(f"the C++ of a func_native does not compile:\n{done.stderr.strip()}")
