"""The table of built-in functions, and how they are declared.

A built-in has implementations of three kinds. A *primitive* is an operation of the IR with a
pattern of argument types. An *intrinsic* is written in ``treadle.frontend``, which knows it by
name: it does what the kernel language cannot say itself. A *body* is written in the kernel
language, in ``treadle/language/stdlib``, and declared with ``@builtin``.
"""

from __future__ import annotations

import types as python_types
from collections.abc import Callable
from typing import Any, ClassVar

from treadle.language.bodies import Body
from treadle.language.evaluate import evaluate
from treadle.language.functions import call_from_python
from treadle.types import generics, scalars


class Primitive:
    """An operation of the IR on scalars of one type, as a candidate for a call.

    ``op``: its name in the IR. ``parameter_names`` and ``marker``: what it takes. ``result``: the scalar
    type of the result, None if it is that of the arguments.
    """

    defaults: ClassVar[dict[str, Any]] = {}
    static: tuple[str, ...] = ()
    updates: tuple[str, ...] = ()
    consistent = True

    def __init__(self, name: str, op: str, marker: Any, parameter_names: tuple[str, ...], result: Any = None) -> None:
        self.name = name
        self.op = op
        self.parameter_names = parameter_names
        self.same = parameter_names
        self.annotations = dict.fromkeys(parameter_names, marker)
        self.result = result

    @property
    def signature(self) -> str:
        shown = ", ".join(f"{name}: {marker!r}" for name, marker in self.annotations.items())
        return f"{self.name}({shown}) -> {self.result or next(iter(self.annotations.values()))!r}"

    def python(self, *arguments: Any) -> Any:
        return evaluate(self.op, arguments)


class Builtin:
    """A built-in function.

    ``name``; ``candidates``: primitives and bodies; ``is_intrinsic``: whether the frontend implements it
    (then ``candidates`` are tried only by the intrinsic itself, if at all). ``on_python``: what a call from
    Python does, if that is not to run the candidates.
    """

    def __init__(self, name: str) -> None:
        self.name = self.__name__ = self.__qualname__ = name
        self.candidates: list[Primitive | Body] = []
        self.is_intrinsic = False
        self.usage = f"{name}(...)"
        self.on_python: Callable[..., Any] | None = None

    @property
    def signatures(self) -> list[str]:
        """The calls that there are, for messages."""
        return [self.usage] if self.is_intrinsic else [c.signature for c in self.candidates]

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Evaluate on Python numbers and on composites, where that makes sense outside a kernel.

        Raises:
            TypeError: no implementation fits, or it only works in kernels.
        """
        if self.on_python is not None:
            return self.on_python(*arguments, **keywords)
        if not self.candidates:
            raise TypeError(f"{self.name} can only be called in a kernel or a function of the kernel language")
        return call_from_python(self.name, self.candidates, arguments, keywords)

    def __repr__(self) -> str:
        return f"<built-in {self.name} of the kernel language>"

    def __reduce__(self) -> Any:
        return get, (self.name,)


BUILTINS: dict[str, Builtin] = {}
"""Every built-in by name."""


def get(name: str) -> Builtin:
    """The built-in of that name, made on first use."""
    found = BUILTINS.get(name)
    if found is None:
        found = BUILTINS[name] = Builtin(name)
    return found


def builtin(
    python: python_types.FunctionType | None = None,
    *,
    name: str | None = None,
    same: tuple[str, ...] = (),
    static: tuple[str, ...] = (),
    updates: tuple[str, ...] = (),
) -> Any:
    """Declare an overload of a built-in, written in the kernel language: ``@builtin`` or ``@builtin(…)``.

    ``Int``, ``Float`` and ``Scalar`` in the annotations stand for one type each throughout a call, also
    inside ``vec(Any, Float)``; ``Any`` stands for something else each time. ``same``: names of
    parameters that must have equal types. ``static``: names of parameters that the body gets as
    compile-time constants. ``updates``: names of parameters that a call changes: the body returns a tuple
    that ends in their new values, and what comes before them is the result. In the body, ``x.dtype``,
    ``len(x)``, ``m.shape`` and ``type(x)`` are compile-time values, and loops over a constant range are unrolled when
    all composites are small. Returns the ``Builtin``, so that other bodies can call it by the name in their module.
    """
    if python is None:
        return lambda function: builtin(function, name=name, same=same, static=static, updates=updates)
    declared = get(name or python.__name__)
    declared.candidates.append(Body(python, declared.name, shared=True, same=same, static=static, updates=updates))
    return declared


def gradient(declared: Builtin) -> Callable[[python_types.FunctionType], Body]:
    """Give the derivative of the overload that was declared last, as ``func_grad`` does for functions of users."""

    def decorate(python: python_types.FunctionType) -> Body:
        body = declared.candidates[-1]
        assert isinstance(body, Body)
        body.custom_gradient = Body(python, f"the gradient of {declared.name}", shared=True)
        return body.custom_gradient

    return decorate


def intrinsic(name: str, usage: str, on_python: Callable[..., Any] | None = None) -> Builtin:
    """Declare a built-in that the frontend implements; ``usage`` shows how it is called."""
    declared = get(name)
    declared.is_intrinsic = True
    declared.usage = usage
    declared.on_python = on_python
    return declared


def _primitives(marker: Any, parameter_names: tuple[str, ...], names: str, result: Any = None) -> None:
    for entry in names.split():
        name, _, op = entry.partition("=")
        get(name).candidates.append(Primitive(name, op or name, marker, parameter_names, result))


_primitives(
    generics.Float,
    ("x",),
    "sin cos tan asin acos atan sinh cosh tanh sqrt cbrt exp log log2 log10 erf erfc floor ceil trunc round rint",
)
_primitives(generics.Float, ("y", "x"), "atan2")
_primitives(generics.Float, ("x", "y"), "copysign")
_primitives(generics.Float, ("a",), "isnan isinf isfinite", scalars.bool_)
_primitives(generics.AnyScalar, ("x",), "abs")
_primitives(generics.AnyScalar, ("a", "b"), "min max")
_primitives(generics.Int, ("x",), "bit_count", scalars.int32)
