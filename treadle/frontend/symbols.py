"""The operators of Python and the ops of the IR that they stand for."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

BINARY: dict[type, tuple[str, str]] = {
    ast.Add: ("+", "add"), ast.Sub: ("-", "sub"), ast.Mult: ("*", "mul"), ast.Div: ("/", "div"),
    ast.FloorDiv: ("//", "floordiv"), ast.Mod: ("%", "mod"), ast.Pow: ("**", "pow"), ast.MatMult: ("@", "matmul"),
    ast.BitAnd: ("&", "and"), ast.BitOr: ("|", "or"), ast.BitXor: ("^", "xor"),
    ast.LShift: ("<<", "shl"), ast.RShift: (">>", "shr"),
}  # fmt: skip
"""By node type: the symbol, and the op ("matmul" is none: it is for composites)."""

SYMBOLS: dict[str, str] = {op: symbol for symbol, op in BINARY.values()}

COMPARISONS: dict[type, tuple[str, str, Callable[[Any, Any], Any]]] = {
    ast.Lt: ("<", "lt", operator.lt), ast.LtE: ("<=", "le", operator.le),
    ast.Gt: (">", "gt", operator.gt), ast.GtE: (">=", "ge", operator.ge),
    ast.Eq: ("==", "eq", operator.eq), ast.NotEq: ("!=", "ne", operator.ne),
}  # fmt: skip
"""By node type: the symbol, the op, and what it does to Python numbers."""

BITWISE = ("and", "or", "xor")
INTEGER_ONLY = (*BITWISE, "shl", "shr")
