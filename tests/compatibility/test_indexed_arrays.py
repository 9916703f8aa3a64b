"""Indexed arrays as parameters of kernels: values, writes, gradients, and what does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle as wp


@wp.func
def total(row: wp.indexedarray(dtype=float)):
    result = float(0.0)
    for k in range(len(row)):
        result += row[k]
    return result


@wp.kernel
def squares(x: wp.indexedarray(dtype=float), loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, x[wp.tid()] * x[wp.tid()])


@wp.kernel
def double(x: wp.indexedarray1d(dtype=float)):
    x[wp.tid()] = 2.0 * x[wp.tid()]


@wp.kernel
def rows(x: wp.indexedarray2d(dtype=float), out: wp.array2d(dtype=float), sums: wp.array(dtype=float)):
    i, j = wp.tid()
    out[i, j] = x[i, j] + 100.0 * float(x.shape[0]) + 1000.0 * float(x.shape[1]) + float(x.size)
    if j == 0:
        sums[i] = total(x[i])


def test_elements_rows_and_extents():
    data = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    x = wp.indexedarray(wp.array(data), [wp.array([2, 0], dtype=int), None])
    out, sums = wp.zeros(x.shape, dtype=float), wp.zeros(2, dtype=float)
    wp.launch(rows, x.shape, [x, out, sums])
    np.testing.assert_allclose(out.numpy(), data[[2, 0]] + 200.0 + 4000.0 + 8.0)
    np.testing.assert_allclose(sums.numpy(), data[[2, 0]].sum(1))


def test_selections_made_in_python():
    data = wp.array(np.arange(12.0).reshape(3, 4), dtype=float)
    x = data[wp.array([0, 2], dtype=int), wp.array([3, 1], dtype=int)]
    out, sums = wp.zeros((2, 2), dtype=float), wp.zeros(2, dtype=float)
    wp.launch(rows, (2, 2), [x, out, sums])
    assert sums.numpy().tolist() == [4.0, 20.0]


def test_gradient_of_reads_of_one_element_twice():
    x = wp.array([1.0, 2.0, 3.0, 4.0], dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(squares, 3, [wp.indexedarray(x, [wp.array([1, 1, 3], dtype=int)]), loss])
    tape.backward(loss)
    assert loss.numpy().tolist() == [4.0 + 4.0 + 16.0]
    assert x.grad.numpy().tolist() == [0.0, 8.0, 0.0, 8.0]


def test_gradient_through_writes_in_place():
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    selected = x[wp.array([2, 0], dtype=int)]
    with wp.Tape() as tape:
        wp.launch(double, 2, [selected])
        wp.launch(squares, 3, [wp.indexedarray(x, [wp.array([0, 1, 2], dtype=int)]), loss])
    tape.backward(loss)
    assert x.numpy().tolist() == [2.0, 2.0, 6.0]
    assert x.grad.numpy().tolist() == [8.0, 4.0, 24.0]


def test_gradients_given_to_an_adjoint_launch():
    x = wp.array([1.0, 2.0, 3.0], dtype=float)
    loss, seed = wp.zeros(1, dtype=float), wp.ones(1, dtype=float)
    selected, grad = wp.indexedarray(x, [wp.array([2, 1], dtype=int)]), wp.zeros(3, dtype=float)
    wp.launch(squares, 2, [selected], [loss], adj_inputs=[grad], adj_outputs=[seed], adjoint=True)
    assert grad.numpy().tolist() == [0.0, 4.0, 6.0]


def test_atomics_vectors_and_any():
    @wp.kernel
    def count(cells: wp.indexedarray(dtype=int), v: wp.indexedarray(dtype=wp.vec3)):
        wp.atomic_add(cells, wp.tid() % 2, 1)
        v[wp.tid()][1] = 5.0
        v[wp.tid()].z += 1.0

    @wp.kernel
    def copied(a: Any, b: wp.array(dtype=float)):
        b[wp.tid()] = a[wp.tid()]

    cells, v = wp.zeros(4, dtype=int), wp.zeros(4, dtype=wp.vec3)
    order = wp.array([3, 1, 0, 2], dtype=int)
    wp.launch(count, 4, [cells[order], v[order]])
    assert cells.numpy().tolist() == [0, 2, 0, 2]
    assert v.numpy().tolist() == [[0.0, 5.0, 1.0]] * 4
    a, b = wp.array([1.0, 2.0, 3.0, 4.0], dtype=float), wp.zeros(4, dtype=float)
    wp.launch(copied, 4, [a[order], b])
    assert b.numpy().tolist() == [4.0, 2.0, 1.0, 3.0]
    wp.launch(copied, 4, [a, b])
    assert b.numpy().tolist() == [1.0, 2.0, 3.0, 4.0]


def test_what_does_not_fit_is_an_error():
    loss = wp.zeros(1, dtype=float)
    for wrong in (wp.zeros(3, dtype=float), wp.zeros(3, dtype=int)[wp.array([0], dtype=int)], None, 1.0):
        with pytest.raises(wp.LaunchError, match="parameter x"):
            wp.launch(squares, 1, [wrong, loss])

    @wp.kernel
    def sliced(x: wp.indexedarray(dtype=float), loss: wp.array(dtype=float)):
        y = x[1:]
        loss[0] = y[0]

    with pytest.raises(wp.CompileError, match="cannot be sliced"):
        wp.launch(sliced, 1, [wp.ones(3, dtype=float)[wp.array([0], dtype=int)], loss])
    with pytest.raises(TypeError):
        wp.indexedarray(dtype=Any)


def test_debug_mode_checks_the_position_and_the_index():
    data, chosen = wp.zeros(3, dtype=float), wp.array([0, 2], dtype=int)
    x = wp.indexedarray(data, [chosen])
    wp.config.mode = "debug"
    try:
        with pytest.raises(wp.KernelError, match="2"):
            wp.launch(double, 3, [x])
        chosen.numpy()[0] = 7
        with pytest.raises(wp.KernelError, match="7"):
            wp.launch(double, 2, [x])
    finally:
        wp.config.mode = "release"
