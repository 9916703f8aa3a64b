"""Gradient descent on the throws, and what is measured on the way."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import treadle as wp
from treadle.demo.physics import adam_step, throw
from treadle.demo.scene import Points

STEPS = 2000
TIME_STEP = 0.02  # s
RATE = 0.5  # m/s: how far the first steps of the descent change each component of a throw


@dataclass
class Simulation:
    """The arrays of one simulation of all balls: throws (n) vec3d, targets (n) vec2d, misses (n) and loss (1)."""

    throws: Any
    targets: Any
    misses: Any
    loss: Any

    @classmethod
    def of(cls, throws: Points, targets: Points) -> Simulation:
        """From throws (n, 3) and targets (n, 2); both are copied."""
        return cls(
            wp.array(throws, dtype=wp.vec3d, requires_grad=True),
            wp.array(targets, dtype=wp.vec2d),
            wp.zeros(len(throws), dtype=wp.float64, requires_grad=True),
            wp.zeros(1, dtype=wp.float64, requires_grad=True),
        )

    def run(self) -> float:
        """Throw all balls; the loss is the mean squared distance from the targets, in m²."""
        self.loss.zero_()
        inputs = [self.throws, self.targets, STEPS, TIME_STEP]
        wp.launch(throw, dim=self.throws.shape[0], inputs=inputs, outputs=[self.misses, self.loss])
        return float(self.loss.numpy()[0])

    def run_with_gradient(self) -> float:
        """As ``run``; leaves the derivatives of the loss in ``throws.grad``."""
        self.throws.grad.zero_()
        tape = wp.Tape()
        with tape:
            loss = self.run()
        tape.backward(self.loss)
        return loss

    def distances(self) -> Points:
        """How far from its target each ball came to rest in the last run, in m."""
        distances: Points = np.sqrt(self.misses.numpy())
        return distances


def descend(simulation: Simulation, iterations: int, report: Callable[[int, float], None]) -> list[float]:
    """Change the throws by ``iterations`` steps of Adam, calling ``report(step, loss)``. Returns the losses before
    each step, and at the end."""
    first, second = (wp.zeros_like(simulation.throws, requires_grad=False) for _ in range(2))
    losses = []
    for step in range(1, iterations + 1):
        losses.append(simulation.run_with_gradient())
        rate = RATE * 0.5 * (1.0 + math.cos(math.pi * step / iterations))
        inputs = [simulation.throws, simulation.throws.grad, first, second, step, rate]
        wp.launch(adam_step, dim=simulation.throws.shape[0], inputs=inputs)
        report(step, losses[-1])
    return [*losses, simulation.run()]


@dataclass(frozen=True)
class GradientCheck:
    """The three derivatives of one ball's part of the loss, from the tape and from central differences."""

    tape: Points
    differences: Points

    @property
    def error(self) -> float:
        """The largest difference, relative to the largest derivative."""
        return float(np.abs(self.tape - self.differences).max() / np.abs(self.differences).max())


def check_gradient(throw_: Points, target: Points, eps: float = 1e-6) -> GradientCheck:
    """Compare the gradient of one throw (3,) at a target (2,) with central differences."""
    simulation = Simulation.of(throw_[None], target[None])
    simulation.run_with_gradient()
    differences = np.empty(3)
    for k in range(3):
        nudge = np.zeros(3)
        nudge[k] = eps
        above, below = (Simulation.of((throw_ + s * nudge)[None], target[None]).run() for s in (1.0, -1.0))
        differences[k] = (above - below) / (2.0 * eps)
    return GradientCheck(simulation.throws.grad.numpy()[0].copy(), differences)
