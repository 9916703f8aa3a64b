"""``gradcheck``: compares the gradients of the tape with central differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from treadle.autograd.arguments import Mask, Numbers, Subject, limited
from treadle.autograd.jacobians import by_differences, by_tape
from treadle.errors import TreadleError
from treadle.tape import Tape
from treadle.tape.records import LaunchRecord


class GradientCheckError(TreadleError, ValueError):
    """A gradient does not agree with differences, or is NaN."""


@dataclass
class _Row:
    """The comparison of one input with one output."""

    input: str
    output: str
    absolute: float
    relative: float
    where: str
    passed: bool


def gradcheck(
    function: Any,
    dim: Any = None,
    inputs: Optional[Sequence[Any]] = None,
    outputs: Optional[Sequence[Any]] = None,
    *,
    eps: float = 1e-4,
    atol: float = 1e-3,
    rtol: float = 1e-2,
    raise_exception: bool = True,
    input_output_mask: Mask = None,
    device: Any = None,
    max_blocks: int = 0,
    block_dim: int = 256,
    max_inputs_per_var: int = -1,
    max_outputs_per_var: int = -1,
    plot_relative_error: bool = False,
    plot_absolute_error: bool = False,
    show_summary: bool = True,
) -> bool:
    """Whether the Jacobians of the tape agree with central differences.

    Arguments as for ``autograd.jacobian``. The check passes if no derivative is NaN and
    |AD − FD| ≤ atol + rtol · |FD| everywhere. ``show_summary`` prints a table: for each pair of input and output the
    largest absolute and relative error, where it is, and PASS or FAIL.

    Raises:
        GradientCheckError: it does not pass, and ``raise_exception`` is set.
    """
    options = {"device": device, "max_blocks": max_blocks, "block_dim": block_dim}
    subject = Subject(function, dim, inputs, outputs, options)
    limits = (max_outputs_per_var, max_inputs_per_var)
    exact = by_tape(subject, input_output_mask, limits[0])
    differences = by_differences(subject, input_output_mask, limits[1], eps)
    rows = [_compare(subject, pair, ad, differences[pair], limits, atol, rtol) for pair, ad in exact.items()]
    if show_summary:
        print(_table(subject.name, rows))
    _plot_errors(exact, differences, function, inputs, outputs, plot_relative_error, plot_absolute_error)
    failed = [row for row in rows if not row.passed]
    if failed and raise_exception:
        raise GradientCheckError(_table(subject.name, failed))
    return not failed


def _compare(
    subject: Subject,
    pair: tuple[int, int],
    ad: Numbers,
    fd: Numbers,
    limits: tuple[int, int],
    atol: float,
    rtol: float,
) -> _Row:
    """Compare what was evaluated of two Jacobians."""
    source, output = subject.inputs[pair[0]], subject.output_name(pair[1])
    ad = ad[: len(limited(ad.shape[0], limits[0])), : len(limited(ad.shape[1], limits[1]))]
    fd = fd[: ad.shape[0], : ad.shape[1]]
    if ad.size == 0:
        return _Row(source.name, output, 0.0, 0.0, "there is nothing to compare", True)
    error, magnitude = np.abs(ad - fd), np.abs(fd)
    excess = error / (atol + rtol * magnitude)
    excess[np.isnan(excess)] = np.inf
    row, column = (int(k) for k in np.unravel_index(int(np.argmax(excess)), excess.shape))
    relative = np.divide(error, magnitude, out=np.zeros_like(error), where=magnitude > atol)
    place = f"output component {row}, input {source.locate(column)}"
    where = f"{place}: AD {ad[row, column]:.6g}, FD {fd[row, column]:.6g}"
    return _Row(source.name, output, float(error.max()), float(relative.max()), where, bool(excess[row, column] <= 1))


def _table(name: str, rows: Sequence[_Row]) -> str:
    head = ("input", "output", "max absolute error", "max relative error", "", "where it is largest")
    body = [
        (r.input, r.output, f"{r.absolute:.3e}", f"{r.relative:.3e}", "PASS" if r.passed else "FAIL", r.where)
        for r in rows
    ]
    widths = [max(len(line[k]) for line in (head, *body)) for k in range(len(head))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(line, widths)).rstrip() for line in (head, *body)]
    return "\n".join([f"gradients of {name}:", *lines])


def _plot_errors(
    exact: Mapping[Any, Numbers],
    differences: Mapping[Any, Numbers],
    function: Any,
    inputs: Any,
    outputs: Any,
    relative: bool,
    absolute: bool,
) -> None:
    if not (relative or absolute):
        return
    from treadle.autograd.plotting import jacobian_plot

    for wanted, title in ((relative, "relative error"), (absolute, "absolute error")):
        if wanted:
            errors = {}
            for key, ad in exact.items():
                error = np.abs(ad - differences[key])
                errors[key] = error / np.maximum(np.abs(differences[key]), 1e-30) if title.startswith("rel") else error
            jacobian_plot(errors, function, inputs, outputs, title=title, colormap="viridis")


def gradcheck_tape(
    tape: Tape,
    *,
    eps: float = 1e-4,
    atol: float = 1e-3,
    rtol: float = 1e-2,
    raise_exception: bool = True,
    input_output_masks: Optional[Mapping[str, Mask]] = None,
    blacklist_kernels: Optional[Sequence[str]] = None,
    whitelist_kernels: Optional[Sequence[str]] = None,
    max_inputs_per_var: int = -1,
    max_outputs_per_var: int = -1,
    plot_relative_error: bool = False,
    plot_absolute_error: bool = False,
    show_summary: bool = True,
    reverse_launches: bool = False,
    skip_to_launch_index: int = 0,
) -> bool:
    """Check the gradient of every launch on a tape by itself, at the present contents of its arrays; see ``gradcheck``.

    ``blacklist_kernels`` and ``whitelist_kernels`` are names of kernels to leave out, or to check alone;
    ``input_output_masks`` go by the name of the kernel. An argument that the kernel writes is an output;
    one that it reads is an input, maybe both.
    """
    launches = [record for record in tape._records if isinstance(record, LaunchRecord)]
    if reverse_launches:
        launches.reverse()
    passed = True
    for record in launches[skip_to_launch_index:]:
        name = record.kernel.name
        if name in (blacklist_kernels or ()) or (whitelist_kernels is not None and name not in whitelist_kernels):
            continue
        arguments = [*record.inputs, *record.outputs]
        written = {label.partition(".")[0] for label in record.binding.compiled.written}
        names = record.kernel.parameter_names
        outputs = [k for k, n in enumerate(names) if n in written]

        def run(*values: Any, record: LaunchRecord = record, outputs: list[int] = outputs) -> Any:
            from treadle.runtime.launch import launch

            launch(record.kernel, record.extents, values)
            return tuple(values[k] for k in outputs)

        # For messages: the names that the kernel's arguments have.
        run.__name__ = name
        run.argument_names = names  # type: ignore[attr-defined]
        run.output_names = [names[k] for k in outputs]  # type: ignore[attr-defined]
        mask = (input_output_masks or {}).get(name)
        passed &= gradcheck(
            run,
            None,
            arguments,
            eps=eps,
            atol=atol,
            rtol=rtol,
            raise_exception=raise_exception,
            input_output_mask=mask,
            max_inputs_per_var=max_inputs_per_var,
            max_outputs_per_var=max_outputs_per_var,
            plot_relative_error=plot_relative_error,
            plot_absolute_error=plot_absolute_error,
            show_summary=show_summary,
        )
    return passed
