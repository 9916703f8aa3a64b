"""Prints IR as text that a person can read and that ``treadle.ir.parser`` reads back.

The text keeps everything but user-defined derivatives, which are Python objects: a function that
has one is marked ``custom``.
"""

from __future__ import annotations

import json
import re
from itertools import zip_longest
from typing import Any

from treadle.ir.core import Block, Function, Op, Value
from treadle.ir.definitions import IRError
from treadle.types.scalars import ScalarMeta
from treadle.types.storage import Aggregate, ArrayRef, StorageType

_IDENTIFIER = re.compile(r"[^\W\d]\w*(\.\w+)*\Z")


def to_text(function: Function) -> str:
    """The text of a function, after the texts of the functions that it calls.

    Raises:
        IRError: an attribute of a kind that has no printed form.
    """
    symbols: dict[Function, str] = {}
    texts: list[str] = []
    _print_function(function, symbols, {}, texts)
    return "\n".join(texts)


def op_to_text(op: Op) -> str:
    """The text of one op, also of one that breaks the rules; values are numbered from 0."""
    printer = _Printer({})
    printer.op(op, "")
    return "\n".join(printer.lines)


def type_to_text(type_: StorageType) -> str:
    """``f32``, ``agg<f32, 40>``, ``array<1, 4, contiguous>``."""
    return type_.short if isinstance(type_, ScalarMeta) else str(type_)


def _print_function(function: Function, symbols: dict[Function, str], taken: dict[str, int], texts: list[str]) -> None:
    for op in function.body.walk():
        callee = op.attributes.get("callee")
        if isinstance(callee, Function) and callee not in symbols:
            _print_function(callee, symbols, taken, texts)
    # Overloads share a name, so that a number tells them apart.
    name = _word(function.name)
    taken[name] = taken.get(name, 0) + 1
    symbols[function] = f"@{name}" if taken[name] == 1 else f"@{name}#{taken[name]}"
    printer = _Printer(symbols)
    printer.function(function)
    texts.append("\n".join(printer.lines) + "\n")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _word(text: str) -> str:
    """``text`` as it is when it is an identifier (or several joined by dots), else quoted."""
    return text if _IDENTIFIER.match(text) else _quoted(text)


class _Printer:
    """The lines of one function, and the names given to its values so far."""

    def __init__(self, symbols: dict[Function, str]) -> None:
        self.symbols = symbols
        self.lines: list[str] = []
        self.names: dict[Value, str] = {}
        self.taken: dict[str, int] = {}

    def name(self, value: Value) -> str:
        name = self.names.get(value)
        if name is None:
            name = self.names[value] = self._new_name(value)
        return name

    def _new_name(self, value: Value) -> str:
        if not value.name:
            return f"%{len(self.names)}"
        hint = re.sub(r"\W", "_", value.name)
        hint = "_" + hint if hint[0].isdigit() else hint
        self.taken[hint] = self.taken.get(hint, 0) + 1
        return f"%{hint}" if self.taken[hint] == 1 else f"%{hint}.{self.taken[hint]}"

    def names_of(self, values: list[Value]) -> str:
        return ", ".join(map(self.name, values))

    def declared(self, value: Value) -> str:
        return f"{self.name(value)}: {type_to_text(value.type)}"

    def function(self, function: Function) -> None:
        parameters = []
        for parameter, label in zip_longest(function.parameters, function.labels[: len(function.parameters)]):
            label = "" if label is None else f" {_word(label)}"
            parameters.append(f"{self.name(parameter)}{label}: {type_to_text(parameter.type)}")
        kind = "kernel" if function.is_kernel else "function"
        custom = " custom" if function.custom is not None else ""
        self.lines.append(f"{kind} {self.symbols[function]}({', '.join(parameters)}){custom} {{")
        self.block(function.body, "  ")
        self.lines.append("}")

    def block(self, block: Block, indent: str) -> None:
        for op in block.ops:
            self.op(op, indent)
        if block.yields:
            self.lines.append(f"{indent}yield {self.names_of(block.yields)}")

    def op(self, op: Op, indent: str) -> None:
        results = ", ".join(map(self.declared, op.results))
        head = f"{indent}{results} = {op.name}" if results else f"{indent}{op.name}"
        tail = self.attributes(op)
        if op.location is not None:
            tail += f" at {_quoted(op.location.file)}:{op.location.line}"
        if op.name in ("for", "while"):
            self.loop(op, head, tail, indent)
            return
        operands = f" {self.names_of(op.operands)}" if op.operands else ""
        self.lines.append(head + operands + tail)
        self.nested(op.blocks, "else", indent)

    def loop(self, op: Op, head: str, tail: str, indent: str) -> None:
        parameters = list(op.blocks[0].parameters) if op.blocks else []
        initial = list(op.operands)
        if op.name == "for" and parameters and initial:
            head += f" {self.declared(parameters.pop(0))} in {self.name(initial.pop(0))}"
        # A loop that breaks the rules may have a parameter too many, and is printed nevertheless.
        carried = ", ".join(
            f"{self.declared(p) if p else '?'} = {self.name(v) if v else '?'}"
            for p, v in zip_longest(parameters, initial)
        )
        self.lines.append(f"{head} ({carried}){tail}")
        self.nested(op.blocks, "do", indent)

    def nested(self, blocks: list[Block], separator: str, indent: str) -> None:
        """Append the blocks of an op whose first line is the last one; ``if`` and ``while`` have two."""
        if not blocks:
            return
        self.lines[-1] += " {"
        for k, block in enumerate(blocks):
            if k:
                parameters = ", ".join(map(self.declared, block.parameters))
                self.lines.append(f"{indent}}} {separator} {f'({parameters}) ' if parameters else ''}{{")
            self.block(block, indent + "  ")
        self.lines.append(f"{indent}}}")

    def attributes(self, op: Op) -> str:
        if not op.attributes:
            return ""
        return " {" + ", ".join(f"{key}={self.attribute(value)}" for key, value in op.attributes.items()) + "}"

    def attribute(self, value: Any) -> str:
        if value is None or isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, (int, float)):
            return repr(value)
        if isinstance(value, str):
            return _quoted(value)
        if isinstance(value, (ScalarMeta, Aggregate, ArrayRef)):
            return type_to_text(value)
        if isinstance(value, list):
            return "[" + ", ".join(map(self.attribute, value)) + "]"
        if isinstance(value, tuple):
            return "(" + ", ".join(map(self.attribute, value)) + ")"
        if isinstance(value, Function):
            return self.symbols.get(value) or f"@{_word(value.name)}"
        raise IRError(f"an attribute cannot be printed: {value!r}")
