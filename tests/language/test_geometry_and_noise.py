"""Edges, triangles, noise, and calls of built-ins from Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle as wp
from tests.language.running import KINDS, check, run
from tests.language.test_values_and_gradients import CASES


def closest_by_search(p1, q1, p2, q2):
    """The distance of two edges by a fine search."""
    grid = np.linspace(0.0, 1.0, 201)
    a = p1 + (q1 - p1) * grid[:, None]
    b = p2 + (q2 - p2) * grid[:, None]
    return np.linalg.norm(a[:, None] - b[None], axis=2).min()


def test_closest_points_of_edges():
    rng = np.random.default_rng(2)
    points = rng.normal(size=(50, 4, 3)).astype(np.float32)
    points[0, 1] = points[0, 0]  # a point and an edge
    points[1, 1], points[1, 3] = points[1, 0], points[1, 2]  # two points
    points[2, 3] = points[2, 2] + (points[2, 1] - points[2, 0])  # parallel

    @wp.kernel
    def kernel(p: wp.array(dtype=wp.vec3, ndim=2), out: wp.array(dtype=wp.vec3)):
        i = wp.tid()
        out[i] = wp.closest_point_edge_edge(p[i, 0], p[i, 1], p[i, 2], p[i, 3], 1.0e-6)

    out = wp.zeros(50, dtype=wp.vec3)
    wp.launch(kernel, dim=50, inputs=[wp.array(points, dtype=wp.vec3)], outputs=[out])
    for (s, t, distance), (p1, q1, p2, q2) in zip(out.numpy(), points):
        assert 0.0 <= s <= 1.0 and 0.0 <= t <= 1.0
        assert distance == pytest.approx(np.linalg.norm(p1 + (q1 - p1) * s - p2 - (q2 - p2) * t), abs=1.0e-5)
        assert distance == pytest.approx(closest_by_search(p1, q1, p2, q2), abs=0.02)


def test_distance_of_edges_has_its_gradient():
    @wp.func
    def distance(p1: wp.vec3, q1: wp.vec3, p2: wp.vec3):
        return wp.closest_point_edge_edge(p1, q1, p2, p2 + wp.vec3(0.2, 0.3, 1.0), 1.0e-6)[2]

    def reference(p1, q1, p2):
        d1, d2 = q1 - p1, np.array([0.2, 0.3, 1.0])
        s, t = np.linalg.solve([[d1 @ d1, -d1 @ d2], [d1 @ d2, -d2 @ d2]], [-d1 @ (p1 - p2), -d2 @ (p1 - p2)])
        assert 0 < s < 1 and 0 < t < 1
        return np.linalg.norm(p1 + d1 * s - p2 - d2 * t)

    rng = np.random.default_rng(2)
    moved = [0.1 * rng.normal(size=(5, 3)) for _ in range(3)]
    inputs = [m + x for m, x in zip(moved, ([-1.0, 0.0, 0.0], [1.0, 0.1, 0.0], [0.0, 1.0, -0.5]))]
    check(distance, ["vec3"] * 3, "scalar", reference, wp.float32, inputs, loose=10.0)


def triangles_meet(v, u):
    """Whether a point of one triangle is in the other, by linear programming over barycentric coordinates."""

    def crosses(p, q, t):
        m = np.column_stack([t[1] - t[0], t[2] - t[0], p - q])
        if abs(np.linalg.det(m)) < 1.0e-9:
            return False
        a, b, s = np.linalg.solve(m, p - t[0])
        return a >= 0 and b >= 0 and a + b <= 1 and 0 <= s <= 1

    return any(crosses(x[i], x[(i + 1) % 3], y) for x, y in ((v, u), (u, v)) for i in range(3))


@pytest.mark.parametrize("dtype", [wp.vec3, wp.vec3d])
def test_triangles(dtype):
    rng = np.random.default_rng(4)
    triangles = rng.normal(size=(300, 6, 3)).astype(np.float32)

    @wp.kernel
    def kernel(p: wp.array(dtype=dtype, ndim=2), out: wp.array(dtype=int)):
        i = wp.tid()
        out[i] = wp.intersect_tri_tri(p[i, 0], p[i, 1], p[i, 2], p[i, 3], p[i, 4], p[i, 5])

    out = wp.zeros(300, dtype=int)
    wp.launch(kernel, dim=300, inputs=[wp.array(triangles, dtype=dtype)], outputs=[out])
    expected = [triangles_meet(t[:3].astype(np.float64), t[3:].astype(np.float64)) for t in triangles]
    assert 30 < sum(expected) < 270
    assert out.numpy().tolist() == [int(e) for e in expected]


def test_triangles_in_one_plane():
    a, b, c = wp.vec3(0.0, 0.0, 0.0), wp.vec3(1.0, 0.0, 0.0), wp.vec3(0.0, 1.0, 0.0)
    near, far = wp.vec3(0.2, 0.2, 0.0), wp.vec3(0.8, 0.8, 0.0)
    assert wp.intersect_tri_tri(a, b, c, a + near, b + near, c + near) == 1
    assert wp.intersect_tri_tri(a, b, c, a + far, b + far, c + far) == 0


# Noise.


@wp.func
def noise_of(p: Any):
    return wp.noise(wp.rand_init(17), p)


@wp.func
def periodic_of_pair(p: wp.vec2):
    return wp.pnoise(wp.rand_init(17), p, 3, 4)


@wp.func
def curl_of_pair(p: wp.vec2):
    return wp.curlnoise(wp.rand_init(17), p, wp.uint32(3), 2.0, 0.5)


@wp.func
def curl_of_triple(p: wp.vec3):
    return wp.curlnoise(wp.rand_init(17), p)


NOISE_KINDS = ["scalar", "vec2", "vec3", "vec4"]


@pytest.mark.parametrize("kind", NOISE_KINDS)
def test_noise_is_smooth_and_bounded(kind):
    rng = np.random.default_rng(3)
    points = rng.uniform(-4.0, 4.0, size=(2000, *KINDS[kind]))
    value, (gradient,) = run(noise_of, [kind], "scalar", wp.float32, [points])
    assert np.abs(value).max() < 1.2 and value.std() > 0.1
    step = 1.0e-2
    for place in np.ndindex(KINDS[kind]):
        moved = [points.copy(), points.copy()]
        moved[0][(..., *place)] += step
        moved[1][(..., *place)] -= step
        ends = [run(noise_of, [kind], "scalar", wp.float32, [m])[0] for m in moved]
        np.testing.assert_allclose(gradient[(..., *place)], (ends[0] - ends[1]) / (2 * step), atol=5.0e-3)


@pytest.mark.parametrize("kind", NOISE_KINDS)
def test_noise_is_zero_on_the_lattice(kind):
    points = np.random.default_rng(3).integers(-5, 5, size=(20, *KINDS[kind])).astype(float)
    assert not run(noise_of, [kind], "scalar", wp.float32, [points])[0].any()


def test_periodic_noise_repeats():
    points = np.random.default_rng(3).uniform(-4.0, 4.0, size=(100, 2))
    value = run(periodic_of_pair, ["vec2"], "scalar", wp.float32, [points])[0]
    moved = run(periodic_of_pair, ["vec2"], "scalar", wp.float32, [points + [3.0, -8.0]])[0]
    np.testing.assert_allclose(value, moved, atol=1.0e-5)
    inside = np.random.default_rng(3).uniform(0.0, 2.0, size=(100, 2))
    np.testing.assert_allclose(
        run(periodic_of_pair, ["vec2"], "scalar", wp.float32, [inside])[0],
        run(noise_of, ["vec2"], "scalar", wp.float32, [inside])[0],
        atol=1.0e-6,
    )


@pytest.mark.parametrize(("function", "kind"), [(curl_of_pair, "vec2"), (curl_of_triple, "vec3")])
def test_curl_has_no_divergence(function, kind):
    n = KINDS[kind][0]
    points = np.random.default_rng(3).uniform(-4.0, 4.0, size=(200, n))
    divergence, size = np.zeros(200), 0.0
    for k in range(n):
        seed = np.zeros((200, n))
        seed[:, k] = 1.0
        _, (gradient,) = run(function, [kind], kind, wp.float32, [points], seed)
        divergence += gradient[:, k]
        size = max(size, np.abs(gradient).max())
    assert size > 1.0
    np.testing.assert_allclose(divergence, 0.0, atol=1.0e-5 * size * 10)


# Calls from Python.


@pytest.mark.parametrize("case", [c for c in CASES if hasattr(c.function, "candidates")], ids=lambda case: case.name)
def test_python_agrees(case):
    kinds = case.kinds.split()
    rng = np.random.default_rng(8)
    sample = [rng.uniform(max(case.low, 0.2), case.high, size=KINDS[kind]) for kind in kinds]
    types = {"quat": wp.quatd, "transform": wp.transformd}
    arguments = []
    for kind, x in zip(kinds, sample):
        shape = KINDS[kind]
        if not shape:
            arguments.append(float(x))
        elif kind in types:
            arguments.append(types[kind](*x))
        else:
            arguments.append((wp.vec(shape[0], wp.float64) if len(shape) == 1 else wp.mat(shape, wp.float64))(x))
    found = case.function(*arguments)
    np.testing.assert_allclose(np.array(found), case.reference(*sample), rtol=1.0e-10, atol=1.0e-12)
