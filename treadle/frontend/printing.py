"""``print`` and ``printf``, and texts with values in them: f-strings, messages of ``assert``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from treadle.frontend import components
from treadle.frontend.calls import arguments, form
from treadle.frontend.context import Context
from treadle.frontend.conversions import constant_type, items_of, settle
from treadle.frontend.formats import split
from treadle.frontend.values import Constant, Typed, Value, describe
from treadle.ir.core import Value as IRValue
from treadle.language import notation
from treadle.language.errors import TypeMismatchError, UnsupportedError
from treadle.types import scalars


class Text:
    """A text under construction: pieces of text, and between them scalars at run time with their formats.

    A format is that of Python's ``format``; an empty one prints the number as Python does.
    """

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.pieces = [""]
        self.leaves: list[IRValue] = []
        self.formats: list[str] = []

    def write(self, text: str) -> None:
        """Add a text that is known."""
        self.pieces[-1] += text

    def add_expression(self, node: ast.expr) -> None:
        """Add what an expression prints as, which may be an f-string.

        Raises:
            UnsupportedError: a format or a conversion that there is not for this value.
        """
        if not isinstance(node, ast.JoinedStr):
            self.add(self.ctx.value(node), node)
            return
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                value = self.ctx.value(part.value)
                self.add(value, node, self._specification(part), part.conversion in (ord("r"), ord("a")))
            else:
                assert isinstance(part, ast.Constant)
                self.write(str(part.value))

    def _specification(self, part: ast.FormattedValue) -> str:
        """What is written after the colon, in which values must be known."""
        found = ""
        for piece in part.format_spec.values if isinstance(part.format_spec, ast.JoinedStr) else ():
            if isinstance(piece, ast.FormattedValue):
                value = self.ctx.value(piece.value)
                if not isinstance(value, Constant):
                    message = "a value in a format specification must be known at compile time"
                    raise self.ctx.error(piece, message, UnsupportedError)
                found += format(value.value)
            else:
                assert isinstance(piece, ast.Constant)
                found += str(piece.value)
        return found

    def add(self, value: Value, node: Any, specification: str = "", quoted: bool = False) -> None:
        """Add a value, as ``print`` shows it. ``quoted``: as ``repr`` shows it."""
        items = items_of(value)
        if isinstance(value, Constant) and isinstance(value.value, str):
            text = repr(value.value) if quoted else value.value
            self.write(_formatted(self.ctx, text, specification, "a text", node))
            return
        if items is None and not (isinstance(value, Constant) and constant_type(value.value) is None):
            typed = settle(self.ctx, value, node)
            if scalars.is_scalar(typed.type):
                sample = 1.5 if typed.type.is_float else typed.type.is_integer or True
                _formatted(self.ctx, sample, specification, notation.text(typed.type), node)
                self.leaves.append(typed.leaf)
                self.formats.append(specification)
                self.pieces.append("")
                return
        if specification:
            message = f"the format specification {specification!r} is for scalars, not for {describe(value)}"
            raise self.ctx.error(node, message, UnsupportedError)
        if items is not None:
            self._add_all("(", items, ",)" if len(items) == 1 else ")", node)
        elif isinstance(value, Constant) and constant_type(value.value) is None:
            self.write(str(value.value))
        else:
            self._add_compound(settle(self.ctx, value, node), node, quoted)

    def _add_compound(self, value: Typed, node: Any, quoted: bool) -> None:
        """A struct, an array or a composite."""
        type_ = value.type
        if type_.kind == "struct":
            self.write(f"{type_!r}(")
            for k, (name, member) in enumerate(type_.fields.items()):
                self.write(f"{', ' if k else ''}{name}=")
                start, stop, _ = components.member_leaves(type_, name)
                self.add(Typed(member, value.leaves[start:stop]), node)
            self.write(")")
        elif type_.kind == "array":
            extents = [self.ctx.emit("shape", value.leaf, axis=k) for k in range(type_.ndim)]
            self._add_all("array of shape (", [Typed(scalars.int32, (extent,)) for extent in extents], ")", node)
        else:
            parts = [Typed(type_.dtype, (leaf,)) for leaf in components.components(self.ctx, value)]
            opening, closing = ("[", "]") if not quoted else (f"{type_!r}(", ")")
            if quoted and type_.kind == "mat":
                opening, closing = f"{opening}[", f"]{closing}"
            self._add_all(opening, _grouped(type_, parts), closing, node)

    def _add_all(self, opening: str, items: Sequence[Any], closing: str, node: Any) -> None:
        self.write(opening)
        for k, item in enumerate(items):
            if k:
                self.write(", ")
            if isinstance(item, list):
                self._add_all("[", item, "]", node)
            else:
                self.add(item, node)
        self.write(closing)


def _formatted(ctx: Context, value: Any, specification: str, what: str, node: Any) -> str:
    """``value`` in a format.

    Raises:
        UnsupportedError: there is no such format for it.
    """
    try:
        return format(value, specification)
    except ValueError as error:
        message = f"the format specification {specification!r} is not for {what}: {error}"
        raise ctx.error(node, message, UnsupportedError) from None


def _grouped(type_: Any, parts: list[Typed]) -> list[Any]:
    """The components; of a matrix, a list for each row."""
    if type_.kind != "mat":
        return list(parts)
    columns = type_.shape[1]
    return [parts[k : k + columns] for k in range(0, len(parts), columns)]


@form("print")
def print_(ctx: Context, node: ast.Call) -> Value:
    """Values and texts, with ``sep`` between them and ``end`` after them. f-strings are understood."""
    separators = {"sep": " ", "end": "\n"}
    for keyword in node.keywords:
        if keyword.arg not in separators:
            what = f"the parameter {keyword.arg}" if keyword.arg else "**arguments"
            raise ctx.error(node, f"print() in kernels has sep and end, but not {what}", UnsupportedError)
        value = ctx.value(keyword.value)
        given = value.value if isinstance(value, Constant) else value
        if given is not None and not isinstance(given, str):
            raise ctx.error(node, f"{keyword.arg} of print() must be a text known at compile time", TypeMismatchError)
        separators[keyword.arg] = separators[keyword.arg] if given is None else given
    text = Text(ctx)
    for k, argument in enumerate(node.args):
        if k:
            text.write(separators["sep"])
        text.add_expression(argument)
    text.write(separators["end"])
    ctx.locate(node)
    attributes: dict[str, Any] = {"pieces": text.pieces}
    if any(text.formats):
        attributes["formats"] = [f":{specification}" if specification else "" for specification in text.formats]
    ctx.builder.op("print", text.leaves, [], attributes)
    return Constant(None)


@form("printf")
def printf(ctx: Context, node: ast.Call) -> Value:
    """As in C. The op gets the conversion of each value in its attribute ``formats``."""
    positional, keywords = arguments(ctx, node)
    text = positional[0].value if positional and isinstance(positional[0], Constant) else None
    if not isinstance(text, str) or keywords:
        raise ctx.error(node, "printf() takes a text, which comes first, and the values for it", TypeMismatchError)
    try:
        pieces, formats = split(text)
    except ValueError as error:
        raise ctx.error(node, f"the format of printf(): {error}", UnsupportedError) from None
    if len(formats) != len(positional) - 1:
        raise ctx.error(
            node,
            f"the format of printf() has {len(formats)} conversions for {len(positional) - 1} values",
            TypeMismatchError,
        )
    leaves = []
    for value, spec in zip(positional[1:], formats):
        typed = settle(ctx, value, node)
        if not scalars.is_scalar(typed.type):
            raise ctx.error(node, f"printf() takes scalars, not {describe(value)}; use print()", TypeMismatchError)
        if typed.type.is_float != (spec[-1] in "eEfFgGaA"):
            raise ctx.error(node, f"printf(): {spec} is not for {notation.text(typed.type)}", TypeMismatchError)
        leaves.append(typed.leaf)
    ctx.builder.op("print", leaves, [], {"pieces": pieces, "formats": formats})
    return Constant(None)
