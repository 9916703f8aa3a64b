"""From Python source to IR: parsing, typing, overloads, generics, ``static``, diagnostics."""

from __future__ import annotations

from treadle.frontend import atomics as atomics
from treadle.frontend import attributes as attributes
from treadle.frontend import builders as builders
from treadle.frontend import expressions as expressions
from treadle.frontend import intrinsics as intrinsics
from treadle.frontend import loops as loops
from treadle.frontend import printing as printing
from treadle.frontend import resolve as resolve
from treadle.frontend import statements as statements
from treadle.frontend.captures import Captures as Captures
from treadle.frontend.fingerprint import fingerprint as fingerprint
from treadle.frontend.session import FunctionInstance as FunctionInstance
from treadle.frontend.session import build_function as build_function
from treadle.frontend.session import build_kernel as build_kernel
from treadle.frontend.values import Constant as Constant
