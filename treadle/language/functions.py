"""``Kernel`` and ``Function``: what the decorators make of Python functions.

Both only hold what is needed to compile them later. Calling a ``Function`` from Python runs it.
"""

from __future__ import annotations

import types as python_types
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from treadle.language import notation
from treadle.language import options as module_options
from treadle.language.bodies import MISSING, Body
from treadle.language.errors import CompileError, TreadleError, TypeMismatchError
from treadle.language.overloads import Argument, NoMatch, choose
from treadle.types.composites import Composite
from treadle.types.values import type_of


class Function:
    """A function of the kernel language: one or several bodies that differ in their parameters.

    ``name``; ``bodies``: the overloads, in the order of their definition.
    """

    def __init__(self, name: str, bodies: Sequence[Body]) -> None:
        self.name = name
        self.bodies = tuple(bodies)
        first = bodies[0].python
        self.__name__ = name
        self.__qualname__ = first.__qualname__
        self.__module__ = first.__module__
        self.__doc__ = first.__doc__
        self.__wrapped__ = first

    @property
    def key(self) -> str:
        """The name."""
        return self.name

    @property
    def func(self) -> python_types.FunctionType:
        """The Python function; of several overloads, the first."""
        return self.bodies[0].python

    @property
    def module(self) -> module_options.Module:
        """The module that it was defined in."""
        return module_options.get_module(self.__module__)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Run the Python function itself; of several overloads, the one that fits the arguments."""
        if len(self.bodies) == 1:
            return self.bodies[0].python(*arguments, **keywords)
        return call_from_python(self.name, self.bodies, arguments, keywords)

    def __repr__(self) -> str:
        return f"<function {self.name} of the kernel language, at {self.bodies[0].place}>"


def argument_of(value: Any) -> Argument:
    """A Python object as an argument, for the choice of an overload."""
    try:
        type_ = type_of(value)
    except TypeError:
        found = getattr(value, "array_type", None)  # an array
        return Argument(found) if found is not None else Argument(None, object=value)
    return Argument(type_, flexible=type(value) in (int, float, bool))


def call_from_python(
    name: str, candidates: Sequence[Any], arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> Any:
    """Run the Python function of the overload that fits.

    Raises:
        TypeError: none fits.
    """
    try:
        choice = choose(candidates, arguments, keywords, argument_of)
    except NoMatch as error:
        shown = ", ".join(repr(argument_of(a)) for a in arguments)
        known = "\n".join(f"    {c.signature}" for c in candidates)
        raise TypeError(f"cannot call {name}({shown}): {error}; the signatures are\n{known}") from None
    result = choice.candidate.python(*choice.values)
    return _without_updates(choice.candidate, choice.values, result) if choice.candidate.updates else result


def _without_updates(candidate: Any, values: Sequence[Any], result: tuple[Any, ...]) -> Any:
    """The result of a function that changes arguments. A composite is changed in place; a number cannot be."""
    count = len(result) - len(candidate.updates)
    for name, new in zip(candidate.updates, result[count:]):
        old = values[candidate.parameter_names.index(name)]
        if isinstance(old, Composite):
            for data in old._places():
                data[...] = new._data
    return None if count == 0 else result[0] if count == 1 else result[:count]


class Kernel:
    """A function that a launch runs once for every thread.

    ``name``: that of the Python function, several kernels may share it. ``key``: a unique name, unless one is given.
    ``module``: holds the options that it shares with others. ``body``: the Python function, ``func``.
    """

    def __init__(
        self,
        func: python_types.FunctionType | Body,
        key: str | None = None,
        module: module_options.Module | None = None,
        options: Mapping[str, Any] | None = None,
        types: Mapping[str, Any] | None = None,
    ) -> None:
        self.body = body = func if isinstance(func, Body) else Body(func)
        self.name = body.name
        self.key = key or _unique_key(body.name)
        self.own_options = dict(options or {})
        self.module = module or module_options.get_module(body.module)
        self.fixed_types = dict(types or {})
        self.runtime: Any = None
        """For the runtime: what it has made of the kernel."""
        self.__name__ = body.name
        self.__qualname__ = body.python.__qualname__
        self.__module__ = body.module
        self.__doc__ = body.python.__doc__
        self.__wrapped__ = body.python

    @property
    def func(self) -> python_types.FunctionType:
        """The Python function."""
        return self.body.python

    @property
    def parameter_names(self) -> tuple[str, ...]:
        return self.body.parameter_names

    @cached_property
    def parameter_types(self) -> dict[str, Any]:
        """The annotation of each parameter: a type, perhaps a generic one, or ``Any``.

        Raises:
            CompileError: a parameter has no annotation, or one that is no type.
        """
        for name, written in zip(self.body.parameter_names, self.body.raw_annotations):
            if written is MISSING:
                raise CompileError(
                    f"the parameter {name!r} of kernel {self.name} needs a type annotation", self.body.place
                )
        types = {**self.body.annotations, **self.fixed_types}
        for name, annotation in types.items():
            if annotation in (notation.CALLABLE, type, str):
                raise CompileError(
                    f"the parameter {name!r} of kernel {self.name} cannot be {notation.text(annotation)}: "
                    f"a launch passes numbers, composites, structs and arrays",
                    self.body.place,
                )
        return types

    @property
    def is_generic(self) -> bool:
        """Whether the arguments of a launch decide on types."""
        return any(notation.is_open(a) for a in self.parameter_types.values())

    def resolved_options(self) -> dict[str, Any]:
        """Every option of ``config.OPTIONS``, with the value in force now for this kernel."""
        return module_options.resolve(self.module, self.own_options)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        raise TreadleError(f"kernel {self.name} cannot be called; use launch({self.name}, dim=..., inputs=[...])")

    def __repr__(self) -> str:
        return f"<kernel {self.key}, at {self.body.place}>"


_KEYS: dict[str, int] = {}


def _unique_key(name: str) -> str:
    count = _KEYS[name] = _KEYS.get(name, 0) + 1
    return name if count == 1 else f"{name}_{count}"


def specialize(kernel: Kernel, types: Sequence[Any] | Mapping[str, Any]) -> Kernel:
    """A kernel with generic parameters fixed to the given types.

    Raises:
        TypeMismatchError: a type does not fit the parameter's annotation, or the number is wrong.
    """
    from treadle.types.generics import matches

    names = kernel.parameter_names
    if not isinstance(types, Mapping):
        if len(types) != len(names):
            raise TypeMismatchError(f"kernel {kernel.name} has {len(names)} parameters, got {len(types)} types")
        types = dict(zip(names, types))
    fixed = dict(kernel.fixed_types)
    for name, written in types.items():
        type_ = notation.normalize(written)
        if name not in names or type_ is None or not matches(kernel.parameter_types[name], type_):
            expected = notation.text(kernel.parameter_types[name]) if name in names else "no parameter of that name"
            raise TypeMismatchError(f"kernel {kernel.name}: parameter {name!r} cannot be {written!r}; it is {expected}")
        fixed[name] = type_
    return Kernel(kernel.body, None, kernel.module, kernel.own_options, fixed)


class Gradient:
    """``grad(f)``: called in a kernel, gives the partial derivatives of ``f``."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.__name__ = f"grad({function.__name__})"

    def __call__(self, *arguments: Any) -> Any:
        raise TreadleError(f"{self.__name__} can only be called in a kernel or a function of the kernel language")

    def __repr__(self) -> str:
        return self.__name__
