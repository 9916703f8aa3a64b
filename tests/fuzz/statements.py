"""Random blocks of statements: branches, loops, exits from them, calls, and all other statements."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.choices import Choices
from tests.fuzz.context import READ, Variable
from tests.fuzz.expressions import SMALL_VECTORS
from tests.fuzz.program import Compound, Statement
from tests.fuzz.writes import ArrayStatements

MOST_TIMES = 40
"""How often a line may run in one call, at most."""

_RANGES = (
    ("3", "", 3), ("{limit}", "", 4), ("{extent}", "N", 4), ("{extent}", "M", 4), ("{whole}, 4", "", 4),
    ("{limit}, 0, -1", "", 4), ("0, 5, 2", "", 3), ("({whole}) % 4", "", 3), ("({whole}) % 4, -1, -1", "", 4),
    ("18", "", 18),
)  # fmt: skip
"""Bounds of loops, the extent that the loop variable stays below, and how often they run at most."""


class Statements(ArrayStatements):
    """Writes the bodies of kernels and functions. ``left``: how many statements may still come."""

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self.left = 0

    def block(self, most: int, *, exits: str = "") -> list[Statement]:
        """Up to ``most`` statements. ``exits``: which of ``b``, ``c`` (break, continue) are possible."""
        body: list[Statement] = []
        while len(body) < most and self.left > 0 and self.c.chance(82):
            self.left -= 1
            self.context.cost += self.context.times
            body += self.statement(exits)
        return body

    def statement(self, exits: str) -> list[Statement]:
        """One statement, with what it needs before it."""
        nested = self.context.loops < 3 and self.context.times < MOST_TIMES
        if self.context.is_smooth:
            smooth = ((16, self.declare), (22, self.update), (12, self.update_part), (8, self.for_loop))
            return self.c.weighted(smooth)()
        memory = 3 if self.context.favour == "memory" else 1
        control = 3 if self.context.favour == "control" else 1
        options: list[tuple[int, Callable[[], list[Statement]]]] = [
            (16, self.declare),
            (22, self.update),
            (12, self.update_part),
            (22 * memory, self.write_array),
            (8, self.call_statement),
            (6, self.accumulate_shared),
            (3, self.swap),
            (4, self.local_array),
            (4 * memory, self.row),
            (3 * memory, self.swap_arrays),
            (10 * control, lambda: self.branch(exits)),
        ]
        if nested:
            options += [(4, self.for_each), (12 * control, self.for_loop), (7 * control, self.while_loop)]
        if exits:
            options.append((10 * control, lambda: self.exit(exits)))
        if self.context.loops or self.context.gives or self.c.chance(20):
            options.append((3 * control, self.early_return))
        return self.c.weighted(options)()

    # Control flow.

    def branch(self, exits: str) -> list[Statement]:
        parts: list[Statement] = []
        declared = self.c.chance(15)
        header = f"if {self.condition(2)}:"
        with self.context.scope():
            parts.append(Compound(header, self.block(4, exits=exits)))
        if self.c.chance(20):
            header = f"elif {self.condition(1)}:"
            with self.context.scope():
                parts.append(Compound(header, self.block(3, exits=exits)))
        if declared or self.c.chance(45):
            with self.context.scope():
                parts.append(Compound("else:", self.block(3, exits=exits)))
        if declared:
            name = self.new_name("s")
            for part in parts:
                assert isinstance(part, Compound)
                part.body.append(f"{name} = {self.number(1)}")
            self.context.variables.append(Variable(name, "T"))
        return parts

    def for_loop(self) -> list[Statement]:
        name = self.new_name("j")
        bounds, below, times = self.c.pick(_RANGES[:1] if self.context.is_smooth else _RANGES)
        if times * self.context.times > MOST_TIMES:
            return self.update()
        parts: dict[str, Callable[[], str]] = {
            "{whole}": lambda: self.whole(1),
            "{limit}": self.whole_limit,
            "{extent}": lambda: self.extent(below),
        }
        for word, make in parts.items():
            bounds = bounds.replace(word, make()) if word in bounds else bounds
        with self.context.loop(times):
            self.context.variables.append(Variable(name, "I", mutable=False, below=below))
            body = self.block(4, exits="bc")
        return [Compound(f"for {name} in range({bounds}):", body)]

    def for_each(self) -> list[Statement]:
        """A loop over the components of a vector."""
        variables = [v for v in self.context.variables if v.type in SMALL_VECTORS]
        if not variables or 3 * self.context.times > MOST_TIMES:
            return self.for_loop()
        vector = self.c.pick(variables).name
        name = self.new_name("s")
        with self.context.loop(3):
            self.context.variables.append(Variable(name, "T", mutable=False))
            body = self.block(3, exits="bc")
        return [Compound(f"for {name} in {vector}:", body)]

    def extent(self, below: str) -> str:
        """An expression for a named extent: that of an array."""
        for use in self.context.arrays:
            if below in use.shape:
                return f"{use.name}.shape[{use.shape.index(below)}]"
        use = self.new_array("T", ("N", "M"), READ)
        return f"{use.name}.shape[{0 if below == 'N' else 1}]"

    def whole_limit(self) -> str:
        """A variable or parameter that is a small int which only the launch decides."""
        found = [v.name for v in self.context.variables if v.name[0] == "n"]
        return found[0] if found else "3"

    def while_loop(self) -> list[Statement]:
        """A loop that ends at the latest when its counter reaches a limit."""
        counter = self.new_name("k")
        times = 4
        if times * self.context.times > MOST_TIMES:
            return self.update()
        endless = self.c.chance(35)
        limit = self.c.pick(("4", f"({self.whole(1)}) % 5", self.whole_limit()))
        condition = "True" if endless else f"{counter} < {limit}"
        if not endless and self.c.chance(50):
            condition = f"{counter} < 4 and {self.condition(1)}"
        with self.context.loop(times):
            self.context.variables.append(Variable(counter, "I", mutable=False))
            body: list[Statement] = [f"{counter} += 1"]
            if endless:
                body.append(Compound(f"if {counter} > {limit}:", ["break"]))
            body += self.block(4, exits="bc")
        return [f"{counter} = {self.c.pick(('int(0)', '0'))}", Compound(f"while {condition}:", body)]

    def exit(self, exits: str) -> list[Statement]:
        words = [w for w in ("break", "continue") if w[0] in exits]
        body: list[Statement] = []
        if self.c.chance(25):
            with self.context.scope():
                body = self.block(2)
        return [Compound(f"if {self.condition(1)}:", [*body, self.c.pick(words)])]

    def early_return(self) -> list[Statement]:
        body: list[Statement] = []
        header = f"if {self.condition(1)}:"
        if self.c.chance(30):
            with self.context.scope():
                body = self.block(2)
        return [Compound(header, [*body, self.return_statement()])]

    def return_statement(self) -> str:
        return f"return {', '.join(self.expression(type_, 1) for type_ in self.context.gives)}".rstrip()

    # Calls.

    def call_statement(self) -> list[Statement]:
        """A call whose results become variables, new ones or known ones."""
        found = [f for f in self.routines if self.callable_here(f)]
        if not found:
            return self.update()
        function = self.c.pick(found)
        call = self.call_of(function, 2)
        if not function.gives:
            return [call]
        names: list[str] = []
        for type_ in function.gives:
            names.append(self.result_name(type_, names))
        return [f"{', '.join(names)} = {call}"]

    def result_name(self, type_: str, taken: list[str]) -> str:
        """A variable for a result: a known one, or a new one."""
        variables = [v for v in self.context.of_type(type_, mutable=True) if v.name not in taken]
        if variables and self.c.chance(50):
            return self.c.pick(variables).name
        name = self.new_name("r")
        self.context.variables.append(Variable(name, type_))
        return name
