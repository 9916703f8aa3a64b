"""One Python function that the compiler may read: its parameters, annotations and the names it sees.

Nothing is evaluated before it is asked for. Only the lines of the file are taken at once, since it may change.
"""

from __future__ import annotations

import builtins
import opcode
import re
import types as python_types
from functools import cached_property
from typing import Any

from treadle.language import notation
from treadle.language.errors import CompileError
from treadle.language.native import NativeCode
from treadle.language.texts import lines_at_definition

# How an assert begins its failure, in the byte code of this version of Python.
_LOAD_ERROR: int = opcode.opmap.get("LOAD_ASSERTION_ERROR") or opcode.opmap["LOAD_COMMON_CONSTANT"]

MISSING: Any = object()
"""Stands for a name that is not there."""


class Body:
    """A Python function with the source of a kernel, function or built-in.

    ``python``: the function. ``name``: how messages call it. ``module``: the name of its module.
    ``lines``: those of its file when it was defined, or none; see ``texts``.
    ``shared``: whether it is part of the standard library, whose instances all kernels share.
    ``same``: parameters that must have one type. ``static``: parameters that are compile-time constants.
    ``updates``: parameters that a call changes; the function returns their new values after its result.
    ``consistent``: whether ``Int``, ``Float`` and ``Scalar`` stand for one type each in a call.
    ``native``: the C++ that stands for the body, given by ``func_native``. ``custom_gradient``,
    ``custom_replay``: the bodies given by ``func_grad`` and ``func_replay``.
    """

    def __init__(
        self,
        python: python_types.FunctionType,
        name: str | None = None,
        locals_: dict[str, Any] | None = None,
        *,
        shared: bool = False,
        same: tuple[str, ...] = (),
        static: tuple[str, ...] = (),
        updates: tuple[str, ...] = (),
    ) -> None:
        if not isinstance(python, python_types.FunctionType):
            raise TypeError(f"expected a Python function, not {python!r}")
        self.python = python
        self.name = name or python.__name__
        self.module = python.__module__
        self.lines = lines_at_definition(python)
        self.shared = self.consistent = shared
        self.same = same
        self.static = static
        self.updates = updates
        self.native: NativeCode | None = None
        self.custom_gradient: Body | None = None
        self.custom_replay: Body | None = None
        code = python.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        self.parameter_names: tuple[str, ...] = code.co_varnames[:count]
        self.variadic = bool(code.co_flags & 0x0C)  # *args or **keywords
        defaults = python.__defaults__ or ()
        positional = code.co_varnames[: code.co_argcount]
        self.defaults: dict[str, Any] = dict(zip(positional[len(positional) - len(defaults) :], defaults))
        self.defaults.update(python.__kwdefaults__ or {})
        self._locals = _mentioned(python, locals_) if locals_ else {}
        self.declared = _names_of_statics(python)
        """What names stood for when the function was defined, for its static expressions."""

    @property
    def raw_annotations(self) -> tuple[Any, ...]:
        """The annotations of the parameters as written: text, objects, or MISSING."""
        written = self.python.__annotations__
        return tuple(written.get(name, MISSING) for name in self.parameter_names)

    @property
    def has_assert(self) -> bool:
        """Whether the function seems to contain an ``assert``; true at times for one that does not."""
        return _LOAD_ERROR in self.python.__code__.co_code[::2]

    @property
    def place(self) -> str:
        """Where the function is: ``"file:line"``."""
        code = self.python.__code__
        return f"{code.co_filename}:{code.co_firstlineno}"

    def lookup(self, name: str) -> Any:
        """What a name that is not local means: from the closure, the globals, or Python's built-ins.

        MISSING if there is none.
        """
        function = self.python
        if function.__closure__ is not None and name in function.__code__.co_freevars:
            cell = function.__closure__[function.__code__.co_freevars.index(name)]
            try:
                return cell.cell_contents
            except ValueError:  # not assigned yet
                return MISSING
        found = function.__globals__.get(name, MISSING)
        return getattr(builtins, name, MISSING) if found is MISSING else found

    def closure(self) -> dict[str, Any]:
        """The variables of enclosing functions that this one uses."""
        names = self.python.__code__.co_freevars
        return {name: value for name in names if (value := self.lookup(name)) is not MISSING}

    def evaluate(self, annotation: Any) -> Any:
        """An annotation given as text (perhaps as text in text), evaluated where the function was defined."""
        if not isinstance(annotation, str):
            return annotation
        try:
            found = eval(annotation, self.python.__globals__, {**self._locals, **self.closure()})
            return self.evaluate(found) if isinstance(found, str) else found
        except CompileError:
            raise  # from a text within a text
        except Exception as error:
            raise CompileError(
                f"the annotation {annotation!r} of {self.name} cannot be evaluated: {error}", self.place
            ) from error

    @cached_property
    def annotations(self) -> dict[str, Any]:
        """The type of each parameter, see ``notation.normalize``; ``Any`` where none is written.

        Raises:
            CompileError: an annotation is no type of the language.
        """
        if self.variadic:
            raise CompileError(f"{self.name} cannot have *args or **keywords", self.place)
        result = {}
        for name, written in zip(self.parameter_names, self.raw_annotations):
            annotation = Any if written is MISSING else notation.normalize(self.evaluate(written))
            if annotation is None:
                raise CompileError(
                    f"the annotation {_shown(written)} of the parameter {name!r} of {self.name} is no type of the "
                    f"kernel language",
                    self.place,
                )
            result[name] = annotation
        return result

    @cached_property
    def result(self) -> Any:
        """The annotation of the result, see ``notation.normalize_result``; MISSING if not written."""
        written = self.python.__annotations__.get("return", MISSING)
        if written is MISSING:
            return MISSING
        annotation = notation.normalize_result(self.evaluate(written))
        if annotation is None:
            raise CompileError(
                f"the result of {self.name} has the annotation {_shown(written)}, which is no type of the kernel "
                f"language",
                self.place,
            )
        return annotation

    @property
    def is_generic(self) -> bool:
        """Whether instances depend on the arguments of a call."""
        return any(notation.is_open(a) for a in self.annotations.values())

    @property
    def signature(self) -> str:
        """The function as messages show it: ``f(x: float32, n: int32 = 1) -> float32``."""
        shown = []
        for name, annotation in self.annotations.items():
            default = f" = {self.defaults[name]!r}" if name in self.defaults else ""
            shown.append(f"{name}: {notation.text(annotation)}{default}")
        arrow = "" if self.result is MISSING else f" -> {notation.text(self.result)}"
        return f"{self.name}({', '.join(shown)}){arrow}"

    def __repr__(self) -> str:
        return f"<{self.name} at {self.place}>"


def _shown(written: Any) -> str:
    return written if isinstance(written, str) else getattr(written, "__name__", repr(written))


def _names_of_statics(python: python_types.FunctionType) -> dict[str, Any]:
    """What the names in a function with ``static`` stand for now: a loop that makes kernels may change them."""
    if "static" not in python.__code__.co_names:
        return {}
    found = {name: python.__globals__[name] for name in _names_in(python.__code__) if name in python.__globals__}
    for name, cell in zip(python.__code__.co_freevars, python.__closure__ or ()):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            found.pop(name, None)
    return found


def _names_in(code: python_types.CodeType) -> set[str]:
    """The names of globals and attributes in byte code, that of comprehensions included."""
    nested = (part for part in code.co_consts if isinstance(part, python_types.CodeType))
    return set(code.co_names).union(*map(_names_in, nested))


def _mentioned(python: python_types.FunctionType, locals_: dict[str, Any]) -> dict[str, Any]:
    """Those of the enclosing function's variables that annotations given as text mention."""
    written = [a for a in python.__annotations__.values() if isinstance(a, str)]
    names = {name for text in written for name in re.findall(r"[^\W\d]\w*", text)}
    return {name: locals_[name] for name in names if name in locals_}
