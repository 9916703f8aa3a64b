"""Lowerings: how a primitive on scalars becomes LLVM instructions.

A lowering is called with an ``Emitter`` (made by ``treadle.codegen``), the op's attributes, the
operand types and the operands as LLVM text, and returns the result as LLVM text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from treadle.types import scalars
from treadle.types.scalars import ScalarMeta


class Emitter(Protocol):
    """What a lowering may ask of the code generator."""

    fast: str
    """Flags of floating-point instructions, such as ``"fast "``; empty or with a space at the end."""

    def type(self, scalar: ScalarMeta) -> str:
        """The LLVM type of a scalar in a register (``bool`` is i1)."""

    def constant(self, scalar: ScalarMeta, value: Any) -> str:
        """A constant as LLVM text."""

    def assign(self, text: str) -> str:
        """Append ``%n = text`` and return ``%n``."""

    def intrinsic(self, name: str, scalar: ScalarMeta, operands: Sequence[str]) -> str:
        """Call the LLVM intrinsic ``name`` overloaded on ``scalar``; result of the same type."""

    def math(self, name: str, scalar: ScalarMeta, operands: Sequence[str]) -> str:
        """Call a function of the C mathematical library, or the target's counterpart."""


Lowering = Callable[[Emitter, dict[str, Any], Sequence[ScalarMeta], Sequence[str]], str]


def instruction(**mnemonics: str) -> Lowering:
    """One LLVM instruction, chosen by the kind of the first operand."""

    def lower(e: Emitter, attributes: dict[str, Any], types: Sequence[ScalarMeta], operands: Sequence[str]) -> str:
        scalar = types[0]
        flags = e.fast if scalar.is_float else "nsw " if attributes.get("nowrap") else ""
        return e.assign(f"{mnemonics[scalar.kind]} {flags}{e.type(scalar)} {', '.join(operands)}")

    return lower


def intrinsic(name: str) -> Lowering:
    """A call of an LLVM intrinsic that is overloaded on the operand type."""
    return lambda e, attributes, types, operands: e.intrinsic(name, types[0], operands)


def math(name: str) -> Lowering:
    """A call of the mathematical library."""
    return lambda e, attributes, types, operands: e.math(name, types[0], operands)


def compare(float_: str, signed: str, unsigned: str) -> Lowering:
    """A comparison; bools compare as unsigned."""
    predicates = {"float": float_, "signed": signed, "unsigned": unsigned, "bool": unsigned}

    def lower(e: Emitter, attributes: dict[str, Any], types: Sequence[ScalarMeta], operands: Sequence[str]) -> str:
        scalar = types[0]
        mnemonic = "fcmp" if scalar.is_float else "icmp"
        return e.assign(f"{mnemonic} {predicates[scalar.kind]} {e.type(scalar)} {operands[0]}, {operands[1]}")

    return lower


def select(e: Emitter, scalar: ScalarMeta, condition: str, if_true: str, if_false: str) -> str:
    """A select instruction."""
    t = e.type(scalar)
    return e.assign(f"select i1 {condition}, {t} {if_true}, {t} {if_false}")


def checked_division(signed: str, unsigned: str) -> Lowering:
    """Integer division or remainder that does not trap: by 0 it gives 0, and minimum / −1 wraps around.

    The processor would end the whole Python process instead.
    """

    def lower(e: Emitter, attributes: dict[str, Any], types: Sequence[ScalarMeta], operands: Sequence[str]) -> str:
        scalar, (a, b) = types[0], operands
        t, zero, one = e.type(scalar), e.constant(scalar, 0), e.constant(scalar, 1)
        by_zero = e.assign(f"icmp eq {t} {b}, {zero}")
        if scalar.kind == "unsigned":
            divisor = select(e, scalar, by_zero, one, b)
            return select(e, scalar, by_zero, zero, e.assign(f"{unsigned} {t} {a}, {divisor}"))
        by_minus_one = e.assign(f"icmp eq {t} {b}, {e.constant(scalar, -1)}")
        special = e.assign(f"or i1 {by_zero}, {by_minus_one}")
        divisor = select(e, scalar, special, one, b)
        quotient = e.assign(f"{signed} {t} {a}, {divisor}")
        negated = e.assign(f"sub {t} {zero}, {a}") if signed == "sdiv" else zero
        return select(e, scalar, by_zero, zero, select(e, scalar, by_minus_one, negated, quotient))

    return lower


def convert(e: Emitter, attributes: dict[str, Any], types: Sequence[ScalarMeta], operands: Sequence[str]) -> str:
    """A conversion between scalar types; floats outside an integer's range saturate, NaN gives 0."""
    source, target, (x,) = types[0], attributes["type"], operands
    s, t = e.type(source), e.type(target)
    if target.kind == "bool":
        if source.is_float:
            return e.assign(f"fcmp une {s} {x}, {e.constant(source, 0)}")
        return e.assign(f"icmp ne {s} {x}, {e.constant(source, 0)}")
    if source.is_float and target.is_float:
        return _convert_float(e, source, target, x)
    if source.is_float:
        name = "llvm.fptosi.sat" if target.kind == "signed" else "llvm.fptoui.sat"
        if source is scalars.bfloat16:
            x, s, source = e.assign(f"fpext bfloat {x} to float"), "float", scalars.float32
        suffix = {"half": "f16", "float": "f32", "double": "f64"}[s]
        return e.assign(f"call {t} @{name}.{t}.{suffix}({s} {x})")
    if target.is_float:
        mnemonic = "sitofp" if source.kind == "signed" else "uitofp"
        return e.assign(f"{mnemonic} {s} {x} to {t}")
    if target.bits < source.bits and source.kind != "bool":
        return e.assign(f"trunc {s} {x} to {t}")
    if target.bits > source.bits or source.kind == "bool":
        return e.assign(f"{'sext' if source.kind == 'signed' else 'zext'} {s} {x} to {t}")
    return x


def _convert_float(e: Emitter, source: ScalarMeta, target: ScalarMeta, x: str) -> str:
    if source is target:
        return x
    s, t = e.type(source), e.type(target)
    if source.bits == target.bits:  # float16 and bfloat16: neither contains the other
        wide = e.assign(f"fpext {s} {x} to float")
        return e.assign(f"fptrunc float {wide} to {t}")
    return e.assign(f"{'fpext' if target.bits > source.bits else 'fptrunc'} {s} {x} to {t}")
