"""Copies within one array: what is read and what is written overlap, in the forward and in the backward pass."""

from __future__ import annotations

import numpy as np
import pytest

import treadle as wp


@wp.kernel
def weighted_cubes(a: wp.array(dtype=wp.float64), total: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(total, 0, a[i] * a[i] * a[i] * wp.float64(i + 1))


COPIES = {
    "up": lambda b: wp.copy(b, b, dest_offset=1, src_offset=0, count=4),
    "down": lambda b: wp.copy(b, b, dest_offset=0, src_offset=2, count=3),
    "onto itself": lambda b: wp.copy(b, b),
    "reversed": lambda b: wp.copy(b, b[::-1]),
    "part reversed": lambda b: wp.copy(b[1:4], b[2::-1]),
    "strided": lambda b: wp.copy(b[0:3], b[::2]),
    "two in a row": lambda b: (wp.copy(b[1:], b[:-1]), wp.copy(b[:-1], b[1:])),
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES.keys())
def test_gradient_of_an_overlapping_copy(copy):
    start = np.array([1.0, 2.0, 3.0, 4.5, 5.0])

    def run(a: wp.array) -> wp.array:
        total = wp.zeros(1, dtype=wp.float64, requires_grad=True)
        b = wp.clone(a)
        copy(b)
        wp.launch(weighted_cubes, 5, [b], [total])
        return total

    a = wp.array(start, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        total = run(a)
    tape.backward(total)
    for i in range(5):
        up, down = start.copy(), start.copy()
        up[i] += 1e-5
        down[i] -= 1e-5
        difference = (run(wp.array(up)).numpy()[0] - run(wp.array(down)).numpy()[0]) / 2e-5
        assert a.grad.numpy()[i] == pytest.approx(difference, rel=1e-6, abs=1e-6)
