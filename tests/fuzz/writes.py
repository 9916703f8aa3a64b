"""Random statements about arrays: local ones, rows, writes of own elements, sums over threads, slots from counters."""

from __future__ import annotations

from tests.fuzz.context import ADD, COUNTER, MAX, MIN, OWN, READ, SLOT, ArrayUse, Shape, Variable
from tests.fuzz.expressions import LENGTHS, LOCAL
from tests.fuzz.program import Compound, Statement
from tests.fuzz.variables import VariableStatements

_SUMS = ("wp.atomic_add({u}, {p}, {v})", "{u}[{p}] += {v}", "wp.atomic_sub({u}, {p}, {v})", "{u}[{p}] -= {v}")


class ArrayStatements(VariableStatements):
    """Writes statements that write to arrays."""

    def local_array(self) -> list[Statement]:
        """Declare an array that is local to the thread."""
        name = self.new_name("w")
        self.context.variables.append(Variable(name, "L"))
        return [f"{name} = wp.zeros(shape={LOCAL}, dtype=T)"]

    def row(self) -> list[Statement]:
        """Declare a variable that stands for a row of an array, for another part of it, or for all of it."""
        known = [use for use in self.context.arrays if use.mode in (READ, OWN) and not use.content]
        if not known:
            return self.declare_as("T")
        use = self.c.pick(known)
        index, shape, map_ = self.part_of_array(use)
        name = self.new_name("a")
        self.context.rows.append(ArrayUse(name, use.element, shape, use.mode, map_))
        return [f"{name} = {use.name}{index}"]

    def part_of_array(self, use: ArrayUse) -> tuple[str, Shape, str]:
        """The index of a view, its shape, and which elements of it the thread owns."""
        if use.map == "row":
            return self.c.pick(((f"[{self.context.lanes[0]}]", ("M",), "all"), ("", use.shape, "row")))
        if use.map not in ("", "all"):
            return "", use.shape, use.map
        options: tuple[tuple[str, Shape], ...]
        if len(use.shape) == 1:
            options = (("", use.shape), ("[0:2]", ("2",)), ("[1:]", ("1",)))
        else:
            row = f"[{self.index_below('N', use, 0)}]"
            options = ((row, ("M",)), ("", use.shape), ("[0:2, 1]", ("2",)), (f"{row[:-1]}, 0:2]", ("2",)))
        index, shape = self.c.pick(options)
        return index, shape, use.map

    def swap_arrays(self) -> list[Statement]:
        """Let two variables that stand for arrays change places, or one stand for what another stands for."""
        rows = self.context.rows
        pairs = [(a, b) for a in rows for b in rows if a.name != b.name and a.fits(b)]
        if not pairs:
            return self.row()
        a, b = self.c.pick(pairs)
        if self.c.chance(60):
            return [f"{a.name}, {b.name} = {b.name}, {a.name}"]
        return [Compound(f"if {self.condition(1)}:", [f"{a.name} = {b.name}"])]

    def write_array(self) -> list[Statement]:
        """Write an element that the thread owns, or a part of it."""
        structs = [(10, name) for name in self.structs]
        element = self.c.weighted([(40, "T"), (14, "V3"), (8, "V2"), (4, "M22"), *structs])
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
        kind = self.c.pick(("add", "max", "min", "exch"))
        value = str(1 + self.c.integer(2)) if kind == "add" else f"({self.whole(1)}) % 4"
        self.context.variables.append(Variable(name, "I"))
        return [f"{name} = wp.atomic_{kind}({use.name}, {place}, {value})"]

    def accumulate_shared(self) -> list[Statement]:
        """Add to an element that other threads add to as well, or take a slot of an array by a counter."""
        kind = self.c.weighted(((50, "shared"), (20, "slot"), (15, "count")))
        if kind != "shared":
            return self.take_slot() if kind == "slot" else self.count_up()
        mode = self.c.weighted(((70, ADD), (8, MIN), (8, MAX)))
        use = self.shared(mode)
        place = self.place(use)
        if mode != ADD:
            return [f"wp.atomic_{mode}({use.name}, {place}, {self.value_to_assign('T')})"]
        if use.element in self.structs or (use.element != "T" and self.c.chance(30)):
            part, type_ = self.part_of(f"{use.name}[{place}]", use.element)
            if type_ in self.structs:
                return self.declare()
            operator = "+=" if type_ == "I" else self.c.pick(("+=", "-="))
            return [f"{part} {operator} {self.value_to_assign(type_)}"]
        return [self.c.pick(_SUMS).format(u=use.name, p=place, v=self.value_to_assign(use.element))]

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
