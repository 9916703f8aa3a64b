"""What a measurement is, and the table of all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Measurement:
    """A named quantity: ``take`` measures it in ``unit``; more than ``limit`` is too much."""

    name: str
    unit: str
    limit: float
    take: Callable[[], float]


MEASUREMENTS: list[Measurement] = []


def measurement(name: str, unit: str, limit: float) -> Callable[[Callable[[], float]], Callable[[], float]]:
    """Decorates a function that measures, and adds it to the table."""

    def add(take: Callable[[], float]) -> Callable[[], float]:
        MEASUREMENTS.append(Measurement(name, unit, limit, take))
        return take

    return add
