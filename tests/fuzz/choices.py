"""What the generator asks of its source of randomness: numbers, of which smaller ones are simpler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

V = TypeVar("V")


class Choices:
    """Choices made by ``integer(n)``, which gives a number in ``range(n)``; the first option is the simplest."""

    def __init__(self, integer: Callable[[int], int]) -> None:
        self._integer = integer

    def integer(self, n: int) -> int:
        return self._integer(n) if n > 1 else 0

    def pick(self, options: Sequence[V]) -> V:
        return options[self.integer(len(options))]

    def chance(self, percent: int) -> bool:
        """True in that many of a hundred cases; False is simpler."""
        return self.integer(100) >= 100 - percent

    def weighted(self, options: Sequence[tuple[int, V]]) -> V:
        """An option, by weights."""
        rest = self.integer(sum(weight for weight, _ in options))
        for weight, option in options:
            if rest < weight:
                return option
            rest -= weight
        raise AssertionError
