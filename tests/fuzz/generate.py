"""Makes whole random programs: structs, functions, kernels, and a host program of launches, copies and fills.

A program keeps the contract of kernels: what a thread reads, no other thread of the launch writes, except through
atomics whose order does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.fuzz.choices import Choices
from tests.fuzz.context import ADD, OWN, READ, ArrayUse, Context, Routine, Variable
from tests.fuzz.host import HostProgram, Kernel
from tests.fuzz.program import Compound, Function, Program, Statement, StructType
from tests.fuzz.statements import Statements

MEMBER_TYPES = ("T", "T", "V3", "V2", "I", "M22")
ANNOTATIONS = {"I": "int", "B": "bool"}


@dataclass(frozen=True)
class Custom:
    """A function of ``x`` and ``y`` with derivatives times ``g``."""

    takes: tuple[str, ...]
    value: str
    gradient: tuple[str, ...]
    has_replay: bool = False


_CUSTOM = (
    Custom(("T", "T"), "x * wp.sin(y)", ("g * wp.sin(y)", "g * x * wp.cos(y)")),
    Custom(("T",), "wp.exp(wp.sin(x))", ("g * wp.cos(x) * wp.exp(wp.sin(x))",), True),
    Custom(("V3", "T"), "wp.dot(x, x) * 0.3 + y", ("x * (0.6 * g)", "g")),
    Custom(("T", "V3"), "wp.tanh(x) * y[1]", (), True),
)


class Generator(Statements):
    """Writes one program."""

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self.program = Program()
        self.kernels: list[Kernel] = []

    def generate(self) -> Program:
        n = 19 if self.c.chance(12) else 2 + self.c.integer(3)
        self.sizes = {"N": n, "M": 2 + self.c.integer(3), "1": 1}
        self.sizes["D"] = 2 * self.sizes["N"]
        options: tuple[tuple[int, dict[str, Any]], ...] = (
            (60, {}),
            (15, {"max_unroll": 0}),
            (15, {"max_unroll": 3}),
            (10, {"mode": "debug"}),
        )
        self.program.options = self.c.weighted(options)
        for _ in range(self.c.weighted(((60, 0), (30, 1), (10, 2)))):
            self.make_struct()
        functions = ((70, self.make_function), (15, self.make_smooth_function), (15, self.make_custom_function))
        for _ in range(self.c.weighted(((40, 0), (30, 1), (20, 2), (10, 3)))):
            self.c.weighted(functions)()
        for _ in range(1 + self.c.weighted(((50, 0), (35, 1), (15, 2)))):
            self.make_kernel()
        host = HostProgram(self.c, self.sizes, self.kernels, self.structs)
        self.program.actions = host.actions()
        self.program.arrays = host.arrays
        return self.program

    def make_struct(self) -> None:
        name = f"S{len(self.structs)}"
        types = [*MEMBER_TYPES, *self.structs]
        members = [(f"m{k}", "T" if k == 0 else self.c.pick(types)) for k in range(1 + self.c.integer(4))]
        self.program.structs.append(StructType(name, [(m, ANNOTATIONS.get(t, t)) for m, t in members]))
        self.structs[name] = members

    # Functions and kernels.

    def make_function(self) -> None:
        name = self.new_name("f")
        lanes = self.c.weighted(((60, 0), (30, 1), (10, 2)))
        types = ("T", "T", "T", "V3", "V2", "I", "M22", *self.structs)
        takes = [self.c.pick(types) for _ in range(1 + self.c.integer(3))]
        few = 1 if self.c.chance(60) else 2 + self.c.integer(2)
        gives = [self.c.pick(types) for _ in range(few)]
        if self.c.chance(35):
            gives = ["T"] * few
        single = lanes == 0 and self.c.chance(25)
        self.context = Context(False, ["i", "j"][:lanes], gives, is_single=single, favour=self.favour())
        self.add_lanes(lanes)
        parameters = [(lane, "int") for lane in self.context.lanes]
        for type_ in takes:
            parameter = self.new_name("p")
            parameters.append((parameter, ANNOTATIONS.get(type_, type_)))
            self.context.variables.append(Variable(parameter, type_, mutable=type_ not in self.structs))
        self.left = 3 + self.c.integer(8)
        body = self.block(6)
        body.append(self.return_statement())
        optional = ""
        if takes[-1] == "T" and not self.context.arrays and self.c.chance(20):
            optional = parameters[-1][0]
            parameters[-1] = (optional, "T = T(0.6)")
        elif self.c.chance(10):
            parameters = [(p, "Any" if type_ not in ("int", "bool") else type_) for p, type_ in parameters]
        parameters += [(use.name, annotation(use)) for use in self.context.arrays]
        self.program.functions.append(Function("@wp.func", name, parameters, body))
        cost = self.context.cost + 2
        arrays = list(self.context.arrays)
        self.routines.append(Routine(name, takes, gives, lanes, arrays, cost, optional, is_single=single))

    def make_smooth_function(self) -> None:
        """A function whose own gradient can be asked for, by ``wp.grad``."""
        name = self.new_name("f")
        takes = ["T", *(self.c.pick(("T", "V3")) for _ in range(1 + self.c.integer(2)))]
        self.context = Context(False, [], ["T"], is_smooth=True)
        names = [self.new_name("p") for _ in takes]
        self.context.variables = [Variable(p, type_) for p, type_ in zip(names, takes)]
        self.left = 1 + self.c.integer(5)
        body = [*self.block(4), f"return {self.bounded(2)}"]
        self.program.functions.append(Function("@wp.func", name, list(zip(names, takes)), body))
        self.routines.append(Routine(name, takes, ["T"], 0, [], self.context.cost + 2, is_smooth=True))

    def make_custom_function(self) -> None:
        """A function with a derivative of the user's, which is the right one; for its replay as well."""
        name = self.new_name("f")
        custom = self.c.pick(_CUSTOM)
        parameters = list(zip(("x", "y"), custom.takes))
        self.program.functions.append(Function("@wp.func", name, parameters, [f"return {custom.value}"]))
        if custom.gradient:
            body: list[Statement] = [f"wp.adjoint[{x}] += {g}" for (x, _), g in zip(parameters, custom.gradient)]
            function = Function(f"@wp.func_grad({name})", f"{name}_gradient", [*parameters, ("g", "T")], body)
            self.program.functions.append(function)
        if custom.has_replay:
            function = Function(f"@wp.func_replay({name})", f"{name}_replay", parameters, [f"return {custom.value}"])
            self.program.functions.append(function)
        self.routines.append(Routine(name, custom.takes, ["T"], 0, [], 2, is_smooth=True))

    def favour(self) -> str:
        return self.c.weighted(((50, ""), (30, "memory"), (20, "control")))

    def add_lanes(self, lanes: int) -> None:
        for lane, below in zip(self.context.lanes, ("N", "M")):
            self.context.variables.append(Variable(lane, "I", mutable=False, below=below))

    def make_kernel(self) -> None:
        name = self.new_name("k")
        lanes = self.c.weighted(((75, 1), (25, 2)))
        single = lanes == 1 and self.c.chance(25)
        self.context = Context(True, ["i", "j"][:lanes], is_single=single, favour=self.favour())
        self.add_lanes(lanes)
        scalars = self.c.weighted(((50, 1), (20, 2), (30, 0)))
        numbers = [self.new_name("n") for _ in range(scalars)]
        self.context.variables += [Variable(n, "I", mutable=False) for n in numbers]
        self.left = 4 + self.c.integer(14)
        body: list[Statement] = [f"{', '.join(self.context.lanes)} = wp.tid()"]
        body += self.declare_as("T")
        body += self.block(10)
        body += self.final_write()
        self.finish_kernel(name, body, numbers)

    def finish_kernel(self, name: str, body: list[Statement], numbers: list[str]) -> None:
        """Give a kernel its parameters: the arrays that its body uses, some of them perhaps in a struct, and ints."""
        uses = self.context.arrays
        bundle, bundled = "", []
        if self.c.chance(15):
            bundled = [use for use in uses if use.mode in (READ, OWN, ADD) and self.c.chance(50)]
        rest = [use for use in uses if use not in bundled]
        parameters = [(use.name, annotation(use)) for use in rest] + [(n, "int") for n in numbers]
        if bundled:
            bundle = self.new_name("Arrays")
            self.program.structs.append(StructType(bundle, [(use.name, annotation(use)) for use in bundled]))
            parameters.insert(0, ("q", bundle))
            body = [rename(statement, bundled) for statement in body]
        self.program.functions.append(Function("@wp.kernel", name, parameters, body))
        self.kernels.append(
            Kernel(name, len(self.context.lanes), rest, len(numbers), bundle, bundled, self.context.is_single)
        )

    def final_write(self) -> list[Statement]:
        """What makes the variables of a kernel matter: a write of a sum of some of them."""
        use = self.owned("T")
        assert use is not None
        numbers = self.context.of_type("T")[-4:]
        total = " + ".join([v.name for v in numbers] or ["T(1.0)"])
        others = [v for v in self.context.variables if v.type in ("V2", "V3", "V4")][-2:]
        total += "".join(f" + 0.5 * {v.name}[1]" for v in others)
        return [f"{use.name}[{self.own_place(use)}] {self.c.pick(('=', '+='))} {total}"]


def annotation(use: ArrayUse) -> str:
    kind = {1: "array", 2: "array2d", 3: "array3d"}[len(use.shape)]
    return f"wp.{kind}(dtype={ANNOTATIONS.get(use.element, use.element)})"


def rename(statement: Statement, bundled: list[ArrayUse]) -> Statement:
    """Arrays that are members of a struct get its name in front."""
    if isinstance(statement, Compound):
        return Compound(rename_text(statement.header, bundled), [rename(s, bundled) for s in statement.body])
    return rename_text(statement, bundled)


def rename_text(text: str, bundled: list[ArrayUse]) -> str:
    for use in bundled:
        text = re.sub(rf"\b{use.name}\b", f"q.{use.name}", text)
    return text


def generate(choices: Callable[[int], int]) -> Program:
    """A program from a function that gives a number in ``range(n)``."""
    return Generator(Choices(choices)).generate()
