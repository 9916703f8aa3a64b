"""float16 and bfloat16 where neither the processor nor LLVM helps: LLVM would call a library that may not be there."""

from __future__ import annotations

from treadle.codegen.code import Code


def widen_bfloat16(e: Code, text: str) -> str:
    """The float32 with the same value as a bfloat16, which is kept as its bits."""
    upper = e.assign(f"shl i32 {e.assign(f'zext i16 {text} to i32')}, 16")
    return e.assign(f"bitcast i32 {upper} to float")


def narrow_to_bfloat16(e: Code, text: str) -> str:
    """A float32 rounded to the bits of the nearest bfloat16, ties to even; a NaN stays a quiet NaN."""
    bits = e.assign(f"bitcast float {text} to i32")
    upper = e.assign(f"lshr i32 {bits}, 16")
    odd = e.assign(f"and i32 {upper}, 1")
    bias = e.assign(f"add i32 {odd}, 32767")
    rounded = e.assign(f"lshr i32 {e.assign(f'add i32 {bits}, {bias}')}, 16")
    quiet = e.assign(f"or i32 {upper}, 64")
    is_nan = e.assign(f"fcmp uno float {text}, {text}")
    chosen = e.assign(f"select i1 {is_nan}, i32 {quiet}, i32 {rounded}")
    return e.assign(f"trunc i32 {chosen} to i16")


def double_to_float16(e: Code, text: str) -> str:
    """A float64 rounded to the nearest float16, by way of a float32 that is rounded to odd.

    The odd last bit keeps the float32 off the midpoints between float16s, so that the second
    rounding goes the way a single one would.
    """
    near = e.assign(f"fptrunc double {text} to float")
    back = e.assign(f"fpext float {near} to double")
    inexact = e.assign(f"fcmp one double {back}, {text}")
    bits = e.assign(f"bitcast float {near} to i32")
    even = e.assign(f"icmp eq i32 {e.assign(f'and i32 {bits}, 1')}, 0")
    adjust = e.assign(f"and i1 {inexact}, {even}")
    magnitude = e.assign(f"call double @llvm.fabs.f64(double {back})")
    wanted = e.assign(f"call double @llvm.fabs.f64(double {text})")
    beyond = e.assign(f"fcmp ogt double {magnitude}, {wanted}")
    step = e.assign(f"select i1 {beyond}, i32 -1, i32 1")
    chosen = e.assign(f"select i1 {adjust}, i32 {e.assign(f'add i32 {bits}, {step}')}, i32 {bits}")
    return e.assign(f"fptrunc float {e.assign(f'bitcast i32 {chosen} to float')} to half")
