"""``map``: functions, built-ins and lambdas over arrays that are broadcast, and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle as wp

SCALE = 3.0


@wp.func
def scaled(x: float, y: float):
    return x * y + 1.0


@wp.func
def both(x: float, v: wp.vec3):
    return x * v, wp.length(v) + x


@wp.func
def cubed(x: Any):
    return x * x * x


@wp.func
def overloaded(x: float):
    return x + 0.5


@wp.func
def overloaded(x: int):  # noqa: F811
    return x * 10


@wp.struct
class Line:
    slope: float
    offset: float


@wp.func
def on_line(line: Line, x: float):
    return line.slope * x + line.offset


@pytest.fixture
def a() -> wp.array:
    return wp.array([1.0, 2.0, 3.0], dtype=float)


def test_functions_and_numbers(a):
    b = wp.array([4.0, 5.0, 6.0], dtype=float)
    assert wp.map(scaled, a, b).list() == [5.0, 11.0, 19.0]
    assert wp.map(scaled, a, 2.0).list() == wp.map(scaled, 2, a).list() == [3.0, 5.0, 7.0]
    assert wp.map(overloaded, a).list() == [1.5, 2.5, 3.5]
    assert wp.map(overloaded, wp.array([1, 2], dtype=int)).list() == [10, 20]
    line = Line(slope=2.0, offset=1.0)
    assert wp.map(on_line, line, a).list() == [3.0, 5.0, 7.0]


@pytest.mark.parametrize("dtype", [wp.float64, wp.float32, wp.float16, wp.int32, wp.int64])
def test_generic_functions_keep_the_type(dtype):
    found = wp.map(cubed, wp.array([1, 2, 3], dtype=dtype))
    assert found.dtype is dtype and found.list() == [1, 8, 27]
    assert wp.map(wp.mul, found, 2).dtype is dtype
    assert wp.map(wp.clamp, found, 2, 20).list() == [2, 8, 20]


def test_builtins(a):
    np.testing.assert_allclose(wp.map(wp.sin, a).numpy(), np.sin([1.0, 2.0, 3.0]), rtol=1e-6)
    assert wp.map(wp.add, a, a).list() == [2.0, 4.0, 6.0]
    assert wp.map(wp.max, a, 2.0).list() == [2.0, 2.0, 3.0]
    assert wp.map(wp.where, wp.array([True, False, True], dtype=bool), a, 0.0).list() == [1.0, 0.0, 3.0]
    v = wp.array([[1.0, 2.0, 2.0], [0.0, 3.0, 4.0]], dtype=wp.vec3)
    assert wp.map(wp.length, v).list() == [3.0, 5.0]
    assert wp.map(wp.dot, v, wp.vec3(1.0, 1.0, 1.0)).list() == [5.0, 7.0]
    q, _, _ = wp.map(wp.svd3, wp.array([np.eye(3)], dtype=wp.mat33))
    assert q.dtype is wp.mat33
    assert wp.map(wp.neg, a).list() == [-1.0, -2.0, -3.0]


def test_lambdas(a):
    shift = 10.0
    assert wp.map(lambda x: x * SCALE + shift, a).list() == [13.0, 16.0, 19.0]
    shift = 20.0
    assert [wp.map(f, a).list()[0] for f in (lambda x: x + shift, lambda x: x - shift)] == [21.0, -19.0]
    found = []
    for k in range(3):
        found.append(wp.map(lambda x: x * float(k), a).list()[1])  # noqa: B023
    assert found == [0.0, 2.0, 4.0]
    r = wp.map(lambda x, y: wp.min(x, y), a, 2.0)  # fmt: skip
    assert r.list() == [1.0, 2.0, 2.0]
    assert wp.map(
        lambda x: wp.vec2(
            x,
            x + 1.0,
        ),
        a,
    ).numpy()[2].tolist() == [3.0, 4.0]


def test_several_results_and_out(a):
    v = wp.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]], dtype=wp.vec3)
    scaled_v, lengths = wp.map(both, a, v)
    assert scaled_v.dtype is wp.vec3 and scaled_v.numpy()[2].tolist() == [0.0, 0.0, 9.0]
    assert lengths.list() == [2.0, 4.0, 6.0]
    out = [wp.zeros(3, dtype=wp.vec3), wp.zeros(3, dtype=float)]
    assert wp.map(both, a, v, out=out) is out
    assert out[1].list() == [2.0, 4.0, 6.0]
    single = wp.zeros(3, dtype=float)
    assert wp.map(scaled, a, a, out=single) is single
    assert single.list() == [2.0, 5.0, 10.0]
    assert wp.map(scaled, single, single, out=single).list() == [5.0, 26.0, 101.0]  # in place


def test_broadcasting(a):
    m = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    column = wp.array([[10.0], [20.0]], dtype=float)
    np.testing.assert_allclose(wp.map(wp.add, wp.array(m), a).numpy(), m + [1, 2, 3])
    np.testing.assert_allclose(wp.map(wp.add, column, wp.array(m)).numpy(), m + [[10], [20]])
    np.testing.assert_allclose(wp.map(wp.add, column, a).numpy(), [[11, 12, 13], [21, 22, 23]])
    assert wp.map(wp.add, wp.ones((2, 1, 3, 1), dtype=float), wp.ones((4, 1, 5), dtype=float)).shape == (2, 4, 3, 5)
    assert wp.map(wp.add, wp.ones((1,), dtype=float), wp.ones((1,), dtype=float)).list() == [2.0]
    assert wp.map(wp.add, wp.zeros((0,), dtype=float), 1.0).shape == (0,)
    selected = a[wp.array([2, 0], dtype=int)]
    assert wp.map(wp.mul, selected, 2.0).list() == [6.0, 2.0]
    assert wp.map(wp.mul, a, np.array([1.0, 2.0, 3.0], np.float32)).list() == [1.0, 4.0, 9.0]
    assert wp.map(wp.mul, wp.array(m)[:, ::2], 2.0).numpy().tolist() == [[0.0, 4.0], [6.0, 10.0]]


def test_gradient():
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    w = wp.array([2.0], dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        y = wp.map(scaled, x, w)
        z = wp.map(cubed, y)
        wp.map(wp.mul, x, 0.0, out=x)
    tape.backward(grads={z: wp.ones(3, dtype=float)})
    slope = 3 * np.array([3.0, 5.0, 7.0]) ** 2
    np.testing.assert_allclose(w.grad.numpy(), [(slope * [1.0, 2.0, 3.0]).sum()])
    np.testing.assert_allclose(x.grad.numpy(), slope * 2.0)
    assert y.requires_grad and z.requires_grad
    assert not wp.map(cubed, wp.ones(2, dtype=float)).requires_grad


def test_kernel_is_returned_and_remembered(a):
    kernel = wp.map(scaled, a, a, return_kernel=True)
    assert isinstance(kernel, wp.Kernel)
    assert wp.map(scaled, a, a, return_kernel=True) is kernel
    assert wp.map(scaled, a, 1.0, return_kernel=True) is not kernel
    out = wp.zeros(3, dtype=float)
    wp.launch(kernel, 3, [a, a, out])
    assert out.list() == [2.0, 5.0, 10.0]


def test_what_does_not_fit(a):
    with pytest.raises(wp.LaunchError, match="do not go together"):
        wp.map(scaled, a, wp.zeros(4, dtype=float))
    with pytest.raises(wp.LaunchError, match="out must be"):
        wp.map(scaled, a, a, out=wp.zeros(3, dtype=int))
    with pytest.raises(wp.LaunchError, match="returns 1 value"):
        wp.map(scaled, a, a, out=[a, a])
    with pytest.raises(TypeError, match="at least one array"):
        wp.map(scaled, 1.0, 2.0)
    with pytest.raises(TypeError, match="@func"):
        wp.map(int, a)
    with pytest.raises(TypeError, match="@func"):
        wp.map(test_gradient, a)
    with pytest.raises(wp.CompileError, match="scaled"):
        wp.map(scaled, wp.zeros(3, dtype=wp.vec3), a)
