"""What a backward pass over a large launch costs, in forward passes."""

from __future__ import annotations

from benchmarks.measurement import measurement
from benchmarks.processes import run_script


@measurement("backward pass of y = sin(x)·exp(−x), in forward passes", "×", 4)
def elementwise() -> float:
    return run_script("differentiating", "elementwise")


@measurement("backward pass of Rosenbrock on vec2, in forward passes", "×", 6)
def rosenbrock() -> float:
    return run_script("differentiating", "rosenbrock")


@measurement("backward pass of a loop of 1,000 steps, in forward passes", "×", 4)
def loop() -> float:
    return run_script("differentiating", "loop")
