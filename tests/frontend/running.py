"""Builds kernels and functions, verifies the IR and runs it in the interpreter."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.ir.interpreter import Outcome, run_function, run_kernel
from treadle import config, frontend
from treadle.ir import Function
from treadle.ir.verifier import verify
from treadle.passes import finish, prepare
from treadle.types import leaf_values

OPTIONS: dict[str, Any] = {name: getattr(config, name) for name in config.OPTIONS}


def build(kernel: Any, types: Sequence[Any] | None = None, **options: Any) -> Function:
    """The verified IR of a kernel, by default for the types of its annotations."""
    types = list(kernel.parameter_types.values()) if types is None else types
    function = frontend.build_kernel(kernel, types, {}, {**OPTIONS, **options})
    verify(function)
    return function


def launch(kernel: Any, dim: Any, *arguments: Any, types: Sequence[Any] | None = None, **options: Any) -> Outcome:
    """Run a kernel in the interpreter, as built and after the passes; the arrays change in place.

    An argument is a NumPy array for an array, else a value of the parameter's type.
    """
    types = list(kernel.parameter_types.values()) if types is None else types
    function = build(kernel, types, **options)
    flat: list[Any] = []
    for value, type_ in zip(arguments, types, strict=True):
        flat.extend([value] if getattr(type_, "kind", "") == "array" else leaf_values(type_, value))
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in flat]
    optimised = finish(prepare(function, OPTIONS), OPTIONS)
    verify(optimised)
    other = run_kernel(optimised, dim, copies)
    outcome = run_kernel(function, dim, flat)
    for a, b in zip(flat, copies):
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b)
    assert outcome.printed == other.printed
    assert outcome.failures == other.failures
    return outcome


def evaluate(function: Any, *arguments: Any, types: Sequence[Any] | None = None) -> Any:
    """Run a function of the kernel language in the interpreter; a number, or a list of the leaves of the result."""
    body = function.bodies[0]
    types = list(body.annotations.values()) if types is None else types
    instance = frontend.build_function(function, types)
    verify(instance.function)
    flat = [leaf for value, type_ in zip(arguments, types, strict=True) for leaf in leaf_values(type_, value)]
    results = run_function(instance.function, flat).results
    return results[0] if len(results) == 1 else results


def agrees(function: Any, *cases: Any, types: Sequence[Any] | None = None) -> None:
    """Check that IR and Python give the same, for each case: a tuple of arguments, or the only argument."""
    for case in cases:
        arguments = case if isinstance(case, tuple) else (case,)
        expected = plain(function(*copy.deepcopy(arguments)))  # Python may change their components in place
        found = evaluate(function, *arguments, types=types)
        np.testing.assert_allclose(np.ravel(found), np.ravel(expected), rtol=1e-6, err_msg=f"for {arguments}")


def plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [x for item in value for x in np.ravel(plain(item))]
    return np.asarray(value)


def result_type(function: Any, *types: Any) -> Any:
    """The language type of a function's result."""
    return frontend.build_function(function, types).result.type


def names_of(function: Function) -> list[str]:
    """The names of all ops, in program order."""
    return [op.name for op in function.body.walk()]
