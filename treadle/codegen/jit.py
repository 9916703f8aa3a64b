"""Links object files into the process, with LLVM's ORC, and gives the addresses of kernels."""

from __future__ import annotations

import ctypes
import itertools
import threading
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm

from treadle.codegen import cpu, vector_math

KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
"""A kernel as a function of ctypes: arguments, begin, end, worker. It runs without the GIL."""

_lock = threading.Lock()
_numbers = itertools.count()
_linker: Any = None


@dataclass(frozen=True)
class Linked:
    """A function in the process. Its code stays until this object is gone."""

    address: int
    tracker: Any

    @property
    def kernel(self) -> Any:
        """The function as a callable of Python; keep this object while it is used."""
        return KERNEL(self.address)


def link(object_bytes: bytes, symbol: str) -> Linked:
    """Load an object file and look up a function in it. Safe to call from several threads.

    Raises:
        RuntimeError: the object file is broken, or refers to symbols that the process does not have.
    """
    global _linker
    with _lock:
        if _linker is None:
            if vector_math.library() is not None:
                llvm.load_library_permanently(vector_math.LIBRARY)
            _linker = llvm.create_lljit_compiler(cpu.create_machine())
        builder = llvm.JITLibraryBuilder().add_object_img(object_bytes).add_current_process()
        tracker = builder.export_symbol(symbol).link(_linker, f"treadle.{next(_numbers)}")
    return Linked(tracker[symbol], tracker)
