"""Choosing an overload: binding arguments to parameters and comparing types with annotations.

Used by the compiler, where an argument is a value of the frontend, and by calls from Python,
where it is the Python object. Both describe an argument as an ``Argument``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from treadle.language import notation
from treadle.types import generics, scalars


class Candidate(Protocol):
    """What can be chosen: a ``Body`` or a ``Primitive``."""

    name: str
    parameter_names: tuple[str, ...]
    defaults: dict[str, Any]
    same: tuple[str, ...]
    static: tuple[str, ...]
    consistent: bool

    @property
    def annotations(self) -> dict[str, Any]: ...

    @property
    def signature(self) -> str: ...


@dataclass(frozen=True)
class Argument:
    """What matters of an argument: its type, and whether it adapts.

    ``type``: a language type, or None for something that exists only at compile time. ``flexible``:
    a literal, or a variable whose type is not settled; it takes the type of what it meets.
    ``object``: the object itself, if it exists only at compile time.
    """

    type: Any
    flexible: bool = False
    object: Any = None

    def __repr__(self) -> str:
        if self.type is not None:
            return f"{notation.text(self.type)}{' literal' if self.flexible else ''}"
        return "None" if self.object is None else getattr(self.object, "__name__", repr(self.object))


@dataclass(frozen=True)
class Choice:
    """The chosen candidate, the value of each of its parameters, and the type that each is to have.

    A type of None leaves the value as the compile-time object that it is. ``generic``: whether the
    types of the flexible arguments were free, so that the result is as flexible as they are.
    """

    candidate: Any
    values: tuple[Any, ...]
    types: tuple[Any, ...]
    generic: bool


class NoMatch(Exception):
    """No candidate fits; the text says why."""


def convertible(source: Any, target: Any) -> bool:
    """Whether a flexible value of type ``source`` can become ``target``: an int any number, a float any float."""
    if source is target:
        return True
    if not scalars.is_scalar(target) or source is scalars.bool_:
        return False
    return bool(target.is_float or (source.is_integer and target.is_integer))


def bind(
    candidate: Candidate, positional: Sequence[Any], keywords: Mapping[str, Any], constant: Callable[[Any], Any]
) -> Any:
    """The value of each parameter in order; ``constant`` wraps a default. A str says why it cannot be done."""
    names = candidate.parameter_names
    if len(positional) > len(names):
        return f"takes {len(names)} argument{'s' * (len(names) != 1)}, got {len(positional)}"
    values = dict(zip(names, positional))
    for name, value in keywords.items():
        if name not in names:
            return f"has no parameter {name!r}"
        if name in values:
            return f"got two values for {name!r}"
        values[name] = value
    for name in names:
        if name not in values:
            if name not in candidate.defaults:
                return f"needs an argument for {name!r}"
            values[name] = constant(candidate.defaults[name])
    return [values[name] for name in names]


def cost(annotation: Any, argument: Argument) -> int | None:
    """How well an argument fits an annotation: 0 exactly, more with conversion or openness, None not at all."""
    if annotation is Any:
        return 4
    if argument.type is None:
        return _cost_of_object(annotation, argument.object)
    if annotation in (notation.CALLABLE, type, str):
        return None
    if not argument.flexible:
        if annotation is argument.type:
            return 0
        return 1 if generics.matches(annotation, argument.type) else None
    if isinstance(annotation, generics.Marker):
        return (
            1
            if annotation.match(argument.type)
            else 3
            if annotation is generics.Float and argument.type.is_integer
            else None
        )
    if not convertible(argument.type, annotation):
        return None
    return 0 if annotation is argument.type else 2 if annotation.kind == argument.type.kind else 3


def _cost_of_object(annotation: Any, found: Any) -> int | None:
    if annotation is notation.CALLABLE:
        return 0 if callable(found) else None
    if annotation is type:
        return 0 if isinstance(found, type) or hasattr(found, "kind") else None
    if annotation is str:
        return 0 if isinstance(found, str) else None
    return 0 if found is None and getattr(annotation, "kind", None) == "array" else None


def _variable(annotation: Any) -> Any:
    """The generic scalar in an annotation: itself, or that of its components."""
    while getattr(annotation, "kind", None) == "array" or isinstance(annotation, generics.GenericType):
        annotation = annotation.dtype
    return annotation if isinstance(annotation, generics.Marker) else None


def _scalar(type_: Any) -> Any:
    while not scalars.is_scalar(type_):
        type_ = getattr(type_, "dtype", None)
        if type_ is None:
            return None
    return type_


def _bindings(candidate: Candidate, arguments: Sequence[Argument]) -> dict[Any, set[Any]]:
    """What the generic scalars, and the group of ``same`` parameters, stand for in the settled arguments."""
    found: dict[Any, set[Any]] = {}
    for (name, annotation), argument in zip(candidate.annotations.items(), arguments):
        if argument.type is None or argument.flexible:
            continue
        if name in candidate.same:
            found.setdefault("same", set()).add(argument.type)
        variable = _variable(annotation)
        if variable is not None:
            found.setdefault(variable, set()).add(_scalar(argument.type))
    return found


def _wider(types: Sequence[Any]) -> Any:
    """The type that several flexible arguments agree on: a float, if there is one."""
    return next((t for t in types if t.is_float), types[0])


def _settle(
    candidate: Candidate, arguments: Sequence[Argument], bindings: dict[Any, set[Any]]
) -> tuple[Any, ...] | None:
    """The type that each parameter is to have, or None if a literal cannot have it."""
    free: dict[Any, list[Any]] = {}
    pairs = list(zip(candidate.annotations.items(), arguments))
    for (name, annotation), argument in pairs:
        if argument.flexible:
            for key in ("same" if name in candidate.same else None, _variable(annotation)):
                if key is not None:
                    free.setdefault(key, []).append(argument.type)
    types: list[Any] = []
    for (name, annotation), argument in pairs:
        if argument.type is None or name in candidate.static:
            types.append(None)
            continue
        if not argument.flexible:
            types.append(argument.type)
            continue
        target = annotation
        if name in candidate.same or isinstance(annotation, generics.Marker) or annotation is Any:
            key = "same" if name in candidate.same else annotation
            bound = bindings.get(key, set())
            target = next(iter(bound)) if len(bound) == 1 else _wider(free[key]) if key in free else argument.type
            if annotation is generics.Float and not target.is_float:
                target = scalars.float32
        if not convertible(argument.type, target):
            return None
        types.append(target)
    return tuple(types)


def _is_free(candidate: Candidate, arguments: Sequence[Argument]) -> bool:
    """Whether all that has a type is flexible and meets a generic scalar or ``Any``."""
    typed = [(a, g) for a, g in zip(arguments, candidate.annotations.values()) if a.type is not None]
    return bool(typed) and all(a.flexible and (g is Any or isinstance(g, generics.Marker)) for a, g in typed)


def choose(
    candidates: Sequence[Any],
    positional: Sequence[Any],
    keywords: Mapping[str, Any],
    describe: Callable[[Any], Argument],
    constant: Callable[[Any], Any] = lambda value: value,
) -> Choice:
    """The candidate that fits best; of equals, the first.

    Raises:
        NoMatch: none fits.
    """
    best: tuple[int, Choice] | None = None
    reasons = []
    for candidate in candidates:
        outcome = _try(candidate, positional, keywords, describe, constant)
        if isinstance(outcome, str):
            reasons.append(outcome)
        elif best is None or outcome[0] < best[0]:
            best = outcome
    if best is None:
        raise NoMatch(reasons[0] if len(reasons) == 1 else "no overload fits")
    return best[1]


def _try(candidate: Any, positional: Any, keywords: Any, describe: Any, constant: Any) -> tuple[int, Choice] | str:
    """The cost of a candidate and the choice of it, or why it does not fit."""
    values = bind(candidate, positional, keywords, constant)
    if isinstance(values, str):
        return values
    arguments = [describe(value) for value in values]
    total = 0
    for (name, annotation), argument in zip(candidate.annotations.items(), arguments):
        step = cost(annotation, argument)
        if step is None:
            return f"the argument {name!r} must be {notation.text(annotation)}, not {argument!r}"
        total += step
    bindings = _bindings(candidate, arguments)
    if len(bindings.get("same", ())) > 1:
        return f"the arguments {', '.join(candidate.same)} must have one type"
    if candidate.consistent and any(len(types) > 1 for types in bindings.values()):
        return "the arguments have different scalar types"
    types = _settle(candidate, arguments, bindings)
    if types is None:
        return "a literal does not fit the type of the other arguments"
    return total, Choice(candidate, tuple(values), types, _is_free(candidate, arguments))
