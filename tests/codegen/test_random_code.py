"""Random kernels in machine code against the interpreter of the IR: some with all kinds of ops, some of aggregates."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.codegen.running import Compiled
from tests.ir.interpreter import run_kernel
from tests.passes import random_functions
from tests.passes.random_functions import LARGE, TYPES, random_arguments
from treadle.ir import Block, Builder, Function
from treadle.types.storage import ArrayRef

KEPT = 6
"""How many aggregates of the outermost scope are looked at."""


class _AggregateMaker(random_functions._Maker):
    """Mostly aggregates, in nested loops and branches that carry and yield several of them."""

    def statement(self, depth: int) -> None:
        self.size -= 1
        choices = [self.aggregate] * 8 + [self.arithmetic]
        if depth < 3:
            choices += [self.branch, self.counted, self.conditional_loop]
        self.rng.choice(choices)(depth)

    def types(self):
        return [self.rng.choice((LARGE, LARGE, LARGE, *TYPES)) for _ in range(self.rng.randrange(1, 4))]


def random_kernel(rng: random.Random, maker_class, size: int) -> Function:
    outputs = [ArrayRef(1, t.size, True) for t in TYPES]
    types = [*TYPES, random_functions.FLOATS, random_functions.INTEGERS, LARGE, *outputs, ArrayRef(1, LARGE.size, True)]
    function = Function("random", Block(types), is_kernel=True, labels=[str(k) for k in range(len(types))])
    parameters = function.parameters
    maker = maker_class(rng, Builder(function.body), size, parameters[4:6], None)
    maker.values = [*parameters[:4], parameters[6]]
    while maker.size > 0:
        maker.statement(depth=0)
    zero = maker.builder.index(0)
    for type_, output in zip(TYPES, parameters[7:]):
        maker.effect("store", output, zero, maker.value(type_), offset=0)
    for k, value in enumerate([v for v in maker.values if v.type == LARGE][-KEPT:]):
        maker.effect("store", parameters[-1], maker.builder.index(k), value, offset=0)
    return function


@pytest.mark.parametrize("maker_class", [random_functions._Maker, _AggregateMaker], ids=["all", "aggregates"])
@pytest.mark.parametrize("seed", range(60))
def test_machine_code_does_what_the_interpreter_does(maker_class, seed):
    rng = random.Random(seed)
    function = random_kernel(rng, maker_class, size=rng.randrange(10, 60))
    kernel = Compiled(function)
    for _ in range(4):
        arguments = [*random_arguments(rng), np.arange(LARGE.count, dtype=np.float32) / 8]
        outputs = [[np.zeros(1, t.numpy) for t in TYPES] + [np.zeros((KEPT, LARGE.count), np.float32)] for _ in "12"]
        copies = [[a.copy() if isinstance(a, np.ndarray) else a for a in arguments] for _ in "12"]
        outcome = run_kernel(function, 1, [*copies[0], *outputs[0]])
        worker = kernel(1, *copies[1], *outputs[1][:-1], outputs[1][-1][:, 0])
        assert (worker.take_failure() is not None) == bool(outcome.failures)
        for expected, got in zip([*copies[0][4:6], *outputs[0]], [*copies[1][4:6], *outputs[1]]):
            np.testing.assert_array_equal(got, expected)
