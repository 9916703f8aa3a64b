"""Checks one program: its values against the reference, its gradients against differences and the reference."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import treadle as wp
from tests.ad.gradient_cases import flat, set_flat
from tests.fuzz import numbers as num
from tests.fuzz import reference

TOLERANCE = 1.0e-5
STEPS = (2.0e-4, 1.0e-3, 5.0e-5, 1.0e-5)
LARGEST = 1.0e5
"""Programs with values or derivatives beyond this are not measured."""


REFUSED = (
    "a variable stands for one of the arrays",
    "on an array to which the kernel also writes in another way",
    "also writes to that memory as",
    "a variable stands for an array with a gradient or for one without",
)
"""What errors say that refuse a gradient which Treadle does not claim to have."""


class Fault(AssertionError):
    """The program does not do what it should. ``kind`` is a word for what is wrong."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message


@dataclass
class Outcome:
    """What came of a program that is right.

    ``measured``: how many derivatives were compared with differences; ``skipped``: how many could not be.
    ``rejected``: why nothing was compared, if so.
    """

    measured: int = 0
    skipped: int = 0
    rejected: str = ""


Directions = dict[str, Any]
"""A float64 array for each array of a program that has a gradient: a direction, weights, gradients or values."""

_numbers = itertools.count()


def load(source: str, folder: Path) -> ModuleType:
    """Write a program to a file and import it."""
    name = f"fuzzed_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


class Measured:
    """A program with its arrays, ready to be run from any starting point."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.arrays = module.arrays()
        for name, values in module.VALUES.items():
            set_flat(self.arrays[name], np.array(values))
        self.names = [name for name, a in self.arrays.items() if a.requires_grad]
        self.start = {name: a.numpy().copy() for name, a in self.arrays.items()}

    def reset(self) -> None:
        for name, contents in self.start.items():
            self.arrays[name].numpy()[...] = contents

    def run(self) -> None:
        self.module.run(**self.arrays)

    def floats(self) -> Directions:
        return {name: flat(self.arrays[name]) for name in self.names}

    def loss_along(self, directions: Directions, weights: Directions, distance: float) -> float:
        self.reset()
        for name in self.names:
            set_flat(self.arrays[name], flat(self.arrays[name]) + distance * directions[name])
        self.run()
        return sum(float(weights[name] @ flat(self.arrays[name])) for name in self.names)

    def difference(self, directions: Directions, weights: Directions, step: float) -> float:
        """A difference of fourth order."""
        near, far = (
            self.loss_along(directions, weights, d) - self.loss_along(directions, weights, -d) for d in (step, 2 * step)
        )
        return (8 * near - far) / (12 * step)

    def record(self) -> Any:
        """A tape with a run on it."""
        self.reset()
        with wp.Tape() as tape:
            self.run()
        return tape

    def play(self, tape: Any, weights: Directions) -> Directions:
        """The gradients."""
        seeds = {}
        for name in self.names:
            a = self.arrays[name]
            seeds[a] = wp.zeros_like(a, requires_grad=False)
            set_flat(seeds[a], weights[name])
        tape.backward(grads=seeds)
        return {name: flat(self.arrays[name].grad) for name in self.names}


def reference_run(source: str, directions: Directions, distance: float = 0.0) -> tuple[dict[str, list[Any]], num.Trace]:
    """The final floats of every array with a direction, as numbers with derivatives, and what the run decided."""
    trace = num.reset_trace()
    names = reference.load(source)
    arrays = names["arrays"]()
    for name, values in names["VALUES"].items():
        along = directions.get(name)
        if along is None:
            reference.set_floats(arrays[name], values)
        else:
            moved = [num.Real(v + distance * float(d), float(d)) for v, d in zip(values, along)]
            reference.set_floats(arrays[name], moved)
    names["run"](**arrays)
    return {name: reference.get_floats(arrays[name]) for name in directions}, trace


def check_source(source: str, folder: Path, seed: int = 0) -> Outcome:
    """Check a program given as text. ``folder`` is where its module goes; ``seed`` is for the directions.

    Raises:
        Fault: a value or gradient is wrong.
        Exception: whatever Treadle raises.
    """
    rng = np.random.default_rng(seed)
    measured = Measured(load(source, folder))
    if not measured.names:
        return Outcome(rejected="no gradient")
    sizes = {name: flat(measured.arrays[name]).size for name in measured.names}
    weights = {name: rng.uniform(0.5, 1.5, size) * rng.choice((-1, 1), size) for name, size in sizes.items()}
    dense = {name: rng.uniform(0.5, 1.5, size) * rng.choice((-1, 1), size) for name, size in sizes.items()}
    try:
        expected, trace = reference_run(source, dense)
    except (OverflowError, ZeroDivisionError, ValueError) as error:
        return Outcome(rejected=f"not finite: {type(error).__name__}")
    except reference.ContractError:
        return Outcome(rejected="threads disturb each other")
    values = {name: np.array([num.value_of(x) for x in numbers]) for name, numbers in expected.items()}
    slopes = {name: np.array([num.slope_of(x) for x in numbers]) for name, numbers in expected.items()}
    slope = project(slopes, weights)
    largest = max([abs(slope), *(float(np.abs(v).max(initial=0.0)) for v in values.values())])
    if not largest < LARGEST:
        return Outcome(rejected="too large")
    if trace.close:
        return Outcome(rejected="at a kink")
    measured.reset()
    measured.run()
    check_values(measured, values, largest)
    try:
        tape = measured.record()
        check_values(measured, values, largest)
        gradient = check_gradient(measured, tape, weights, dense, slope)
    except wp.DerivativeError as error:
        if any(reason in str(error) for reason in REFUSED):
            return Outcome(rejected="refused")
        raise
    outcome = Outcome()
    if trace.detached:  # differences would look through arrays without gradient; the reference has the last word
        return outcome
    for directions in [dense, *axes(sizes, rng)]:
        compare(source, measured, directions, weights, gradient, outcome)
    return outcome


def check_values(measured: Measured, values: Directions, largest: float) -> None:
    """Compare what the program leaves in its arrays with the values of the reference."""
    for name, got in measured.floats().items():
        if not np.allclose(got, values[name], rtol=1e-8, atol=1e-8 * max(1.0, largest)):
            raise Fault("values", f"{name} is {got.tolist()}, expected {values[name].tolist()}")


def check_gradient(
    measured: Measured, tape: Any, weights: Directions, directions: Directions, slope: float
) -> Directions:
    """The gradient, after comparing it with the derivative of the reference and with a second backward pass."""
    after = {name: a.numpy().copy() for name, a in measured.arrays.items()}
    gradient = measured.play(tape, weights)
    for name, a in measured.arrays.items():
        if not np.array_equal(a.numpy(), after[name]):
            raise Fault("changed by backward", f"{name} is {a.numpy().tolist()}, not {after[name].tolist()}")
    scale = sum(float(np.abs(directions[name]) @ np.abs(gradient[name])) for name in gradient)
    if not np.isfinite(scale):
        raise Fault("not finite", describe(gradient))
    got = project(gradient, directions)
    if abs(got - slope) > 1e-8 * max(abs(slope), scale, 1e-3):
        raise Fault("gradient", f"derivative {got!r} along a direction, expected {slope!r}; {describe(gradient)}")
    tape.zero()
    again = measured.play(tape, weights)
    for name, first in gradient.items():
        if not np.array_equal(again[name], first):
            raise Fault("backward again", f"{name} has gradient {again[name].tolist()}, before {first.tolist()}")
    return gradient


def project(gradient: Directions, directions: Directions) -> float:
    return sum(float(gradient[name] @ directions[name]) for name in gradient)


def describe(gradient: Directions) -> str:
    return "; ".join(f"gradient of {name}: {values.tolist()}" for name, values in gradient.items())


def axes(sizes: dict[str, int], rng: np.random.Generator) -> list[Directions]:
    """Directions along one element each, and one random direction in a single array."""
    found = []
    names = [name for name, size in sizes.items() if size]
    for _ in range(min(3, len(names))):
        chosen = names[int(rng.integers(len(names)))]
        directions = {name: np.zeros(size) for name, size in sizes.items()}
        directions[chosen][int(rng.integers(sizes[chosen]))] = 1.0
        found.append(directions)
    return found


def compare(
    source: str, measured: Measured, directions: Directions, weights: Directions, gradient: Directions, outcome: Outcome
) -> None:
    """Compare one derivative with differences; where they disagree, find out whether differences can be trusted."""
    got = project(gradient, directions)
    largest = max(float(np.abs(g).max(initial=0.0)) for g in gradient.values())
    estimates: list[float] = []
    for step in STEPS:
        estimates.append(measured.difference(directions, weights, step))
        if abs(estimates[-1] - got) <= TOLERANCE * max(abs(got), abs(estimates[-1]), 1e-3 * largest, 1e-4):
            outcome.measured += 1
            return
    if is_smooth(source, directions) and agree(estimates):
        raise Fault("gradient", f"derivative {got!r}, differences with steps {STEPS}: {estimates}")
    outcome.skipped += 1


def agree(estimates: Sequence[float]) -> bool:
    spread = max(estimates) - min(estimates)
    return spread <= 1e-4 * max(1e-4, *(abs(e) for e in estimates))


def is_smooth(source: str, directions: Directions) -> bool:
    """Whether the program decides the same on both sides."""
    decisions = [reference_run(source, directions, d)[1].decisions for d in (-4e-4, 0.0, 4e-4)]
    return decisions[0] == decisions[1] == decisions[2]
