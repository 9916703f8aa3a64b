"""Random statements: declarations, updates of variables, components, members and arrays, branches, loops, exits, calls."""

from __future__ import annotations

from collections.abc import Callable as Maker

from tests.fuzz.choices import Choices
from tests.fuzz.context import ADD, COUNTER, MAX, MIN, OWN, READ, SLOT, ArrayUse, Variable
from tests.fuzz.expressions import LENGTHS, LOCAL, SHAPES, SMALL_VECTORS, Expressions
from tests.fuzz.program import Compound, Statement

MOST_TIMES = 40
"""How often a line may run in one call, at most."""

_RANGES = (
    ("3", "", 3), ("{limit}", "", 4), ("{extent}", "N", 4), ("{extent}", "M", 4), ("{whole}, 4", "", 4), ("{limit}, 0, -1", "", 4),
    ("0, 5, 2", "", 3), ("({whole}) % 4", "", 3), ("({whole}) % 4, -1, -1", "", 4), ("18", "", 18),
)  # fmt: skip
"""Bounds of loops, the extent that the loop variable stays below, and how often they run at most."""


class Statements(Expressions):
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
            return self.c.weighted([(16, self.declare), (22, self.update), (12, self.update_part), (8, self.for_loop)])()
        options: list[tuple[int, Maker[[], list[Statement]]]] = [
            (16, self.declare),
            (22, self.update),
            (12, self.update_part),
            (22, self.write_array),
            (8, self.call_statement),
            (6, self.accumulate_shared),
            (3, self.swap),
            (4, self.local_array),
            (4, self.row),
            (10, lambda: self.branch(exits)),
        ]
        if nested:
            options.append((4, self.for_each))
            options += [(12, self.for_loop), (7, self.while_loop)]
        if exits:
            options.append((10, lambda: self.exit(exits)))
        if self.context.loops or self.context.gives or self.c.chance(20):
            options.append((3, self.early_return))
        return self.c.weighted(options)()

    # Variables.

    def declare(self) -> list[Statement]:
        type_ = self.c.weighted((
            (40, "T"), (10, "I"), (4, "B"), (14, "V3"), (8, "V2"), (4, "V4"), (2, "V40"), (6, "M22"), (3, "M33"), (3, "M23"),
            *((8, name) for name in self.structs),
        ))  # fmt: skip
        return self.declare_as(type_)

    def declare_as(self, type_: str) -> list[Statement]:
        value = self.value_to_assign(type_)
        name = self.new_name({"T": "s", "I": "k", "B": "b"}.get(type_, type_[0].lower()))
        self.context.variables.append(Variable(name, type_))
        return [f"{name} = {value}"]

    def value_to_assign(self, type_: str, depth: int = 2) -> str:
        if type_ == "T":
            return self.bounded(depth) if self.context.loops and self.c.chance(50) else self.number(depth)
        if type_ == "I":
            leaf = self.c.chance(30)
            return f"int({self.c.integer(3)})" if leaf else f"({self.whole(2)}) % {self.c.pick((3, 5, 7))}"
        if type_ == "B":
            return f"bool({self.c.pick(('True', 'False'))})" if self.c.chance(30) else self.condition(1)
        value = self.expression(type_, depth)
        return f"{value} * 0.6" if type_ in LENGTHS and self.context.loops else value

    def update(self) -> list[Statement]:
        """Assign to a variable, or update it in place."""
        variables = [v for v in self.context.variables if v.mutable and v.type != "L"]
        if not variables:
            return self.declare_as("T")
        variable = self.c.pick(variables)
        name, type_ = variable.name, variable.type
        if type_ == "T" and self.c.chance(55):
            return [f"{name} {self.update_number()}"]
        if type_ == "I" and self.c.chance(50) and self.context.loops < 2:
            return [f"{name} += {1 + self.c.integer(2)}"]
        if (type_ in LENGTHS or type_ in SHAPES) and self.c.chance(50):
            operator = self.c.pick(("+=", "-=", "*=", "/="))
            if operator in ("+=", "-="):
                return [f"{name} {operator} {self.expression(type_, 1)}"]
            return [f"{name} {operator} {self.factor() if operator == '*=' else self.divisor()}"]
        return [f"{name} = {self.value_to_assign(type_)}"]

    def update_number(self) -> str:
        """An operator and an operand for an update in place."""
        operator = self.c.pick(("+=", "-=", "*=", "/="))
        if operator == "*=":
            return f"*= {self.factor()}"
        if operator == "/=":
            return f"/= {self.divisor()}"
        return f"{operator} {self.bounded(1) if self.context.loops else self.number(2)}"

    def factor(self) -> str:
        return self.bounded(1) if self.c.chance(70) else self.number_leaf()

    def divisor(self) -> str:
        return f"(1.5 + {self.c.pick(('wp.sin', 'wp.tanh'))}({self.number(1)}))"

    def update_part(self) -> list[Statement]:
        """Assign to a component of a vector or matrix, or to a member of a struct."""
        composite = {*LENGTHS, *SHAPES, *self.structs, "L"}
        variables = [v for v in self.context.variables if v.mutable and v.type in composite]
        if not variables:
            return self.declare_as(self.c.pick(("V3", "V2", *self.structs)))
        variable = self.c.pick(variables)
        target, type_ = self.part_of(variable.name, variable.type)
        return [self.assign_to(target, type_)]

    def part_of(self, name: str, type_: str) -> tuple[str, str]:
        """A part of a composite that can be assigned to, and its type."""
        if type_ in self.structs:
            member, member_type = self.c.pick(self.structs[type_])
            if member_type != "T" and member_type != "I" and self.c.chance(60):
                return self.part_of(f"{name}.{member}", member_type)
            return f"{name}.{member}", member_type
        if type_ in SHAPES and self.c.chance(20) and f"V{SHAPES[type_][1]}" in LENGTHS:
            return f"{name}[{self.index(SHAPES[type_][0])}]", f"V{SHAPES[type_][1]}"
        return name + self.component_index(type_), "T"

    def assign_to(self, target: str, type_: str) -> str:
        if type_ == "T" and self.c.chance(50):
            return f"{target} {self.update_number()}"
        return f"{target} = {self.value_to_assign(type_)}"

    def swap(self) -> list[Statement]:
        for type_ in ("T", "V3", "V2"):
            variables = self.context.of_type(type_, mutable=True)
            if len(variables) > 1:
                a = self.c.pick(variables)
                b = self.c.pick([v for v in variables if v is not a])
                return [f"{a.name}, {b.name} = {b.name}, {self.bounded(1) if type_ == 'T' else a.name}"]
        return self.declare_as("T")

    # Arrays.

    def local_array(self) -> list[Statement]:
        """Declare an array that is local to the thread."""
        name = self.new_name("w")
        self.context.variables.append(Variable(name, "L"))
        return [f"{name} = wp.zeros(shape={LOCAL}, dtype=T)"]

    def row(self) -> list[Statement]:
        """Declare a variable that stands for a row of an array, or for a whole array."""
        rows = [use for use in self.context.arrays if use.shape == ("N", "M") and (use.mode, use.map) in ((READ, ""), (OWN, "row"))]
        if not rows:
            return self.declare_as("T")
        use = self.c.pick(rows)
        name = self.new_name("a")
        if use.mode == READ:
            self.context.rows.append(ArrayUse(name, use.element, ("M",), READ))
            return [f"{name} = {use.name}[{self.index_below('N', use, 0)}]"]
        self.context.rows.append(ArrayUse(name, use.element, ("M",), OWN, "any"))
        return [f"{name} = {use.name}[{self.context.lanes[0]}]"]

    def write_array(self) -> list[Statement]:
        """Write an element that the thread owns, or a part of it."""
        element = self.c.weighted(((40, "T"), (14, "V3"), (8, "V2"), (4, "M22"), *((10, name) for name in self.structs)))
        use = self.owned(element)
        if use is None:
            return self.update()
        target = f"{use.name}[{self.own_place(use)}]"
        kind = self.c.weighted(((30, "assign"), (30, "part"), (12, "atomic"), (12, "add")))
        if kind == "part" and element != "T":
            part, type_ = self.part_of(target, element)
            return [self.assign_to(part, type_)]
        if kind == "atomic" and element == "T":
            return self.used_atomic(use)
        if kind == "add" and element in LENGTHS:
            return [f"{target} {self.c.pick(('+=', '-='))} {self.vector(element, 1)}"]
        return [self.assign_to(target, element)]

    def used_atomic(self, use: ArrayUse) -> list[Statement]:
        """An atomic on an own element, whose result decides something; it has no derivative."""
        name = self.new_name("b")
        call = f"wp.atomic_{self.c.pick(('add', 'sub'))}({use.name}, {self.own_place(use)}, {self.bounded(1)})"
        self.context.variables.append(Variable(name, "B"))
        return [f"{name} = {call} > {self.c.pick((0.3, 0.8))}"]

    def count_up(self) -> list[Statement]:
        """Change an own element of an array of ints, and use what was there."""
        use = self.owned("I")
        if use is None:
            return self.update()
        place = self.own_place(use)
        if self.c.chance(30):
            return [f"{use.name}[{place}] = ({self.whole(1)}) % 5"]
        name = self.new_name("k")
        value = {"add": str(1 + self.c.integer(2)), "max": self.whole(1), "min": self.whole(1), "exch": f"({self.whole(1)}) % 4"}
        kind = self.c.pick(list(value))
        self.context.variables.append(Variable(name, "I"))
        return [f"{name} = wp.atomic_{kind}({use.name}, {place}, {value[kind]})"]

    def accumulate_shared(self) -> list[Statement]:
        """Add to an element that other threads add to as well, or take a slot of an array by a counter."""
        kind = self.c.weighted(((50, "shared"), (20, "slot"), (15, "count")))
        if kind != "shared":
            return self.take_slot() if kind == "slot" else self.count_up()
        mode = self.c.weighted(((70, ADD), (8, MIN), (8, MAX)))
        use = self.shared(mode)
        place = self.place(use)
        value = self.value_to_assign(use.element)
        if mode == ADD:
            form = self.c.pick(("wp.atomic_add({u}, {p}, {v})", "{u}[{p}] += {v}", "wp.atomic_sub({u}, {p}, {v})", "{u}[{p}] -= {v}"))
            if use.element in LENGTHS and self.c.chance(30):
                component, value = self.component_index(use.element), self.value_to_assign("T")
                form = "{u}[{p}]" + component + self.c.pick((" += {v}", " -= {v}"))
        else:
            form = f"wp.atomic_{mode}({{u}}, {{p}}, {{v}})"
        return [form.format(u=use.name, p=place, v=value)]

    def take_slot(self) -> list[Statement]:
        counters = [use for use in self.context.arrays if use.content == COUNTER]
        counter = counters[0] if counters else self.new_array("I", ("1",), SLOT, content=COUNTER)
        name = self.new_name("k")
        slots = self.new_array(self.c.pick(("T", "V2")), ("D",), SLOT, map_=counter.name)
        body: list[Statement] = [f"{slots.name}[{name}] = {self.value_to_assign(slots.element)}"]
        if self.c.chance(30) and slots.element == "T":
            body.append(f"{slots.name}[{name}] *= {self.factor()}")
        return [
            f"{name} = wp.atomic_add({counter.name}, 0, {1 + self.c.integer(2)})",
            Compound(f"if {name} < {slots.name}.shape[0]:", body),
        ]

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
        parts = {"{whole}": lambda: self.whole(1), "{limit}": self.whole_limit, "{extent}": lambda: self.extent(below)}
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
        found = [f for f in self.callables if self.callable_here(f)]
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
