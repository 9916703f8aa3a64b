"""glibc's library of vector mathematics, libmvec: which vector forms of ``sinf``, ``exp``, … there are.

A declaration that lists the vector forms lets LLVM call them from a vectorised loop. Where the
library is missing (another libc, another processor) every list is empty and scalar calls remain.
"""

from __future__ import annotations

import ctypes
import platform
from functools import cache

from treadle.codegen.target import MathFunction
from treadle.types import scalars
from treadle.types.scalars import ScalarMeta

LIBRARY = "libmvec.so.1"

_SUFFIX = {scalars.float32: "f", scalars.float64: ""}
_TYPE = {scalars.float32: "float", scalars.float64: "double"}


@cache
def library() -> ctypes.CDLL | None:
    """libmvec, loaded into the process, or None."""
    if platform.machine() not in ("x86_64", "AMD64") or platform.system() != "Linux":
        return None
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError:
        return None


def instruction_sets(features: str) -> tuple[tuple[str, int], ...]:
    """The letters that libmvec gives the two widest usable instruction sets, and their bits."""
    flags = features.split(",")
    if "+avx512f" in flags:
        return ("e", 512), ("d", 256)
    return (("d", 256), ("b", 128)) if "+avx2" in flags else (("b", 128),)


@cache
def math_function(name: str, scalar: ScalarMeta, arguments: int, features: str) -> MathFunction:
    """The C function ``name`` on float32 or float64, with the vector forms that the machine has."""
    symbol = name + _SUFFIX[scalar]
    mvec = library()
    if mvec is None:
        return MathFunction(symbol)
    mappings, variants = [], {}
    for letter, bits in instruction_sets(features):
        lanes = bits // scalar.bits
        mangled = f"{lanes}{'v' * arguments}_{symbol}"
        vector_symbol = f"_ZGV{letter}N{mangled}"
        if not hasattr(mvec, vector_symbol):
            continue
        vector = f"<{lanes} x {_TYPE[scalar]}>"
        mappings.append(f"_ZGV_LLVM_N{mangled}({vector_symbol})")
        variants[vector_symbol] = f"declare {vector} @{vector_symbol}({', '.join([vector] * arguments)})"
    attributes = MathFunction.attributes
    if mappings:
        attributes += f' "vector-function-abi-variant"="{",".join(mappings)}"'
    return MathFunction(symbol, attributes, variants)
