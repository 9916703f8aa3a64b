"""Links object files into the process, with LLVM's ORC, and gives the addresses of kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm

from treadle.codegen import cpu, vector_math
from treadle.codegen.locks import compiling


@dataclass(frozen=True)
class Linked:
    """A function in the process. Its code stays until this object is gone."""

    address: int
    tracker: Any


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


def link(object_bytes: bytes, symbol: str, symbols: Mapping[str, int] = {}) -> Linked:
    """Load an object file and look up a function in it. Safe to call from several threads.

    ``symbols``: the addresses of functions that it calls, besides those that the process exports.

    Raises:
        RuntimeError: the object file is broken, or refers to symbols that the process does not have.
    """
    global _current
    builder = llvm.JITLibraryBuilder().add_object_img(object_bytes).add_current_process().export_symbol(symbol)
    for name, address in symbols.items():
        builder.import_symbol(name, address)
    with compiling:
        if _current is None or not _current.left:
            _current = _Linker()
        tracker = _current.link(builder)
    return Linked(tracker[symbol], tracker)
