"""Arithmetic primitives: sums, products, quotients, minima, absolute values, choices, conversions."""

from __future__ import annotations

import operator
from typing import Any

from treadle.ir.definitions import Definition, IRError, declare
from treadle.primitives import expressions as ex
from treadle.primitives import folding, lowering
from treadle.primitives.lowering import Emitter, checked_division, instruction, intrinsic
from treadle.primitives.types import ANY, BITS, FLOAT, INTEGER, NUMBER, same, scalar_of, with_scalar
from treadle.types import scalars


def _define(name: str, types: Any, lower: Any, derivative: Any = None, fold: Any = None) -> None:
    declare(Definition(name, types, fold=fold, lower=lower, derivative=derivative, elementwise=True))


def _half_at_ties(g: Any, wins: Any, ties: Any) -> Any:
    """``g`` to the winner, half of it where the two are equal, as PyTorch does."""
    return wins.choose(g, ties.choose(g * 0.5, 0))


def _extremum(predicate_float: str, predicate_signed: str, predicate_unsigned: str) -> Any:
    compare = lowering.compare(predicate_float, predicate_signed, predicate_unsigned)

    def lower(e: Emitter, attributes: Any, types: Any, operands: Any) -> str:
        return lowering.select(e, types[0], compare(e, attributes, types, operands), *operands)

    return lower


def _lower_floor_division(e: Emitter, attributes: Any, types: Any, operands: Any) -> str:
    scalar, (a, b) = types[0], operands
    if scalar.is_float:
        return e.intrinsic("llvm.floor", scalar, [e.assign(f"fdiv {e.type(scalar)} {a}, {b}")])
    quotient = checked_division("sdiv", "udiv")(e, attributes, types, operands)
    if scalar.kind == "unsigned":
        return quotient
    t, zero = e.type(scalar), e.constant(scalar, 0)
    rest = checked_division("srem", "urem")(e, attributes, types, operands)
    inexact = e.assign(f"icmp ne {t} {rest}, {zero}")
    signs = e.assign(f"xor {t} {rest}, {b}")
    differ = e.assign(f"icmp slt {t} {signs}, {zero}")
    down = e.assign(f"and i1 {inexact}, {differ}")
    return e.assign(f"sub {t} {quotient}, {lowering.select(e, scalar, down, e.constant(scalar, 1), zero)}")


def _lower_remainder(e: Emitter, attributes: Any, types: Any, operands: Any) -> str:
    if types[0].is_float:
        return e.math("fmod", types[0], operands)
    return checked_division("srem", "urem")(e, attributes, types, operands)


def _lower_quotient(e: Emitter, attributes: Any, types: Any, operands: Any) -> str:
    if types[0].is_float:
        return instruction(float="fdiv")(e, attributes, types, operands)
    return checked_division("sdiv", "udiv")(e, attributes, types, operands)


def _lower_negation(e: Emitter, attributes: Any, types: Any, operands: Any) -> str:
    t = e.type(types[0])
    return e.assign(f"fneg {e.fast}{t} {operands[0]}" if types[0].is_float else f"sub {t} 0, {operands[0]}")


def _lower_absolute(e: Emitter, attributes: Any, types: Any, operands: Any) -> str:
    scalar, (x,) = types[0], operands
    if scalar.is_float:
        return e.intrinsic("llvm.fabs", scalar, operands)
    if scalar.kind == "unsigned":
        return x  # type: ignore[no-any-return]
    negative = e.assign(f"icmp slt {e.type(scalar)} {x}, 0")
    return lowering.select(e, scalar, negative, e.assign(f"sub {e.type(scalar)} 0, {x}"), x)


def _lower_select(e: Emitter, attributes: Any, types: Any, operands: Any) -> str:
    return lowering.select(e, types[1], *operands)


def _select_types(types: Any, attributes: Any) -> Any:
    condition, if_true, if_false = types
    if scalar_of(condition) is not scalars.bool_ or if_true != if_false:
        raise IRError(f"select on {condition} between {if_true} and {if_false}")
    return (if_true,)


def _cast_types(types: Any, attributes: Any) -> Any:
    return (with_scalar(types[0], attributes["type"]),)


def _cast_back(g: Any, x: Any, y: Any) -> Any:
    source = scalar_of(x.type)
    return (g.apply("cast", type=source) if source.is_float else None,)


_define("add", same(*NUMBER), instruction(float="fadd", signed="add", unsigned="add"),
        lambda g, x, y, r: (g, g), folding.evaluate(operator.add, identity=folding.neutral(0, 0, integers_only=True)))
_define("sub", same(*NUMBER), instruction(float="fsub", signed="sub", unsigned="sub"),
        lambda g, x, y, r: (g, -g), folding.evaluate(
            operator.sub, identity=folding.first_of(folding.neutral(0), folding.fold_difference_of_equals)))
_define("mul", same(*NUMBER), instruction(float="fmul", signed="mul", unsigned="mul"),
        lambda g, x, y, r: (g * y, g * x), folding.evaluate(
            operator.mul, identity=folding.first_of(folding.neutral(1, 1), folding.fold_product_with_zero)))
_define("div", same(*NUMBER), _lower_quotient,
        lambda g, x, y, r: (g.guards(g / y), g.guards(-(g * r) / y)),
        folding.evaluate(folding.integer_division, identity=folding.neutral(1)))
_define("mod", same(*NUMBER), _lower_remainder,
        lambda g, x, y, r: (g, g.guards(-g * ex.trunc(x / y))), folding.evaluate(folding.remainder))
_define("floordiv", same(*NUMBER), _lower_floor_division, None, folding.evaluate(folding.floor_division))
_define("neg", same(*NUMBER), _lower_negation, lambda g, x, r: (-g,),
        folding.evaluate(operator.neg, identity=folding.cancels("neg")))
_define("abs", same(*NUMBER), _lower_absolute,
        lambda g, x, r: ((x > 0).choose(g, (x < 0).choose(-g, 0)),), folding.evaluate(abs))
_define("min", same(*ANY), _extremum("olt", "slt", "ult"),
        lambda g, x, y, r: (_half_at_ties(g, x < y, x.equals(y)), _half_at_ties(g, y < x, x.equals(y))),
        folding.evaluate(lambda a, b: a if a < b else b))
_define("max", same(*ANY), _extremum("ogt", "sgt", "ugt"),
        lambda g, x, y, r: (_half_at_ties(g, x > y, x.equals(y)), _half_at_ties(g, y > x, x.equals(y))),
        folding.evaluate(lambda a, b: a if a > b else b))
_define("copysign", same(*FLOAT), intrinsic("llvm.copysign"),
        lambda g, x, y, r: (
            x.equals(0).choose(0, g * ex.copysign(x.constant(1), x) * ex.copysign(x.constant(1), y)), None))
_define("fma", same(*FLOAT), intrinsic("llvm.fma"), lambda g, x, y, z, r: (g * y, g * x, g))
_define("select", _select_types, _lower_select,
        lambda g, c, x, y, r: (None, c.choose(g, 0), c.choose(0, g)), folding.fold_select)
_define("cast", _cast_types, lowering.convert, _cast_back, folding.fold_cast)

# Bits and truth values.
_define("and", same(*BITS), instruction(signed="and", unsigned="and", bool="and"), None,
        folding.evaluate(operator.and_, identity=folding.lattice(True)))
_define("or", same(*BITS), instruction(signed="or", unsigned="or", bool="or"), None,
        folding.evaluate(operator.or_, identity=folding.lattice(False)))
_define("xor", same(*BITS), instruction(signed="xor", unsigned="xor", bool="xor"), None,
        folding.evaluate(operator.xor, identity=folding.fold_exclusive))


def _lower_complement(e: Emitter, attributes: Any, types: Any, operands: Any) -> str:
    ones = "true" if types[0].kind == "bool" else "-1"
    return e.assign(f"xor {e.type(types[0])} {operands[0]}, {ones}")


def _shift(signed: str, unsigned: str) -> Any:
    """The count is taken modulo the width, as the processor does; LLVM leaves more undefined."""

    def lower(e: Emitter, attributes: Any, types: Any, operands: Any) -> str:
        t = e.type(types[0])
        count = e.assign(f"and {t} {operands[1]}, {types[0].bits - 1}")
        return e.assign(f"{signed if types[0].kind == 'signed' else unsigned} {t} {operands[0]}, {count}")

    return lower


def _lower_bit_count(e: Emitter, attributes: Any, types: Any, operands: Any) -> str:
    count = e.intrinsic("llvm.ctpop", types[0], operands)
    as_unsigned = scalars.BY_SHORT_NAME["u" + str(types[0].bits)]
    return lowering.convert(e, {"type": scalars.int32}, [as_unsigned], [count])


def _int32_of(types: Any, attributes: Any) -> Any:
    return (with_scalar(same(*INTEGER)(types, attributes)[0], scalars.int32),)


_define("not", same(*BITS), _lower_complement, None,
        folding.evaluate(lambda a: (not a) if isinstance(a, bool) else ~a,
                         identity=folding.first_of(folding.cancels("not"), folding.fold_complement)))
_define("shl", same(*INTEGER), _shift("shl", "shl"))
_define("shr", same(*INTEGER), _shift("ashr", "lshr"))
_define("bit_count", _int32_of, _lower_bit_count)


def _lower_bitcast(e: Emitter, attributes: Any, types: Any, operands: Any) -> str:
    source, target = e.type(types[0]), e.type(attributes["type"])
    same: str = operands[0]
    return same if source == target else e.assign(f"bitcast {source} {same} to {target}")


_define("bitcast", _cast_types, _lower_bitcast)
