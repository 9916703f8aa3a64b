"""Structs made of their members in order, in kernels and in Python, and as NumPy knows them."""

from __future__ import annotations

import numpy as np
import pytest

import treadle as wp


@wp.struct
class Material:
    stiffness: float
    damping: float
    axis: wp.vec3


@wp.kernel
def in_order(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    m = Material(x[i], 0.5, wp.vec3(1.0, 2.0, x[i]))
    n = Material(x[i] * 2.0, axis=wp.vec3(x[i]))
    out[i] = m.stiffness * m.damping + m.axis[2] * n.stiffness + n.damping + n.axis[0]


@wp.kernel
def too_many(out: wp.array(dtype=float)):
    m = Material(1.0, 2.0, wp.vec3(), 4.0)
    out[0] = m.damping


@wp.kernel
def twice(out: wp.array(dtype=float)):
    m = Material(1.0, stiffness=2.0)
    out[0] = m.damping


def test_in_kernels() -> None:
    x = wp.array([3.0], dtype=float, requires_grad=True)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(in_order, dim=1, inputs=[x, out])
    tape.backward(out)
    assert out.numpy().tolist() == [1.5 + 18.0 + 3.0]
    assert x.grad.numpy().tolist() == [0.5 + 12.0 + 1.0]


def test_in_python() -> None:
    m = Material(1.0, 2.0, axis=wp.vec3(1.0, 2.0, 3.0))
    assert (m.stiffness, m.damping, m.axis) == (1.0, 2.0, wp.vec3(1.0, 2.0, 3.0))
    with pytest.raises(TypeError, match=r"Material has 3 members \(stiffness, damping, axis\), not 4"):
        Material(1.0, 2.0, wp.vec3(), 4.0)
    with pytest.raises(TypeError, match="two values for its member 'damping'"):
        Material(1.0, 2.0, damping=3.0)


@pytest.mark.parametrize(
    "kernel, message",
    [
        (too_many, r"has 3 members \(stiffness, damping, axis\), not 4"),
        (twice, "two values for its member 'stiffness'"),
    ],
)
def test_what_does_not_fit(kernel: object, message: str) -> None:
    with pytest.raises(wp.CompileError, match=message):
        wp.launch(kernel, dim=1, inputs=[wp.zeros(1, dtype=float)])


def test_as_numpy_knows_them() -> None:
    records = np.zeros(2, dtype=Material.numpy_dtype())
    records["damping"] = [1.0, 2.0]
    assert [m.damping for m in wp.array(records, dtype=Material).list()] == [1.0, 2.0]
