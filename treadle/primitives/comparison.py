"""Comparisons and the tests for NaN and infinity. None of them passes on a gradient."""

from __future__ import annotations

import operator
from typing import Any

from treadle.ir.definitions import Definition, declare
from treadle.primitives import folding
from treadle.primitives.lowering import Emitter, compare
from treadle.primitives.types import ANY, FLOAT, NUMBER, predicate
from treadle.types import scalars


def _define(name: str, kinds: Any, lower: Any, compute: Any = None, identity: Any = None) -> None:
    fold = folding.evaluate(compute, scalars.bool_, identity) if compute else None
    declare(Definition(name, predicate(*kinds), fold=fold, lower=lower, elementwise=True))


_define("lt", NUMBER, compare("olt", "slt", "ult"), operator.lt)
_define("le", NUMBER, compare("ole", "sle", "ule"), operator.le)
_define("gt", NUMBER, compare("ogt", "sgt", "ugt"), operator.gt)
_define("ge", NUMBER, compare("oge", "sge", "uge"), operator.ge)
_define("eq", ANY, compare("oeq", "eq", "eq"), operator.eq, folding.equality(True))
_define("ne", ANY, compare("une", "ne", "ne"), operator.ne, folding.equality(False))


def _lower_isnan(e: Emitter, attributes: Any, types: Any, operands: Any) -> str:
    return e.assign(f"fcmp uno {e.type(types[0])} {operands[0]}, {operands[0]}")


def _against_infinity(mnemonic: str) -> Any:
    def lower(e: Emitter, attributes: Any, types: Any, operands: Any) -> str:
        magnitude = e.intrinsic("llvm.fabs", types[0], operands)
        return e.assign(f"fcmp {mnemonic} {e.type(types[0])} {magnitude}, {e.constant(types[0], float('inf'))}")

    return lower


_define("isnan", FLOAT, _lower_isnan)
_define("isinf", FLOAT, _against_infinity("oeq"))
_define("isfinite", FLOAT, _against_infinity("olt"))
