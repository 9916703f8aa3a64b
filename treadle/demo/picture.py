"""Draws the trajectories before and after. Needs matplotlib, which is imported only here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import treadle as wp
from treadle.demo.physics import trace
from treadle.demo.scene import Points
from treadle.demo.training import STEPS, TIME_STEP

PATHS_DRAWN = 200


def trajectories(throws: Points) -> list[Points]:
    """The path (points, 3) of each throw (n, 3), from the hand to where it comes to rest."""
    count = len(throws)
    paths = wp.zeros((count, STEPS + 1), dtype=wp.vec3d)
    lengths = wp.zeros(count, dtype=int)
    wp.launch(trace, dim=count, inputs=[wp.array(throws, dtype=wp.vec3d), TIME_STEP], outputs=[paths, lengths])
    points = paths.numpy()
    return [points[i, :n] for i, n in enumerate(lengths.numpy())]


def draw(path: Path, before: Points, after: Points, targets: Points) -> None:
    """Write a PNG with one panel for the throws ``before`` and one for ``after``, both (n, 3)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(13.0, 5.4), dpi=120)
    for column, (throws, title) in enumerate([(before, "Before: random throws"), (after, "After: learned throws")]):
        _panel(figure.add_subplot(1, 2, column + 1, projection="3d"), trajectories(throws), targets, title)
    figure.subplots_adjust(left=0.0, right=0.97, bottom=0.03, top=1.0, wspace=0.02)
    figure.savefig(path)
    pyplot.close(figure)


def _panel(axes: Any, paths: list[Points], targets: Points, title: str) -> None:
    colours = _colours(targets)
    ends = np.array([p[-1] for p in paths])
    axes.computed_zorder = False
    axes.scatter(targets[:, 0], targets[:, 1], 0.0, s=10, c="0.72", linewidths=0, zorder=1, label="targets")
    for i in range(0, len(paths), max(1, len(paths) // PATHS_DRAWN)):
        axes.plot(*paths[i].T, color=colours[i], linewidth=0.6, alpha=0.5, zorder=2)
    axes.scatter(ends[:, 0], ends[:, 1], ends[:, 2], s=5, c=colours, linewidths=0, zorder=3, label="balls at rest")
    axes.set(xlim=(0.0, 35.0), ylim=(-15.0, 15.0), zlim=(0.0, 10.0), title=title)
    axes.set(xlabel="distance (m)", ylabel="sideways (m)", zlabel="height (m)")
    axes.set_box_aspect((35.0, 30.0, 12.0), zoom=1.2)
    axes.view_init(elev=32.0, azim=-60.0)


def _colours(targets: Points) -> Any:
    from matplotlib import colormaps

    centre = targets.mean(axis=0)
    angle = np.arctan2(targets[:, 1] - centre[1], targets[:, 0] - centre[0])
    return colormaps["twilight_shifted"](0.15 + 0.7 * (angle + np.pi) / (2.0 * np.pi))
