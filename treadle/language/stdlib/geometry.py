"""Distances and intersections of edges and triangles."""

from __future__ import annotations

from treadle.language.builtins import builtin
from treadle.language.stdlib.scalars import clamp
from treadle.language.stdlib.vectors import cross, dot, length
from treadle.types import Float, float32, int32, vec
from treadle.types.vectors import vector

_TRIPLE = vector(3, float32)


@builtin
def closest_point_edge_edge(
    p1: vec(3, float32), q1: vec(3, float32), p2: vec(3, float32), q2: vec(3, float32), epsilon: float32
):
    """Where the edges p1q1 and p2q2 are closest: the positions on both, from 0 to 1, and the distance.

    An edge whose squared length is at most ``epsilon`` counts as a point.
    """
    d1, d2, r = q1 - p1, q2 - p2, p1 - p2
    a, e, f = dot(d1, d1), dot(d2, d2), dot(d2, r)
    s, t = float32(0.0), float32(0.0)
    if a > epsilon:
        c = dot(d1, r)
        if e > epsilon:
            b = dot(d1, d2)
            denominator = a * e - b * b
            if denominator > 0.0:
                s = clamp((b * f - c * e) / denominator, 0.0, 1.0)
            t = (b * s + f) / e
            if t < 0.0:
                t = float32(0.0)
                s = clamp(-c / a, 0.0, 1.0)
            elif t > 1.0:
                t = float32(1.0)
                s = clamp((b - c) / a, 0.0, 1.0)
        else:
            s = clamp(-c / a, 0.0, 1.0)
    elif e > epsilon:
        t = clamp(f / e, 0.0, 1.0)
    return _TRIPLE(s, t, length((p1 + d1 * s) - (p2 + d2 * t)))


@builtin(name="_separates", same=("axis", "v0", "v1", "v2", "u0", "u1", "u2"))
def separates(
    axis: vec(3, Float),
    v0: vec(3, Float), v1: vec(3, Float), v2: vec(3, Float),
    u0: vec(3, Float), u1: vec(3, Float), u2: vec(3, Float),
):  # fmt: skip
    """Whether the projections of two triangles on an axis are apart."""
    a, b, c = dot(axis, v0), dot(axis, v1), dot(axis, v2)
    d, e, f = dot(axis, u0), dot(axis, u1), dot(axis, u2)
    return max(max(a, b), c) < min(min(d, e), f) or max(max(d, e), f) < min(min(a, b), c)


@builtin(same=("v0", "v1", "v2", "u0", "u1", "u2"))
def intersect_tri_tri(
    v0: vec(3, Float), v1: vec(3, Float), v2: vec(3, Float),
    u0: vec(3, Float), u1: vec(3, Float), u2: vec(3, Float),
):  # fmt: skip
    """1 if two triangles have a point in common, else 0.

    They have none if and only if the projections on one of these axes are apart: the normals, the
    cross products of two edges, and for triangles in one plane the normals of edges within it.
    """
    n, m = cross(v1 - v0, v2 - v0), cross(u1 - u0, u2 - u0)
    apart = separates(n, v0, v1, v2, u0, u1, u2) or separates(m, v0, v1, v2, u0, u1, u2)
    for edge in (v1 - v0, v2 - v1, v0 - v2):
        for other in (u1 - u0, u2 - u1, u0 - u2):
            apart = apart or separates(cross(edge, other), v0, v1, v2, u0, u1, u2)
        apart = apart or separates(cross(n, edge), v0, v1, v2, u0, u1, u2)
    for other in (u1 - u0, u2 - u1, u0 - u2):
        apart = apart or separates(cross(m, other), v0, v1, v2, u0, u1, u2)
    return int32(0 if apart else 1)
