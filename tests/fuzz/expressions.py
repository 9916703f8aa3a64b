"""Random expressions of every type, as text. Floats are kept in a range by preferring bounded functions."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.choices import Choices
from tests.fuzz.context import ADD, INDEX, LIMIT, OWN, PERMUTATION, READ, TALLY, ArrayUse, Context, Routine, Shape

LENGTHS = {"V2": 2, "V3": 3, "V4": 4, "V40": 40}
SHAPES = {"M22": (2, 2), "M23": (2, 3), "M32": (3, 2), "M33": (3, 3)}
LOCAL = 5
"""Elements of a local array."""
SMALL_VECTORS = ("V2", "V3", "V4")

_UNARY: tuple[str, ...] = (
    "wp.sin({})", "wp.cos({})", "wp.tanh({})", "-{}", "0.5 * {}", "wp.exp(wp.sin({}))", "wp.sqrt(1.5 + wp.sin({}))",
    "wp.log(1.5 + wp.cos({}))", "1.0 / (2.0 + wp.sin({}))", "wp.atan({})", "wp.asin(T(0.9) * wp.sin({}))", "wp.erf({})",
    "wp.sin({}) ** 2.0", "wp.tanh({}) ** 3.0",
)  # fmt: skip
_UNARY_WITH_KINKS = ("wp.abs({})", "wp.clamp({}, T(-1.0), T(1.0))", "wp.smoothstep(T(-1.0), T(2.0), {})")
_BINARY: tuple[str, ...] = (
    "{} + {}", "{} - {}", "{} * {}", "{} / (2.0 + wp.sin({}))", "wp.sin({}) * {}",
    "wp.atan2({}, 1.5 + wp.sin({}))", "wp.pow(1.5 + wp.sin({}), wp.tanh({}))", "wp.lerp({}, {}, T(0.3))",
)  # fmt: skip
_WHOLE = ("{} + {}", "{} * 2 + {}", "{} // 2 + {}", "wp.min({}, {})", "wp.max({}, {})", "{} % 3 + {}", "cast")
_CONDITIONS = (
    (30, "less"), (15, "greater"), (20, "whole"), (10, "chained"), (15, "joined"), (8, "variable"), (5, "not"),
)  # fmt: skip
_BINARY_WITH_KINKS = ("wp.min({}, {})", "wp.max({}, {})")


class Expressions:
    """Writes expressions for ``context``. ``structs``: the members of each struct type by name."""

    def __init__(self, choices: Choices) -> None:
        self.c = choices
        self.context = Context(True, ["i"])
        self.structs: dict[str, list[tuple[str, str]]] = {}
        self.routines: list[Routine] = []
        self.names: dict[str, int] = {}

    def new_name(self, prefix: str) -> str:
        number = self.names[prefix] = self.names.get(prefix, -1) + 1
        return f"{prefix}{number}"

    def expression(self, type_: str, depth: int) -> str:
        """An expression of a type, without effects."""
        if type_ == "T":
            return self.number(depth)
        if type_ == "I":
            return self.whole(depth)
        if type_ == "B":
            return self.condition(depth)
        if type_ in LENGTHS:
            return self.vector(type_, depth)
        if type_ in SHAPES:
            return self.matrix(type_, depth)
        return self.struct(type_, depth)

    # Floats.

    def number(self, depth: int) -> str:
        if depth <= 0 or self.c.chance(20):
            return self.number_leaf()
        smooth = self.context.is_smooth
        kinds = [(30, "unary"), (40, "binary"), (8, "call"), (5, "vector"), (4, "matrix")]
        if not smooth:
            kinds += [(6, "where"), (5, "choice"), (3, "gradient"), (2, "whole")]
        kind = self.c.weighted(kinds)
        if kind == "unary":
            forms = _UNARY if smooth else _UNARY + _UNARY_WITH_KINKS
            return f"({self.c.pick(forms).format(self.number(depth - 1))})"
        if kind == "binary":
            forms = _BINARY if smooth else _BINARY + _BINARY_WITH_KINKS
            return f"({self.c.pick(forms).format(self.number(depth - 1), self.number(depth - 1))})"
        if kind == "gradient":
            return self.gradient(depth) or self.number(depth - 1)
        if kind == "where":
            return f"wp.where({self.condition(1)}, {self.number(depth - 1)}, {self.number(depth - 1)})"
        if kind == "choice":
            return f"({self.number(depth - 1)} if {self.condition(1)} else {self.number(depth - 1)})"
        if kind == "call":
            return self.call("T", depth) or self.number(depth - 1)
        if kind == "vector":
            return self.from_vector(depth)
        if kind == "matrix":
            type_ = self.c.pick(("M22", "M33"))
            return f"wp.{self.c.pick(('trace', 'determinant'))}({self.matrix(type_, depth - 1)})"
        return f"T({self.whole(1)})"

    def bounded(self, depth: int) -> str:
        """A float that is small whatever its operands are."""
        form = self.c.pick(("wp.sin({})", "wp.tanh({})", "wp.cos({})", "1.0 / (2.0 + wp.sin({}))", "0.7 * wp.sin({})"))
        return form.format(self.number(depth))

    def number_leaf(self) -> str:
        kind = self.c.weighted(((50, "variable"), (25, "array"), (12, "component"), (8, "member"), (10, "constant")))
        if kind == "array":
            found = self.array_read("T")
            if found:
                return found
        if kind == "component":
            found = self.component()
            if found:
                return found
        if kind == "member":
            found = self.member("T")
            if found:
                return found
        variables = self.context.of_type("T")
        if variables and kind != "constant":
            return self.c.pick(variables).name
        return self.c.pick(("T(0.5)", "T(1.25)", "T(-0.75)", "T(0.3)"))

    def from_vector(self, depth: int) -> str:
        type_ = self.c.pick(SMALL_VECTORS)
        kinds = ("dot", "length_sq", "component", "length", "min", "max")
        kind = self.c.pick(kinds[:3] if self.context.is_smooth else kinds)
        if kind == "dot":
            return f"wp.dot({self.vector(type_, depth - 1)}, {self.vector(type_, depth - 1)})"
        if kind == "component":
            return f"({self.vector(type_, depth - 1)})[{self.index(LENGTHS[type_])}]"
        return f"wp.{kind}({self.vector(type_, depth - 1)})"

    def component(self) -> str | None:
        """A component of a vector or matrix variable."""
        variables = [v for v in self.context.variables if v.type in LENGTHS or v.type in SHAPES or v.type == "L"]
        if not variables:
            return None
        variable = self.c.pick(variables)
        return f"{variable.name}{self.component_index(variable.type)}"

    def component_index(self, type_: str) -> str:
        """``[0]``, ``.x``, ``[j % 3]``, ``[0, 1]``; ``L`` is a local array."""
        if type_ == "L":
            return f"[{self.index(LOCAL)}]"
        if type_ in SHAPES:
            rows, columns = SHAPES[type_]
            return f"[{self.index(rows)}, {self.index(columns)}]"
        length = LENGTHS[type_]
        if length <= 4 and self.c.chance(30):
            return "." + self.c.pick("xyzw"[:length])
        return f"[{self.index(length)}]"

    def index(self, extent: int) -> str:
        """An index below ``extent``: a constant, or an expression that is only known at run time."""
        if self.c.chance(45):
            return f"({self.whole(1)}) % {extent}"
        return str(self.c.integer(min(extent, 4)))

    def member(self, type_: str) -> str | None:
        """A member of a struct variable, of the given type."""
        found = [
            f"{v.name}.{name}"
            for v in self.context.variables
            if v.type in self.structs
            for name, member in self.structs[v.type]
            if member == type_
        ]
        return self.c.pick(found) if found else None

    # Vectors, matrices, structs.

    def vector(self, type_: str, depth: int) -> str:
        if depth <= 0 or self.c.chance(25):
            return self.composite_leaf(type_)
        forms = ["{v} + {v}", "{v} - {v}", "{v} * {t}", "{t} * {v}", "-{v}"]
        forms += ["{v} / (2.0 + wp.sin({t}))", "wp.cw_mul({v}, {v})"]
        if not self.context.is_smooth:
            forms += ["wp.min({v}, {v})", "wp.where({b}, {v}, {v})", "wp.normalize({v})"]
        if type_ in ("V2", "V3"):
            forms += ["{m} * {v}", "{m} @ {v}", "{m}[{k}]", "wp.get_diag({m})"]
        if type_ == "V3":
            forms.append("wp.cross({v}, {v})")
        if type_ == "V40":
            forms = forms[:4]
        if self.c.chance(10):
            found = self.call(type_, depth)
            if found:
                return found
        return f"({self.fill(self.c.pick(forms), type_, depth - 1)})"

    def matrix(self, type_: str, depth: int) -> str:
        if depth <= 0 or self.c.chance(25):
            return self.composite_leaf(type_)
        forms = ["{m} + {m}", "{m} - {m}", "{m} * {t}", "{t} * {m}", "-{m}"]
        if type_ in ("M22", "M33"):
            forms += ["{m} * {m}", "wp.transpose({m})", "wp.outer({v}, {v})", "wp.diag({v})", "{m} @ {m}"]
        return f"({self.fill(self.c.pick(forms), type_, depth - 1)})"

    def fill(self, form: str, type_: str, depth: int) -> str:
        """Put expressions in a form.

        ``t`` is a float, ``v`` and ``m`` a vector and a matrix that go with ``type_``, ``k`` an index, ``b`` a
        condition.
        """
        size = type_[1:2]
        vector = type_ if type_ in LENGTHS else f"V{size}"
        matrix = type_ if type_ in SHAPES else f"M{size}{size}"
        parts: dict[str, Callable[[], str]] = {
            "t": lambda: self.number(depth),
            "v": lambda: self.vector(vector, depth),
            "m": lambda: self.matrix(matrix, depth),
            "k": lambda: self.index(int(size)),
            "b": lambda: self.condition(1),
        }
        text = form
        for letter, make in parts.items():
            while "{" + letter + "}" in text:
                text = text.replace("{" + letter + "}", make(), 1)
        return text

    def composite_leaf(self, type_: str) -> str:
        kind = self.c.weighted(((60, "variable"), (20, "array"), (15, "member"), (20, "new")))
        if kind == "array" and type_ != "V40":
            found = self.array_read(type_)
            if found:
                return found
        if kind == "member":
            found = self.member(type_)
            if found:
                return found
        variables = self.context.of_type(type_)
        if variables and kind != "new":
            return self.c.pick(variables).name
        if type_ == "V40":
            return f"V40({self.number_leaf()})"
        size = LENGTHS.get(type_) or SHAPES[type_][0] * SHAPES[type_][1]
        if size > 4 and variables:
            return self.c.pick(variables).name
        return f"{type_}({', '.join(self.number_leaf() for _ in range(size))})"

    def struct(self, type_: str, depth: int) -> str:
        variables = self.context.of_type(type_)
        kind = self.c.weighted(((60, "variable"), (25, "array"), (20, "new"), (15, "call")))
        if kind == "array":
            found = self.array_read(type_)
            if found:
                return found
        if kind == "call":
            found = self.call(type_, depth)
            if found:
                return found
        if variables and kind != "new":
            return self.c.pick(variables).name
        members = [m for m in self.structs[type_] if self.c.chance(60)]
        return f"{type_}({', '.join(f'{name}={self.expression(member, 0)}' for name, member in members)})"

    # Ints and conditions. Ints are never negative, so that ``%`` means the same everywhere.

    def whole(self, depth: int) -> str:
        if depth <= 0 or self.c.chance(35):
            return self.whole_leaf()
        form = self.c.pick(_WHOLE)
        if form == "cast" and self.context.is_smooth:
            return "1"
        if form == "cast":
            return f"int(wp.abs({self.bounded(1)}) * 4.0)"
        return f"({form.format(self.whole(depth - 1), self.whole(depth - 1))})"

    def whole_leaf(self) -> str:
        kind = self.c.weighted(((60, "variable"), (20, "constant"), (15, "array"), (5, "extent")))
        variables = self.context.of_type("I")
        if variables and kind == "variable":
            return self.c.pick(variables).name
        if kind == "array":
            return self.array_read("I") or "2"
        if kind == "extent" and self.context.arrays:
            use = self.c.pick(self.context.arrays)
            return f"{use.name}.shape[{self.c.integer(len(use.shape))}]"
        return str(self.c.integer(4))

    def condition(self, depth: int) -> str:
        kind = self.c.weighted(_CONDITIONS)
        if depth > 0 and kind == "joined":
            return f"({self.condition(depth - 1)} {self.c.pick(('and', 'or'))} {self.condition(depth - 1)})"
        if depth > 0 and kind == "not":
            return f"(not {self.condition(depth - 1)})"
        if kind == "variable" and self.context.of_type("B"):
            return self.c.pick(self.context.of_type("B")).name
        if kind == "whole":
            form = self.c.pick(("{} % 2 == 0", "{} > 1", "{} <= {}", "{} != 1", "{} % 3 < 2"))
            return f"({form.format(self.whole(1), self.whole(1))})"
        if kind == "chained":
            return f"(-0.5 < {self.number(1)} < 0.9)"
        bound = self.number_leaf() if self.c.chance(40) else self.c.pick(("0.4", "0.0", "0.8", "-0.2"))
        return f"({self.number(1)} {'>' if kind == 'greater' else '<'} {bound})"

    # Arrays.

    def array_read(self, element: str) -> str | None:
        """A read of an array of that element type, or of a member or component of an array's elements."""
        use = self.readable(element)
        return f"{use.name}[{self.place(use)}]" if use else None

    def readable(self, element: str) -> ArrayUse | None:
        """An array that a thread may read: one that there is, or a new one."""
        if self.context.is_smooth:
            return None
        known = [*self.context.arrays, *self.context.rows]
        uses = [use for use in known if use.element == element and use.mode in (READ, OWN)]
        if element != "I":
            uses = [use for use in uses if not use.content]
        if uses and not self.c.chance(15):
            return self.c.pick(uses)
        if element == "I":
            return self.new_array("I", ("N",), READ, content=self.c.pick((INDEX, LIMIT)))
        return self.new_array(element, self.c.pick((("N",), ("N", "M"), ("D",), ("N", "M"))), READ)

    def owned(self, element: str) -> ArrayUse | None:
        """An array of which a thread owns elements."""
        known = [*self.context.arrays, *self.context.rows]
        uses = [use for use in known if use.element == element and use.mode == OWN]
        if uses and not self.c.chance(20):
            return self.c.pick(uses)
        lanes = len(self.context.lanes)
        content = TALLY if element == "I" else ""
        if self.context.is_single:
            return self.new_array(element, self.c.pick((("N",), ("D",), ("N", "M"))), OWN, "all", content)
        if lanes == 0:
            return None
        if lanes == 2:
            return self.new_array(element, ("N", "M"), OWN, "both", content)
        map_ = self.c.pick(("same", "row", "pair", "reversed", "permuted"))
        return self.new_array(element, {"row": ("N", "M"), "pair": ("D",)}.get(map_, ("N",)), OWN, map_, content)

    def shared(self, mode: str) -> ArrayUse:
        """An array to which all threads add, or of which all take minima or maxima."""
        uses = [use for use in self.context.arrays if use.mode == mode]
        if uses and not self.c.chance(20):
            return self.c.pick(uses)
        element = self.c.pick(("T", "T", "V2", "V3", "M22", *self.structs)) if mode == ADD else "T"
        return self.new_array(element, self.c.pick((("N",), ("1",), ("N", "M"))), mode)

    def new_array(self, element: str, shape: Shape, mode: str, map_: str = "", content: str = "") -> ArrayUse:
        use = ArrayUse(self.new_name("n" if element == "I" else "a"), element, shape, mode, map_, content)
        self.context.arrays.append(use)
        return use

    def place(self, use: ArrayUse) -> str:
        """The indices of an element that the thread may read; where it owns some, of one of these."""
        if use.mode == OWN:
            return self.own_place(use)
        return ", ".join(self.index_below(extent, use, axis) for axis, extent in enumerate(use.shape))

    def own_place(self, use: ArrayUse) -> str:
        if use.map == "all":
            return ", ".join(self.index_below(extent, use, axis) for axis, extent in enumerate(use.shape))
        first = self.context.lanes[0]
        if use.map == "both":
            return f"{first}, {self.context.lanes[1]}"
        if use.map == "row":
            return f"{first}, {self.index_below('M', use, 1)}"
        if use.map == "pair":
            return f"2 * {first}" + self.c.pick(("", " + 1", f" + ({self.whole(1)}) % 2"))
        if use.map == "reversed":
            return f"{use.name}.shape[0] - 1 - {first}"
        if use.map == "permuted":
            found = [u for u in self.context.arrays if u.content == PERMUTATION]
            permutation = found[0] if found else self.new_array("I", ("N",), READ, content=PERMUTATION)
            return f"{permutation.name}[{first}]"
        return first

    def index_below(self, extent: str, use: ArrayUse, axis: int) -> str:
        """An index below a named extent."""
        kind = self.c.weighted(((40, "variable"), (20, "constant"), (25, "any"), (15, "array")))
        if extent == "1":
            return "0"
        if kind == "constant":
            return str(self.c.integer(2))
        variables = [v for v in self.context.variables if v.below == extent]
        if variables and kind == "variable":
            return self.c.pick(variables).name
        if kind == "array" and extent == "N":
            found = [u for u in self.context.arrays if u.content in (INDEX, PERMUTATION)]
            table = self.c.pick(found) if found else self.new_array("I", ("N",), READ, content=INDEX)
            inner = [v.name for v in self.context.variables if v.below == "N"]
            return f"{table.name}[{self.c.pick(inner) if inner else 0}]"
        return f"({self.whole(1)}) % {use.name}.shape[{axis}]"

    # Calls.

    def call(self, type_: str, depth: int) -> str | None:
        """A call of a generated function that gives one value of that type."""
        found = [f for f in self.routines if list(f.gives) == [type_] and self.callable_here(f)]
        if not self.c.chance(30):
            found = [f for f in found if not f.has_effects]
        return self.call_of(self.c.pick(found), depth) if found else None

    def callable_here(self, function: Routine) -> bool:
        if (self.context.is_smooth and not function.is_smooth) or (function.is_single and not self.context.is_single):
            return False
        return function.lanes in (0, len(self.context.lanes)) and self.context.times * function.cost <= 300

    def call_of(self, function: Routine, depth: int) -> str:
        self.context.cost += self.context.times * function.cost
        lanes = list(self.context.lanes) if function.lanes else []
        values = [self.expression(type_, min(depth - 1, 1)) for type_ in function.takes]
        if function.optional and self.c.chance(50):
            last = values.pop()
            values += [f"{function.optional}={last}"] if self.c.chance(50) else []
        arrays = [self.matching(use).name for use in function.arrays]
        return f"{function.name}({', '.join([*lanes, *values, *arrays])})"

    def gradient(self, depth: int) -> str | None:
        """A partial derivative of a generated function, by ``wp.grad``."""
        found = [f for f in self.routines if f.is_smooth and len(f.takes) > 1 and self.callable_here(f)]
        if not found:
            return None
        function = self.c.pick(found)
        self.context.cost += self.context.times * 5 * function.cost
        values = ", ".join(self.expression(type_, min(depth - 1, 1)) for type_ in function.takes)
        which = self.c.pick([k for k, type_ in enumerate(function.takes) if type_ == "T"])
        return f"wp.grad({function.name})({values})[{which}]"

    def matching(self, wanted: ArrayUse) -> ArrayUse:
        """An array to pass as that parameter."""
        found = [use for use in self.context.arrays if wanted.fits(use)]
        if found and not self.c.chance(15):
            return self.c.pick(found)
        return self.new_array(wanted.element, wanted.shape, wanted.mode, wanted.map, wanted.content)
