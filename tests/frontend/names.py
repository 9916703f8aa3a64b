"""The names that scripts get from ``treadle``, from the rooms that the frontend may know."""

from __future__ import annotations

from typing import Any

from treadle import language, types
from treadle.language import *  # noqa: F403
from treadle.types import *  # noqa: F403

array = types.ArrayType
func, kernel, static, constant, overload = (
    language.func, language.kernel, language.static, language.constant, language.overload,
)  # fmt: skip
adjoint, func_grad, func_replay, grad = language.adjoint, language.func_grad, language.func_replay, language.grad
Scalar = types.Scalar


def __getattr__(name: str) -> Any:
    try:
        return language.BUILTINS[name]
    except KeyError:
        raise AttributeError(name) from None
