"""Reads the text that ``treadle.ir.printer`` writes. It checks the syntax; the verifier checks the rest."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Optional

from treadle.ir.core import Block, CustomDerivative, Function, Location, Op, Value
from treadle.ir.definitions import IRError
from treadle.types.scalars import BY_SHORT_NAME
from treadle.types.storage import Aggregate, ArrayRef, StorageType

CUSTOM = CustomDerivative()
"""Stands for a user-defined derivative, which text cannot hold, in a function that was parsed."""

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r]+) | (?P<newline>\n)
    | (?P<string>"(?:[^"\\\n]|\\.)*")
    | (?P<number>-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf\b|nan\b))
    | (?P<value>%\w+(?:\.\d+)?)
    | (?P<symbol>@(?:"(?:[^"\\\n]|\\.)*"|[^\W\d]\w*(?:\.\w+)*)(?:\#\d+)?)
    | (?P<word>[^\W\d]\w*(?:\.\w+)*)
    | (?P<mark>[{}()\[\]<>,:=])""",
    re.VERBOSE,
)


def from_text(text: str) -> Function:
    """The last function in the text, which calls those before it.

    Raises:
        IRError: a syntax error, with its line; a name that is not defined.
    """
    parser = _Parser(_tokens(text))
    function: Optional[Function] = None
    while parser.token.kind != "end":
        function = parser.function()
    if function is None:
        raise IRError("line 1: a function is expected")
    return function


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    line: int


def _tokens(text: str) -> list[_Token]:
    tokens, line, position = [], 1, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise IRError(f"line {line}: unexpected {text[position]!r}")
        kind = match.lastgroup
        if kind == "newline":
            line += 1
        elif kind != "space":
            tokens.append(_Token(str(kind), match.group(), line))
        position = match.end()
    tokens.append(_Token("end", "the end", line))
    return tokens


def _unquoted(text: str) -> str:
    return str(json.loads(text)) if text.startswith('"') else text


@dataclass
class _Parser:
    """Recursive descent over the tokens; ``values`` are those of the current function."""

    tokens: list[_Token]
    position: int = 0
    functions: dict[str, Function] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)

    @property
    def token(self) -> _Token:
        return self.tokens[self.position]

    def fail(self, expected: str) -> IRError:
        return IRError(f"line {self.token.line}: {expected} is expected, not {self.token.text!r}")

    def take(self, kind: str) -> str:
        if self.token.kind != kind:
            raise self.fail(f"a {kind}")
        self.position += 1
        return self.tokens[self.position - 1].text

    def at(self, text: str) -> bool:
        """Whether the next token is this mark or word."""
        return self.token.text == text and self.token.kind in ("mark", "word")

    def skip(self, text: str) -> bool:
        """Take this mark or word if it is next."""
        if self.at(text):
            self.position += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.skip(text):
            raise self.fail(repr(text))

    def function(self) -> Function:
        if not (self.at("kernel") or self.at("function")):
            raise self.fail("'kernel' or 'function'")
        is_kernel = self.take("word") == "kernel"
        symbol = self.take("symbol")
        self.values = {}
        function = Function(_unquoted(re.sub(r"#\d+\Z", "", symbol[1:])), is_kernel=is_kernel)
        self.expect("(")
        while not self.skip(")"):
            if function.parameters:
                self.expect(",")
            name = self.take("value")
            if self.token.kind in ("word", "string"):
                function.labels.append(_unquoted(self.take(self.token.kind)))
            self.expect(":")
            self.define(name, function.body.add_parameter(self.type()))
        function.custom = CUSTOM if self.skip("custom") else None
        self.block(function.body)
        self.functions[symbol] = function
        return function

    def define(self, name: str, value: Value) -> None:
        if name in self.values:
            raise IRError(f"line {self.token.line}: {name} is defined twice")
        hint = name[1:].split(".")[0]
        value.name = "" if hint.isdigit() else hint
        self.values[name] = value

    def use(self) -> Value:
        line, name = self.token.line, self.take("value")
        if name not in self.values:
            raise IRError(f"line {line}: {name} is not defined")
        return self.values[name]

    def uses(self) -> list[Value]:
        values = [self.use()]
        while self.skip(","):
            values.append(self.use())
        return values

    def declaration(self) -> tuple[str, StorageType]:
        name = self.take("value")
        self.expect(":")
        return name, self.type()

    def type(self) -> StorageType:
        word = self.take("word")
        if word in BY_SHORT_NAME:
            return BY_SHORT_NAME[word]
        if word not in ("agg", "array"):
            self.position -= 1
            raise self.fail("a type")
        self.expect("<")
        if word == "agg":
            scalar = BY_SHORT_NAME.get(self.take("word"))
            if scalar is None:
                self.position -= 1
                raise self.fail("a scalar type")
            self.expect(",")
            type_: StorageType = Aggregate(scalar, self.integer())
        else:
            ndim = self.integer()
            self.expect(",")
            itemsize = self.integer()
            contiguous = self.skip(",")
            if contiguous:
                self.expect("contiguous")
            type_ = ArrayRef(ndim, itemsize, contiguous)
        self.expect(">")
        return type_

    def integer(self) -> int:
        text = self.take("number")
        try:
            return int(text)
        except ValueError:
            self.position -= 1
            raise self.fail("an integer") from None

    def block(self, block: Block) -> None:
        """The ops and yields of a block, in braces."""
        self.expect("{")
        while not self.skip("}"):
            if self.skip("yield"):
                block.yields = self.uses()
                self.expect("}")
                return
            block.ops.append(self.op())

    def op(self) -> Op:
        declarations = []
        if self.token.kind == "value":
            declarations.append(self.declaration())
            while self.skip(","):
                declarations.append(self.declaration())
            self.expect("=")
        line, name = self.token.line, self.take("word")
        op = Op(name, (), [type_ for _, type_ in declarations])
        if name in ("for", "while"):
            self.loop_head(op)
        elif self.token.kind == "value" and self.token.line == line:
            # On the next line, a value begins the next op.
            op.operands = self.uses()
        self.tail(op)
        if name in ("if", "for", "while"):
            self.nested(op)
        for result, (result_name, _) in zip(op.results, declarations):
            self.define(result_name, result)
        return op

    def loop_head(self, op: Op) -> None:
        """Counter, count and carried values, which are the parameters of the first block."""
        block = Block()
        op.blocks = [block]
        if op.name == "for":
            name, type_ = self.declaration()
            self.expect("in")
            op.operands = [self.use()]
            self.define(name, block.add_parameter(type_))
        self.expect("(")
        first = len(op.operands)
        while not self.skip(")"):
            if len(op.operands) > first:
                self.expect(",")
            name, type_ = self.declaration()
            self.expect("=")
            op.operands.append(self.use())
            self.define(name, block.add_parameter(type_))

    def tail(self, op: Op) -> None:
        """Attributes and location."""
        following = self.tokens[self.position + 1 : self.position + 3]
        if self.at("{") and [t.kind for t in following] == ["word", "mark"] and following[1].text == "=":
            self.expect("{")
            while not self.skip("}"):
                if op.attributes:
                    self.expect(",")
                key = self.take("word")
                self.expect("=")
                op.attributes[key] = self.attribute()
        if op.name == "constant" and op.results:
            op.results[0].constant = op.attributes.get("value")
        if self.skip("at"):
            file = _unquoted(self.take("string"))
            self.expect(":")
            op.location = Location(file, self.integer())

    def nested(self, op: Op) -> None:
        if op.name == "if":
            op.blocks = [Block()]
        self.block(op.blocks[0])
        if op.name == "for":
            return
        self.expect("else" if op.name == "if" else "do")
        block = Block()
        if self.skip("("):
            while not self.skip(")"):
                if block.parameters:
                    self.expect(",")
                name, type_ = self.declaration()
                self.define(name, block.add_parameter(type_))
        self.block(block)
        op.blocks.append(block)

    def attribute(self) -> Any:
        token = self.token
        if token.kind == "number":
            text = self.take("number")
            return int(text) if re.fullmatch(r"-?\d+", text) else float(text)
        if token.kind == "string":
            return _unquoted(self.take("string"))
        if token.kind == "symbol":
            symbol = self.take("symbol")
            if symbol not in self.functions:
                raise IRError(f"line {token.line}: {symbol} is not defined")
            return self.functions[symbol]
        if token.text in ("true", "false", "none"):
            self.position += 1
            return {"true": True, "false": False, "none": None}[token.text]
        if self.skip("["):
            return self.sequence("]")
        if self.skip("("):
            return tuple(self.sequence(")"))
        return self.type()

    def sequence(self, end: str) -> list[Any]:
        items: list[Any] = []
        while not self.skip(end):
            if items:
                self.expect(",")
            items.append(self.attribute())
        return items
