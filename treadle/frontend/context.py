"""The state in which one function is being built, and the dispatch to the handlers of syntax nodes.

The handlers register themselves by node type; ``Context`` knows none of them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from treadle.frontend import diagnostics
from treadle.frontend.source import Source
from treadle.frontend.values import Constant, HintKey, Typed, Value
from treadle.ir.builder import Builder
from treadle.ir.core import Block
from treadle.language.bodies import Body
from treadle.language.errors import CompileError, UnsupportedError
from treadle.types import scalars

if TYPE_CHECKING:
    from treadle.frontend.places import Place
    from treadle.frontend.session import Session

Environment = dict[str, Value]

# Variables of the frontend's own: how a block was left, and with which value.
BREAK, CONTINUE, RETURN, RESULT = "%break", "%continue", "%return", "%result"


@dataclass(frozen=True)
class Hint:
    """The type to guess at a key; ``settled`` if it is final. ``note``: what led to it."""

    type: Any
    settled: bool
    note: str


@dataclass
class Exits:
    """Which variables are needed where ``break`` and ``continue`` lead, in the loop that is being built."""

    on_break: int = 0
    on_continue: int = 0


@dataclass
class Context:
    """What handlers work on.

    ``environment``: the variables and their values at this point. ``builder``: where ops go.
    ``hints``: types found out by earlier attempts. ``result_type``: the annotation of the result, or
    MISSING. ``unroll``: whether short constant loops are unrolled here.
    """

    session: Session
    body: Body
    source: Source
    builder: Builder
    environment: Environment
    hints: dict[HintKey, Hint]
    result_type: Any
    is_kernel: bool
    unroll: bool
    exits: Exits = field(default_factory=Exits)
    unpacked: int = 1
    """How many variables the expression in hand is assigned to: the rank of ``tid()``."""

    def error(self, node: Any, message: str, kind: type[CompileError] = CompileError) -> CompileError:
        """An error at a syntax node, for the caller to raise."""
        return diagnostics.at(self.source, node, message, kind)

    def locate(self, node: Any) -> None:
        """Ops made from now on belong to the line of ``node``; those of the standard library, to the call of it."""
        location = self.builder.location
        if location is not None and location.line != node.lineno:
            self.builder.location = self.source.location(node.lineno)

    def value(self, node: ast.expr) -> Value:
        """Evaluate an expression."""
        handler = EXPRESSIONS.get(type(node))
        if handler is None:
            raise self.error(node, f"kernels have no {feature(node)}", UnsupportedError)
        self.locate(node)
        return handler(self, node)

    def place(self, node: ast.expr) -> Place:
        """Evaluate an expression to the place that it denotes, which need not be read."""
        from treadle.frontend.places import place

        return place(self, node)

    def run(self, node: ast.stmt) -> None:
        """Build one statement."""
        handler = STATEMENTS.get(type(node))
        if handler is None:
            raise self.error(node, f"kernels have no {feature(node)}", UnsupportedError)
        self.locate(node)
        handler(self, node)

    def block(self) -> Block:
        return self.builder.block

    def inside(self, block: Block, environment: Environment) -> Inside:
        """A ``with`` block in which ops go to ``block`` and variables are those of ``environment``."""
        return Inside(self, block, environment)

    def typed_constant(self, type_: Any, value: Any) -> Typed:
        """A scalar constant."""
        return Typed(type_, (self.builder.constant(type_, value),))

    def emit(self, name: str, *operands: Any, **attributes: Any) -> Any:
        return self.builder.emit(name, *operands, **attributes)

    def boolean(self, leaf: Any) -> Value:
        """A truth value, as a compile-time object if it is known."""
        constant = leaf.constant
        return Typed(scalars.bool_, (leaf,)) if constant is None else Constant(constant)


class Inside:
    """See ``Context.inside``. ``environment`` is the one at the end, after the block."""

    __slots__ = ("_saved", "block", "context", "environment")

    def __init__(self, context: Context, block: Block, environment: Environment) -> None:
        self.context = context
        self.block = block
        self.environment = environment

    def __enter__(self) -> Inside:  # noqa: PYI034
        context = self.context
        self._saved = (context.builder.block, context.environment)
        context.builder.block, context.environment = self.block, self.environment
        return self

    def __exit__(self, *exception: object) -> None:
        context = self.context
        self.environment = context.environment
        context.builder.block, context.environment = self._saved


EXPRESSIONS: dict[type, Callable[[Context, Any], Value]] = {}
STATEMENTS: dict[type, Callable[[Context, Any], None]] = {}


def expression(*kinds: type) -> Callable[[Any], Any]:
    """Register the handler of expressions of these node types."""

    def register(handler: Any) -> Any:
        EXPRESSIONS.update(dict.fromkeys(kinds, handler))
        return handler

    return register


def statement(*kinds: type) -> Callable[[Any], Any]:
    """Register the handler of statements of these node types."""

    def register(handler: Any) -> Any:
        STATEMENTS.update(dict.fromkeys(kinds, handler))
        return handler

    return register


_FEATURES: dict[type, str] = {
    ast.List: "lists; use a vector, or an array passed to the kernel",
    ast.Dict: "dictionaries",
    ast.Set: "sets",
    ast.Lambda: "lambdas; write a function with @func",
    ast.ListComp: "list comprehensions",
    ast.SetComp: "set comprehensions",
    ast.DictComp: "dictionary comprehensions",
    ast.GeneratorExp: "generator expressions",
    ast.NamedExpr: "assignment expressions (:=); assign on a line of its own",
    ast.JoinedStr: "f-strings, except in print(); use printf",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.Await: "await",
    ast.Starred: "starred expressions (*a)",
    ast.Slice: "slices here",
    ast.Try: "exceptions (try)",
    ast.Raise: "exceptions (raise); use assert",
    ast.With: "with statements",
    ast.Delete: "del",
    ast.Global: "global variables that are assigned; write to an array",
    ast.Nonlocal: "nonlocal variables; return the value, or write to an array",
    ast.Import: "imports; import at the top of the file",
    ast.ImportFrom: "imports; import at the top of the file",
    ast.ClassDef: "class definitions; use @struct outside the kernel",
    ast.FunctionDef: "nested functions; define the function outside, with @func",
    ast.AsyncFunctionDef: "async",
    ast.AsyncFor: "async",
    ast.AsyncWith: "async",
}
if hasattr(ast, "Match"):
    _FEATURES[ast.Match] = "match statements; use if and elif"
if hasattr(ast, "TryStar"):
    _FEATURES[ast.TryStar] = "exceptions (try)"


def feature(node: ast.AST) -> str:
    """What messages call a kind of syntax that kernels do not have."""
    return _FEATURES.get(type(node), type(node).__name__)
