"""Random points of shapes, random indices and counts. Each moves the state on, as in ``random``."""

from __future__ import annotations

from treadle.language.builtins import builtin, get
from treadle.language.stdlib.random import pcg, uniform
from treadle.language.stdlib.search import lower_bound
from treadle.types import array_type, float32, float64, uint32
from treadle.types.vectors import vector

cbrt, cos, exp, floor, log, sin, sqrt = map(get, ("cbrt", "cos", "exp", "floor", "log", "sin", "sqrt"))

_PAIR = vector(2, float32)
_TRIPLE = vector(3, float32)
_TWO_PI = 6.283185307179586
_HALF_LOG_TWO_PI = 0.9189385332046727


@builtin(updates=("state",))
def sample_cdf(state: uint32, cdf: array_type(float32, 1)):
    """An index ``i``, with the probability ``cdf[i] - cdf[i - 1]``."""
    drawn = pcg(state)
    return lower_bound(cdf, uniform(drawn)), drawn


@builtin(updates=("state",))
def sample_triangle(state: uint32):
    """Two barycentric coordinates of a point of a triangle; the third is 1 minus their sum."""
    first = pcg(state)
    second = pcg(first)
    r = sqrt(uniform(first))
    return _PAIR(1.0 - r, uniform(second) * r), second


@builtin(name="_on_circle")
def on_circle(bits: uint32, radius: float32):
    """A point at a distance from the origin."""
    angle = _TWO_PI * uniform(bits)
    return _PAIR(cos(angle) * radius, sin(angle) * radius)


@builtin(updates=("state",))
def sample_unit_ring(state: uint32):
    """A point of the unit circle."""
    drawn = pcg(state)
    return on_circle(drawn, 1.0), drawn


@builtin(updates=("state",))
def sample_unit_disk(state: uint32):
    """A point within the unit circle."""
    first = pcg(state)
    second = pcg(first)
    return on_circle(second, sqrt(uniform(first))), second


@builtin(name="_on_sphere")
def on_sphere(z: float32, bits: uint32, radius: float32):
    """A point of a sphere, of which the height for radius 1 is given."""
    flat = on_circle(bits, sqrt(max(0.0, 1.0 - z * z)) * radius)
    return _TRIPLE(flat[0], flat[1], z * radius)


@builtin(updates=("state",))
def sample_unit_sphere_surface(state: uint32):
    """A point of the unit sphere."""
    first = pcg(state)
    second = pcg(first)
    return on_sphere(1.0 - 2.0 * uniform(first), second, 1.0), second


@builtin(updates=("state",))
def sample_unit_sphere(state: uint32):
    """A point within the unit sphere."""
    first = pcg(state)
    second = pcg(first)
    third = pcg(second)
    return on_sphere(1.0 - 2.0 * uniform(first), second, cbrt(uniform(third))), third


@builtin(updates=("state",))
def sample_unit_hemisphere_surface(state: uint32):
    """A point of the upper half (z ≥ 0) of the unit sphere."""
    first = pcg(state)
    second = pcg(first)
    return on_sphere(1.0 - uniform(first), second, 1.0), second


@builtin(updates=("state",))
def sample_unit_hemisphere(state: uint32):
    """A point within the upper half (z ≥ 0) of the unit sphere."""
    first = pcg(state)
    second = pcg(first)
    third = pcg(second)
    return on_sphere(1.0 - uniform(first), second, cbrt(uniform(third))), third


@builtin(updates=("state",))
def sample_unit_square(state: uint32):
    """A point of the square of side 1 around the origin."""
    first = pcg(state)
    second = pcg(first)
    return _PAIR(uniform(first) - 0.5, uniform(second) - 0.5), second


@builtin(updates=("state",))
def sample_unit_cube(state: uint32):
    """A point of the cube of side 1 around the origin."""
    first = pcg(state)
    second = pcg(first)
    third = pcg(second)
    return _TRIPLE(uniform(first) - 0.5, uniform(second) - 0.5, uniform(third) - 0.5), third


@builtin(name="_log_factorial")
def log_factorial(k: float64):
    """log(k!), by Stirling's series at 8 or more."""
    z = k + 1.0
    product = float64(1.0)
    while z < 8.0:
        product *= z
        z += 1.0
    r = 1.0 / (z * z)
    series = (1.0 - r * (1.0 / 30.0 - r * (1.0 / 105.0 - r / 140.0))) / (12.0 * z)
    return (z - 0.5) * log(z) - z + _HALF_LOG_TWO_PI + series - log(product)


@builtin(name="_poisson_by_products")
def poisson_by_products(state: uint32, lam: float32):
    """For a small mean: how many uniform numbers are multiplied before the product is below exp(-lam)."""
    limit = exp(-lam)
    count = uint32(0)
    drawn = pcg(state)
    product = uniform(drawn)
    while product > limit:
        count += uint32(1)
        drawn = pcg(drawn)
        product *= uniform(drawn)
    return count, drawn


@builtin(name="_poisson_by_rejection")
def poisson_by_rejection(state: uint32, lam: float32):
    """For a mean of 10 or more: W. Hörmann's transformed rejection with squeeze (PTRS, 1993)."""
    mean = float64(lam)
    b = 0.931 + 2.53 * sqrt(mean)
    a = 0.02483 * b - 0.059
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    squeeze = 0.9277 - 3.6224 / (b - 2.0)
    k = float64(0.0)
    drawn = state
    searching = True
    while searching:
        drawn = pcg(drawn)
        u = float64(uniform(drawn)) - 0.5
        drawn = pcg(drawn)
        v = float64(uniform(drawn))
        us = 0.5 - abs(u)
        if us > 0.0:
            k = floor((2.0 * a / us + b) * u + mean + 0.43)
            if us >= 0.07 and v <= squeeze:
                searching = False
            elif k >= 0.0 and (us >= 0.013 or v <= us) and v > 0.0:
                bound = k * log(mean) - mean - log_factorial(k)
                searching = log(v * inverse_alpha / (a / (us * us) + b)) > bound
    return uint32(k), drawn


@builtin(updates=("state",))
def poisson(state: uint32, lam: float32):
    """A count with the Poisson distribution of mean ``lam``."""
    if lam < 10.0:
        count, drawn = poisson_by_products(state, lam)
    else:
        count, drawn = poisson_by_rejection(state, lam)
    return count, drawn
