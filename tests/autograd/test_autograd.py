"""Jacobians, gradient checks and their picture."""

from __future__ import annotations

import numpy as np
import pytest

import treadle as wp
from treadle.autograd import GradientCheckError, gradcheck, gradcheck_tape, jacobian, jacobian_fd, jacobian_plot


@wp.struct
class Parameters:
    w: wp.array(dtype=float)
    scale: float


@wp.kernel
def mixed(x: wp.array(dtype=wp.vec2), w: wp.array(dtype=float), y: wp.array(dtype=wp.vec2), z: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    y[i] = wp.vec2(v.x * v.y * w[0], wp.sin(v.x))
    wp.atomic_add(z, 0, v.x * w[1])


@wp.kernel
def in_place(x: wp.array(dtype=wp.float64)):
    i = wp.tid()
    x[i] = x[i] * x[i] * x[i]


@wp.kernel
def with_struct(p: Parameters, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = p.scale * p.w[i] * p.w[i]


@wp.func
def wrong(x: float):
    return x * x


@wp.func_grad(wrong)
def wrong_gradient(x: float, adj: float):
    wp.adjoint[x] += x * adj


@wp.kernel
def with_wrong_gradient(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wrong(x[i])


@wp.kernel
def with_nan(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.pow(x[i], 0.5)


POINTS = np.array([[0.3, 0.8], [-1.2, 1.0], [0.5, -0.4]], np.float32)


def arguments() -> tuple[list[wp.array], list[wp.array]]:
    x = wp.array(POINTS, dtype=wp.vec2, requires_grad=True)
    w = wp.array([1.5, 2.0], dtype=float, requires_grad=True)
    y = wp.zeros(3, dtype=wp.vec2, requires_grad=True)
    z = wp.zeros(1, dtype=float, requires_grad=True)
    return [x, w], [y, z]


def expected() -> dict[tuple[int, int], np.ndarray]:
    yx, zx, yw = np.zeros((6, 6)), np.zeros((1, 6)), np.zeros((6, 2))
    for k, (a, b) in enumerate(POINTS.astype(float)):
        yx[2 * k, 2 * k : 2 * k + 2] = 1.5 * b, 1.5 * a
        yx[2 * k + 1, 2 * k] = np.cos(a)
        zx[0, 2 * k] = 2.0
        yw[2 * k, 0] = a * b
    return {(0, 0): yx, (0, 1): zx, (1, 0): yw, (1, 1): np.array([[0.0, POINTS[:, 0].sum()]])}


def test_jacobians_of_a_kernel() -> None:
    inputs, outputs = arguments()
    outputs[1].fill_(5.0)
    found = jacobian(mixed, 3, inputs, outputs)
    differences = jacobian_fd(mixed, 3, inputs, outputs, eps=1e-3)
    assert found.keys() == differences.keys() == expected().keys()
    for pair, matrix in expected().items():
        np.testing.assert_allclose(found[pair].numpy(), matrix, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(differences[pair].numpy(), matrix, rtol=5e-3, atol=1e-3)
    # The arguments are left as they were.
    np.testing.assert_array_equal(inputs[0].numpy(), POINTS)
    np.testing.assert_array_equal(outputs[1].numpy(), [5.0])
    assert not outputs[0].numpy().any() and not inputs[0].grad.numpy().any()


def test_masks_and_limits() -> None:
    inputs, outputs = arguments()
    assert jacobian(mixed, 3, inputs, outputs, input_output_mask=[("w", "y"), (0, 1)]).keys() == {(1, 0), (0, 1)}
    partial = jacobian(mixed, 3, inputs, outputs, max_outputs_per_var=2)[0, 0].numpy()
    np.testing.assert_allclose(partial[:2], expected()[0, 0][:2], rtol=1e-5)
    assert np.isnan(partial[2:]).all()
    columns = jacobian_fd(mixed, 3, inputs, outputs, max_inputs_per_var=1)[0, 0].numpy()
    assert np.isnan(columns[:, 1:]).all() and not np.isnan(columns[:, 0]).any()
    inputs[1].requires_grad = False
    assert jacobian(mixed, 3, inputs, outputs).keys() == {(0, 0), (0, 1)}
    with pytest.raises(ValueError, match="no argument 'v'"):
        jacobian(mixed, 3, inputs, outputs, input_output_mask=[("v", "y")])


def test_a_kernel_in_place_and_float64() -> None:
    x = wp.array([1.0, 2.0], dtype=wp.float64, requires_grad=True)

    def cubed(a: wp.array) -> wp.array:
        wp.launch(in_place, 2, [a])
        return a

    found = jacobian(cubed, inputs=[x])[0, 0]
    assert found.dtype is wp.float64
    np.testing.assert_allclose(found.numpy(), np.diag([3.0, 12.0]))
    assert gradcheck(cubed, inputs=[x], show_summary=False)
    np.testing.assert_array_equal(x.numpy(), [1.0, 2.0])


def test_structs() -> None:
    p = Parameters()
    p.w, p.scale = wp.array([1.0, 2.0], dtype=float, requires_grad=True), 3.0
    y = wp.zeros(2, dtype=float, requires_grad=True)
    np.testing.assert_allclose(jacobian(with_struct, 2, [p], [y])[0, 0].numpy(), np.diag([6.0, 12.0]))
    assert gradcheck(with_struct, 2, [p], [y], eps=1e-3, show_summary=False)


def test_gradcheck_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    inputs, outputs = arguments()
    assert gradcheck(mixed, 3, inputs, outputs, eps=1e-3)
    text = capsys.readouterr().out
    assert text.count("PASS") == 4 and "max relative error" in text and "gradients of mixed" in text


def test_gradcheck_finds_a_wrong_gradient_and_says_where() -> None:
    x = wp.array([0.0, 2.0], dtype=float, requires_grad=True)
    y = wp.zeros(2, dtype=float, requires_grad=True)
    with pytest.raises(GradientCheckError, match=r"FAIL.*output component 1, input \[1\]: AD 2, FD 4"):
        gradcheck(with_wrong_gradient, 2, [x], [y], eps=1e-2, show_summary=False)
    assert not gradcheck(with_wrong_gradient, 2, [x], [y], raise_exception=False, show_summary=False)


def test_gradcheck_refuses_nan() -> None:
    x, y = wp.array([-1.0], dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    assert not gradcheck(with_nan, 1, [x], [y], raise_exception=False, show_summary=False)


def test_gradcheck_of_a_tape(capsys: pytest.CaptureFixture[str]) -> None:
    inputs, outputs = arguments()
    x, y = wp.array([1.0, 2.0], dtype=float, requires_grad=True), wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(mixed, 3, inputs, outputs)
        wp.launch(with_wrong_gradient, 2, [x], [y])
    assert not gradcheck_tape(tape, eps=1e-3, raise_exception=False)
    assert "gradients of with_wrong_gradient" in capsys.readouterr().out
    assert gradcheck_tape(tape, eps=1e-3, blacklist_kernels=["with_wrong_gradient"], show_summary=False)
    assert gradcheck_tape(tape, eps=1e-3, whitelist_kernels=["mixed"], show_summary=False)
    assert not gradcheck_tape(
        tape,
        eps=1e-3,
        reverse_launches=True,
        whitelist_kernels=["with_wrong_gradient"],
        raise_exception=False,
        show_summary=False,
    )
    assert gradcheck_tape(tape, eps=1e-3, reverse_launches=True, skip_to_launch_index=1, show_summary=False)


def test_errors() -> None:
    inputs, outputs = arguments()
    with pytest.raises(ValueError, match="dim is needed"):
        jacobian(mixed, None, inputs, outputs)
    outputs[0].requires_grad = False
    with pytest.raises(wp.TreadleError, match="y has no gradient"):
        jacobian(mixed, 3, inputs, outputs)


def test_the_picture() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    inputs, outputs = arguments()
    figure = jacobian_plot(jacobian(mixed, 3, inputs, outputs), mixed, inputs, outputs, show_plot=False)
    images = [axis for axis in figure.axes if axis.images]
    assert len(images) == 4
    assert {axis.get_xlabel() for axis in images} >= {"x", "w"} and {axis.get_ylabel() for axis in images} >= {"y", "z"}
    matplotlib.pyplot.close(figure)
