"""Makes whole random programs: structs, functions, kernels, and a host program of launches, copies and fills.

A program keeps the contract of kernels: what a thread reads, no other thread of the launch writes, except through
atomics whose order does not matter.
"""

from __future__ import annotations

from collections.abc import Callable as Maker
from dataclasses import dataclass, field

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
    Callable,
    Context,
    Shape,
    Variable,
)
from tests.fuzz.program import ArrayValue, Compound, Function, Program, Statement, StructType
from tests.fuzz.statements import Statements

MEMBER_TYPES = ("T", "T", "V3", "V2", "I", "M22")
ANNOTATIONS = {"I": "int", "B": "bool"}


@dataclass
class Kernel:
    """A generated kernel: ``scalars`` are the names of its int parameters, ``members`` arrays that come in a struct."""

    name: str
    lanes: int
    arrays: list[ArrayUse]
    scalars: int
    bundle: str = ""
    bundled: list[ArrayUse] = field(default_factory=list)


@dataclass
class Reference:
    """An array or a view on the host: its text, and which elements of which array it has, in order."""

    text: str
    base: str
    elements: tuple[int, ...]

    def overlaps(self, other: Reference) -> bool:
        return self.base == other.base and not set(self.elements).isdisjoint(other.elements)


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
        self.program.options = self.c.weighted(((60, {}), (15, {"max_unroll": 0}), (15, {"max_unroll": 3}), (10, {"mode": "debug"})))
        for _ in range(self.c.weighted(((60, 0), (30, 1), (10, 2)))):
            self.make_struct()
        for _ in range(self.c.weighted(((40, 0), (30, 1), (20, 2), (10, 3)))):
            self.c.weighted(((70, self.make_function), (15, self.make_smooth_function), (15, self.make_custom_function)))()
        for _ in range(1 + self.c.weighted(((50, 0), (35, 1), (15, 2)))):
            self.make_kernel()
        self.program.actions = HostProgram(self).actions()
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
        self.context = Context(False, ["i", "j"][:lanes], gives)
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
        self.callables.append(Callable(name, takes, gives, lanes, list(self.context.arrays), cost, optional))

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
        self.callables.append(Callable(name, takes, ["T"], 0, [], self.context.cost + 2, is_smooth=True))

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
        self.callables.append(Callable(name, custom.takes, ["T"], 0, [], 2, is_smooth=True))

    def add_lanes(self, lanes: int) -> None:
        for lane, below in zip(self.context.lanes, ("N", "M")):
            self.context.variables.append(Variable(lane, "I", mutable=False, below=below))

    def make_kernel(self) -> None:
        name = self.new_name("k")
        lanes = self.c.weighted(((75, 1), (25, 2)))
        self.context = Context(True, ["i", "j"][:lanes])
        self.add_lanes(lanes)
        scalars = self.c.weighted(((50, 1), (20, 2), (30, 0)))
        numbers = [self.new_name("n") for _ in range(scalars)]
        self.context.variables += [Variable(n, "I", mutable=False) for n in numbers]
        self.left = 4 + self.c.integer(14)
        body: list[Statement] = [f"{', '.join(self.context.lanes)} = wp.tid()"]
        body += self.declare_as("T")
        body += self.block(10)
        body += self.final_write()
        uses = list(self.context.arrays)
        bundled: list[ArrayUse] = []
        bundle = ""
        if self.c.chance(15):
            bundled = [use for use in uses if use.mode in (READ, OWN, ADD) and self.c.chance(50)]
        parameters = [(use.name, annotation(use)) for use in uses if use not in bundled]
        if bundled:
            bundle = self.new_name("Arrays")
            self.program.structs.append(StructType(bundle, [(use.name, annotation(use)) for use in bundled]))
            parameters.insert(0, ("q", bundle))
            body = [rename(statement, bundled) for statement in body]
        parameters += [(n, "int") for n in numbers]
        self.program.functions.append(Function("@wp.kernel", name, parameters, body))
        rest = [use for use in uses if use not in bundled]
        self.kernels.append(Kernel(name, lanes, rest, scalars, bundle, bundled))

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
    import re

    for use in bundled:
        text = re.sub(rf"\b{use.name}\b", f"q.{use.name}", text)
    return text


class HostProgram:
    """Writes the host part of a program: arrays, and what happens to them."""

    def __init__(self, generator: Generator) -> None:
        self.c = generator.c
        self.generator = generator
        self.sizes = generator.sizes
        self.program = generator.program
        self.shapes: dict[str, tuple[str, Shape]] = {}
        self.contents: dict[str, str] = {}
        self.bound: dict[str, dict[str, Reference]] = {}
        self.rng = np.random.default_rng(self.c.integer(1000))

    def actions(self) -> list[Statement]:
        statements: list[Statement] = []
        for kernel in self.generator.kernels:
            statements += self.launch(kernel)
        for _ in range(self.c.integer(4)):
            statements += self.c.weighted(((50, self.another_launch), (20, self.copy), (12, self.fill), (10, self.swap), (8, self.clone)))()
        if self.c.chance(25):
            return [Compound(f"for step in range({2 + self.c.integer(2)}):", statements)]
        return statements

    def another_launch(self) -> list[Statement]:
        return self.launch(self.c.pick(self.generator.kernels))

    # Launches.

    def launch(self, kernel: Kernel) -> list[Statement]:
        chosen: list[tuple[ArrayUse, Reference]] = []
        for use in [*kernel.bundled, *kernel.arrays]:
            chosen.append((use, self.argument(use, chosen)))
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
        found = []
        for name, (element, shape) in self.shapes.items():
            if element == use.element and self.contents[name] == use.content:
                found += [r for r in self.views(name, shape, use.shape)]
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
        name = self.generator.new_name("x" if use.element != "I" else "c")
        extents = tuple(self.sizes[e] for e in shape)
        self.shapes[name] = (use.element, shape)
        self.contents[name] = use.content
        self.program.arrays.append(self.value(name, use, extents))
        return self.c.pick(self.views(name, shape, use.shape))

    def value(self, name: str, use: ArrayUse, extents: tuple[int, ...]) -> ArrayValue:
        size = int(np.prod(extents))
        if use.element == "I":
            n = self.sizes["N"]
            values = {
                INDEX: lambda: self.rng.integers(0, n, size),
                LIMIT: lambda: self.rng.integers(0, 5, size),
                PERMUTATION: lambda: self.rng.permutation(size),
                TALLY: lambda: self.rng.integers(0, 3, size),
                COUNTER: lambda: np.zeros(size, int),
            }[use.content]()
            return ArrayValue(name, f"wp.array({values.reshape(extents).tolist()}, dtype=int)", [])
        shape = extents if len(extents) > 1 else extents[0]
        writable = use.mode != READ or self.c.chance(85)
        expression = f"wp.zeros({shape}, dtype={use.element}, requires_grad={writable})"
        if not writable:
            self.contents[name] = "constant"
        floats = self.rng.uniform(0.2, 1.4, size * self.width(use.element)) * self.rng.choice((1, 1, 1, -1), size * self.width(use.element))
        return ArrayValue(name, expression, [round(float(f), 2) + 0.003 * (k % 3) for k, f in enumerate(floats)])

    def width(self, type_: str) -> int:
        """The number of floats in a value of that type."""
        if type_ in self.generator.structs:
            return sum(self.width(member) for _, member in self.generator.structs[type_])
        return {"T": 1, "I": 0, "B": 0, "V2": 2, "V3": 3, "V4": 4, "M22": 4, "M23": 6, "M32": 6, "M33": 9}[type_]

    # Other actions.

    def copy(self) -> list[Statement]:
        pairs = [(a, b) for a in self.differentiated() for b in self.shapes if a != b and self.shapes[a] == self.shapes[b] and b in self.differentiated()]
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
        name = self.generator.new_name("t")
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


def generate(choices: Maker[[int], int]) -> Program:
    """A program from a function that gives a number in ``range(n)``."""
    return Generator(Choices(choices)).generate()
