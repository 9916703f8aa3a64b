"""The decorators ``kernel``, ``func``, ``func_grad``, ``func_replay`` and their companions.

A decorator keeps the Python function and the lines of its file, and compiles nothing.
"""

from __future__ import annotations

import sys
import types as python_types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from treadle.language import options as module_options
from treadle.language.bodies import Body
from treadle.language.errors import TypeMismatchError
from treadle.language.functions import Function, Gradient, Kernel, specialize


def _enclosing(python: Any, depth: int = 2) -> dict[str, Any] | None:
    """The variables of the function in which ``python`` is being defined, None at module level."""
    if not isinstance(python, python_types.FunctionType) or "<locals>" not in python.__qualname__:
        return None
    return sys._getframe(depth).f_locals


def kernel(python: Any = None, *, module: Any = None, **options: Any) -> Any:
    """Make a Python function a kernel: ``@kernel``, ``@kernel()`` or ``@kernel(enable_backward=False)``.

    Options are those of ``treadle.config.OPTIONS``; ``module`` is the Python module (or the name of one)
    whose options are shared, by default that of the function.

    Raises:
        TypeError: an unknown option or one of the wrong type. ValueError: a value that is none of the choices.
    """
    own = module_options.checked(options, "kernel")
    if python is None:
        return lambda f: Kernel(Body(f, locals_=_enclosing(f)), None, _module(module), own)
    return Kernel(Body(python, locals_=_enclosing(python)), None, _module(module), own)


def _module(module: Any) -> module_options.Module | None:
    if module is None or isinstance(module, module_options.Module):
        return module
    return module_options.get_module(module if isinstance(module, str) else module.__name__)


def func(python: Any = None, *, name: str | None = None, **options: Any) -> Any:
    """Make a Python function callable in kernels: ``@func``, ``@func()`` or ``@func(name="f")``.

    Several functions of one name in one scope, with different parameters, are overloads.
    """
    module_options.checked(options, "func")
    if python is None:
        return lambda f: _function(f, name, _enclosing(f))
    return _function(python, name, _enclosing(python))


def _function(python: python_types.FunctionType, name: str | None, enclosing: dict[str, Any] | None) -> Function:
    body = Body(python, name, enclosing)
    scope = python.__globals__ if enclosing is None else enclosing
    earlier = scope.get(python.__name__)
    kept: list[Body] = []
    if (
        isinstance(earlier, Function)
        and earlier.__qualname__ == python.__qualname__
        and earlier.__module__ == body.module
    ):
        kept = [b for b in earlier.bodies if b.raw_annotations != body.raw_annotations]
    return Function(body.name, [*kept, body])


def overload(target: Any, types: Sequence[Any] | Mapping[str, Any] | None = None) -> Any:
    """Fix the types of a generic kernel: ``overload(kernel, [types])`` or ``overload(kernel, {"x": type})``.

    As a decorator of a function whose body is ``...``, it takes the types from the annotations, and the
    kernel of the same name from the scope around it.

    Raises:
        TypeError: there is no such kernel. TypeMismatchError: the types do not fit it.
    """
    if types is None and isinstance(target, python_types.FunctionType):
        enclosing = _enclosing(target)
        scope = target.__globals__ if enclosing is None else enclosing
        found = scope.get(target.__name__)
        if not isinstance(found, Kernel):
            raise TypeError(f"@overload: there is no kernel {target.__name__!r} to make an overload of")
        specialize(found, Body(target, locals_=enclosing).annotations)
        return found
    if isinstance(target, Kernel):
        return specialize(target, types or {})
    if isinstance(target, Function):
        return target  # instances of functions are made per call
    raise TypeError(f"overload() takes a kernel, not {target!r}")


def _matching(function: Function, body: Body, decorator: str, fits: Callable[[Body], bool]) -> Body:
    """The overload of ``function`` that a derivative belongs to."""
    if not isinstance(function, Function):
        raise TypeError(f"@{decorator} takes a function of the kernel language, not {function!r}")
    found = [b for b in function.bodies if fits(b)]
    if len(found) == 1:
        return found[0]
    signatures = "\n".join(f"    {b.signature}" for b in function.bodies)
    raise TypeMismatchError(
        f"@{decorator}({function.name}): the parameters of\n    {body.signature}\n"
        f"do not go with those of\n{signatures}",
        body.place,
    )


def func_grad(function: Function) -> Callable[[python_types.FunctionType], Function]:
    """Give the derivative of a function: parameters are its inputs, then one adjoint per output.

    Raises:
        TypeMismatchError: the parameters do not begin with those of an overload of ``function``.
    """

    def decorate(python: python_types.FunctionType) -> Function:
        body = Body(python, locals_=_enclosing(python))

        def fits(primal: Body) -> bool:
            count = len(primal.parameter_names)
            return len(body.parameter_names) >= count and _same_types(primal, body, count)

        target = _matching(function, body, "func_grad", fits)
        target.custom_gradient = body
        return Function(body.name, [body])

    return decorate


def func_replay(function: Function) -> Callable[[python_types.FunctionType], Function]:
    """Give what runs in place of a function in the primal sweep of the backward pass.

    Raises:
        TypeMismatchError: the parameters are not those of an overload of ``function``.
    """

    def decorate(python: python_types.FunctionType) -> Function:
        body = Body(python, locals_=_enclosing(python))

        def fits(primal: Body) -> bool:
            count = len(primal.parameter_names)
            return len(body.parameter_names) == count and _same_types(primal, body, count)

        _matching(function, body, "func_replay", fits).custom_replay = body
        return Function(body.name, [body])

    return decorate


def _same_types(primal: Body, derivative: Body, count: int) -> bool:
    """Whether the first ``count`` parameters have equal annotations; text is evaluated when it differs."""
    if primal.raw_annotations[:count] == derivative.raw_annotations[:count]:
        return True
    return list(primal.annotations.values())[:count] == list(derivative.annotations.values())[:count]


def grad(function: Any) -> Gradient:
    """The partial derivatives of a function, to be called in kernels: ``grad(f)(x, y)``."""
    return Gradient(function)


class Adjoint:
    """``adjoint[x]`` in a ``func_grad``: where contributions to the gradient of ``x`` are added."""

    def __getitem__(self, parameter: Any) -> Any:
        raise TypeError("adjoint[...] can only be used in a function decorated with func_grad")

    def __repr__(self) -> str:
        return "adjoint"


adjoint = Adjoint()


def constant(value: Any) -> Any:
    """``value``, which kernels may use as a constant."""
    return value


def static(value: Any) -> Any:
    """``value``; in a kernel, the expression is evaluated when the kernel is built."""
    return value
