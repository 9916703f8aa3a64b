"""The exceptions that users see when a kernel or function cannot be compiled."""

from __future__ import annotations

from treadle.errors import TreadleError as TreadleError


class CompileError(TreadleError):
    """A kernel or function cannot be compiled; the text names file, line and expression.

    ``location`` is ``"file:line"``. ``notes`` are lines added on the way out: who called the function
    in which the fault lies.
    """

    def __init__(self, message: str, location: str = "", excerpt: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.excerpt = excerpt
        self.notes: list[str] = []

    def __str__(self) -> str:
        head = f"{self.location}: {self.message}" if self.location else self.message
        first, *rest = head.split("\n")
        return "\n".join([first, *([self.excerpt] if self.excerpt else []), *rest, *self.notes])


class UnknownNameError(CompileError):
    """A name or attribute that does not exist."""


class TypeMismatchError(CompileError):
    """Values of types that do not fit: operands, arguments, results, assignments."""


class UnsupportedError(CompileError):
    """A feature of Python that kernels do not have."""


class SourceError(CompileError):
    """The source of a kernel or function cannot be read."""
