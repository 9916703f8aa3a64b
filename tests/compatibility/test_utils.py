"""``utils``: sums, inner products, scans, sorts, runs and casts, against NumPy; gradients on a tape."""

from __future__ import annotations

import numpy as np
import pytest

import treadle as wp

NUMBERS = [wp.int32, wp.int64, wp.uint8, wp.float32, wp.float64, wp.float16]
M = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_sums(dtype):
    a = wp.array(M % 5, dtype=dtype)
    assert wp.utils.array_sum(a) == (M % 5).sum()
    for axis in range(3):
        found = wp.utils.array_sum(a, axis=axis)
        np.testing.assert_array_equal(found.numpy(), (M % 5).sum(axis, keepdims=True))
    out = wp.zeros(1, dtype=dtype)
    assert wp.utils.array_sum(a, out=out) is out
    assert out.list() == [(M % 5).sum()]
    assert wp.utils.array_sum(a, value_count=7) == (M % 5).ravel()[:7].sum()


def test_sums_of_vectors_and_views():
    v = wp.array(M.reshape(8, 3), dtype=wp.vec3)
    np.testing.assert_array_equal(wp.utils.array_sum(v), M.reshape(8, 3).sum(0))
    assert wp.utils.array_inner(v, v) == (M * M).sum()
    a = wp.array(M, dtype=float)
    assert wp.utils.array_sum(a[:, 1, ::2]) == M[:, 1, ::2].sum()
    np.testing.assert_array_equal(wp.utils.array_inner(a, a, axis=1).numpy(), (M * M).sum(1, keepdims=True))
    first_two = wp.utils.array_sum(a, axis=2, value_count=2)
    np.testing.assert_array_equal(first_two.numpy(), M[..., :2].sum(2, keepdims=True))


@pytest.mark.parametrize("dtype", [wp.int32, wp.float32, wp.vec2])
@pytest.mark.parametrize("inclusive", [True, False])
def test_scan(dtype, inclusive):
    shape = (6, 2) if dtype is wp.vec2 else (6,)
    values = np.arange(np.prod(shape)).reshape(shape)
    a = wp.array(values, dtype=dtype)
    wp.utils.array_scan(a, a, inclusive)
    np.testing.assert_array_equal(a.numpy(), values.cumsum(0) - (0 if inclusive else values))


@pytest.mark.parametrize("dtype", [wp.int32, wp.float32, wp.int64, wp.uint64])
def test_sorting(dtype):
    keys = np.array([3, 1, 2, 3, 0, 9, 9, 9, 9, 9])
    k, v = wp.array(keys, dtype=dtype), wp.array(np.arange(10), dtype=int)
    wp.utils.radix_sort_pairs(k, v, 5)
    assert k.numpy()[:6].tolist() == [0, 1, 2, 3, 3, 9] and v.numpy()[:6].tolist() == [4, 1, 2, 0, 3, 5]
    k, v = wp.array(keys, dtype=dtype), wp.array(np.arange(10), dtype=int)
    wp.utils.segmented_sort_pairs(k, v, 5, wp.array([0, 3, 5], dtype=int))
    assert k.numpy()[:5].tolist() == [1, 2, 3, 0, 3] and v.numpy()[:5].tolist() == [1, 2, 0, 4, 3]
    wp.utils.segmented_sort_pairs(k, v, 5, wp.array([0], dtype=int), wp.array([4], dtype=int))
    assert k.numpy()[:5].tolist() == [0, 1, 2, 3, 3]


def test_runs():
    r = wp.array([1, 1, 2, 2, 2, 3], dtype=int)
    values, lengths, count = wp.zeros(6, dtype=int), wp.zeros(6, dtype=int), wp.zeros(1, dtype=int)
    assert wp.utils.runlength_encode(r, values, lengths) == 3
    assert values.numpy()[:3].tolist() == [1, 2, 3] and lengths.numpy()[:3].tolist() == [2, 3, 1]
    assert wp.utils.runlength_encode(r, values, lengths, run_count=count, value_count=4) is count
    assert count.list() == [2] and lengths.numpy()[:2].tolist() == [2, 2]
    assert wp.utils.runlength_encode(wp.zeros(0, dtype=int), values, lengths) == 0


def test_cast():
    target = wp.zeros(3, dtype=wp.vec2)
    wp.utils.array_cast(wp.array([[1, 2], [3, 4], [5, 6]], dtype=int), target)
    assert target.numpy().tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    ints = wp.zeros(4, dtype=int)
    wp.utils.array_cast(wp.array([1.9, -1.9, 3.0, 7.0], dtype=float), ints, count=3)
    assert ints.list() == [1, -1, 3, 0]


def test_gradients_on_a_tape():
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    total, inner, sums = (wp.zeros(n, dtype=float, requires_grad=True) for n in (1, 1, 3))
    wide = wp.zeros(3, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.utils.array_sum(x, out=total)
        wp.utils.array_inner(x, x, out=inner)
        wp.utils.array_scan(x, sums)
        wp.utils.array_cast(x, wide)
        x.zero_()
    seeds = {total: [2.0], inner: [1.0], sums: [1.0, 10.0, 100.0], wide: [0.0, 0.0, 7.0]}
    tape.backward(grads={a: wp.array(seed, dtype=a.dtype) for a, seed in seeds.items()})
    assert total.list() == [6.0] and inner.list() == [14.0] and sums.list() == [1.0, 3.0, 6.0]
    np.testing.assert_allclose(x.grad.numpy(), [2.0 + 2.0 + 111.0, 2.0 + 4.0 + 110.0, 2.0 + 6.0 + 100.0 + 7.0])


def test_gradient_along_an_axis():
    x = wp.array(M, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        s = wp.utils.array_sum(x, axis=1)
        n = wp.utils.array_inner(x, x, axis=2)
    weights = np.arange(8.0).reshape(2, 1, 4)
    tape.backward(grads={s: wp.array(weights, dtype=wp.float64), n: wp.ones(n.shape, dtype=wp.float64)})
    np.testing.assert_allclose(x.grad.numpy(), weights + 2 * M)


def test_no_silent_gradient():
    x = wp.array([3.0, 1.0], dtype=float, requires_grad=True)
    with wp.Tape(), pytest.raises(wp.ArrayError, match="not differentiable"):
        wp.utils.radix_sort_pairs(x, wp.zeros(2, dtype=int), 2)


def test_in_a_graph():
    x, out = wp.array([1.0, 2.0], dtype=float), wp.zeros(1, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.utils.array_sum(x, out=out)
        with pytest.raises(wp.ArrayError, match="captured"):
            wp.utils.array_sum(x)
    x.assign([5.0, 6.0])
    wp.capture_launch(capture.graph)
    assert out.list() == [11.0]


def test_what_does_not_fit():
    a, b = wp.zeros(3, dtype=float), wp.zeros(4, dtype=float)
    runs, short = wp.array([1, 2, 3], dtype=int), wp.zeros(2, dtype=int)
    for call in (
        lambda: wp.utils.array_inner(a, b),
        lambda: wp.utils.array_scan(a, b),
        lambda: wp.utils.array_cast(a, b),
        lambda: wp.utils.radix_sort_pairs(a, b, 4),
        lambda: wp.utils.array_sum(a, out=wp.zeros(2, dtype=float)),
        lambda: wp.utils.array_sum(a, axis=1),
        lambda: wp.utils.array_sum(a, value_count=4),
        lambda: wp.utils.runlength_encode(runs, short, short),
    ):
        with pytest.raises(wp.ArrayError):
            call()
