"""Runs the demo from the random throws to the final statistics, and prints what happens."""

from __future__ import annotations

import importlib.util
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import treadle as wp
from treadle.demo import picture
from treadle.demo.progress import Progress
from treadle.demo.scene import Points, random_throws, wheel
from treadle.demo.training import GradientCheck, Simulation, check_gradient, descend

HIT_DISTANCE = 0.1  # m
GRADIENT_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Settings:
    """How large the demo is, and where the picture goes (None: no picture)."""

    balls: int = 2000
    iterations: int = 120
    seed: int = 0
    picture: Path | None = Path("balls.png")


@dataclass(frozen=True)
class Outcome:
    """What the demo found: mean squared distances in m² before and after, the share of hits, the gradient check."""

    first_loss: float
    last_loss: float
    hits: float
    check: GradientCheck

    @property
    def passed(self) -> bool:
        """Whether the loss fell and the gradient is right."""
        return self.last_loss < self.first_loss and self.check.error < GRADIENT_TOLERANCE


def run(settings: Settings) -> Outcome:
    """Run the demo, printing as it goes."""
    start = time.perf_counter()
    print(f"Treadle {wp.__version__}: {settings.balls:,} balls are to come to rest on targets in the shape of a wheel.")
    throws, targets = random_throws(settings.balls, settings.seed), wheel(settings.balls)
    simulation = Simulation.of(throws, targets)
    simulation.run()
    before = simulation.distances()
    progress = Progress(settings.iterations)
    losses = descend(simulation, settings.iterations, lambda i, loss: progress.update(i, f"loss {loss:10.5f} m²"))
    outcome = Outcome(
        first_loss=losses[0],
        last_loss=losses[-1],
        hits=float(np.mean(simulation.distances() < HIT_DISTANCE)),
        check=check_gradient(throws[0], targets[0]),
    )
    _print_statistics(before, simulation.distances(), outcome)
    _print_check(outcome.check)
    if settings.picture is not None:
        _draw(settings.picture, throws, simulation.throws.numpy(), targets)
    print(f"Finished in {time.perf_counter() - start:.1f} s.")
    return outcome


def _print_statistics(before: Points, after: Points, outcome: Outcome) -> None:
    print(f"\n{'distance from the target':26s}{'before':>10s}{'after':>10s}")
    for name, share in (("median", 0.5), ("90 % closer than", 0.9), ("worst", 1.0)):
        print(f"{name + ' (m)':26s}{np.quantile(before, share):10.3f}{np.quantile(after, share):10.3f}")
    hits = [100.0 * np.mean(d < HIT_DISTANCE) for d in (before, after)]
    print(f"{f'closer than {HIT_DISTANCE * 100:.0f} cm (%)':26s}{hits[0]:10.1f}{hits[1]:10.1f}")
    print(f"{'mean square (m²)':26s}{outcome.first_loss:10.3f}{outcome.last_loss:10.5f}")


def _print_check(check: GradientCheck) -> None:
    print("\ngradient of one ball's squared distance in its throw (vx, vy, vz)")
    for name, values in (("tape", check.tape), ("central differences", check.differences)):
        print(f"{name:26s}" + "".join(f"{v:14.7f}" for v in values))
    print(f"{'largest relative error':26s}{check.error:14.1e}\n")


def _draw(path: Path, before: Points, after: Points, targets: Points) -> None:
    if importlib.util.find_spec("matplotlib") is None:
        print("No picture: matplotlib is not installed (pip install 'treadle[plot]').")
        return
    picture.draw(path, before, after, targets)
    print(f"The trajectories before and after are in {path}.")
