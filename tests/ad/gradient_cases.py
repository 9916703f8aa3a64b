"""What a gradient case is: a kernel for a float type, its arguments, and the floats in them.

Kernels are registered with ``@case``; the tests take them from ``CASES`` once the modules named in
``gradient_library`` are imported. Inputs are exact in float32, so that one case has the same inputs in every precision.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

import treadle as wp

Floats = np.ndarray[Any, np.dtype[np.float64]]


class Argument:
    """One argument of a kernel: ``build`` makes the value, ``arrays`` are those that hold floats of interest."""

    differentiated = False
    output = False

    def build(self, rng: np.random.Generator, scalar: Any) -> Any:
        raise NotImplementedError

    def arrays(self, value: Any) -> list[Any]:
        return [value]


@dataclass
class Input(Argument):
    """An array of uniform random floats, with gradient. ``of`` makes the element type from the scalar type."""

    shape: Any
    low: float = 0.5
    high: float = 1.5
    of: Callable[[Any], Any] | None = None
    differentiated = True

    def build(self, rng: np.random.Generator, scalar: Any) -> Any:
        dtype = self.of(scalar) if self.of else scalar
        result = wp.zeros(self.shape, dtype=dtype, requires_grad=self.differentiated or self.output)
        for view in float_views(result):
            view[...] = rng.uniform(self.low, self.high, view.shape).astype(np.float32)
        return result


@dataclass
class Data(Input):
    """As ``Input``, without gradient."""

    differentiated = False


@dataclass
class InOut(Input):
    """An array that the kernel reads and writes: its gradient goes in and comes out."""

    output = True


@dataclass
class Output(Argument):
    """An array of zeros that the kernel writes."""

    shape: Any
    of: Callable[[Any], Any] | None = None
    output = True

    def build(self, rng: np.random.Generator, scalar: Any) -> Any:
        return wp.zeros(self.shape, dtype=self.of(scalar) if self.of else scalar, requires_grad=True)


@dataclass
class Ints(Argument):
    """An array of the given integers."""

    values: Any
    dtype: Any = wp.int32

    def build(self, rng: np.random.Generator, scalar: Any) -> Any:
        return wp.array(np.array(self.values), dtype=self.dtype)


@dataclass
class Plain(Argument):
    """A number or other value as it is; a callable gets the scalar type and makes the value."""

    value: Any

    def build(self, rng: np.random.Generator, scalar: Any) -> Any:
        return self.value(scalar) if callable(self.value) else self.value

    def arrays(self, value: Any) -> list[Any]:
        return []


@dataclass
class Members(Argument):
    """A struct of arrays: ``make`` gets the scalar type and makes an empty struct, ``members`` fill it."""

    make: Callable[[Any], Any]
    members: dict[str, Argument]

    def build(self, rng: np.random.Generator, scalar: Any) -> Any:
        value = self.make(scalar)
        for name, member in self.members.items():
            setattr(value, name, member.build(rng, scalar))
        return value


@dataclass
class Case:
    """A kernel with arguments for it, in the order of its parameters. ``make`` gets the scalar type."""

    name: str
    make: Callable[[Any], Any]
    dim: Any
    arguments: dict[str, Argument]
    plain: bool = True
    """Whether the body also runs as plain Python with the same values."""

    def kernel(self, scalar: Any) -> Any:
        return _kernel(self.name, scalar)

    def call(self, scalar: Any) -> Call:
        """The kernel bound to fresh arguments."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        values = [argument.build(rng, scalar) for argument in self.arguments.values()]
        call = Call(self.kernel(scalar), self.dim, values)
        for argument, value in zip(self.arguments.values(), values):
            for leaf, array in _leaves(argument, value):
                call.originals.append((array, array.numpy().copy()))
                if leaf.differentiated:
                    call.inputs.append(array)
                if leaf.output:
                    call.outputs.append(array)
        call.weights = [rng.normal(size=flat(a).size).astype(np.float32).astype(float) for a in call.outputs]
        return call


def _leaves(argument: Argument, value: Any) -> Iterator[tuple[Argument, Any]]:
    if isinstance(argument, Members):
        for name, member in argument.members.items():
            yield from _leaves(member, getattr(value, name))
    elif not isinstance(argument, Plain):
        yield argument, value


@dataclass
class Call:
    """One call of a kernel. The loss is a sum of all floats of the outputs, with ``weights`` for each output."""

    kernel: Any
    dim: Any
    values: list[Any]
    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    weights: list[Floats] = field(default_factory=list)
    originals: list[tuple[Any, Any]] = field(default_factory=list)

    def launch(self) -> None:
        wp.launch(self.kernel, self.dim, inputs=self.values)

    def reset(self) -> None:
        """Give every array the contents that it was made with."""
        for array, contents in self.originals:
            array.numpy()[...] = contents

    def loss(self) -> float:
        return sum(float(w @ flat(a)) for w, a in zip(self.weights, self.outputs))

    def gradients(self) -> list[Floats]:
        """The gradient of the loss for each input, by a tape."""
        self.reset()
        with wp.Tape() as tape:
            self.launch()
        seeds = {}
        for array, weights in zip(self.outputs, self.weights):
            seeds[array] = wp.zeros_like(array, requires_grad=False)
            set_flat(seeds[array], weights)
        tape.backward(grads=seeds)
        return [flat(a.grad) for a in self.inputs]

    def along(self, array: Any, direction: Floats, step: float = 2e-4) -> float:
        """The derivative of the loss along a direction in one input, by differences of fourth order."""

        def value(distance: float) -> float:
            self.reset()
            set_flat(array, start + distance * direction)
            self.launch()
            return self.loss()

        self.reset()
        start = flat(array)
        near, far = value(step) - value(-step), value(2 * step) - value(-2 * step)
        return (8 * near - far) / (12 * step)


def float_views(array: Any) -> list[np.ndarray[Any, Any]]:
    """The floats of an array as NumPy arrays that share its memory: one, or one for each float member of a struct."""
    return _float_members(array.numpy())


def _float_members(host: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    if host.dtype.names is not None:
        return [view for name in host.dtype.names for view in _float_members(host[name])]
    return [host] if host.dtype.kind == "f" else []


def flat(array: Any) -> Floats:
    """All floats of an array, as float64."""
    return np.concatenate([view.astype(np.float64).ravel() for view in float_views(array)])


def set_flat(array: Any, values: Floats) -> None:
    """Set all floats of an array."""
    start = 0
    for view in float_views(array):
        view[...] = values[start : start + view.size].reshape(view.shape)
        start += view.size


CASES: dict[str, Case] = {}


def case(
    dim: Any, *, name: str | None = None, plain: bool = True, **arguments: Argument
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Register a function from the scalar type to a kernel as a case; ``arguments`` in the order of the kernel."""

    def register(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
        key = name or make.__name__
        assert key not in CASES, f"two cases are called {key}"
        CASES[key] = Case(key, make, dim, arguments, plain)
        return make

    return register


@cache
def _kernel(name: str, scalar: Any) -> Any:
    return CASES[name].make(scalar)


def vec(length: int) -> Callable[[Any], Any]:
    """For ``of``: vectors of the case's scalar type."""
    return lambda scalar: wp.types.vector(length=length, dtype=scalar)


def mat(*shape: int) -> Callable[[Any], Any]:
    """For ``of``: matrices of the case's scalar type."""
    return lambda scalar: wp.types.matrix(shape=shape, dtype=scalar)


def quat(scalar: Any) -> Any:
    """For ``of``: quaternions of the case's scalar type."""
    return wp.types.quaternion(dtype=scalar)


def directions(size: int, rng: np.random.Generator, most: int = 16) -> Sequence[Floats]:
    """Directions in which to compare gradients of ``size`` floats: all axes, or some axes and random directions."""
    if size <= most:
        return list(np.eye(size))
    axes = np.eye(size)[rng.choice(size, most // 2, replace=False)]
    return [*axes, *rng.normal(size=(4, size))]
