"""Compiles the handlers of programs and registers them with XLA, each once in a process."""

from __future__ import annotations

import ctypes
from typing import Any

import jax
import llvmlite.binding as llvm

from treadle.codegen import cpu, jit
from treadle.codegen.locks import compiling
from treadle.codegen.worker import Failure, WorkerFields, failure_text, print_callback
from treadle.interop.jax.handler import SYMBOL, Addresses, emit_handler
from treadle.interop.jax.programs import Program

_DESCRIBE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)

_registered: dict[str, Any] = {}
"""The targets by name. They stay for good, since XLA may call them as long as the process lives."""
_print = print_callback()


def target(program: Program) -> str:
    """The name under which XLA knows the handler of a program, registered at the first call."""
    name = program.name
    if name not in _registered:
        with compiling:
            if name not in _registered:
                _registered[name] = _register(program, name)
    return name


def _register(program: Program, name: str) -> Any:
    describe = _describer(program)
    linked = program.executable.linked
    addresses = Addresses(linked.address, _address(_print), _address(describe))
    machine = cpu.target()
    prologue = f'target datalayout = "{machine.data_layout}"\ntarget triple = "{machine.triple}"'
    handler = jit.link(_compile(emit_handler(program, addresses, prologue)), SYMBOL)
    register(name, handler.address)
    return handler, linked, describe


def _compile(text: str) -> bytes:
    """The object file of a handler. It runs once a call: optimising it would take longer than all calls together."""
    machine = llvm.Target.from_default_triple().create_target_machine(opt=0, jit=True, reloc="pic", codemodel="small")
    return bytes(machine.emit_object(llvm.parse_assembly(text, context=llvm.create_context())))


def register(name: str, address: int) -> None:
    """Make the handler at an address known to XLA."""
    ffi: Any = jax.ffi
    ffi.register_ffi_target(name, ffi.pycapsule(address), platform="cpu")


def _address(callback: Any) -> int:
    return ctypes.cast(callback, ctypes.c_void_p).value or 0


def _describer(program: Program) -> Any:
    """The callback that words the failure in a worker. Only a call that has failed waits for Python here."""
    key, messages = program.compiled.kernel.key, program.executable.messages

    def describe(worker: int, text: int, size: int) -> None:
        fields = WorkerFields.from_address(worker)
        failure = Failure(fields.message, fields.thread, tuple(fields.values))
        message = f"kernel {key}: {failure_text(failure, messages)}".encode()[: size - 1]
        ctypes.memmove(text, message + b"\0", len(message) + 1)

    return _DESCRIBE(describe)
