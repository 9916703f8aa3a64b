"""Cases for the scalar functions that have a derivative: one case for each, made from a table."""

from typing import Any

import treadle as wp
from tests.ad.gradient_cases import Input, Output, case

UNARY = {
    # name: the interval from which arguments are taken
    "sin": (-3.0, 3.0),
    "cos": (-3.0, 3.0),
    "tan": (-1.2, 1.2),
    "asin": (-0.9, 0.9),
    "acos": (-0.9, 0.9),
    "atan": (-3.0, 3.0),
    "sinh": (-2.0, 2.0),
    "cosh": (-2.0, 2.0),
    "tanh": (-2.0, 2.0),
    "exp": (-2.0, 2.0),
    "log": (0.2, 4.0),
    "log2": (0.2, 4.0),
    "log10": (0.2, 4.0),
    "sqrt": (0.2, 4.0),
    "cbrt": (0.2, 4.0),
    "erf": (-1.5, 1.5),
    "erfc": (-1.5, 1.5),
    "erfinv": (-0.8, 0.8),
    "erfcinv": (0.3, 1.7),
    "degrees": (-3.0, 3.0),
    "radians": (-90.0, 90.0),
    "abs": (-2.0, 2.0),
    "frac": (1.1, 1.9),
    "sign": (0.1, 0.9),
    "step": (0.1, 0.9),
    "nonzero": (0.1, 0.9),
    "floor": (1.1, 1.9),
    "ceil": (1.1, 1.9),
    "trunc": (1.1, 1.9),
    "round": (1.1, 1.4),
    "rint": (1.1, 1.4),
}

BINARY = {
    "pow": (0.3, 2.0),
    "atan2": (-2.0, 2.0),
    "min": (-2.0, 2.0),
    "max": (-2.0, 2.0),
    "copysign": (-2.0, 2.0),
    "mod": (0.3, 2.0),
    "add": (-2.0, 2.0),
    "sub": (-2.0, 2.0),
    "mul": (-2.0, 2.0),
    "div": (0.3, 2.0),
}

TERNARY = {
    "clamp": (-2.0, 2.0),
    "lerp": (-2.0, 2.0),
    "smoothstep": (0.0, 1.0),
}


def _unary(name: str) -> Any:
    def make(T):
        function = getattr(wp, name)

        @wp.kernel
        def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
            i = wp.tid()
            out[i] = function(x[i]) * x[i]

        return kernel

    return make


def _binary(name: str) -> Any:
    def make(T):
        function = getattr(wp, name)

        @wp.kernel
        def kernel(x: wp.array(dtype=T), y: wp.array(dtype=T), out: wp.array(dtype=T)):
            i = wp.tid()
            out[i] = function(x[i], y[i]) * x[i]

        return kernel

    return make


def _ternary(name: str) -> Any:
    def make(T):
        function = getattr(wp, name)

        @wp.kernel
        def kernel(x: wp.array(dtype=T), y: wp.array(dtype=T), z: wp.array(dtype=T), out: wp.array(dtype=T)):
            i = wp.tid()
            out[i] = function(x[i], y[i], z[i]) * x[i]

        return kernel

    return make


for _name, (_low, _high) in UNARY.items():
    case(dim=4, name=f"math_{_name}", x=Input(4, _low, _high), out=Output(4))(_unary(_name))

for _name, (_low, _high) in BINARY.items():
    case(dim=4, name=f"math_{_name}", x=Input(4, _low, _high), y=Input(4, _low, _high), out=Output(4))(_binary(_name))

for _name, (_low, _high) in TERNARY.items():
    # The second and third argument of clamp and smoothstep are an interval; those of lerp need not be.
    case(
        dim=4,
        name=f"math_{_name}",
        x=Input(4, _low, _high) if _name != "smoothstep" else Input(4, -0.5, 0.0),
        y=Input(4, -0.9, -0.5) if _name != "smoothstep" else Input(4, 0.9, 1.3),
        z=Input(4, 0.5, 0.9) if _name != "smoothstep" else Input(4, 0.1, 0.8),
        out=Output(4),
    )(_ternary(_name))
