"""The form in which every op is declared, and the table of all declarations.

``treadle.ir.structure`` declares control flow, memory and calls; ``treadle.primitives``
declares arithmetic, where the derivative and the lowering stand beside the type rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from treadle.types.storage import StorageType

TypeRule = Callable[[Sequence[StorageType], dict[str, Any]], tuple[StorageType, ...]]


class IRError(Exception):
    """The IR breaks a rule: a fault in Treadle, never in the user's program."""


@dataclass(frozen=True)
class Definition:
    """What there is to know of an op.

    ``types``: from operand types and attributes to result types; raises IRError if they do not
    fit. None where the results are declared by the op itself (control flow, calls).
    ``effect``: ``"pure"``, ``"read"`` (may see memory), or ``"write"`` (changes memory, or the
    outside world; never removed when its results are unused).
    ``fold``: from builder and operands to a value that already exists or a constant, or None.
    ``lower``: writes the LLVM instructions for scalars; see ``treadle.primitives.lowering``.
    ``derivative``: from the adjoint of the result, the operands and the result to the
    contributions for the operands; see ``treadle.primitives.expressions``. None: the op passes
    on no gradient.
    ``elementwise``: whether it applies to aggregates component by component.
    """

    name: str
    types: Optional[TypeRule]
    effect: str = "pure"
    fold: Optional[Callable[..., Any]] = None
    lower: Optional[Callable[..., str]] = None
    derivative: Optional[Callable[..., tuple[Any, ...]]] = None
    elementwise: bool = False


TABLE: dict[str, Definition] = {}


def declare(definition: Definition) -> Definition:
    """Enter a definition into the table."""
    if definition.name in TABLE:
        raise IRError(f"op {definition.name!r} is declared twice")
    TABLE[definition.name] = definition
    return definition


def lookup(name: str) -> Definition:
    """The definition of an op.

    Raises:
        IRError: no such op.
    """
    try:
        return TABLE[name]
    except KeyError:
        raise IRError(f"there is no op {name!r}") from None
