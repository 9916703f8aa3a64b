"""Perlin noise in one to four dimensions, periodic noise, and the curl of noise.

A hash of the state and the lattice point gives each lattice point a gradient; the noise interpolates
the planes through them with a polynomial that is smooth in its second derivative.
"""

from __future__ import annotations

from typing import Any

from treadle.language.builtins import builtin, get
from treadle.language.decorators import static
from treadle.language.stdlib.random import pcg, uniform
from treadle.types import float32, int32, uint32, uint64, vec
from treadle.types.vectors import vector

floor, sqrt = map(get, ("floor", "sqrt"))

_ONE = vector(1, float32)
_PAIR = vector(2, float32)
_TRIPLE = vector(3, float32)
_FACTORS = (73856093, 19349663, 83492791, 49979687)


@builtin(name="_lattice_gradient")
def lattice_gradient(state: uint32, cell: vec(Any, int32)):
    """The gradient at a lattice point: a unit vector, or in one dimension a number from -1 to 1."""
    drawn = state
    for k in range(len(cell)):
        drawn = uint32(uint64(drawn) + uint64(uint32(cell[k])) * static(_FACTORS[k]))
    gradient = static(vector(len(cell), float32))()
    for k in range(len(cell)):
        drawn = pcg(drawn)
        gradient[k] = 2.0 * uniform(drawn) - 1.0
    if len(cell) > 1:
        squared = gradient[0] * gradient[0]
        for k in range(1, len(cell)):
            squared += gradient[k] * gradient[k]
        if squared > 0.0:
            gradient = gradient / sqrt(squared)
    return gradient


def _contribution(
    state: uint32,
    origin: vec(Any, int32),
    offset: vec(Any, float32),
    fade: vec(Any, float32),
    slope: vec(Any, float32),
    period: vec(Any, int32),
    corner: int32,
):
    """What one corner of the cell around a point contributes to the noise and its derivatives there.

    ``offset``: of the point from ``origin``; ``fade``, ``slope``: the weights along each axis, and their derivatives.
    """
    cell = type(origin)()
    for k in range(len(origin)):
        cell[k] = origin[k] + ((corner >> k) & 1)
        if period[k] > 0:
            cell[k] = ((cell[k] % period[k]) + period[k]) % period[k]
    gradient = lattice_gradient(state, cell)
    plane = float32(0.0)
    for k in range(len(origin)):
        plane += gradient[k] * (offset[k] - float32((corner >> k) & 1))
    weight = float32(1.0)
    for k in range(len(origin)):
        weight *= fade[k] if (corner >> k) & 1 else 1.0 - fade[k]
    derivative = gradient * weight
    for k in range(len(origin)):
        change = slope[k] if (corner >> k) & 1 else -slope[k]
        for j in range(len(origin)):
            if j != k:
                change *= fade[j] if (corner >> j) & 1 else 1.0 - fade[j]
        derivative[k] += change * plane
    return weight * plane, derivative


known_corner = builtin(_contribution, name="_perlin_known_corner", static=("corner",))
any_corner = builtin(_contribution, name="_perlin_any_corner")


@builtin(name="_perlin")
def perlin(state: uint32, x: vec(Any, float32), period: vec(Any, int32)):
    """The noise at ``x`` and its derivatives. ``period``: of each axis, 0 where there is none."""
    origin = type(period)()
    offset = type(x)()
    fade = type(x)()
    slope = type(x)()
    for k in range(len(x)):
        start = floor(x[k])
        f = x[k] - start
        origin[k] = int32(start)
        offset[k] = f
        fade[k] = f * f * f * (f * (f * 6.0 - 15.0) + 10.0)
        slope[k] = 30.0 * f * f * (f * (f - 2.0) + 1.0)
    value = float32(0.0)
    derivative = type(x)()
    if static(len(x) < 4):
        for corner in range(static(2 ** len(x))):
            part, change = known_corner(state, origin, offset, fade, slope, period, corner)
            value += part
            derivative += change
    else:  # a loop at run time: written out, it would take long to compile
        count = 0
        while count < 16:
            part, change = any_corner(state, origin, offset, fade, slope, period, count)
            value += part
            derivative += change
            count += 1
    return value, derivative


@builtin(name="noise")
def noise_1d(state: uint32, x: float32):
    """Noise of one variable."""
    value, _ = perlin(state, _ONE(x), static(vector(1, int32))())
    return value


@builtin(name="noise")
def noise_2d(state: uint32, xy: vec(2, float32)):
    value, _ = perlin(state, xy, static(vector(2, int32))())
    return value


@builtin(name="noise")
def noise_3d(state: uint32, xyz: vec(3, float32)):
    value, _ = perlin(state, xyz, static(vector(3, int32))())
    return value


@builtin(name="noise")
def noise_4d(state: uint32, xyzt: vec(4, float32)):
    value, _ = perlin(state, xyzt, static(vector(4, int32))())
    return value


@builtin(name="pnoise")
def periodic_noise_1d(state: uint32, x: float32, px: int32):
    """Noise that repeats itself after ``px``."""
    value, _ = perlin(state, _ONE(x), static(vector(1, int32))(px))
    return value


@builtin(name="pnoise")
def periodic_noise_2d(state: uint32, xy: vec(2, float32), px: int32, py: int32):
    value, _ = perlin(state, xy, static(vector(2, int32))(px, py))
    return value


@builtin(name="pnoise")
def periodic_noise_3d(state: uint32, xyz: vec(3, float32), px: int32, py: int32, pz: int32):
    value, _ = perlin(state, xyz, static(vector(3, int32))(px, py, pz))
    return value


@builtin(name="pnoise")
def periodic_noise_4d(state: uint32, xyzt: vec(4, float32), px: int32, py: int32, pz: int32, pt: int32):
    value, _ = perlin(state, xyzt, static(vector(4, int32))(px, py, pz, pt))
    return value


@builtin(name="_slope_of_octaves")
def slope_of_octaves(state: uint32, x: vec(Any, float32), octaves: uint32, lacunarity: float32, gain: float32):
    """The derivatives of a sum of noises of growing frequency and falling amplitude."""
    total = type(x)()
    frequency = float32(1.0)
    amplitude = float32(1.0)
    for _ in range(int32(octaves)):
        _value, derivative = perlin(state, x * frequency, static(vector(len(x), int32))())
        total += derivative * (amplitude * frequency)
        frequency *= lacunarity
        amplitude *= gain
    return total


@builtin(name="curlnoise")
def curl_noise_2d(
    state: uint32, xy: vec(2, float32), octaves: uint32 = 1, lacunarity: float32 = 2.0, gain: float32 = 0.5
):
    """A field without divergence: the derivatives of noise, turned by a right angle."""
    slope = slope_of_octaves(state, xy, octaves, lacunarity, gain)
    return _PAIR(-slope[1], slope[0])


@builtin(name="_curl")
def curl(a: vec(Any, float32), b: vec(Any, float32), c: vec(Any, float32)):
    """The curl of a vector field of which the derivatives of the components are given."""
    return _TRIPLE(c[1] - b[2], a[2] - c[0], b[0] - a[1])


@builtin(name="curlnoise")
def curl_noise_3d(
    state: uint32, xyz: vec(3, float32), octaves: uint32 = 1, lacunarity: float32 = 2.0, gain: float32 = 0.5
):
    """The curl of a field of three noises."""
    second = pcg(state)
    third = pcg(second)
    return curl(
        slope_of_octaves(state, xyz, octaves, lacunarity, gain),
        slope_of_octaves(second, xyz, octaves, lacunarity, gain),
        slope_of_octaves(third, xyz, octaves, lacunarity, gain),
    )


@builtin(name="curlnoise")
def curl_noise_4d(
    state: uint32, xyzt: vec(4, float32), octaves: uint32 = 1, lacunarity: float32 = 2.0, gain: float32 = 0.5
):
    """The curl in space of a field of three noises that change in time."""
    second = pcg(state)
    third = pcg(second)
    return curl(
        slope_of_octaves(state, xyzt, octaves, lacunarity, gain),
        slope_of_octaves(second, xyzt, octaves, lacunarity, gain),
        slope_of_octaves(third, xyzt, octaves, lacunarity, gain),
    )
