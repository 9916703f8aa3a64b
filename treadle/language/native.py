"""``func_native``: functions whose body is C++."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class NativeCode:
    """The C++ bodies of a function: of itself, of its adjoint, and of what the backward pass runs in its place."""

    snippet: str
    adj_snippet: str | None = None
    replay_snippet: str | None = None


def func_native(
    snippet: str, adj_snippet: str | None = None, replay_snippet: str | None = None
) -> Callable[[Any], Any]:
    """Make a function of the kernel language whose body is C++; the decorated Python function is ``...``.

    In ``snippet`` the parameters are in scope by name; arrays are indexed as ``x[i]`` or ``x(i, j)``, vectors and
    matrices as ``v[i]``, ``m(i, j)``. A function that returns a value needs the annotation of its type. In
    ``adj_snippet`` there are besides ``adj_<name>`` for each parameter, to be added to, and ``adj_ret``; what it reads
    from arrays is what the launch left there. ``replay_snippet`` runs in place of ``snippet`` in the backward pass;
    ``""`` means that nothing runs, and the function gives zero there. ``atomicAdd(&x[i], v)`` adds atomically.

    Without ``adj_snippet``, asking for a gradient through the function is an error. Kernels that call the function
    need a C++ compiler when they are compiled: ``CXX``, else ``c++`` or ``clang++`` on the path, else the package
    ``ziglang`` (the extra ``native``).
    """
    from treadle.language.decorators import _enclosing, _function

    code = NativeCode(snippet, adj_snippet, replay_snippet)

    def decorate(python: Any) -> Any:
        function = _function(python, None, _enclosing(python))
        function.bodies[-1].native = code
        return function

    return decorate
