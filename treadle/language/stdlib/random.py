"""Random numbers by PCG hashing: a state of 32 bits, which every draw replaces by its hash.

A draw depends on nothing but the state, so that it is the same on every device and number of threads.
In kernels, the variable passed as ``state`` moves on with each draw; calls from Python leave it alone.
"""

from __future__ import annotations

from treadle.language.builtins import builtin, get
from treadle.types import float32, int32, int64, uint32, uint64

cos, log, sqrt = map(get, ("cos", "log", "sqrt"))

_TWO_PI = 6.283185307179586
_LEAST = 2.9802322387695312e-08  # half the distance of two values of randf, in place of 0


@builtin(name="_pcg")
def pcg(state: uint32):
    """The hash: one step of a linear congruential generator, permuted (PCG-RXS-M-XS)."""
    moved = uint32(uint64(state) * 747796405 + 2891336453)
    mixed = uint32(uint64((moved >> ((moved >> 28) + 4)) ^ moved) * 277803737)
    return (mixed >> 22) ^ mixed


@builtin(name="_uniform")
def uniform(bits: uint32):
    """A float from 0 to below 1, of the upper 24 bits."""
    return float32(bits >> 8) * 5.9604644775390625e-08


@builtin(name="rand_init")
def init_from_seed(seed: int32):
    """The state for a seed."""
    return pcg(uint32(seed))


@builtin
def rand_init(seed: int32, offset: int32):
    """The state for a seed and the number of a stream, such as the index of the thread."""
    return pcg(uint32(uint64(uint32(seed)) + uint64(pcg(uint32(offset)))))


@builtin(updates=("state",))
def randi(state: uint32):
    """Any int32."""
    drawn = pcg(state)
    return int32(drawn), drawn


@builtin(name="randi", updates=("state",))
def randi_in_range(state: uint32, low: int32, high: int32):
    """An int32 from ``low`` to below ``high``."""
    drawn = pcg(state)
    span = uint32(int64(high) - int64(low))
    return int32(int64(drawn % span) + int64(low)), drawn


@builtin(updates=("state",))
def randu(state: uint32):
    """Any uint32."""
    drawn = pcg(state)
    return drawn, drawn


@builtin(name="randu", updates=("state",))
def randu_in_range(state: uint32, low: uint32, high: uint32):
    """A uint32 from ``low`` to below ``high``."""
    drawn = pcg(state)
    return drawn % (uint32(high) - uint32(low)) + uint32(low), drawn


@builtin(updates=("state",))
def randf(state: uint32):
    """A float from 0 to below 1."""
    drawn = pcg(state)
    return uniform(drawn), drawn


@builtin(name="randf", updates=("state",))
def randf_in_range(state: uint32, low: float32, high: float32):
    """A float from ``low`` to below ``high``."""
    drawn = pcg(state)
    return (high - low) * uniform(drawn) + low, drawn


@builtin(updates=("state",))
def randn(state: uint32):
    """A normally distributed float of mean 0 and variance 1 (Box-Muller)."""
    first = pcg(state)
    second = pcg(first)
    radius = sqrt(-2.0 * log(max(uniform(first), _LEAST)))
    return radius * cos(_TWO_PI * uniform(second)), second
