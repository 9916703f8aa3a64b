"""Jacobians by the tape and by central differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np

from treadle.autograd.arguments import Argument, Mask, Numbers, Subject, limited
from treadle.errors import TreadleError
from treadle.runtime.array import array
from treadle.tape import Tape

Jacobians = dict[tuple[int, int], Numbers]


def jacobian(
    function: Any,
    dim: Any = None,
    inputs: Optional[Sequence[Any]] = None,
    outputs: Optional[Sequence[Any]] = None,
    input_output_mask: Mask = None,
    device: Any = None,
    max_blocks: int = 0,
    block_dim: int = 256,
    max_outputs_per_var: int = -1,
    plot_jacobians: bool = False,
    metadata: Any = None,
) -> dict[tuple[int, int], array]:
    """The Jacobians of a kernel, or of a Python function that launches kernels, by reverse mode.

    Args:
        function: a kernel, which needs ``dim``, or a Python function. The function is called with
            the inputs, and with the outputs if they are given; else it returns them.
        inputs, outputs: the arguments. Inputs without ``requires_grad`` count as constants; structs
            stand for all float arrays in them.
        input_output_mask: pairs (input, output) to evaluate, by index or name.
        max_outputs_per_var: evaluate only the first components of each output.
        plot_jacobians: show them with ``jacobian_plot``.

    Returns:
        From (input index, output index) to an array of shape (output components, input
        components); rows that were not evaluated are NaN. The arguments are left as they were.

    Raises:
        TreadleError: an output has no gradient, or no derivative is to be had.
    """
    subject = Subject(function, dim, inputs, outputs, _options(device, max_blocks, block_dim))
    found = by_tape(subject, input_output_mask, max_outputs_per_var)
    return _finished(subject, found, plot_jacobians, function, inputs, outputs)


def jacobian_fd(
    function: Any,
    dim: Any = None,
    inputs: Optional[Sequence[Any]] = None,
    outputs: Optional[Sequence[Any]] = None,
    input_output_mask: Mask = None,
    device: Any = None,
    max_blocks: int = 0,
    block_dim: int = 256,
    max_inputs_per_var: int = -1,
    eps: float = 1e-4,
    plot_jacobians: bool = False,
    metadata: Any = None,
) -> dict[tuple[int, int], array]:
    """As ``jacobian``, by central differences with step ``eps``.

    ``max_inputs_per_var``: evaluate only the first components of each input; other columns are NaN.
    """
    subject = Subject(function, dim, inputs, outputs, _options(device, max_blocks, block_dim))
    found = by_differences(subject, input_output_mask, max_inputs_per_var, eps)
    return _finished(subject, found, plot_jacobians, function, inputs, outputs)


def _options(device: Any, max_blocks: int, block_dim: int) -> dict[str, Any]:
    return {"device": device, "max_blocks": max_blocks, "block_dim": block_dim}


def _finished(
    subject: Subject, found: Jacobians, plot: bool, function: Any, inputs: Any, outputs: Any
) -> dict[tuple[int, int], array]:
    result = {
        (i, o): array(matrix.astype(subject.inputs[i].dtype.numpy), dtype=subject.inputs[i].dtype)
        for (i, o), matrix in found.items()
    }
    if plot:
        from treadle.autograd.plotting import jacobian_plot

        jacobian_plot(result, function, inputs, outputs)
    return result


def by_tape(subject: Subject, mask: Mask, most_outputs: int) -> Jacobians:
    """Jacobians by reverse mode, one backward pass for each component of an output."""
    with subject.restoring():
        subject.restore()
        tape = Tape()
        with tape:
            outputs = subject.run()
        pairs = subject.selected(mask, outputs)
        found = {(i, o): np.full((outputs[o].size, subject.inputs[i].size), np.nan) for i, o in pairs}
        for o in sorted({o for _, o in pairs}):
            _require_gradient(outputs[o])
            for row in limited(outputs[o].size, most_outputs):
                tape.zero()
                tape.backward(grads={a: _shaped(a, seed) for a, seed in outputs[o].seeds(row).items()})
                for i, _ in (pair for pair in pairs if pair[1] == o):
                    found[i, o][row] = subject.inputs[i].gradient()
        tape.zero()
    return found


def _require_gradient(output: Argument) -> None:
    if not output.requires_grad:
        raise TreadleError(f"{output.name} has no gradient; make it with requires_grad=True")


def _shaped(a: array, components: Numbers) -> array:
    return array(components.reshape(a.host().shape).astype(np.float64), dtype=a.dtype, copy=True)


def by_differences(subject: Subject, mask: Mask, most_inputs: int, eps: float) -> Jacobians:
    """Jacobians by central differences, two evaluations for each component of an input."""
    with subject.restoring():
        subject.restore()
        outputs = subject.run()
        pairs = subject.selected(mask, outputs)
        found = {(i, o): np.full((outputs[o].size, subject.inputs[i].size), np.nan) for i, o in pairs}
        for i in sorted({i for i, _ in pairs}):
            wanted = [o for k, o in pairs if k == i]
            subject.restore()
            point = subject.inputs[i].values()
            for column in limited(subject.inputs[i].size, most_inputs):
                above, step_up = _evaluated(subject, i, point, column, eps, wanted)
                below, step_down = _evaluated(subject, i, point, column, -eps, wanted)
                for o, high, low in zip(wanted, above, below):
                    # The step that was really taken, which float32 rounds.
                    found[i, o][:, column] = (high - low) / (step_up - step_down)
    return found


def _evaluated(
    subject: Subject, i: int, point: Numbers, column: int, step: float, wanted: Sequence[int]
) -> tuple[list[Numbers], float]:
    subject.restore()
    moved = point.copy()
    moved[column] += step
    subject.inputs[i].set_values(moved)
    taken = float(subject.inputs[i].values()[column] - point[column])
    outputs = subject.run()
    return [outputs[o].values() for o in wanted], taken
