"""Links object files into the process, with LLVM's ORC, and gives the addresses of kernels."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm

from treadle.codegen import cpu, vector_math
from treadle.codegen.locks import compiling

KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
"""A kernel as a function of ctypes: arguments, begin, end, worker. It runs without the GIL."""


@dataclass(frozen=True)
class Linked:
    """A function in the process. Its code stays until this object is gone."""

    address: int
    tracker: Any

    @property
    def kernel(self) -> Any:
        """The function as a callable of Python; keep this object while it is used."""
        return KERNEL(self.address)


class _Linker:
    """Links libraries, each of one object file.

    A library that goes leaves a few kilobytes behind in LLVM's linker, which LLVM frees with the linker itself and the
    last of its libraries. So a linker makes only so many, and then another one takes its place.
    """

    LIBRARIES = 32

    def __init__(self) -> None:
        if vector_math.library() is not None:
            llvm.load_library_permanently(vector_math.LIBRARY)
        self._linker = llvm.create_lljit_compiler(cpu.create_machine())
        self.left = self.LIBRARIES

    def link(self, builder: Any) -> Any:
        self.left -= 1
        return builder.link(self._linker, f"treadle.{self.left}")


_current: _Linker | None = None


def link(object_bytes: bytes, symbol: str) -> Linked:
    """Load an object file and look up a function in it. Safe to call from several threads.

    Raises:
        RuntimeError: the object file is broken, or refers to symbols that the process does not have.
    """
    global _current
    builder = llvm.JITLibraryBuilder().add_object_img(object_bytes).add_current_process().export_symbol(symbol)
    with compiling:
        if _current is None or not _current.left:
            _current = _Linker()
        tracker = _current.link(builder)
    return Linked(tracker[symbol], tracker)
