"""The table "Values to reproduce" of the specification of differentiability, each row in float32 and float64."""

import numpy as np
import pytest

import treadle as wp

each_float = pytest.mark.parametrize("T", [wp.float32, wp.float64], ids=["float32", "float64"])


def _array(values, T, grad=True):
    return wp.array(values, dtype=T, requires_grad=grad)


def _ones(a):
    return wp.ones_like(a, requires_grad=False)


def _close(actual, expected):
    np.testing.assert_allclose(actual.numpy(), expected, rtol=1.0e-6, atol=1.0e-7)


@each_float
def test_polynomial(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), y: wp.array(dtype=T)):
        i = wp.tid()
        y[i] = x[i] ** 2 + 3 * x[i] + 1

    x, y = _array([1, 2, 3], T), _array([0, 0, 0], T)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=3, inputs=[x], outputs=[y])
    tape.backward(grads={y: _ones(y)})
    _close(y, [5, 11, 19])
    _close(x.grad, [5, 7, 9])


@each_float
def test_polynomial_in_place(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T)):
        i = wp.tid()
        x[i] = x[i] ** 2 + 3 * x[i] + 1

    x = _array([1, 2, 3], T)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=3, inputs=[x])
    _close(x, [5, 11, 19])
    tape.backward(grads={x: _ones(x)})
    _close(x, [5, 11, 19])
    _close(x.grad, [5, 7, 9])


@each_float
def test_input_overwritten_by_another_kernel(T):
    @wp.kernel
    def square(a: wp.array(dtype=T), b: wp.array(dtype=T)):
        i = wp.tid()
        b[i] = a[i] * a[i]

    @wp.kernel
    def overwrite(a: wp.array(dtype=T)):
        a[wp.tid()] = T(7.0)

    @wp.kernel
    def total(b: wp.array(dtype=T), loss: wp.array(dtype=T)):
        wp.atomic_add(loss, 0, b[wp.tid()])

    a, b, loss = _array([1, 2, 3], T), _array([0, 0, 0], T), _array([0], T)
    with wp.Tape() as tape:
        wp.launch(square, dim=3, inputs=[a], outputs=[b])
        wp.launch(overwrite, dim=3, outputs=[a])
        wp.launch(total, dim=3, inputs=[b], outputs=[loss])
    tape.backward(loss)
    _close(loss, [14])
    _close(a, [7, 7, 7])
    _close(a.grad, [2, 4, 6])


@each_float
def test_input_overwritten_by_the_same_kernel(T):
    @wp.kernel
    def kernel(a: wp.array(dtype=T), b: wp.array(dtype=T)):
        i = wp.tid()
        b[i] = a[i] * a[i]
        a[i] = T(1.0)

    a, b = _array([1, 2, 3], T), _array([0, 0, 0], T)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=3, inputs=[a], outputs=[b])
    tape.backward(grads={b: _ones(b)})
    _close(a, [1, 1, 1])
    _close(a.grad, [2, 4, 6])


@each_float
def test_product_in_place(T):
    @wp.kernel
    def kernel(a: wp.array(dtype=T), b: wp.array(dtype=T)):
        i = wp.tid()
        a[i] *= b[i]

    a, b = _array([10], T), _array([2], T)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=1, inputs=[a, b])
    tape.backward(grads={a: _ones(a)})
    _close(a, [20])
    _close(a.grad, [2])
    _close(b.grad, [10])


@each_float
def test_quotient_in_place(T):
    @wp.kernel
    def kernel(a: wp.array(dtype=T), b: wp.array(dtype=T)):
        i = wp.tid()
        a[i] /= b[i]

    a, b = _array([10], T), _array([2], T)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=1, inputs=[a, b])
    tape.backward(grads={a: _ones(a)})
    _close(a, [5])
    _close(a.grad, [0.5])
    _close(b.grad, [-2.5])


@each_float
def test_product_over_a_run_time_range(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), n: int, y: wp.array(dtype=T)):
        p = T(1.0)
        for i in range(n):
            p *= x[i]
        y[0] = p

    x, y = _array([2, 2, 2], T), _array([0], T)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=1, inputs=[x, 3], outputs=[y])
    tape.backward(y)
    _close(y, [8])
    _close(x.grad, [4, 4, 4])


def _mean_in_kernel(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), w: wp.array(dtype=T), n: int, y: wp.array(dtype=T)):
        top = T(0.0)
        bottom = T(0.0)
        for i in range(n):
            top += w[i] * x[i]
            bottom += w[i]
        y[0] = top / bottom

    return kernel


def _mean_with_loop_in_function(T):
    @wp.func
    def sums(x: wp.array(dtype=T), w: wp.array(dtype=T), n: int):
        top = T(0.0)
        bottom = T(0.0)
        for i in range(n):
            top += w[i] * x[i]
            bottom += w[i]
        return top, bottom

    @wp.kernel
    def kernel(x: wp.array(dtype=T), w: wp.array(dtype=T), n: int, y: wp.array(dtype=T)):
        top, bottom = sums(x, w, n)
        y[0] = top / bottom

    return kernel


def _mean_in_function(T):
    @wp.func
    def mean(x: wp.array(dtype=T), w: wp.array(dtype=T), n: int) -> T:
        top = T(0.0)
        bottom = T(0.0)
        for i in range(n):
            top += w[i] * x[i]
            bottom += w[i]
        return top / bottom

    @wp.kernel
    def kernel(x: wp.array(dtype=T), w: wp.array(dtype=T), n: int, y: wp.array(dtype=T)):
        y[0] = mean(x, w, n)

    return kernel


@each_float
@pytest.mark.parametrize("make", [_mean_in_kernel, _mean_with_loop_in_function, _mean_in_function])
def test_weighted_mean(make, T):
    x, w, y = _array([1, 1, 1], T), _array([1, 1, 1], T), _array([0], T)
    with wp.Tape() as tape:
        wp.launch(make(T), dim=1, inputs=[x, w, 3], outputs=[y])
    tape.backward(y)
    _close(y, [1])
    _close(x.grad, [1 / 3, 1 / 3, 1 / 3])
    _close(w.grad, [0, 0, 0])


@each_float
def test_slot_from_an_atomic_counter(T):
    @wp.kernel
    def kernel(x: wp.array(dtype=T), counter: wp.array(dtype=int), out: wp.array(dtype=T)):
        slot = wp.atomic_add(counter, 0, 1)
        out[slot] = wp.sqrt(x[slot])

    values = np.arange(1, 9)
    x, out = _array(values, T), _array(np.zeros(8), T)
    counter = wp.zeros(1, dtype=int)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=8, inputs=[x, counter], outputs=[out])
    tape.backward(grads={out: _ones(out)})
    _close(out, np.sqrt(values))
    _close(x.grad, 0.5 / np.sqrt(values))
    assert counter.numpy()[0] == 8


@each_float
def test_safe_square_root(T):
    @wp.func
    def safe_sqrt(x: T) -> T:
        return wp.sqrt(x)

    @wp.func_grad(safe_sqrt)
    def adj_safe_sqrt(x: T, adj_ret: T):
        if x > T(0.0):
            wp.adjoint[x] += T(1.0) / (T(2.0) * wp.sqrt(x)) * adj_ret

    @wp.kernel
    def kernel(x: wp.array(dtype=T), y: wp.array(dtype=T)):
        i = wp.tid()
        y[i] = safe_sqrt(x[i])

    x, y = _array([1, 2, 0], T), _array([0, 0, 0], T)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=3, inputs=[x], outputs=[y])
    tape.backward(grads={y: _ones(y)})
    _close(x.grad, [0.5, 0.35355338, 0])


@each_float
def test_components_assigned_repeatedly(T):
    V = wp.types.vector(length=3, dtype=T)

    @wp.kernel
    def kernel(x: wp.array(dtype=T), out: wp.array(dtype=T)):
        i = wp.tid()
        v = V()
        v[0] = T(2.0) * x[i]
        v[1] = v[0] * v[0]
        v[0] = v[1] * x[i]
        v[2] = v[0]
        v[2] = T(3.0) * v[2]
        out[i] = v[0] + v[1] + v[2]

    values = np.array([0.5, 1.0, 2.0])
    x, out = _array(values, T), _array(np.zeros(3), T)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=3, inputs=[x], outputs=[out])
    tape.backward(grads={out: _ones(out)})
    _close(x.grad, 48 * values**2 + 8 * values)
