"""A digest of everything that the IR of a kernel depends on, besides the types of its arguments.

It covers the source text of the kernel and of all functions that it reaches, the values of what they
capture, annotations, defaults, options and derivatives. Line numbers count only where messages hold
them. What cannot be told from something else makes the whole digest None: no caching.
"""

from __future__ import annotations

import enum
import hashlib
import struct
import types as python_types
from collections.abc import Mapping
from typing import Any

import numpy as np

from treadle.frontend import statics
from treadle.frontend.references import Chain, References, references_of
from treadle.frontend.source import Source, source_of
from treadle.ir.depth import deeper
from treadle.language import Builtin, Function, Gradient, Kernel, adjoint, grad, notation, static
from treadle.language.bodies import MISSING, Body
from treadle.language.intrinsics import builtin_for
from treadle.types import scalars
from treadle.types.composites import Composite, CompositeMeta
from treadle.types.structs import Struct, StructMeta


class _Unknown(Exception):
    """Something that has no digest."""


def fingerprint(kernel: Kernel, options: Mapping[str, Any] | None = None) -> str | None:
    """The digest of a kernel, as hexadecimal text; None if it depends on something that has none.

    ``options``: those of ``config.OPTIONS``, by default those in force for the kernel.

    Raises:
        CompileError: a source cannot be read, or an annotation not be evaluated.
    """
    options = kernel.resolved_options() if options is None else options
    writer = _Writer(positions=options.get("mode") == "debug" or bool(options.get("verify_fp")))
    try:
        with deeper(kernel.name):
            _write(writer, kernel, options)
    except _Unknown:
        return None
    return writer.digest()


def _write(writer: _Writer, kernel: Kernel, options: Mapping[str, Any]) -> None:
    for name, value in sorted(options.items()):
        writer.add("option", name, repr(value))
    for name, type_ in kernel.parameter_types.items():
        writer.add("parameter", name)
        writer.type(type_)
    writer.body(kernel.body)


class _Writer:
    """Collects what the digest is of."""

    def __init__(self, positions: bool) -> None:
        self._parts: list[str] = []
        self._seen: dict[int, int] = {}
        self._bodies: list[Body] = []
        self._positions = positions

    def add(self, *parts: str) -> None:
        """Each part with its length, so that no two sequences of parts look alike."""
        self._parts.extend(f"{len(part)}:{part}" for part in parts)

    def digest(self) -> str:
        sources = [source_of(body) for body in self._bodies]
        pairs = zip(sources, self._bodies)
        if self._positions or any(references_of(source, body).has_assert for source, body in pairs):
            for source in sources:
                self.add("at", source.file, str(source.first_line))
        return hashlib.sha256("\n".join(self._parts).encode("utf-8", "surrogatepass")).hexdigest()

    # -- Functions

    def body(self, body: Body) -> None:
        """A function, and all that it refers to."""
        known = self._seen.get(id(body))
        if known is not None:
            self.add("again", str(known))
            return
        self._seen[id(body)] = len(self._seen)
        self._bodies.append(body)
        source = source_of(body)
        self.add("function", body.name, source.text)
        for name, annotation in body.annotations.items():
            self.add(name)
            self.type(annotation)
        self.add("native", repr(body.native))
        self.add("result")
        self.type(body.result if body.result is not MISSING else None)
        for name, default in body.defaults.items():
            self.add("default", name)
            self.value(default)
        for custom in (body.custom_gradient, body.custom_replay):
            if custom is None:
                self.add("no derivative")
            else:
                self.body(custom)
        self._references(body, source, references_of(source, body))

    def _references(self, body: Body, source: Source, references: References) -> None:
        for chain in references.chains:
            self.add("name", *chain)
            self.reference(body, chain)
        for expression in references.statics:
            self.add("static")
            if expression.uses_variables:  # of which it can use only what follows from the rest of the digest
                for chain in expression.chains:
                    self.add("name", *chain)
                    self.reference(body, chain, body.declared.get(chain[0], MISSING))
                continue
            try:
                value = statics.run(source, body, expression.node, {})
            except Exception as error:
                raise _Unknown from error  # the compiler will tell
            self.value(value)

    def reference(self, body: Body, chain: Chain, root: Any = MISSING) -> None:
        """What ``root.attribute.attribute`` means: followed as far as it leads through compile-time objects."""
        found = body.lookup(chain[0]) if root is MISSING else root
        for name in chain[1:]:
            if isinstance(found, (Composite, Struct, np.generic)):
                break
            if isinstance(found, (Builtin, Function)) or found is MISSING:
                break
            found = getattr(found, name, MISSING)
        if found is MISSING:
            self.add("missing")  # a built-in known by its name alone, or an error at compile time
        else:
            self.value(found)

    # -- Values and types

    def value(self, value: Any) -> None:
        """A captured object, or the value of a static expression."""
        kind = type(value)
        if kind is int:
            self.add("int", f"{value:x}")
        elif value is None or kind in (bool, str, bytes):
            self.add(kind.__name__, repr(value))
        elif kind is float:
            self.add("float", struct.pack("<d", value).hex())
        elif isinstance(value, enum.Enum):
            self.add("enum", kind.__qualname__, value.name)
            self.value(value.value)
        elif isinstance(value, np.generic):
            self.add("scalar", value.dtype.str, value.tobytes().hex())
        elif isinstance(value, float):  # a BFloat16
            self.add(kind.__name__, float(value).hex())
        elif isinstance(value, int):
            self.add(kind.__name__, f"{int(value):x}")
        elif isinstance(value, Composite):
            self.type(kind)
            self.add(np.asarray(value).tobytes().hex())
        elif isinstance(value, Struct):
            self.type(kind)
            for name in kind.fields:
                self.value(getattr(value, name))
        else:
            self._object(value)

    def _object(self, value: Any) -> None:
        if isinstance(value, Function):
            self.add("functions", str(len(value.bodies)))
            for body in value.bodies:
                self.body(body)
        elif isinstance(value, Gradient):
            self.add("gradient")
            self.value(value.function)
        elif (builtin := builtin_for(value)) is not None:
            self.add("builtin", builtin.name)
            if any(isinstance(c, Body) and c.has_assert for c in builtin.candidates):
                self._positions = True  # a failure is reported at the line of the call
        elif isinstance(value, (list, tuple, frozenset)):
            self.add(type(value).__name__, str(len(value)))
            for item in sorted(value, key=repr) if isinstance(value, frozenset) else value:
                self.value(item)
        elif isinstance(value, dict):
            self.add("dict", str(len(value)))
            for key, item in value.items():
                self.value(key)
                self.value(item)
        elif isinstance(value, range):
            self.add(repr(value))
        elif isinstance(value, np.ndarray) and value.dtype != object:
            self.add("ndarray", value.dtype.str, repr(value.shape), value.tobytes().hex())
        elif value is static or value is grad or value is adjoint:
            self.add("special", getattr(value, "__name__", "adjoint"))
        elif isinstance(value, (python_types.ModuleType, Kernel)):
            self.add(type(value).__name__, value.__name__)
        elif isinstance(value, (python_types.BuiltinFunctionType, np.ufunc)):
            self.add("python", getattr(value, "__module__", "") or "", value.__name__)
        else:
            self._type_or_unknown(value)

    def _type_or_unknown(self, value: Any) -> None:
        if notation.normalize(value) is not None:
            self.type(value)
        elif isinstance(value, type):  # a class as a namespace: its attributes are chains of their own
            self.add("class", value.__module__, value.__qualname__)
        elif isinstance(value, python_types.FunctionType) and _is_library(value):
            self.add("python", value.__module__, value.__qualname__)
        else:
            raise _Unknown

    def type(self, type_: Any) -> None:
        """A type, or an annotation."""
        type_ = scalars.from_annotation(type_)
        if isinstance(type_, tuple):
            self.add("tuple", str(len(type_)))
            for item in type_:
                self.type(item)
        elif isinstance(type_, StructMeta):
            self._struct(type_)
        elif getattr(type_, "kind", None) == "array":
            self.add("array", str(type_.ndim))
            self.type(type_.dtype)
        elif isinstance(type_, CompositeMeta) or scalars.is_scalar(type_):
            self.add(type_.kind, type_.short)
        else:
            self.add("annotation", notation.text(type_) if type_ is not None else "none")

    def _struct(self, type_: Any) -> None:
        known = self._seen.get(id(type_))
        if known is not None:
            self.add("again", str(known))
            return
        self._seen[id(type_)] = len(self._seen)
        self.add("struct", type_.__name__, str(type_.size), repr(type_.offsets))
        for name, member in type_.fields.items():
            self.add(name)
            self.type(member)


def _is_library(function: python_types.FunctionType) -> bool:
    """Whether a Python function is part of Treadle, whose version is in the key of the cache anyway."""
    return function.__module__.partition(".")[0] == __name__.partition(".")[0]
