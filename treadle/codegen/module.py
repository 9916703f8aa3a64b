"""The parts of an LLVM module besides the body of the kernel: declarations, constants, metadata, helper functions."""

from __future__ import annotations

from dataclasses import dataclass, field

from treadle.codegen import literals
from treadle.codegen.target import MathFunction, Target
from treadle.ir.core import Location


@dataclass(frozen=True)
class Message:
    """What a failed assertion says: ``template`` with ``{0}``, … for its operands.

    ``types`` are the short names of the operands' types, at most eight.
    """

    template: str
    types: tuple[str, ...] = ()
    location: Location | None = None


@dataclass
class Module:
    """An LLVM module under construction. Each thing is declared when it is first used."""

    target: Target
    declarations: dict[str, str] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)

    def declare(self, symbol: str, text: str) -> None:
        """Declare a function, unless it was."""
        self.declarations.setdefault(symbol, text)

    def declare_math(self, function: MathFunction, type_: str, arguments: int) -> None:
        """Declare a mathematical function and its vector forms, unless they were."""
        if function.symbol in self.declarations:
            return
        parameters = ", ".join([type_] * arguments)
        self.declarations[function.symbol] = f"declare {type_} @{function.symbol}({parameters}) {function.attributes}"
        for symbol, text in function.variants.items():
            self.declarations[symbol] = text
            self.kept.append(symbol)

    def scalar_math(self, function: MathFunction, type_: str, arguments: int) -> str:
        """The symbol of a function that calls a mathematical function, and that LLVM neither looks into nor vectorises.

        So it gives the same bits wherever it is called. The function must have been declared.
        """
        symbol = f"scalar.{function.symbol}"
        names = [f"%x{k}" for k in range(arguments)]
        parameters = ", ".join(f"{type_} {name}" for name in names)
        self.definitions[symbol] = (
            f"define internal {type_} @{symbol}({parameters}) noinline {MathFunction.attributes} {{\n"
            f"%result = call {type_} @{function.symbol}({parameters}) nobuiltin\nret {type_} %result\n}}"
        )
        return symbol

    def add_text(self, text: bytes) -> str:
        """A constant with these bytes; returns its symbol."""
        symbol = f"@text.{len(self.definitions)}"
        self.definitions[symbol] = (
            f"{symbol} = private unnamed_addr constant [{len(text)} x i8] {literals.string(text)}"
        )
        return symbol

    def add_message(self, message: Message) -> int:
        """Enter a message of an assertion; returns its number."""
        self.messages.append(message)
        return len(self.messages) - 1

    def finish(self, functions: list[str], metadata: list[str]) -> str:
        """The text of the whole module."""
        parts = [f'target datalayout = "{self.target.data_layout}"', f'target triple = "{self.target.triple}"']
        parts += self.definitions.values()
        parts += self.declarations.values()
        if self.kept:  # or the optimiser would drop the vector forms before the vectoriser asks for them
            pointers = ", ".join(f"ptr @{symbol}" for symbol in self.kept)
            parts.append(
                f'@llvm.compiler.used = appending global [{len(self.kept)} x ptr] [{pointers}], section "llvm.metadata"'
            )
        return "\n".join([*parts, *functions, *metadata, ""])
