"""The intermediate representation: data structures, builder, verifier, printer and parser."""

from treadle.ir import structure as structure
from treadle.ir.builder import Builder as Builder
from treadle.ir.core import Block as Block
from treadle.ir.core import Function as Function
from treadle.ir.core import Location as Location
from treadle.ir.core import Op as Op
from treadle.ir.core import Value as Value
from treadle.ir.definitions import IRError as IRError
