"""Runs a function on arrays of arguments in a kernel, and compares values and gradients with a NumPy function.

The gradient that is expected comes from central differences of the NumPy function in float64, so that
nothing under test is compared with itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import treadle as wp

KINDS: dict[str, tuple[int, ...]] = {
    "scalar": (), "vec2": (2,), "vec3": (3,), "vec4": (4,), "vec5": (5,), "vec6": (6,), "mat22": (2, 2),
    "mat23": (2, 3), "mat32": (3, 2), "mat33": (3, 3), "mat44": (4, 4), "mat66": (6, 6), "quat": (4,),
    "transform": (7,),
}  # fmt: skip
"""The kinds of arguments, and their shapes."""


def type_of_kind(kind: str, dtype: Any) -> Any:
    """The language type of a kind, such as ``vec3d`` for ``"vec3"`` and float64."""
    if kind == "scalar":
        return dtype
    if kind == "quat":
        return wp.quaternion(dtype)
    if kind == "transform":
        return wp.transformation(dtype)
    shape = KINDS[kind]
    return wp.vector(shape[0], dtype) if len(shape) == 1 else wp.matrix(shape, dtype)


def make_kernel(function: Any, types: Sequence[Any], result: Any) -> Any:
    """A kernel that applies ``function`` to element ``i`` of each of its input arrays."""
    if len(types) == 1:
        A = types[0]

        @wp.kernel
        def apply_1(a: wp.array(dtype=A), out: wp.array(dtype=result)):
            i = wp.tid()
            out[i] = function(a[i])

        return apply_1
    if len(types) == 2:
        A, B = types

        @wp.kernel
        def apply_2(a: wp.array(dtype=A), b: wp.array(dtype=B), out: wp.array(dtype=result)):
            i = wp.tid()
            out[i] = function(a[i], b[i])

        return apply_2
    A, B, C = types

    @wp.kernel
    def apply_3(a: wp.array(dtype=A), b: wp.array(dtype=B), c: wp.array(dtype=C), out: wp.array(dtype=result)):
        i = wp.tid()
        out[i] = function(a[i], b[i], c[i])

    return apply_3


def run(
    function: Any,
    kinds: Sequence[str],
    result: str,
    dtype: Any,
    inputs: Sequence[Any],
    seed: Any = None,
    out: Any = None,
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The values of ``function`` and its gradients with respect to each input.

    ``inputs``: one array a parameter, with an axis for the samples in front. ``seed``: the adjoint of
    the result, by default ones. ``out``: the scalar type of the result if it is not ``dtype``.
    """
    types = [type_of_kind(kind, dtype) for kind in kinds]
    result_type = type_of_kind(result, out or dtype)
    count = len(inputs[0])
    arrays = [wp.array(np.asarray(x), dtype=t, requires_grad=True) for x, t in zip(inputs, types)]
    target = wp.zeros(count, dtype=result_type, requires_grad=out is None)
    kernel = make_kernel(function, types, result_type)
    if out is not None:
        wp.launch(kernel, dim=count, inputs=arrays, outputs=[target])
        return target.numpy(), []
    with wp.Tape() as tape:
        wp.launch(kernel, dim=count, inputs=arrays, outputs=[target])
    given = np.ones((count, *KINDS[result])) if seed is None else seed
    tape.backward(grads={target: wp.array(given, dtype=result_type)})
    return target.numpy(), [a.grad.numpy() for a in arrays]


def differences(
    reference: Callable[..., Any], inputs: Sequence[np.ndarray], seed: np.ndarray, step: float = 1.0e-6
) -> list[np.ndarray]:
    """The gradients of the sum of ``seed * reference`` by central differences, sample by sample."""
    gradients = [np.zeros_like(x) for x in inputs]
    for i in range(len(seed)):
        sample = [np.array(x[i]) for x in inputs]
        for k, x in enumerate(sample):
            for place in np.ndindex(x.shape):
                ends = []
                for sign in (1.0, -1.0):
                    moved = [s.copy() for s in sample]
                    moved[k][place] += sign * step
                    ends.append(float(np.sum(seed[i] * np.asarray(reference(*moved), dtype=np.float64))))
                gradients[k][(i, *place)] = (ends[0] - ends[1]) / (2.0 * step)
    return gradients


def check(
    function: Any,
    kinds: Sequence[str],
    result: str,
    reference: Callable[..., Any],
    dtype: Any,
    inputs: Sequence[np.ndarray],
    loose: float = 1.0,
) -> None:
    """Compare values with ``reference`` and gradients with its central differences; ``loose`` widens the tolerance."""
    single = dtype is wp.float32
    if single:  # values that float32 has, so that both compute from the same
        inputs = [np.asarray(x, np.float32).astype(np.float64) for x in inputs]
    seed = np.random.default_rng(1).normal(size=(len(inputs[0]), *KINDS[result]))
    values, gradients = run(function, kinds, result, dtype, inputs, seed)
    expected = np.array([reference(*(x[i] for x in inputs)) for i in range(len(inputs[0]))], np.float64)
    tolerance = loose * (2.0e-5 if single else 1.0e-12)
    np.testing.assert_allclose(values, expected, rtol=tolerance, atol=tolerance)
    tolerance = loose * (3.0e-4 if single else 1.0e-7)
    for name, got, wanted in zip("abc", gradients, differences(reference, inputs, seed)):
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance, err_msg=f"gradient of {name}")
