"""What the shared emitter asks of the machine that it writes code for; see ``cpu.py`` for the host.

Everything that would tie the emitter to one machine is a field here: type names, names of
mathematical functions, atomics, and how the adjoint's stack grows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from treadle.types import scalars
from treadle.types.scalars import ScalarMeta

REGISTER_TYPES: dict[ScalarMeta, str] = {
    scalars.bool_: "i1",
    scalars.float16: "half",
    scalars.bfloat16: "i16",  # LLVM's own bfloat needs functions of a library wherever it is moved about
    scalars.float32: "float",
    scalars.float64: "double",
    **{t: f"i{t.bits}" for t in (*scalars.SIGNED, *scalars.UNSIGNED)},
}


@dataclass(frozen=True)
class MathFunction:
    """A function of the mathematical library on the target.

    ``symbol`` is called by scalar code; ``attributes`` go on its declaration; ``variants`` are
    the declarations of its vector forms by symbol, which must be kept in the module.
    """

    symbol: str
    attributes: str = "nounwind willreturn memory(none)"
    variants: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """A machine that code can be generated for.

    ``math``: from the C name of a function on doubles ("sin"), float32 or float64, and the
    number of arguments, to what to call.
    ``wide_floats``: the float types that arithmetic is done in by way of float32, since the
    machine or LLVM's support for it has no operations on them.
    ``atomic_floats``: the float types that ``atomicrmw`` adds; others go through a loop of
    compare-and-exchange.
    ``atomic_ordering``: scope and ordering of atomics, as LLVM text.
    ``function_attributes``: attributes of every kernel.
    ``reallocate``: the C function that grows the adjoint's stack, or None where it cannot grow.
    """

    triple: str
    data_layout: str
    math: Callable[[str, ScalarMeta, int], MathFunction]
    types: dict[ScalarMeta, str] = field(default_factory=lambda: REGISTER_TYPES)
    wide_floats: frozenset[ScalarMeta] = frozenset((scalars.bfloat16,))
    atomic_floats: frozenset[ScalarMeta] = frozenset((scalars.float32, scalars.float64))
    atomic_ordering: str = "monotonic"
    function_attributes: str = "nounwind"
    reallocate: str | None = "realloc"
