"""Random statements about variables: declarations, updates in place, components, members, swaps."""

from __future__ import annotations

from tests.fuzz.context import Variable
from tests.fuzz.expressions import LENGTHS, SHAPES, Expressions
from tests.fuzz.program import Statement


class VariableStatements(Expressions):
    """Writes statements that declare and change variables."""

    def declare(self) -> list[Statement]:
        type_ = self.c.weighted((
            (40, "T"), (10, "I"), (4, "B"), (14, "V3"), (8, "V2"), (4, "V4"), (2, "V40"), (6, "M22"), (3, "M33"),
            (3, "M23"),
            *((8, name) for name in self.structs),
        ))  # fmt: skip
        return self.declare_as("T" if type_ == "B" and self.context.is_smooth else type_)

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
