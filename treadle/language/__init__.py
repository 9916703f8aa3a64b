"""What a kernel may say: decorators, built-in functions, constants. ``stdlib/`` is written in the language itself."""

from __future__ import annotations

from treadle.language import intrinsics as intrinsics
from treadle.language import stdlib as stdlib
from treadle.language.bodies import Body as Body
from treadle.language.builtins import BUILTINS as BUILTINS
from treadle.language.builtins import Builtin as Builtin
from treadle.language.builtins import builtin as builtin
from treadle.language.constants import CONSTANTS as CONSTANTS
from treadle.language.decorators import adjoint as adjoint
from treadle.language.decorators import constant as constant
from treadle.language.decorators import func as func
from treadle.language.decorators import func_grad as func_grad
from treadle.language.decorators import func_replay as func_replay
from treadle.language.decorators import grad as grad
from treadle.language.decorators import kernel as kernel
from treadle.language.decorators import overload as overload
from treadle.language.decorators import static as static
from treadle.language.errors import CompileError as CompileError
from treadle.language.errors import SourceError as SourceError
from treadle.language.errors import TreadleError as TreadleError
from treadle.language.errors import TypeMismatchError as TypeMismatchError
from treadle.language.errors import UnknownNameError as UnknownNameError
from treadle.language.errors import UnsupportedError as UnsupportedError
from treadle.language.functions import Function as Function
from treadle.language.functions import Gradient as Gradient
from treadle.language.functions import Kernel as Kernel
from treadle.language.native import func_native as func_native
from treadle.language.options import Module as Module
from treadle.language.options import get_module as get_module
from treadle.language.options import get_module_options as get_module_options
from treadle.language.options import set_module_options as set_module_options
