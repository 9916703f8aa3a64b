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
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 5.3), dpi=120)
    for column, (throws, title) in enumerate([(before, "before: random throws"), (after, "after: learned throws")]):
        axes = figure.add_axes((0.5 * column - 0.005, 0.02, 0.47, 0.95), projection="3d")
        _panel(axes, trajectories(throws), targets)
        figure.text(0.03 + 0.5 * column, 0.93, title, fontsize=15, weight="bold")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper right", frameon=False, markerscale=2.0)
    figure.savefig(path)


def _panel(axes: Any, paths: list[Points], targets: Points) -> None:
    from mpl_toolkits.mplot3d.art3d import Line3DCollection

    colours = _colours(targets)
    ends = np.array([p[-1] for p in paths])
    axes.computed_zorder = False
    axes.scatter(targets[:, 0], targets[:, 1], 0.0, s=9, c="0.4", linewidths=0, zorder=1, label="target")
    drawn = slice(None, None, max(1, len(paths) // PATHS_DRAWN))
    style = {"linewidths": 0.7, "alpha": 0.45, "zorder": 2, "label": "trajectory"}
    axes.add_collection(Line3DCollection(paths[drawn], colors=colours[drawn], **style))
    axes.scatter(ends[:, 0], ends[:, 1], ends[:, 2], s=5, c=colours, linewidths=0, zorder=3, label="ball at rest")
    axes.set(xlim=(0.0, 35.0), ylim=(-15.0, 15.0), zlim=(0.0, 10.0), zticks=(0, 5, 10))
    axes.set(xlabel="distance (m)", ylabel="sideways (m)", zlabel="height (m)")
    axes.tick_params(labelsize=8)
    axes.set_box_aspect((35.0, 30.0, 10.0), zoom=1.1)
    axes.view_init(elev=36.0, azim=-68.0)
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_pane_color((0.97, 0.97, 0.97))
        axis._axinfo["grid"].update(color="0.88", linewidth=0.6)


def _colours(targets: Points) -> Any:
    """One colour a ball, by the direction of its target from the middle of all, so that neighbours look alike."""
    from matplotlib import colormaps

    offset = targets - targets.mean(axis=0)
    turn = np.arctan2(offset[:, 1], offset[:, 0]) / (2.0 * np.pi) % 1.0
    return colormaps["hsv"](turn) * np.array([0.85, 0.75, 0.9, 1.0])
