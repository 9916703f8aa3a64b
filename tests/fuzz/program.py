"""A random program as data, and its text: structs, functions, kernels, arrays, and the host code that launches."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

Statement = Union[str, "Compound"]
"""A simple statement, as text, or a compound one."""


@dataclass
class Compound:
    """A statement with a header (``for j in range(3):``) and a body."""

    header: str
    body: list[Statement]


@dataclass
class Function:
    """A kernel or a function. ``parameters``: names with their annotations."""

    decorator: str
    name: str
    parameters: list[tuple[str, str]]
    body: list[Statement]


@dataclass
class StructType:
    """A struct: members with their annotations."""

    name: str
    members: list[tuple[str, str]]


@dataclass
class ArrayValue:
    """An array of the host program: the expression that makes it, and the values of its floats if it has any."""

    name: str
    expression: str
    floats: list[float]


@dataclass
class Program:
    """A whole program; ``source`` is its text, which defines ``arrays()``, ``run(...)`` and ``VALUES``."""

    structs: list[StructType] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    arrays: list[ArrayValue] = field(default_factory=list)
    actions: list[Statement] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def source(self) -> str:
        return ast.unparse(ast.parse("\n".join(self._lines()))) + "\n"

    def _lines(self) -> Iterator[str]:
        body = list(self._body())
        text = "\n".join(body)
        if "Any" in text:
            yield "from typing import Any"
        yield "import treadle as wp"
        yield "T = wp.float64"
        for length in (2, 3, 4, 40):
            if f"V{length}" in text:
                yield f"V{length} = wp.types.vector(length={length}, dtype=T)"
        for rows, columns in ((2, 2), (2, 3), (3, 2), (3, 3)):
            if f"M{rows}{columns}" in text:
                yield f"M{rows}{columns} = wp.types.matrix(shape=({rows}, {columns}), dtype=T)"
        if self.options:
            yield f"wp.set_module_options({self.options})"
        yield from body

    def _body(self) -> Iterator[str]:
        for struct in self.structs:
            yield "@wp.struct"
            yield f"class {struct.name}:"
            yield from (f"    {name}: {annotation}" for name, annotation in struct.members)
        for function in self.functions:
            yield function.decorator
            parameters = ", ".join(f"{name}: {annotation}" for name, annotation in function.parameters)
            yield f"def {function.name}({parameters}):"
            yield from _block(function.body)
        yield "def arrays():"
        yield from (f"    {a.name} = {a.expression}" for a in self.arrays)
        yield "    return {" + ", ".join(f"{a.name!r}: {a.name}" for a in self.arrays) + "}"
        yield f"def run({', '.join(a.name for a in self.arrays)}):"
        yield from _block(self.actions)
        yield "VALUES = " + repr({a.name: a.floats for a in self.arrays if a.floats})


def _block(statements: Sequence[Statement], indent: str = "    ") -> Iterator[str]:
    if not statements:
        yield indent + "pass"
    for statement in statements:
        if isinstance(statement, str):
            yield from (indent + line for line in statement.split("\n"))
        else:
            yield indent + statement.header
            yield from _block(statement.body, indent + "    ")
