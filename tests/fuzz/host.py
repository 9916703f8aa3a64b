"""The host part of a random program: arrays and views, and what happens to them: launches, copies, fills, swaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.fuzz.choices import Choices
from tests.fuzz.context import (
    ADD,
    COUNTER,
    INDEX,
    LIMIT,
    MAX,
    MIN,
    OWN,
    PERMUTATION,
    READ,
    TALLY,
    ArrayUse,
    Shape,
)
from tests.fuzz.program import ArrayValue, Compound, Statement

Members = Sequence[tuple[str, str]]
"""The names and types of the members of a struct."""


@dataclass
class Kernel:
    """A generated kernel.

    ``scalars``: how many int parameters it has. ``bundled``: the arrays that come in the struct ``bundle``.
    ``is_single``: one thread runs it, so that its arrays may overlap in any way.
    """

    name: str
    lanes: int
    arrays: list[ArrayUse]
    scalars: int
    bundle: str = ""
    bundled: list[ArrayUse] = field(default_factory=list)
    is_single: bool = False


@dataclass
class Reference:
    """An array or a view on the host: its text, and which elements of which array it has, in order."""

    text: str
    base: str
    elements: tuple[int, ...]

    def overlaps(self, other: Reference) -> bool:
        return self.base == other.base and not set(self.elements).isdisjoint(other.elements)


class HostProgram:
    """Writes the host part of a program.

    ``sizes``: the extents by name. ``structs``: the members of each struct type. ``arrays``: those that were needed.
    """

    def __init__(
        self, choices: Choices, sizes: Mapping[str, int], kernels: Sequence[Kernel], structs: Mapping[str, Members]
    ) -> None:
        self.c = choices
        self.sizes = sizes
        self.kernels = kernels
        self.structs = structs
        self.arrays: list[ArrayValue] = []
        self.shapes: dict[str, tuple[str, Shape]] = {}
        self.contents: dict[str, str] = {}
        self.rng = np.random.default_rng(self.c.integer(1000))

    def new_name(self, prefix: str) -> str:
        return f"{prefix}{len(self.shapes)}"

    def actions(self) -> list[Statement]:
        """Launches of all kernels, then other actions, perhaps all of them several times."""
        others = ((50, self.another_launch), (20, self.copy), (12, self.fill), (10, self.swap), (8, self.clone))
        statements: list[Statement] = []
        for kernel in self.kernels:
            statements += self.launch(kernel)
        for _ in range(self.c.integer(4)):
            statements += self.c.weighted(others)()
        if self.c.chance(25):
            return [Compound(f"for step in range({2 + self.c.integer(2)}):", statements)]
        return statements

    def another_launch(self) -> list[Statement]:
        return self.launch(self.c.pick(self.kernels))

    # Launches.

    def launch(self, kernel: Kernel) -> list[Statement]:
        chosen: list[tuple[ArrayUse, Reference]] = []
        for use in [*kernel.bundled, *kernel.arrays]:
            chosen.append((use, self.argument(use, [] if kernel.is_single else chosen)))
        texts = {use.name: reference.text for use, reference in chosen}
        arguments = [texts[use.name] for use in kernel.arrays]
        before: list[Statement] = []
        if kernel.bundle:
            before = [f"q = {kernel.bundle}()", *(f"q.{use.name} = {texts[use.name]}" for use in kernel.bundled)]
            arguments.insert(0, "q")
        arguments += [str(1 + self.c.integer(4)) for _ in range(kernel.scalars)]
        n = self.sizes["N"]
        first = self.c.weighted(((84, n), (14, n - 1), (2, 0)))
        dim = str(first) if kernel.lanes == 1 else f"({first}, {self.sizes['M']})"
        dim = "1" if kernel.is_single else dim
        cut = len(arguments) - kernel.scalars
        inputs = f"inputs=[{', '.join(arguments)}]"
        if self.c.chance(20) and cut and not kernel.scalars:
            inputs = f"inputs=[{', '.join(arguments[:-1])}], outputs=[{arguments[-1]}]"
        return [*before, f"wp.launch({kernel.name}, dim={dim}, {inputs})"]

    def argument(self, use: ArrayUse, chosen: list[tuple[ArrayUse, Reference]]) -> Reference:
        """An array or view for a parameter that does not conflict with those chosen already."""
        if use.content == COUNTER:
            return self.new_reference(use)
        candidates = [r for r in self.references(use) if not any(conflict(use, r, u, s) for u, s in chosen)]
        if candidates and self.c.chance(75):
            return self.c.pick(candidates)
        return self.new_reference(use)

    def references(self, use: ArrayUse) -> list[Reference]:
        """All arrays and views that have the right type, shape and content."""
        found: list[Reference] = []
        for name, (element, shape) in self.shapes.items():
            if element == use.element and self.contents[name] == use.content:
                found += self.views(name, shape, use.shape)
        return found

    def views(self, name: str, shape: Shape, wanted: Shape) -> list[Reference]:
        extents = tuple(self.sizes[e] for e in shape)
        target = tuple(self.sizes[e] for e in wanted)
        numbers = np.arange(int(np.prod(extents))).reshape(extents)
        texts = [""]
        n, m = self.sizes["N"], self.sizes["M"]
        if shape == ("D",) and wanted == ("N",):
            texts = [f"[0:{n}]", f"[{n}:{2 * n}]", "[::2]", "[1::2]", f"[1:{n + 1}]"]
        elif shape == ("N", "M") and len(wanted) == 1:
            texts = [f"[{n - 1}]", "[:, 1]", "[0]", f"[:, {m - 1}]"]
        elif shape == ("D",) and wanted == ("N", "M"):
            texts = [f".reshape(({n}, {m}))"] if m == 2 else []
        elif shape == ("N", "M") and wanted == ("D",):
            texts = [".flatten()"] if m == 2 else []
        elif shape == ("N", "M") and wanted == ("N", "M"):
            texts = ["", ".transpose()"] if n == m else [""]
        found = []
        for text in texts:
            elements = eval(f"numbers{text}", {"numbers": numbers})
            if elements.shape == target:
                found.append(Reference(name + text, name, tuple(int(e) for e in elements.ravel())))
        return found

    def new_reference(self, use: ArrayUse) -> Reference:
        """A new array for a parameter, whole, or as a view of a larger one."""
        shape = use.shape
        if use.element != "I" and shape == ("N",):
            shape = self.c.weighted(((70, ("N",)), (15, ("D",)), (15, ("N", "M"))))
        name = self.new_name("x" if use.element != "I" else "c")
        extents = tuple(self.sizes[e] for e in shape)
        self.shapes[name] = (use.element, shape)
        self.contents[name] = use.content
        self.arrays.append(self.value(name, use, extents))
        return self.c.pick(self.views(name, shape, use.shape))

    def value(self, name: str, use: ArrayUse, extents: tuple[int, ...]) -> ArrayValue:
        size = int(np.prod(extents))
        if use.element == "I":
            n = self.sizes["N"]
            content: dict[str, Callable[[], np.ndarray[Any, Any]]] = {
                INDEX: lambda: self.rng.integers(0, n, size),
                LIMIT: lambda: self.rng.integers(0, 5, size),
                PERMUTATION: lambda: self.rng.permutation(size),
                TALLY: lambda: self.rng.integers(0, 3, size),
                COUNTER: lambda: np.zeros(size, int),
            }
            values = content[use.content]()
            return ArrayValue(name, f"wp.array({values.reshape(extents).tolist()}, dtype=int)", [])
        shape = extents if len(extents) > 1 else extents[0]
        has_gradient = self.c.chance(85 if use.mode == READ else 93)
        expression = f"wp.zeros({shape}, dtype={use.element}, requires_grad={has_gradient})"
        if not has_gradient and use.mode == READ:
            self.contents[name] = "constant"
        width = size * self.width(use.element)
        floats = self.rng.uniform(0.2, 1.4, width) * self.rng.choice((1, 1, 1, -1), width)
        return ArrayValue(name, expression, [round(float(f), 3) for f in floats])

    def width(self, type_: str) -> int:
        """The number of floats in a value of that type."""
        if type_ in self.structs:
            return sum(self.width(member) for _, member in self.structs[type_])
        return {"T": 1, "I": 0, "B": 0, "V2": 2, "V3": 3, "V4": 4, "M22": 4, "M23": 6, "M32": 6, "M33": 9}[type_]

    # Other actions.

    def copy(self) -> list[Statement]:
        names = self.differentiated()
        pairs = [(a, b) for a in names for b in names if a != b and self.shapes[a] == self.shapes[b]]
        if not pairs:
            return self.fill()
        dest, src = self.c.pick(pairs)
        kind = self.c.pick(("wp.copy({d}, {s})", "{d}.assign({s})", "wp.copy({d}, {s}, 1, 0, 1)"))
        if "1, 0" in kind and self.shapes[dest][1] not in (("N",), ("D",)):
            kind = "wp.copy({d}, {s})"
        return [kind.format(d=dest, s=src)]

    def fill(self) -> list[Statement]:
        names = self.differentiated()
        if not names:
            return []
        name = self.c.pick(names)
        element = self.shapes[name][0]
        if element == "T" and self.c.chance(50):
            return [f"{name}.fill_({self.c.pick((0.5, 1.5))})"]
        if element == "T" and len(self.shapes[name][1]) == 1 and self.c.chance(50):
            return [f"{name}[0:1].fill_(0.25)"]
        return [f"{name}.zero_()"]

    def swap(self) -> list[Statement]:
        names = self.differentiated()
        pairs = [(a, b) for a in names for b in names if a < b and self.shapes[a] == self.shapes[b]]
        if not pairs:
            return self.copy()
        a, b = self.c.pick(pairs)
        return [f"{a}, {b} = {b}, {a}"]

    def clone(self) -> list[Statement]:
        names = self.differentiated()
        if not names:
            return []
        source = self.c.pick(names)
        name = self.new_name("t")
        self.shapes[name], self.contents[name] = self.shapes[source], ""
        return [f"{name} = wp.clone({source})"]

    def differentiated(self) -> list[str]:
        return [name for name, content in self.contents.items() if content == ""]


def conflict(use: ArrayUse, reference: Reference, other: ArrayUse, chosen: Reference) -> bool:
    """Whether threads would disturb each other if both parameters got these."""
    if not reference.overlaps(chosen) or (use.mode == READ and other.mode == READ):
        return False
    if use.mode == other.mode and use.mode in (ADD, MIN, MAX):
        return False
    if use.mode == other.mode == OWN:
        return use.map != other.map or use.shape != other.shape or reference.elements != chosen.elements
    return True
