"""Random numbers: known values, distributions, and that the state moves on wherever a draw may stand."""

from __future__ import annotations

import math

import numpy as np
import pytest

import treadle as wp

DRAWS = 1_000_000


def pcg(state: int) -> int:
    """The hash, from its definition, in Python's integers."""
    moved = (state * 747796405 + 2891336453) % 2**32
    mixed = (((moved >> ((moved >> 28) + 4)) ^ moved) * 277803737) % 2**32
    return (mixed >> 22) ^ mixed


def uniforms(seed: int, offset: int, count: int) -> list[float]:
    state = pcg((seed + pcg(offset)) % 2**32)
    found = []
    for _ in range(count):
        state = pcg(state)
        found.append((state >> 8) / 2.0**24)
    return found


def draw(function, dtype=float, count=DRAWS):
    @wp.kernel
    def kernel(out: wp.array(dtype=dtype)):
        i = wp.tid()
        state = wp.rand_init(7, i)
        out[i] = function(state)

    out = wp.zeros(count, dtype=dtype)
    wp.launch(kernel, dim=count, outputs=[out])
    return out.numpy()


def assert_follows(sample, cumulative):
    """The Kolmogorov-Smirnov test at a level of 0.001."""
    ordered = np.sort(np.asarray(sample, np.float64))
    n = len(ordered)
    expected = cumulative(ordered)
    distance = max(np.max(np.arange(1, n + 1) / n - expected), np.max(expected - np.arange(n) / n))
    assert distance < 1.95 / math.sqrt(n)


normal_cdf = np.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2.0)))


def test_uniform():
    sample = draw(wp.randf)
    assert sample.min() >= 0.0 and sample.max() < 1.0
    assert_follows(sample, lambda x: x)


def test_normal():
    assert_follows(draw(wp.randn), normal_cdf)


def test_draws_from_one_stream_are_independent():
    @wp.kernel
    def kernel(out: wp.array(dtype=float, ndim=2)):
        i = wp.tid()
        state = wp.rand_init(3, i)
        for k in range(out.shape[1]):
            out[i, k] = wp.randf(state)

    out = wp.zeros((1000, 1000), dtype=float)
    wp.launch(kernel, dim=1000, outputs=[out])
    sample = out.numpy()
    assert_follows(sample.ravel(), lambda x: x)
    assert abs(np.corrcoef(sample[:, :-1].ravel(), sample[:, 1:].ravel())[0, 1]) < 0.005
    assert abs(np.corrcoef(sample[:-1].ravel(), sample[1:].ravel())[0, 1]) < 0.005
    assert sample[5, :4].tolist() == pytest.approx(uniforms(3, 5, 4), abs=0.0)


def test_integers():
    @wp.func
    def in_range(state: wp.uint32):
        return wp.randi(state, -5, 5)

    sample = draw(in_range, wp.int32)
    assert sample.min() == -5 and sample.max() == 4
    counts = np.bincount(sample + 5, minlength=10)
    assert ((counts - DRAWS / 10) ** 2 / (DRAWS / 10)).sum() < 27.9  # chi-square, 9 degrees of freedom, 0.001
    whole = draw(wp.randi, wp.int32)
    assert_follows(whole, lambda x: (x + 2.0**31) / 2.0**32)
    assert_follows(draw(wp.randu, wp.uint32), lambda x: x / 2.0**32)


@pytest.mark.parametrize("mean", [0.3, 4.0, 9.9, 10.0, 35.0, 1000.0])
def test_poisson(mean):
    @wp.func
    def count(state: wp.uint32):
        return wp.poisson(state, mean)

    sample = draw(count, wp.uint32, 200_000).astype(np.float64)
    values, counts = np.unique(sample, return_counts=True)
    log_mass = values * math.log(mean) - mean - np.array([math.lgamma(v + 1.0) for v in values])
    expected = np.exp(log_mass) * len(sample)
    common = expected >= 10
    statistic = ((counts - expected)[common] ** 2 / expected[common]).sum()
    freedom = common.sum()
    assert statistic < freedom + 3.3 * math.sqrt(2.0 * freedom) + 8.0


def test_state_moves_on_in_every_place():
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        state = wp.rand_init(1, 2)
        out[0] = wp.randf(state) - wp.randf(state=state)
        total = float(0.0)
        for _ in range(3):
            if wp.randf(state) > 2.0:
                break
            total += wp.randf(state)
        out[1] = total
        out[2] = wp.randf(state) if total > 0.0 else 0.0
        both = wp.where(total > 0.0, wp.randf(state), wp.randf(state))
        out[3] = both
        if total > 0.0 and wp.randf(state) >= 0.0 or wp.randf(state) > 2.0:
            out[4] = wp.randf(state)
        k = int(0)
        while k < 2:
            out[5] = wp.randf(state)
            k += 1
        wp.randf(state)
        out[6] = wp.randf(state, 2.0, 4.0)

    out = wp.zeros(7, dtype=float)
    wp.launch(kernel, dim=1, outputs=[out])
    u = uniforms(1, 2, 18)
    expected = [u[0] - u[1], u[3] + u[5] + u[7], u[8], u[9], u[12], u[14], 2.0 + 2.0 * u[16]]
    np.testing.assert_allclose(out.numpy(), expected, rtol=1.0e-6)


def test_state_in_a_struct_and_in_an_array():
    @wp.struct
    class Generator:
        state: wp.uint32

    @wp.kernel
    def kernel(states: wp.array(dtype=wp.uint32), out: wp.array(dtype=float)):
        g = Generator()
        g.state = states[0]
        out[0] = wp.randf(g.state)
        out[1] = wp.randf(g.state)
        out[2] = wp.randf(states[0])
        out[3] = wp.randf(states[0])

    states = wp.array([pcg((1 + pcg(2)) % 2**32)], dtype=wp.uint32)
    out = wp.zeros(4, dtype=float)
    wp.launch(kernel, dim=1, inputs=[states], outputs=[out])
    u = uniforms(1, 2, 2)
    np.testing.assert_allclose(out.numpy(), [*u, *u], rtol=1.0e-6)


def test_gradient_through_a_draw():
    @wp.kernel
    def kernel(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
        i = wp.tid()
        state = wp.rand_init(1, i)
        for _ in range(n):
            out[i] += x[i] * x[i] * wp.randf(state)

    x = wp.array([2.0, 3.0], dtype=float, requires_grad=True)
    out = wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=2, inputs=[x, 3], outputs=[out])
    tape.backward(grads={out: wp.ones_like(out)})
    sums = np.array([sum(uniforms(1, i, 3)) for i in range(2)])
    np.testing.assert_allclose(out.numpy(), sums * [4.0, 9.0], rtol=1.0e-6)
    np.testing.assert_allclose(x.grad.numpy(), sums * [4.0, 6.0], rtol=1.0e-6)


def test_python_gives_the_same_numbers():
    state = wp.rand_init(42)
    assert int(state) == pcg(42)
    assert int(wp.rand_init(42, 7)) == pcg((42 + pcg(7)) % 2**32)
    assert int(wp.randu(state)) == pcg(pcg(42))
    assert int(wp.randi(state)) == (pcg(pcg(42)) + 2**31) % 2**32 - 2**31
    assert float(wp.randf(state)) == (pcg(pcg(42)) >> 8) / 2.0**24
    assert -5 <= int(wp.randi(state, -5, 5)) < 5


SHAPES = {
    "sample_triangle": (wp.vec2, lambda p: (p >= 0).all(1) & (p.sum(1) <= 1), [1 / 3, 1 / 3]),
    "sample_unit_ring": (wp.vec2, lambda p: np.isclose((p**2).sum(1), 1, atol=1e-5), [0, 0]),
    "sample_unit_disk": (wp.vec2, lambda p: (p**2).sum(1) <= 1, [0, 0]),
    "sample_unit_sphere_surface": (wp.vec3, lambda p: np.isclose((p**2).sum(1), 1, atol=1e-5), [0, 0, 0]),
    "sample_unit_sphere": (wp.vec3, lambda p: (p**2).sum(1) <= 1 + 1e-6, [0, 0, 0]),
    "sample_unit_hemisphere_surface": (
        wp.vec3, lambda p: np.isclose((p**2).sum(1), 1, atol=1e-5) & (p[:, 2] >= 0), [0, 0, 1 / 2],
    ),
    "sample_unit_hemisphere": (wp.vec3, lambda p: ((p**2).sum(1) <= 1 + 1e-6) & (p[:, 2] >= 0), [0, 0, 3 / 8]),
    "sample_unit_square": (wp.vec2, lambda p: (np.abs(p) <= 0.5).all(1), [0, 0]),
    "sample_unit_cube": (wp.vec3, lambda p: (np.abs(p) <= 0.5).all(1), [0, 0, 0]),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_points_of_shapes(name):
    dtype, inside, center = SHAPES[name]
    sample = draw(getattr(wp, name), dtype, 100_000)
    assert inside(sample).all()
    np.testing.assert_allclose(sample.mean(0), center, atol=0.01)


def test_points_fill_their_shapes_evenly():
    assert_follows((draw(wp.sample_unit_disk, wp.vec2) ** 2).sum(1), lambda x: x)
    assert_follows((draw(wp.sample_unit_sphere, wp.vec3) ** 2).sum(1) ** 1.5, lambda x: np.minimum(x, 1.0))
    assert_follows(draw(wp.sample_unit_sphere_surface, wp.vec3)[:, 0], lambda x: (x + 1) / 2)


def test_sample_cdf():
    @wp.kernel
    def kernel(cdf: wp.array(dtype=float), out: wp.array(dtype=int)):
        i = wp.tid()
        state = wp.rand_init(5, i)
        out[i] = wp.sample_cdf(state, cdf)

    cdf = wp.array([0.1, 0.1, 0.6, 1.0], dtype=float)
    out = wp.zeros(100_000, dtype=int)
    wp.launch(kernel, dim=100_000, inputs=[cdf], outputs=[out])
    np.testing.assert_allclose(np.bincount(out.numpy(), minlength=4) / 1.0e5, [0.1, 0.0, 0.5, 0.4], atol=0.01)


@pytest.mark.parametrize("dtype", [wp.int32, wp.float64])
def test_lower_bound(dtype):
    @wp.kernel
    def kernel(a: wp.array(dtype=dtype), x: wp.array(dtype=dtype), out: wp.array(dtype=int)):
        i = wp.tid()
        out[2 * i] = wp.lower_bound(a, x[i])
        out[2 * i + 1] = wp.lower_bound(a, 2, 4, x[i])

    a, x = np.array([1, 3, 3, 5, 9]), np.arange(11)
    out = wp.zeros(22, dtype=int)
    wp.launch(kernel, dim=11, inputs=[wp.array(a, dtype=dtype), wp.array(x, dtype=dtype)], outputs=[out])
    found = out.numpy().reshape(11, 2)
    assert found[:, 0].tolist() == np.minimum(np.searchsorted(a, x), 4).tolist()
    assert found[:, 1].tolist() == (2 + np.minimum(np.searchsorted(a[2:4], x), 1)).tolist()


def test_the_condition_of_a_while_loop_cannot_draw():
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        state = wp.rand_init(1)
        while wp.randf(state) < 0.5:
            out[0] += 1.0

    with pytest.raises(Exception, match="condition of a loop"):
        wp.launch(kernel, dim=1, outputs=[wp.zeros(1, dtype=float)])
