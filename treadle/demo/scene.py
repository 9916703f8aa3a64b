"""What is thrown and where to: random first throws, and targets in the shape of a spinning wheel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

CENTRE = (19.0, 0.0)  # m, of the wheel
RIM_RADIUS = 8.0
HUB_RADIUS = 2.0
SPOKES = 8

Points = NDArray[np.floating[Any]]


def wheel(count: int) -> Points:
    """``count`` points (count, 2) on a wheel: half of them on the rim, a tenth on the hub, the rest on spokes."""
    rim, hub = count // 2, count // 10
    spokes = np.arange(count - rim - hub)
    angle = np.concatenate([_turn(rim), _turn(hub), 2.0 * np.pi * (spokes % SPOKES) / SPOKES])
    along = (spokes // SPOKES + 0.5) / max(1.0, np.ceil(len(spokes) / SPOKES))
    spoke_radius = HUB_RADIUS + (RIM_RADIUS - HUB_RADIUS) * along
    radius = np.concatenate([np.full(rim, RIM_RADIUS), np.full(hub, HUB_RADIUS), spoke_radius])
    return np.stack([CENTRE[0] + radius * np.cos(angle), CENTRE[1] + radius * np.sin(angle)], axis=1)


def _turn(count: int) -> Points:
    return 2.0 * np.pi * np.arange(count) / max(1, count)


def random_throws(count: int, seed: int) -> Points:
    """``count`` velocities (count, 3) in m/s, upwards and forwards, in float64."""
    rng = np.random.default_rng(seed)
    speed = rng.uniform(8.0, 16.0, count)
    elevation = np.radians(rng.uniform(20.0, 60.0, count))
    azimuth = np.radians(rng.uniform(-30.0, 30.0, count))
    flat = speed * np.cos(elevation)
    return np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), speed * np.sin(elevation)], axis=1)
