"""Makes a callable of Python from the address of a kernel.

A call through ctypes takes longer than a small launch. So this is a built-in function of CPython, made of machine code
like the kernels: it takes the arguments, gives the GIL back while the kernel runs, and says whether the worker failed.
"""

from __future__ import annotations

import ctypes
from typing import Any

import llvmlite.binding as llvm

from treadle.codegen import cpu
from treadle.codegen.jit import Linked, link
from treadle.codegen.worker import OFFSETS

# Of Python's stable interface, see the documentation of PyMethodDef.
_METH_FASTCALL = 0x0080
_PYTHON = {
    "PyLong_AsVoidPtr": "ptr (ptr)",
    "PyLong_AsLongLong": "i64 (ptr)",
    "PyBytes_AsString": "ptr (ptr)",
    "PyBool_FromLong": "ptr (i64)",
    "PyEval_SaveThread": "ptr ()",
    "PyEval_RestoreThread": "void (ptr)",
}
_SYMBOL = "treadle_call"


class _Method(ctypes.Structure):
    """A PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    ]


class Callables:
    """Makes callables of kernels, with the machine code that ``compiled`` has made, in this or another process."""

    def __init__(self, object_bytes: bytes) -> None:
        python = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in _PYTHON}
        self._linked = link(object_bytes, _SYMBOL, python)
        self._method = _Method(b"kernel", self._linked.address, _METH_FASTCALL, None)

    def of(self, linked: Linked) -> Any:
        """``run(arguments: bytes, begin: int, end: int, worker: int) -> bool``: whether the worker failed.

        It takes the address of a worker, does not check its arguments, and keeps ``linked`` alive.
        """
        # As its ``self`` it gets the address; what it has as its module is kept and not looked at.
        return _new_function(ctypes.addressof(self._method), linked.address, (self, linked))


_new_function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)


def compiled() -> bytes:
    """The object file for ``Callables``."""
    module = llvm.parse_assembly(_text(), context=llvm.create_context())
    return bytes(cpu.create_machine().emit_object(module))


def _text() -> str:
    target = cpu.target()
    declared = [f"declare {type_.replace(' ', f' @{name}', 1)}" for name, type_ in _PYTHON.items()]
    return "\n".join(
        [
            f'target datalayout = "{target.data_layout}"',
            f'target triple = "{target.triple}"',
            *declared,
            f"define ptr @{_SYMBOL}(ptr %self, ptr %arguments, i64 %count) {{",
            "%kernel = call ptr @PyLong_AsVoidPtr(ptr %self)",
            *(f"%at{k} = getelementptr ptr, ptr %arguments, i64 {k}" for k in range(4)),
            *(f"%object{k} = load ptr, ptr %at{k}" for k in range(4)),
            "%buffer = call ptr @PyBytes_AsString(ptr %object0)",
            "%begin = call i64 @PyLong_AsLongLong(ptr %object1)",
            "%end = call i64 @PyLong_AsLongLong(ptr %object2)",
            "%worker = call ptr @PyLong_AsVoidPtr(ptr %object3)",
            "%state = call ptr @PyEval_SaveThread()",
            "call void %kernel(ptr %buffer, i64 %begin, i64 %end, ptr %worker)",
            "call void @PyEval_RestoreThread(ptr %state)",
            f"%at_failed = getelementptr i8, ptr %worker, i64 {OFFSETS['failed']}",
            "%failed = load i64, ptr %at_failed",
            "%result = call ptr @PyBool_FromLong(i64 %failed)",
            "ret ptr %result",
            "}",
        ]
    )
