"""``jacobian_plot``: Jacobians as images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

import numpy as np

from treadle.autograd.arguments import Argument, Subject


def jacobian_plot(
    jacobians: Mapping[tuple[int, int], Any],
    kernel: Any,
    inputs: Optional[Sequence[Any]] = None,
    outputs: Optional[Sequence[Any]] = None,
    show_plot: bool = True,
    show_colorbar: bool = True,
    scale_colors_per_submatrix: bool = False,
    title: Optional[str] = None,
    colormap: str = "coolwarm",
    log_scale: bool = False,
) -> Any:
    """One figure of image plots, inputs as columns and outputs as rows. Needs matplotlib; returns the figure.

    Major grid lines separate array elements, thin dashed ones vector components. ``log_scale`` shows
    the logarithm of absolute values. ``scale_colors_per_submatrix`` gives each image its own colours.
    """
    import matplotlib.pyplot as plt

    subject = Subject(kernel, 0, inputs, outputs, {})
    columns, rows = (sorted({pair[k] for pair in jacobians}) for k in (0, 1))
    images = {pair: _image(matrix, log_scale) for pair, matrix in jacobians.items()}
    heights = [next(images[i, o].shape[0] for i in columns if (i, o) in images) for o in rows]
    widths = [next(images[i, o].shape[1] for o in rows if (i, o) in images) for i in columns]
    figure, axes = plt.subplots(
        len(rows), len(columns), squeeze=False, layout="constrained",
        figsize=(3 + 2.5 * len(columns), 1.5 + 2.5 * len(rows)),
        width_ratios=np.sqrt(widths).tolist(), height_ratios=np.sqrt(heights).tolist(),
    )  # fmt: skip
    finite = np.concatenate([m[np.isfinite(m)] for m in images.values()] or [np.zeros(1)])
    limits = _limits(finite, log_scale)
    for r, o in enumerate(rows):
        for c, i in enumerate(columns):
            axis = axes[r][c]
            if (i, o) not in images:
                axis.set_axis_off()
                continue
            matrix = images[i, o]
            low, high = _limits(matrix[np.isfinite(matrix)], log_scale) if scale_colors_per_submatrix else limits
            shown = axis.imshow(matrix, cmap=colormap, vmin=low, vmax=high, aspect="auto", interpolation="nearest")
            output = subject.given_outputs[o] if o < len(subject.given_outputs) else None
            _grid(axis.xaxis, subject.inputs[i], matrix.shape[1])
            _grid(axis.yaxis, output, matrix.shape[0])
            if r == len(rows) - 1:
                axis.set_xlabel(subject.inputs[i].name)
            if c == 0:
                axis.set_ylabel(subject.output_name(o))
            if show_colorbar and (scale_colors_per_submatrix or (r == 0 and c == len(columns) - 1)):
                figure.colorbar(shown, ax=axis if scale_colors_per_submatrix else axes.ravel().tolist())
    figure.suptitle(title if title is not None else f"Jacobian of {getattr(kernel, '__name__', kernel)}")
    if show_plot:
        plt.show()
    return figure


def _image(matrix: Any, log_scale: bool) -> np.ndarray[Any, Any]:
    values = np.asarray(matrix.numpy() if hasattr(matrix, "numpy") else matrix, np.float64)
    if not log_scale:
        return values
    with np.errstate(divide="ignore"):
        return np.where(values == 0, np.nan, np.log10(np.abs(values)))


def _limits(values: np.ndarray[Any, Any], log_scale: bool) -> tuple[float, float]:
    """Colour limits; with signs, symmetric, so that zero is in the middle of the map."""
    if values.size == 0:
        return -1.0, 1.0
    if log_scale or values.min() >= 0:
        return float(values.min()), float(values.max())
    largest = float(np.abs(values).max()) or 1.0
    return -largest, largest


def _grid(axis: Any, argument: Optional[Argument], size: int) -> None:
    """Lines between elements, and thin dashed ones between the components of an element."""
    per_element = 1
    if argument is not None and len(argument.arrays) == 1:
        per_element = max(getattr(argument.arrays[0].dtype, "length", 1), 1)
    axis.set_ticks(np.arange(0, size + 1, per_element) - 0.5, labels=[])
    axis.set_ticks(np.arange(size + 1) - 0.5, minor=True, labels=[])
    axis.grid(True, which="major", color="black", linewidth=0.8)
    if per_element > 1:
        axis.grid(True, which="minor", color="gray", linewidth=0.4, linestyle="--")
