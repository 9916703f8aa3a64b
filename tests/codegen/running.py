"""Helpers of the tests of code generation: build a kernel by hand, compile it, run it on NumPy arrays."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import treadle.primitives  # noqa: F401  (fills the table of ops)
from treadle.codegen import ArgumentLayout, Emitted, Options, cpu, emit_kernel, jit
from treadle.codegen.callables import Callables, compiled
from treadle.codegen.worker import Worker
from treadle.ir import Block, Builder, Function, Value
from treadle.ir.verifier import verify
from treadle.types import scalars
from treadle.types.storage import ArrayRef, StorageType

_numbers = itertools.count()


class Kernel(Builder):
    """A builder for the body of a kernel, with short cuts for control flow and memory."""

    def __init__(self, *types: StorageType) -> None:
        self.function = Function("kernel", is_kernel=True)
        super().__init__(self.function.body)
        self.parameters = [self.function.body.add_parameter(t) for t in types]

    def thread(self, axis: int = 0, rank: int = 1) -> Value:
        return self.emit("thread_index", axis=axis, rank=rank)

    def load(self, array: Value, *indices: Value, type: StorageType, offset: int = 0) -> Value:
        return self.emit("load", array, *indices, type=type, offset=offset)

    def store(self, array: Value, *rest: Value, offset: int = 0) -> None:
        self.op("store", (array, *rest), attributes={"offset": offset})

    def if_(self, condition: Value, then: Callable[[], Any], other: Callable[[], Any] = lambda: ()) -> list[Value]:
        blocks = [self.block_with((), then), self.block_with((), other)]
        return self.op("if", (condition,), [v.type for v in blocks[0].yields], blocks=blocks).results

    def block_with(self, types: Sequence[StorageType], body: Callable[..., Sequence[Value]]) -> Block:
        outer = self.block
        self.block = block = Block(types)
        block.yields = list(body(*block.parameters) or ())
        self.block = outer
        return block

    def for_(self, count: Value, initial: Sequence[Value], body: Callable[..., Any]) -> list[Value]:
        types = [v.type for v in initial]
        block = self.block_with([count.type, *types], body)
        return self.op("for", (count, *initial), types, blocks=[block]).results

    def while_(self, initial: Sequence[Value], condition: Callable[..., Any], body: Callable[..., Any]) -> list[Value]:
        types = [v.type for v in initial]
        blocks = [self.block_with(types, condition), self.block_with(types, body)]
        return self.op("while", initial, types, blocks=blocks).results

    def compile(self, launch_ndim: int = 1, options: Options = Options()) -> Compiled:
        return Compiled(self.function, launch_ndim, options)


callables = Callables(compiled())


class Compiled:
    """A kernel in machine code."""

    def __init__(self, function: Function, launch_ndim: int = 1, options: Options = Options()) -> None:
        verify(function)
        self.layout = ArgumentLayout.of([v.type for v in function.parameters])
        symbol = f"kernel_{next(_numbers)}"
        self.emitted: Emitted = emit_kernel(function, symbol, launch_ndim, cpu.target(), options)
        self.linked = jit.link(cpu.compile_text(self.emitted.text, verify=True), symbol)

    def __call__(
        self, extents: int | Sequence[int], *arguments: Any, begin: int = 0, end: int | None = None,
        worker: Worker | None = None,
    ) -> Worker:  # fmt: skip
        extents = [extents] if isinstance(extents, int) else list(extents)
        buffer = bytearray(self.layout.size)
        self.layout.pack_extents(buffer, extents)
        for k, argument in enumerate(arguments):
            self.layout.pack(buffer, k, flat(argument) if isinstance(self.layout.types[k], ArrayRef) else argument)
        worker = worker or Worker()
        run = callables.of(self.linked)
        run(bytes(buffer), begin, int(np.prod(extents)) if end is None else end, worker.address)
        return worker

    @property
    def optimised(self) -> str:
        return str(cpu.optimise(self.emitted.text))


def flat(array: Any) -> list[int]:
    """Data pointer, extents and strides of a NumPy array; a sequence stays as it is."""
    if not isinstance(array, np.ndarray):
        return list(array)
    return [array.ctypes.data, *array.shape, *array.strides]


def array_of(scalar: Any, ndim: int = 1, contiguous: bool = True) -> ArrayRef:
    return ArrayRef(ndim, scalar.size, contiguous)


def evaluate(name: str, *columns: np.ndarray, types: Sequence[Any], result: Any, **attributes: Any) -> np.ndarray:
    """A primitive on scalars, one thread for each row; bfloat16 columns as uint16 bits."""
    k = Kernel(*(array_of(t) for t in types), array_of(result))
    *inputs, out = k.parameters
    i = k.thread()
    operands = [k.load(a, i, type=t) for a, t in zip(inputs, types)]
    op = k.op(name, operands, (result,), attributes)
    k.store(out, i, op.result)
    values = np.zeros(len(columns[0]), result.numpy)
    k.compile()(len(values), *columns, values)
    return values


def bfloat16_array(values: Any) -> np.ndarray:
    return np.array([scalars.bfloat16_from_float(float(v)) for v in values], np.uint16)


def from_bfloat16(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)
